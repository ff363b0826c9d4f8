"""The loss of stage 2, with its gradient in sparse matrix products."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch_geometric.utils import scatter

from tgx_anchor.nn.functional.anchor_cross_entropy import anchor_target
from tgx_anchor.utils import gathered_matrices
from tgx_anchor.utils.incidence import csr_matrix

Alignment = Literal['all', 'known', 'cross_entropy']
ALIGNMENTS: tuple[Alignment, ...] = ('all', 'known', 'cross_entropy')

# Strengths further than this below the strongest count as this far below: their
# exponentials would leave the range of double precision.
_MAX_RANGE = 600.0


@dataclass(frozen=True)
class StrengthProblem:
    r"""Holds a hypergraph as the sparse matrices that the loss of stage 2 needs. Made
    once by :func:`strength_problem` and used in every epoch. Hyperedges are in the
    order of :func:`~tgx_anchor.utils.gather_hyperedges`.

    Shapes:
        - **H, Q:** :math:`(N, M)`, incidences with ones, and with their references
        - **Ht, Qt:** :math:`(M, N)`, their transposes
        - **known:** :math:`(M)`, one for the hyperedges to learn from
        - **anchored:** :math:`(N)`, the number of them that each node anchors
        - **aligned:** :math:`(M)`, one for the hyperedges to align
        - **reference:** :math:`(N)`, the row sums of :math:`\mathbf{Q}`
    """

    H: Tensor
    Ht: Tensor
    Q: Tensor
    Qt: Tensor
    known: Tensor
    anchored: Tensor
    aligned: Tensor
    reference: Tensor
    alignment: Alignment


def strength_problem(
    reference: Tensor,
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    y: Tensor,
    mask: Tensor,
    alignment: Alignment = 'all',
) -> StrengthProblem:
    r"""Prepares the matrices of :func:`strength_loss`.

    Args:
        reference (torch.Tensor): The probability of each incidence that strengths are
            aligned with, :math:`p^{(1)}_{v;e}`.
        hyperedge_index (torch.Tensor): The incidences, sorted by hyperedge.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        y (torch.Tensor): Whether each member anchors its hyperedge.
        mask (torch.Tensor): The hyperedges to learn from; may be empty.
        alignment (str, optional): The form of the alignment, :obj:`"all"`,
            :obj:`"known"` or :obj:`"cross_entropy"`. (default: :obj:`"all"`)

    Shapes:
        - **reference, y:** :math:`(P)`
        - **hyperedge_index:** :math:`(2, P)`
        - **mask:** :math:`(M)`
    """
    if alignment not in ALIGNMENTS:
        raise ValueError(
            f"'alignment' must be one of {', '.join(ALIGNMENTS)} (got {alignment!r})"
        )
    node, hyperedge = hyperedge_index
    size = torch.bincount(hyperedge, minlength=num_hyperedges)
    aligned = size > 1
    value = reference.double() * aligned[hyperedge]
    target = anchor_target(y, hyperedge, mask)
    anchored = scatter(target, node, 0, num_nodes, 'sum').unsqueeze(1)
    if alignment == 'known':
        aligned = aligned & mask
        value = value * (target > 0)
    # It takes as much memory as the matrices that follow.
    del target
    total = scatter(value, node, 0, num_nodes, 'sum').unsqueeze(1)

    # The loss does not depend on the order of hyperedges.
    Q, Qt, order = gathered_matrices(hyperedge_index, num_nodes, num_hyperedges, value)
    ones = torch.ones_like(value)
    return StrengthProblem(
        H=_with_entries(Q, ones),
        Ht=_with_entries(Qt, ones),
        Q=Q,
        Qt=Qt,
        known=mask[order].double().unsqueeze(1),
        anchored=anchored,
        aligned=aligned[order].double().unsqueeze(1),
        reference=total,
        alignment=alignment,
    )


def _with_entries(matrix: Tensor, value: Tensor) -> Tensor:
    # A matrix with the same pattern, which both hold once.
    size = (matrix.size(0), matrix.size(1))
    return csr_matrix(matrix.crow_indices(), matrix.col_indices(), value, size)


class StrengthBuffers:
    r"""Holds the intermediate tensors of :func:`strength_gradient`. Large tensors cost
    more to allocate than to fill, so that every epoch reuses them.

    Args:
        problem (StrengthProblem): The hypergraph.
        num_variants (int): The number :math:`K` of strengths per node.

    Shapes:
        - **x:** :math:`(N, K)`
        - **total, share:** :math:`(M, K)`
    """

    def __init__(self, problem: StrengthProblem, num_variants: int) -> None:
        num_nodes, num_hyperedges = problem.H.size()
        # Zeros, since some products read the tensor that they overwrite.
        self.x = problem.known.new_zeros((num_nodes, num_variants))
        self.total = problem.known.new_zeros((num_hyperedges, num_variants))
        self.share = torch.zeros_like(self.total)


def strength_gradient(
    strength: Tensor,
    problem: StrengthProblem,
    alpha: Tensor,
    out: Tensor,
    buffers: StrengthBuffers,
    loss: Tensor | None = None,
) -> None:
    r"""Computes the gradient of :func:`strength_loss` without an autograd graph.

    Args:
        strength (torch.Tensor): The strength of each node.
        problem (StrengthProblem): The hypergraph.
        alpha (torch.Tensor): The weight of the alignment.
        out (torch.Tensor): Overwritten by the gradient.
        buffers (StrengthBuffers): Overwritten.
        loss (torch.Tensor, optional): If given, the loss is added to it.
            (default: :obj:`None`)

    Shapes:
        - **strength, out:** :math:`(N, K)`
        - **alpha:** scalar or :math:`(K)`
        - **loss:** :math:`(K)`
    """
    x, total, share = buffers.x, buffers.total, buffers.share
    is_cross_entropy = problem.alignment == 'cross_entropy'
    shift = strength.amax(dim=0) if strength.numel() > 0 else 0.0
    torch.sub(strength, shift, out=x).clamp_(min=-_MAX_RANGE)
    if loss is not None:
        loss -= (problem.anchored * x).sum(0)
        if is_cross_entropy:
            loss -= alpha * (problem.reference * x).sum(0)
    _product(problem.Ht, x.exp_(), total)
    # The sum of an empty hyperedge is zero, and must not be divided by.
    total.clamp_(min=torch.finfo(x.dtype).tiny)
    if loss is not None:
        log_total = total.log()
        loss += (problem.known * log_total).sum(0)
        if is_cross_entropy:
            loss += alpha * (problem.aligned * log_total).sum(0)
    inverse = total.reciprocal_()
    if is_cross_entropy:
        share.copy_(problem.known).addcmul_(problem.aligned, alpha)
        _product(problem.H, share.mul_(inverse), out)
        out.mul_(x).addcmul_(problem.reference, alpha, value=-1)
    else:
        # Q is zero outside of the aligned hyperedges: no need to mask them again.
        _product(problem.Qt, x, share)
        share.mul_(inverse)
        if loss is not None:
            loss -= alpha * share.sum(0)
        share.mul_(alpha).add_(problem.known)
        _product(problem.H, share.mul_(inverse), out)
        _product(problem.Q, inverse.mul_(alpha), out, subtract=True)
        out.mul_(x)
    out.sub_(problem.anchored)


def _product(matrix: Tensor, x: Tensor, out: Tensor, subtract: bool = False) -> None:
    # A single column is faster as a vector.
    if x.size(1) == 1:
        x, out = x.squeeze(1), out.squeeze(1)
        torch.addmv(out, matrix, x, beta=subtract, alpha=1 - 2 * subtract, out=out)
    else:
        torch.addmm(out, matrix, x, beta=subtract, alpha=1 - 2 * subtract, out=out)


class _StrengthLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, strength: Tensor, alpha: Tensor, problem: StrengthProblem
    ) -> Tensor:
        grad = torch.zeros_like(strength, memory_format=torch.contiguous_format)
        buffers = StrengthBuffers(problem, strength.size(1))
        loss = strength.new_zeros(strength.size(1))
        strength_gradient(strength, problem, alpha, grad, buffers, loss)
        ctx.save_for_backward(grad)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (grad,) = ctx.saved_tensors
        return grad * grads[0], None, None


def strength_loss(
    strength: Tensor, problem: StrengthProblem, alpha: float | Tensor
) -> Tensor:
    r"""The loss of stage 2 from the `"Identifying Group Anchors in Real-World Group
    Interactions Under Label Scarcity" <https://arxiv.org/abs/2509.20762>`_ paper (Eqs.
    2 and 3),

    .. math::
        \mathcal{L} = - \sum_{e \in E'} \log p_{A(e);e} -
        \alpha \sum_{e \in E} \sum_{v \in e} p_{v;e} \, p^{(1)}_{v;e}, \qquad
        p_{v;e} = \frac{\exp(s_v)}{\sum_{u \in e} \exp(s_u)},

    where the second sum runs over all hyperedges of two or more members
    (:obj:`alignment="all"`), with which the results of the paper are reproduced. As
    printed in the paper, it runs over the known hyperedges and their anchors only
    (:obj:`"known"`). A third form is
    :math:`- \alpha \sum_e \sum_v p^{(1)}_{v;e} \log p_{v;e}` (:obj:`"cross_entropy"`).

    The gradient is computed in closed form. With
    :math:`\mathbf{x} = \exp(\mathbf{s} - \max \mathbf{s})`,
    :math:`\mathbf{z} = \mathbf{H}^{\top} \mathbf{x}`, the indicators
    :math:`\mathbf{k}` of known and :math:`\mathbf{a}` of aligned hyperedges,
    :math:`\mathbf{c} = \mathbf{Q}^{\top} \mathbf{x} \oslash \mathbf{z}`,
    and :math:`\mathbf{n}` the number of anchorings of each node,

    .. math::
        \nabla \mathcal{L} = \mathbf{x} \circ \left( \mathbf{H} \left( (\mathbf{k} +
        \alpha \, \mathbf{a} \circ \mathbf{c}) \oslash \mathbf{z} \right) - \alpha \,
        \mathbf{Q} (\mathbf{a} \oslash \mathbf{z}) \right) - \mathbf{n}.

    It is differentiable once. Strengths that are more than 600 below the highest of
    all count as 600 below it.

    Args:
        strength (torch.Tensor): The strength :math:`s_v` of each node, for one or for
            several :math:`\alpha` at once, in double precision.
        problem (StrengthProblem): The hypergraph.
        alpha (float or torch.Tensor): The weight :math:`\alpha` of the alignment.

    Shapes:
        - **strength:** :math:`(N)` or :math:`(N, K)`
        - **alpha:** scalar or :math:`(K)`
        - **output:** scalar or :math:`(K)`
    """
    if strength.dtype != torch.double:
        raise ValueError(f"'strength' must be double (got {strength.dtype})")
    if isinstance(alpha, Tensor) and alpha.requires_grad:
        raise ValueError("'alpha' must not require a gradient: pass 'alpha.detach()'")
    weight = torch.as_tensor(alpha, dtype=strength.dtype, device=strength.device)
    table = strength.unsqueeze(1) if strength.dim() == 1 else strength
    apply: Callable[..., Tensor] = _StrengthLoss.apply
    loss = apply(table, weight, problem)
    return loss.squeeze(0) if strength.dim() == 1 else loss
