"""Rows of known hyperedges, in blocks."""

from itertools import pairwise

import pytest
import torch

from tests.strategies import to_data
from tgx_anchor.nn.predictors import known_rows as module
from tgx_anchor.nn.predictors.known_rows import KnownRows, _in_whole_blocks, known_rows
from tgx_anchor.utils import Ranks


def test_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'CHUNK_ROWS', 4)
    data = to_data([[0, 1], [2, 3, 4], [0, 2], [1, 2]], 5, [[0], [], [0, 2], [2]])
    mask = torch.tensor([True, False, True, True])
    feature = torch.arange(6.0).view(6, 1)
    found = known_rows(feature, data, mask)
    assert found.size.tolist() == [2, 2, 2]
    assert found.target.tolist() == [1.0, 0.0, 0.5, 0.5, 0.0, 1.0]
    # A block ends with the hyperedge that reaches its last row.
    assert found.block.tolist() == [0, 1, 1]
    assert torch.equal(found.feature, feature)


class FakeRanks(Ranks):
    """A process of a group that computes the others' messages beforehand."""

    def __init__(self, rank: int, parts: list[KnownRows]) -> None:
        super().__init__()
        self.rank, self.size, self.parts = rank, len(parts), parts
        self.calls = 0

    def gather_equal(self, value: torch.Tensor) -> torch.Tensor:
        del value
        ends = [
            p.block[[0, -1]] if p.block.numel() else torch.tensor([-1, -1])
            for p in self.parts
        ]
        return torch.stack(ends)

    def gather(self, value: torch.Tensor) -> torch.Tensor:
        del value
        ends = self.gather_equal(torch.empty(0))
        moved = []
        for rank, part in enumerate(self.parts):
            begun = part.block.numel() > 0 and bool(
                (ends[:rank, 1] == ends[rank, 0]).any()
            )
            moved.append(module._select(part, (part.block == ends[rank, 0]) & begun))
        out = torch.cat([part[self.calls] for part in moved])
        self.calls += 1
        return out


def test_blocks_move_to_the_process_in_which_they_begin() -> None:
    generator = torch.Generator().manual_seed(0)
    size = torch.randint(1, 4, (40,), generator=generator)
    block = size.cumsum(0) // 12
    rows = int(size.sum())
    whole = KnownRows(torch.rand(rows, 2), torch.rand(rows), size, block)
    # The second process is empty, and the third has less than a block.
    bounds = [0, 14, 14, 16, 40]
    parts = []
    for first, last in pairwise(bounds):
        chosen = (torch.arange(40) >= first) & (torch.arange(40) < last)
        parts.append(module._select(whole, chosen))
    found = [
        _in_whole_blocks(part, FakeRanks(rank, parts))
        for rank, part in enumerate(parts)
    ]
    for joined, expected in zip(zip(*found, strict=True), whole, strict=True):
        assert torch.equal(torch.cat(joined), expected)
    owners = [set(part.block.tolist()) for part in found]
    assert sum(map(len, owners)) == len(set(block.tolist()))
    assert len(owners[0]) > 1
    assert owners[1] == set()
