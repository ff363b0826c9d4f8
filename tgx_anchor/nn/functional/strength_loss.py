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
from tgx_anchor.utils.hyperedge_block import ptr_blocks
from tgx_anchor.utils.incidence import csr_matrix

Alignment = Literal['all', 'known', 'cross_entropy']
ALIGNMENTS: tuple[Alignment, ...] = ('all', 'known', 'cross_entropy')

# Strengths that are further below the strongest count as this far below it, since their
# exponentials would leave the range of double precision.
_MAX_RANGE = 600.0


@dataclass(frozen=True)
class StrengthProblem:
    r"""Holds a hypergraph as the sparse matrices that the loss of stage 2 needs. It is
    made once by :func:`strength_problem` and used in every epoch. Hyperedges are in the
    order of :func:`~tgx_anchor.utils.gather_hyperedges`.

    With :math:`R = 2`, the rows :math:`2e` and :math:`2e + 1` of :obj:`to_hyperedge`
    have ones and references at the members of :math:`e`, so that one product reads each
    strength from memory once for both sums. :obj:`to_node` has the negated reference in
    column :math:`2e` and a one in column :math:`2e + 1`. The cross-entropy needs no
    references: with :math:`R = 1`, both matrices hold ones.

    Shapes:
        - **to_hyperedge:** :math:`(R M, N)`
        - **to_node:** :math:`(N, R M)`
        - **known:** :math:`(M)`, one for the hyperedges to learn from
        - **anchored:** :math:`(N)`, the number of them that each node anchors
        - **aligned:** :math:`(M)`, one for the hyperedges to align
        - **reference:** :math:`(N)`, the sum of the references of each node
    """

    to_hyperedge: Tensor
    to_node: Tensor
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
    is_paired = alignment != 'cross_entropy'
    to_node, to_hyperedge, order = gathered_matrices(
        hyperedge_index, num_nodes, num_hyperedges, value if is_paired else None
    )
    if is_paired:
        # One after the other, so that each is freed before the next is made.
        del value
        to_node = _pair_columns(to_node)
        to_hyperedge = _pair_rows(to_hyperedge)
    return StrengthProblem(
        to_hyperedge=to_hyperedge,
        to_node=to_node,
        known=mask[order].double().unsqueeze(1),
        anchored=anchored,
        aligned=aligned[order].double().unsqueeze(1),
        reference=total,
        alignment=alignment,
    )


def _index_type(matrix: Tensor) -> torch.dtype:
    # That of a matrix with twice as many entries.
    size = 2 * max(*matrix.size(), matrix.values().numel())
    return torch.int32 if size <= torch.iinfo(torch.int32).max else torch.long


def _pair_columns(matrix: Tensor) -> Tensor:
    # Every entry q of column e becomes -q in column 2e and a one in column 2e + 1.
    ptr, col = matrix.crow_indices(), matrix.col_indices()
    q, dtype = matrix.values(), _index_type(matrix)
    value, column = q.new_ones((q.numel(), 2)), col.new_empty((q.numel(), 2)).to(dtype)
    torch.neg(q, out=value[:, 0])
    torch.mul(col, 2, out=column[:, 0])
    torch.add(column[:, 0], 1, out=column[:, 1])
    size = (matrix.size(0), 2 * matrix.size(1))
    return csr_matrix(2 * ptr.to(dtype), column.view(-1), value.view(-1), size)


