"""The aggregation of strengths over all hyperedges of a node."""

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.utils import ALONE, Ranks, draw_priority, hyperedge_blocks

# Differences of strengths below it are those of rounding.
_STEP = 2.0**-26


def aggregate_strength(
    strength: Tensor,
    hyperedge_index: Tensor,
    num_hyperedges: int,
    y: Tensor,
    mask: Tensor,
    weight: float | Tensor,
    num_anchors: int = 1,
    seed: int = 0,
    weighted_degree: bool = False,
    first_incidence: int = 0,
    ranks: Ranks = ALONE,
) -> Tensor:
    r"""The global strength aggregation from the `"Identifying Group Anchors in
    Real-World Group Interactions Under Label Scarcity"
    <https://arxiv.org/abs/2509.20762>`_ paper (Eq. 4),

    .. math::
        \hat{p}_v = \frac{1}{d_v} \left( w \sum_{e \in E'} \mathbf{1}[v \in A(e)] +
        \sum_{e \in E \setminus E'} \mathbf{1}[v \in \hat{A}(e)] \right),

    where :math:`E'` are the hyperedges with known anchors, and :math:`\hat{A}(e)` is
    the member of highest strength, drawn at random if there are several (or the
    :obj:`num_anchors` members of highest strength, if hyperedges have several anchors).
    Strengths that agree to :math:`2^{-26}` count as equal, since further digits depend
    on the order of summation.

    Args:
        strength (torch.Tensor): The strength of each node, in one or several columns.
        hyperedge_index (torch.Tensor): The incidences, sorted by hyperedge.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        y (torch.Tensor): Whether each member anchors its hyperedge.
        mask (torch.Tensor): The hyperedges :math:`E'`.
        weight (float or torch.Tensor): The weight :math:`w`, or several.
        num_anchors (int, optional): The size of :math:`\hat{A}(e)`.
            (default: :obj:`1`)
        seed (int, optional): The seed of draws among members of equal strength
            (:func:`~tgx_anchor.utils.draw_priority`). (default: :obj:`0`)
        weighted_degree (bool, optional): If set to :obj:`True`, a hyperedge in
            :math:`E'` also counts :math:`w` times in :math:`d_v`, so that
            :math:`\hat{p}_v` is a weighted mean in :math:`[0, 1]`. Then nodes in many
            known hyperedges and nodes in none can be compared.
            (default: :obj:`False`)
        first_incidence (int, optional): The number of the first incidence, if these are
            a part of a hypergraph. (default: :obj:`0`)
        ranks (Ranks, optional): The processes that hold the other hyperedges.
            (default: this process alone)

    Shapes:
        - **strength:** :math:`(N)` or :math:`(N, K)`
        - **hyperedge_index:** :math:`(2, P)`
        - **y:** :math:`(P)`
        - **mask:** :math:`(M)`
        - **weight:** scalar or :math:`(W)`
        - **output:** :math:`(N)` or :math:`(N, K)`, with a last dimension of size
          :math:`W` if there are several weights
    """
    node, hyperedge = hyperedge_index
    num_nodes = strength.size(0)
    table = strength.unsqueeze(1) if strength.dim() == 1 else strength
    table = table.div(_STEP).round_().mul_(_STEP)
    guesses = torch.zeros_like(table)
    for block in hyperedge_blocks(hyperedge, num_hyperedges):
        start, end = block.rows.start, block.rows.stop
        priority = draw_priority(
            end - start, seed, first_incidence + start, node.device
        )
        _count_strongest(
            guesses,
            table,
            block.incidences(hyperedge_index),
            mask[block.first : block.last],
            priority.unsqueeze(1),
            num_anchors,
        )
    is_known = mask[hyperedge]
    anchored = scatter((y & is_known).to(table.dtype), node, 0, num_nodes, 'sum')
    degree = torch.bincount(node, minlength=num_nodes)
    for value in (guesses, anchored, degree):
        ranks.sum_(value)

    factor = torch.as_tensor(weight, dtype=table.dtype, device=node.device)
    if factor.dim() == 0:
        out = factor * anchored.unsqueeze(1) + guesses
    else:
        out = factor * anchored.view(-1, 1, 1) + guesses.unsqueeze(2)
    total = degree.view(-1, *[1] * (out.dim() - 1)).to(out.dtype)
    if weighted_degree:
        known = torch.bincount(node[is_known], minlength=num_nodes)
        known = ranks.sum_(known).view_as(total)
        total = factor * known + (total - known)
    # What has no weight has no share either.
    out.div_(torch.where(total > 0, total, 1.0))
    return out.squeeze(1) if strength.dim() == 1 else out


def _count_strongest(
    out: Tensor,
    strength: Tensor,
    hyperedge_index: Tensor,
    known: Tensor,
    priority: Tensor,
    num_anchors: int,
) -> None:
    # Adds one for each hyperedge that is not known and in which a node is strongest.
    node, hyperedge = hyperedge_index
    num_hyperedges = known.numel()
    is_unknown = ~known[hyperedge].unsqueeze(1)
    value = strength.index_select(0, node)
    for _ in range(num_anchors):
        best = scatter(value, hyperedge, 0, num_hyperedges, 'max')
        is_best = (value == best.index_select(0, hyperedge)) & (value > -torch.inf)
        drawn = torch.where(is_best, priority, -1.0)
        winner = scatter(drawn, hyperedge, 0, num_hyperedges, 'max')
        chosen = is_best & (drawn == winner.index_select(0, hyperedge))
        out.index_add_(0, node, (chosen & is_unknown).to(out.dtype))
        # The next round chooses among the other members.
        value = torch.where(chosen, -torch.inf, value)
