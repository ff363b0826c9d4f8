"""Rows of known hyperedges, divided among processes in whole blocks."""

from typing import NamedTuple

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.functional import anchor_target
from tgx_anchor.utils import Ranks

#: The number of rows of a block: few enough for the memory of the hidden layer of an
#: MLP to be reused.
CHUNK_ROWS = 1 << 15


class KnownRows(NamedTuple):
    r"""Features and targets of the members of known hyperedges.

    Shapes:
        - **feature:** :math:`(R, F)`
        - **target:** :math:`(R)`
        - **size:** :math:`(K)`, the number of members of each hyperedge
        - **block:** :math:`(K)`, the block of each hyperedge, which never decreases
    """

    feature: Tensor
    target: Tensor
    size: Tensor
    block: Tensor


def known_rows(feature: Tensor, data: AnchorData, mask: Tensor) -> KnownRows:
    r"""Collects the rows of known hyperedges. Blocks of about 32,768 rows are the same
    for a whole hypergraph and for its parts in several processes, so that what is
    summed up within a block does not depend on the number of processes: a block that
    lies in several of them moves to the first one.

    Args:
        feature (torch.Tensor): The features of the members of the known hyperedges.
        data (AnchorData): The hypergraph.
        mask (torch.Tensor): The known hyperedges.

    Shapes:
        - **feature:** :math:`(R, F)`
        - **mask:** :math:`(M)`
    """
    ranks = data.ranks
    row = mask[data.hyperedge_index[1]]
    hyperedge = (mask.long().cumsum(0) - 1)[data.hyperedge_index[1][row]]
    size = torch.bincount(hyperedge, minlength=int(mask.sum()))
    target = anchor_target(data['y'][row], hyperedge, size >= 0)
    before = ranks.gather_equal(size.sum())[: ranks.rank].sum()
    block = (before + size.cumsum(0)) // CHUNK_ROWS
    own = KnownRows(feature, target.to(feature.dtype), size, block)
    return own if ranks.size == 1 else _in_whole_blocks(own, ranks)


def _in_whole_blocks(own: KnownRows, ranks: Ranks) -> KnownRows:
    # The first and the last block of each process; -1 where there is none.
    ends = own.block[[0, -1]] if own.block.numel() > 0 else own.block.new_full((2,), -1)
    last = ranks.gather_equal(ends)[:, 1]
    is_begun = bool((last[: ranks.rank] == ends[0]).any()) and own.block.numel() > 0
    leaving = (own.block == ends[0]) & is_begun
    moved = _select(own, leaving)
    moved = KnownRows(*(ranks.gather(part) for part in moved))
    # The rest of the last block, which began in this process.
    kept = _select(own, ~leaving)
    if kept.block.numel() == 0:
        return kept
    rest = _select(moved, moved.block == kept.block[-1])
    return KnownRows(*(torch.cat(parts) for parts in zip(kept, rest, strict=True)))


def _select(rows: KnownRows, mask: Tensor) -> KnownRows:
    row = mask.repeat_interleave(rows.size)
    return KnownRows(
        rows.feature[row], rows.target[row], rows.size[mask], rows.block[mask]
    )
