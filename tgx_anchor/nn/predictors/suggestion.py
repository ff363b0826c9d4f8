"""Groups whose anchors would help a model most."""

import heapq
from numbers import Integral
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.known_anchors import check_data, given_mask
from tgx_anchor.utils import degree, distinct_hyperedges

if TYPE_CHECKING:
    import pyarrow as pa


def suggest_groups(
    proba: Tensor, data: AnchorData, n: int = 50, mask: Tensor | None = None
) -> 'pa.Table':
    r"""Returns the groups whose anchor would help most if it were known, the best
    first. The value of a group :math:`e` is

    .. math::
        \left( 1 - (q_1 - q_2) \right) \cdot \frac{1}{|e|} \sum_{v \in e}
        \frac{\log (1 + d_v)}{1 + k_v},

    where :math:`q_1 - q_2` is the margin between its two most likely members,
    :math:`d_v` the number of groups of a member, and :math:`k_v` the number of those
    whose anchor is known. So a group is worth asking about if the model is in doubt,
    and if its members are in many groups of which few are known. A chosen group counts
    as known for the next one, so that the same people are not asked about again and
    again. Of several groups with the same members, the first one is suggested.

    ====================  ==============================================================
    column                content
    ====================  ==============================================================
    :obj:`group`          :obj:`hyperedge_id`, or the number of the group
    :obj:`value`          the value when the group was chosen
    :obj:`probability`    the probability of the most likely member
    :obj:`margin`         its difference to that of the runner-up
    :obj:`reason`         the reason in words
    ====================  ==============================================================

    Args:
        proba (torch.Tensor): The probability of each member.
        data (AnchorData): The hypergraph. Known are the anchors in
            :obj:`data.train_mask` if there is one, else all in :obj:`data.y`.
        n (int, optional): The number of groups; fewer are returned if no more leave a
            choice. (default: :obj:`50`)
        mask (torch.Tensor, optional): The groups to choose from; all if :obj:`None`.
            (default: :obj:`None`)

    Shapes:
        - **proba:** :math:`(P)`
        - **mask:** :math:`(M)`
    """
    import pyarrow as pa

    if not isinstance(n, Integral) or n < 1:
        raise ValueError(f"'n' must be a positive integer (got {n!r})")
    check_data(data)
    size = data.num_hyperedges
    if mask is not None and (mask.dtype != torch.bool or list(mask.size()) != [size]):
        raise ValueError(
            f"'mask' must hold {size} booleans, one per hyperedge (got {mask.dtype} of "
            f'shape {list(mask.size())})'
        )
    known = given_mask(data)
    best, margin = _best_and_margin(proba.double(), data)
    possible = data.choice_mask if mask is None else data.choice_mask & mask
    # Probabilities may exceed one by rounding.
    doubt = (1 - margin).clamp(min=0)
    chosen, value, counts = _choose(doubt, data, known, possible, int(n))
    ids = data.get('hyperedge_id')
    rows = chosen.tolist()
    group: Any = rows if ids is None else [_plain(ids[row]) for row in rows]
    num_groups = degree(data.hyperedge_index, int(data.num_nodes or 0), size)
    ptr = data.hyperedge_ptr
    reasons = []
    for row, known_groups in zip(rows, counts, strict=True):
        begin, end = ptr[row : row + 2].tolist()
        members = data.hyperedge_index[0, begin:end]
        reasons.append(
            f'the two most likely of {end - begin} members are '
            f'{100 * float(margin[row]):.1f} % apart; the members occur '
            f'{int(num_groups[members].sum()):,} times in all groups, '
            f'{known_groups:,} times in groups that are known or suggested above'
        )
    return pa.table(
        {
            'group': group,
            'value': pa.array(value.tolist(), pa.float64()),
            'probability': pa.array(best[chosen].tolist(), pa.float64()),
            'margin': pa.array(margin[chosen].tolist(), pa.float64()),
            'reason': pa.array(reasons, pa.string()),
        }
    )


def _best_and_margin(proba: Tensor, data: AnchorData) -> tuple[Tensor, Tensor]:
    hyperedge, size = data.hyperedge_index[1], data.num_hyperedges
    best = scatter(proba, hyperedge, 0, size, 'max')
    is_best = proba == best[hyperedge]
    ties = scatter(is_best.double(), hyperedge, 0, size, 'sum')
    second = scatter(torch.where(is_best, 0.0, proba), hyperedge, 0, size, 'max')
    return best, torch.where(ties > 1, 0.0, best - second)


def _choose(
    doubt: Tensor, data: AnchorData, known: Tensor, possible: Tensor, n: int
) -> tuple[Tensor, Tensor, list[int]]:
    # Greedy choice. Values only fall as groups are chosen: those from before the first
    # choice are upper bounds, and only groups near the top are ever computed again.
    (node, hyperedge), size = data.hyperedge_index, data.num_hyperedges
    num_nodes = int(data.num_nodes or 0)
    weight = degree(data.hyperedge_index, num_nodes, size).double().log1p()
    count = torch.bincount(node[known[hyperedge]], minlength=num_nodes)
    mean = scatter((weight / (1 + count))[node], hyperedge, 0, size, 'mean')
    value = doubt * mean
    candidate = (possible & ~known).nonzero().view(-1)
    number = distinct_hyperedges(data.hyperedge_index, num_nodes, size)[candidate]
    # The first copy of each group.
    first = torch.full((size + 1,), size, device=number.device)
    first.scatter_reduce_(0, number, candidate, 'amin')
    candidate = candidate[first[number] == candidate]
    order = torch.argsort(value[candidate], descending=True, stable=True)
    candidate = candidate[order].cpu()
    bound = value[candidate.to(value.device)].cpu()

    ptr, members = data.hyperedge_ptr.cpu(), node.cpu()
    weight, count, doubt = weight.cpu(), count.cpu(), doubt.cpu()
    chosen: list[int] = []
    values: list[float] = []
    counts: list[int] = []
    heap: list[tuple[float, int]] = []
    num_seen = 0
    bounds, groups = [*bound.tolist(), -1.0], candidate.tolist()
    while len(chosen) < n and (heap or num_seen < len(groups)):
        # The largest value may be one that was not looked at yet.
        while bounds[num_seen] >= (-heap[0][0] if heap else 0.0):
            heapq.heappush(heap, (-bounds[num_seen], groups[num_seen]))
            num_seen += 1
        _, group = heapq.heappop(heap)
        part = members[int(ptr[group]) : int(ptr[group + 1])]
        present = float(doubt[group] * (weight[part] / (1 + count[part])).mean())
        rival = max(-heap[0][0] if heap else -1.0, bounds[num_seen])
        if present < rival:
            heapq.heappush(heap, (-present, group))
            continue
        chosen.append(group)
        values.append(present)
        counts.append(int(count[part].sum()))
        count[part] += 1
    rows = torch.tensor(chosen, dtype=torch.long, device=value.device)
    return rows, torch.tensor(values, dtype=torch.double), counts


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value