def _pair_rows(matrix: Tensor) -> Tensor:
    # Every row e becomes row 2e + 1, after a row 2e of ones in the same columns.
    ptr, col, q = matrix.crow_indices().long(), matrix.col_indices(), matrix.values()
    dtype = _index_type(matrix)
    value, column = q.new_ones(2 * q.numel()), col.new_empty(2 * q.numel()).to(dtype)
    # In blocks, since places have 64 bits.
    for block in ptr_blocks(ptr):
        begin = ptr[block.first : block.last]
        count = torch.diff(ptr[block.first : block.last + 1])
        owner = torch.repeat_interleave(count)
        place = torch.arange(block.rows.start, block.rows.stop, device=q.device)
        place += begin.index_select(0, owner)
        column[place] = col[block.rows].to(dtype)
        place += count.index_select(0, owner)
        column[place] = col[block.rows].to(dtype)
        value[place] = q[block.rows]
    rows = torch.stack([2 * ptr[:-1], ptr[:-1] + ptr[1:]], dim=1).view(-1)
    rows = torch.cat([rows, 2 * ptr[-1:]]).to(dtype)
    return csr_matrix(rows, column, value, (2 * matrix.size(0), matrix.size(1)))


class StrengthBuffers:
    r"""Holds the intermediate tensors of :func:`strength_gradient`. Large tensors cost
    more to allocate than to fill, so every epoch reuses them.

    Args:
        problem (StrengthProblem): The hypergraph.
        num_variants (int): The number :math:`K` of strengths per node.

    Shapes:
        - **x:** :math:`(N, K)`
        - **sums:** :math:`(R M, K)`
        - **weight:** :math:`(M, K)`, for the cross-entropy only
    """

    def __init__(self, problem: StrengthProblem, num_variants: int) -> None:
        num_sums, num_nodes = problem.to_hyperedge.size()
        # Zeros, since some products read the tensor that they overwrite.
        self.x = problem.known.new_zeros((num_nodes, num_variants))
        self.sums = problem.known.new_zeros((num_sums, num_variants))
        num_weights = num_sums if problem.alignment == 'cross_entropy' else 0
        self.weight = problem.known.new_zeros((num_weights, num_variants))


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
    x, sums = buffers.x, buffers.sums
    is_cross_entropy = problem.alignment == 'cross_entropy'
    shift = strength.amax(dim=0) if strength.numel() > 0 else 0.0
    torch.sub(strength, shift, out=x).clamp_(min=-_MAX_RANGE)
    if loss is not None:
        loss -= (problem.anchored * x).sum(0)
        if is_cross_entropy:
            loss -= alpha * (problem.reference * x).sum(0)
    _product(problem.to_hyperedge, x.exp_(), sums)
    num_rows = 1 if is_cross_entropy else 2
    total, *others = sums.unflatten(0, (problem.known.size(0), num_rows)).unbind(1)
    # The sum of an empty hyperedge is zero, and must not be divided by.
    total.clamp_(min=torch.finfo(x.dtype).tiny)
    if loss is not None:
        log_total = total.log()
        loss += (problem.known * log_total).sum(0)
        if is_cross_entropy:
            loss += alpha * (problem.aligned * log_total).sum(0)
    inverse = total.reciprocal_()
    if is_cross_entropy:
        inverse.mul_(
            buffers.weight.copy_(problem.known).addcmul_(problem.aligned, alpha)
        )
        _product(problem.to_node, sums, out)
        out.mul_(x).addcmul_(problem.reference, alpha, value=-1)
    else:
        # References are zero outside of the aligned hyperedges: no need to mask them
        # again.
        share = others[0].mul_(inverse)
        if loss is not None:
            loss -= alpha * share.sum(0)
        share.mul_(alpha).add_(problem.known).mul_(inverse)
        inverse.mul_(alpha)
        _product(problem.to_node, sums, out)
        out.mul_(x)
    out.sub_(problem.anchored)


def _product(matrix: Tensor, x: Tensor, out: Tensor) -> None:
    # A single column is faster as a vector.
    if x.size(1) == 1:
        torch.addmv(out.squeeze(1), matrix, x.squeeze(1), beta=0, out=out.squeeze(1))
    else:
        torch.addmm(out, matrix, x, beta=0, out=out)


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
    (:obj:`alignment="all"`), which reproduces the results of the paper. As printed in
    the paper, it runs over the known hyperedges and their anchors only
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

    It is differentiable once. Strengths that are more than 600 below the highest count
    as 600 below it.

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
