"""The loss of stage 2, and its gradient as a few sparse products."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.nn.functional.anchor_cross_entropy import anchor_target
from tgx_anchor.utils import incidence_matrix

Alignment = Literal['all', 'known', 'cross_entropy']
ALIGNMENTS: tuple[Alignment, ...] = ('all', 'known', 'cross_entropy')

# Strengths further than this below the strongest count as this far below: their
# exponentials would leave the range of double precision.
_MAX_RANGE = 600.0


@dataclass(frozen=True)
class StrengthProblem:
    r"""What the loss of stage 2 needs to know of a hypergraph, as sparse matrices;
    made once by :func:`strength_problem` and used in every epoch.

    Shapes:
        - **H, Q:** :math:`(N, M)`, incidences, and incidences with their references
        - **Ht, Qt:** :math:`(M, N)`, their transposes
        - **known:** :math:`(M)`, one for the hyperedges to learn from
        - **anchored:** :math:`(N)`, how often each node anchors them
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
    r"""Prepares :func:`strength_loss`.

    Args:
        reference (torch.Tensor): The probability of each incidence that strengths are
            aligned with, :math:`p^{(1)}_{v;e}`.
        hyperedge_index (torch.Tensor): The incidences, sorted by hyperedge.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        y (torch.Tensor): Whether this member anchors this hyperedge.
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
    target = anchor_target(y, hyperedge, mask)
    aligned = size > 1
    value = reference.double() * aligned[hyperedge]
    if alignment == 'known':
        aligned = aligned & mask
        value = value * (target > 0)

    def matrix(value: Tensor, transpose: bool) -> Tensor:
        return incidence_matrix(
            hyperedge_index, num_nodes, num_hyperedges, value, transpose
        )

    ones = torch.ones_like(value)
    return StrengthProblem(
        H=matrix(ones, False),
        Ht=matrix(ones, True),
        Q=matrix(value, False),
        Qt=matrix(value, True),
        known=mask.double().unsqueeze(1),
        anchored=scatter(target, node, 0, num_nodes, 'sum').unsqueeze(1),
        aligned=aligned.double().unsqueeze(1),
        reference=scatter(value, node, 0, num_nodes, 'sum').unsqueeze(1),
        alignment=alignment,
    )


class _StrengthLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, strength: Tensor, alpha: Tensor, problem: StrengthProblem
    ) -> Tensor:
        shift = strength.max(dim=0).values if strength.numel() > 0 else 0.0
        shifted = (strength - shift).clamp(min=-_MAX_RANGE)
        x = shifted.exp()
        # An empty hyperedge has no sum to divide by, and nothing to learn from.
        total = (problem.Ht @ x).clamp(min=torch.finfo(x.dtype).tiny)
        share = problem.known / total
        loss = (problem.known * total.log()).sum(0)
        loss = loss - (problem.anchored * shifted).sum(0)
        if problem.alignment == 'cross_entropy':
            share = share + alpha * problem.aligned / total
            cross = (problem.aligned * total.log()).sum(0)
            loss = loss + alpha * (cross - (problem.reference * shifted).sum(0))
            pull = alpha * problem.reference
        else:
            scale = problem.aligned / total
            agreement = (problem.Qt @ x) * scale
            loss = loss - alpha * agreement.sum(0)
            share = share + alpha * agreement * scale
            pull = alpha * (x * (problem.Q @ scale))
        ctx.save_for_backward(x * (problem.H @ share) - problem.anchored - pull)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (grad,) = ctx.saved_tensors
        return grad * grads[0], None, None


def strength_loss(
    strength: Tensor, problem: StrengthProblem, alpha: float | Tensor
) -> Tensor:
    r"""The loss of stage 2 from the *"Identifying Group Anchors in Real-World Group
    Interactions Under Label Scarcity"* paper (Eqs. 2 and 3),

    .. math::
        \mathcal{L} = - \sum_{e \in E'} \log p_{A(e);e} -
        \alpha \sum_{e \in E} \sum_{v \in e} p_{v;e} \, p^{(1)}_{v;e}, \qquad
        p_{v;e} = \frac{\exp(s_v)}{\sum_{u \in e} \exp(s_u)},

    where the second sum, as the results of the paper need it, runs over all hyperedges
    of two or more members (:obj:`alignment="all"`). As printed it runs over the known
    hyperedges and their anchors only (:obj:`"known"`); a third form is
    :math:`- \alpha \sum_e \sum_v p^{(1)}_{v;e} \log p_{v;e}` (:obj:`"cross_entropy"`).

    The gradient is written down in closed form. With
    :math:`\mathbf{x} = \exp(\mathbf{s} - \max \mathbf{s})`,
    :math:`\mathbf{z} = \mathbf{H}^{\top} \mathbf{x}`, the indicators
    :math:`\mathbf{k}` of known and :math:`\mathbf{a}` of aligned hyperedges,
    :math:`\mathbf{c} = \mathbf{Q}^{\top} \mathbf{x} \oslash \mathbf{z}`,
    and :math:`\mathbf{n}` the number of anchorings of each node,

    .. math::
        \nabla \mathcal{L} = \mathbf{x} \circ \left( \mathbf{H} \left( (\mathbf{k} +
        \alpha \, \mathbf{a} \circ \mathbf{c}) \oslash \mathbf{z} \right) - \alpha \,
        \mathbf{Q} (\mathbf{a} \oslash \mathbf{z}) \right) - \mathbf{n}.

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
    weight = torch.as_tensor(alpha, dtype=strength.dtype, device=strength.device)
    table = strength.unsqueeze(1) if strength.dim() == 1 else strength
    apply: Callable[..., Tensor] = _StrengthLoss.apply
    loss = apply(table, weight, problem)
    return loss.squeeze(0) if strength.dim() == 1 else loss
