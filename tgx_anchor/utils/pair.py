"""Pairs of members of the same hyperedge."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from tgx_anchor.utils.incidence import arange_by_ptr, index_ptr

# The number of pairs that are in memory at once.
_BLOCK_PAIRS = 1 << 19


class MemberPairs(NamedTuple):
    r"""A block of ordered pairs of members of the same hyperedge. All pairs of nodes
    with the same first node are in one block, and all pairs with the same first
    incidence are consecutive.

    Shapes:
        - **first, second:** :math:`(Q)`, the incidences of the two members
        - **pair:** :math:`(Q)`, the number of the pair of nodes in this block
        - **node:** :math:`(2, U)`, the two nodes of each pair of nodes, sorted by the
          first, then by the second
    """

    first: Tensor
    second: Tensor
    pair: Tensor
    node: Tensor


def member_pairs(
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    max_size: int,
    block: int = _BLOCK_PAIRS,
) -> Iterator[MemberPairs]:
    r"""Lists the ordered pairs of different members of each hyperedge, block by block.
    There are :math:`\sum_e |e| (|e| - 1)` of them.

    Args:
        hyperedge_index (torch.Tensor): The incidences, sorted by hyperedge, each
            member once.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        max_size (int): Hyperedges of more members are left out.
        block (int, optional): The number of pairs per block. A block is larger if a
            single node has more pairs. (default: :obj:`524288`)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
    """
    node, hyperedge = hyperedge_index
    ptr = index_ptr(hyperedge, num_hyperedges)
    size = torch.diff(ptr)
    chosen = ((size > 1) & (size <= max_size))[hyperedge]
    order = torch.argsort(node, stable=True)
    order = order[chosen[order]]
    if order.numel() == 0:
        return
    start, count = ptr[hyperedge[order]], size[hyperedge[order]] - 1
    # Blocks end where the node changes.
    last = torch.cat([node[order].diff() != 0, chosen.new_ones(1)])
    number = torch.div(count.cumsum(0)[last] - 1, block, rounding_mode='floor')
    ends = last.nonzero().view(-1)[torch.cat([number.diff() != 0, last.new_ones(1)])]
    begin = 0
    for stop in (ends + 1).tolist():
        second, owner = arange_by_ptr(start[begin:stop], count[begin:stop])
        first = order[begin:stop][owner]
        # All members but the first one itself.
        second += second >= first
        key, pair = torch.unique(
            node[first] * num_nodes + node[second], return_inverse=True
        )
        both = torch.stack([torch.div(key, num_nodes, rounding_mode='floor'), key])
        both[1] -= both[0] * num_nodes
        yield MemberPairs(first, second, pair, both)
        begin = stop
