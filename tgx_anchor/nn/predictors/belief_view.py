"""Columns that tell what a first model believes about the sets of a member."""

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.nn.predictors.known_views import SUFFIXES, record_columns
from tgx_anchor.utils import NodeSets, relative_to_group

BELIEF_COLUMNS = (
    'belief_log_ratio',
    'belief_lift',
    'belief_count',
    'belief_here',
    'belief_share',
    'belief_log_share',
)
STRENGTH_COLUMN = 'belief_strength'
# Shares below this hardly differ.
SHARE_MARGIN = 0.02


def belief_names(num_strengths: int) -> list[str]:
    r"""Returns the names of the columns of :func:`belief_view`.

    Args:
        num_strengths (int): The number of strengths per node.
    """
    names = [*BELIEF_COLUMNS, *(f'{STRENGTH_COLUMN}_{i}' for i in range(num_strengths))]
    return [f'{name}{suffix}' for suffix in SUFFIXES for name in names]


def belief_view(
    sets: NodeSets, num_nodes: int, belief: Tensor, here: Tensor, strength: Tensor
) -> Tensor:
    r"""Compares the members of each node set by the beliefs of a first model about all
    hyperedges of each member.

    :obj:`belief_log_ratio`, :obj:`belief_lift` and :obj:`belief_count` are those of
    :class:`~tgx_anchor.nn.predictors.known_views.KnownViews` with beliefs in the place
    of known anchors, without the set itself. :obj:`belief_here` is the logarithm of the
    belief about the set itself. :obj:`belief_share` is the mean belief over all
    hyperedges of the member, and :obj:`belief_log_share` its logarithm;
    :obj:`belief_strength_*` are the strengths of the member. All columns follow
    relative to the members of the set.

    Args:
        sets (NodeSets): The node sets.
        num_nodes (int): The number of nodes.
        belief (torch.Tensor): The probability that the member anchors a copy of the
            set, where known anchors are certain.
        here (torch.Tensor): The same without known anchors.
        strength (torch.Tensor): The strengths of nodes.

    Shapes:
        - **belief, here:** :math:`(R)`, sum to one in each set
        - **strength:** :math:`(N, A)`
        - **output:** :math:`(R, 3 (6 + A))`
    """
    node, number = sets.hyperedge_index
    size, copies = sets.size[number], sets.copies[number]
    # A single member is no choice.
    chosen = copies * (size > 1)

    def elsewhere(value: Tensor) -> Tensor:
        total = scatter(value, node, 0, num_nodes, 'sum')
        return (total[node] - value).clamp(min=0)

    record = record_columns(
        elsewhere(belief * chosen),
        elsewhere(chosen / size),
        elsewhere(chosen),
        size,
    )
    count = elsewhere(copies) + copies
    total = elsewhere(belief * copies) + here * copies
    share = torch.where(count > 0, total / count, 1 / size)
    own = torch.stack(
        [here.clamp(min=1e-9).log(), share, (share + SHARE_MARGIN).log()], dim=1
    )
    table = torch.cat([record, own, strength.index_select(0, node)], dim=1)
    relative = relative_to_group(table, number, sets.num_sets)
    return torch.cat([table, *relative], dim=1).to(torch.get_default_dtype())
