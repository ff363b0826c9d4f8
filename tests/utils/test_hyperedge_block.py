"""Blocks of hyperedges."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import SETTINGS, Groups, groupings, to_index
from tgx_anchor.utils import hyperedge_blocks


@SETTINGS
@given(groupings(), st.integers(1, 30))
def test_blocks_are_all_hyperedges_in_order(
    drawn: tuple[Groups, int], num_rows: int
) -> None:
    groups, _ = drawn
    index = to_index(groups)
    blocks = list(hyperedge_blocks(index[1], len(groups), num_rows))
    parts = [block.incidences(index) for block in blocks]
    firsts = [block.first for block in blocks]
    for block, part in zip(blocks, parts, strict=True):
        count = block.last - block.first
        assert part.size(1) == sum(map(len, groups[block.first : block.last]))
        assert not part.numel() or 0 <= int(part[1].min()) <= int(part[1].max()) < count
    joined = [
        part + torch.tensor([[0], [first]])
        for part, first in zip(parts, firsts, strict=True)
    ]
    assert torch.equal(torch.cat(joined, dim=1), index)
    # A block ends at the first hyperedge past its size.
    longest = max(map(len, groups), default=0)
    assert all(part.size(1) <= num_rows + longest for part in parts)


def test_by_hand() -> None:
    index = to_index([[0, 1], [2], [], [0, 1, 2], [1]])
    blocks = list(hyperedge_blocks(index[1], 5, 3))
    assert [(b.rows, b.first, b.last) for b in blocks] == [
        (slice(0, 3), 0, 2),
        (slice(3, 6), 2, 4),
        (slice(6, 7), 4, 5),
    ]
    assert next(hyperedge_blocks(index[1][:0], 0, 3)).last == 0
