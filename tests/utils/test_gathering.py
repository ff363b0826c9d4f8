"""Hyperedges in the order of their last nodes."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.strategies import SETTINGS, Groups, groupings, to_index
from tgx_anchor.utils import gather_hyperedges, gathered_matrices, gathering
from tgx_anchor.utils.hyperedge_block import ptr_blocks


@SETTINGS
@given(groupings(repeated_members=True))
def test_gather_hyperedges(drawn: tuple[Groups, int]) -> None:
    groups, _ = drawn
    index = to_index(groups)
    gathered, perm, order = gather_hyperedges(index, len(groups))
    renumbered = [groups[e] for e in order.tolist()]
    assert sorted(order.tolist()) == list(range(len(groups)))
    assert torch.equal(gathered, to_index(renumbered))
    assert torch.equal(gathered[0], index[0, perm])
    assert torch.equal(order[gathered[1]], index[1, perm])
    largest = [max(group, default=-1) for group in renumbered]
    assert largest == sorted(largest)


def test_gather_hyperedges_by_hand(device: torch.device) -> None:
    # Hyperedges {3, 2}, {0, 2}, none, {1}.
    index = torch.tensor([[3, 2, 0, 2, 1], [0, 0, 1, 1, 3]], device=device)
    gathered, perm, order = gather_hyperedges(index, 5)
    assert gathered.tolist() == [[1, 0, 2, 3, 2], [2, 3, 3, 4, 4]]
    assert perm.tolist() == [4, 2, 3, 0, 1]
    assert order.tolist() == [2, 4, 3, 1, 0]


@SETTINGS
@given(groupings(repeated_members=True), st.booleans(), st.integers(1, 20))
def test_gathered_matrices(
    drawn: tuple[Groups, int], has_value: bool, num_rows: int
) -> None:
    groups, num_nodes = drawn
    index = to_index(groups)
    entry = torch.arange(1, index.size(1) + 1).double() if has_value else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering, 'ptr_blocks', partial(ptr_blocks, num_rows=num_rows))
        H, Ht, order = gathered_matrices(index, num_nodes, len(groups), entry)
    gathered, perm, expected_order = gather_hyperedges(index, len(groups))
    assert torch.equal(order, expected_order)
    # Repeated incidences are separate entries, as in the order of incidences.
    weight = torch.ones(index.size(1)).double() if entry is None else entry[perm]
    assert Ht.col_indices().tolist() == gathered[0].tolist()
    assert torch.equal(Ht.values(), weight)
    expected = torch.zeros(num_nodes, len(groups)).double()
    expected.index_put_(tuple(gathered), weight, accumulate=True)
    identity = torch.eye(num_nodes).double(), torch.eye(len(groups)).double()
    assert torch.equal(Ht @ identity[0], expected.t())
    assert torch.equal(H @ identity[1], expected)
    assert H.values().numel() == index.size(1)
    assert H.col_indices().dtype == Ht.col_indices().dtype == torch.int32


def test_gathered_matrices_by_hand(device: torch.device) -> None:
    # Hyperedges {2, 1}, {0, 1} and {1}, in the order 1, 2, 0 of their largest numbers.
    index = torch.tensor([[2, 1, 0, 1, 1], [0, 0, 1, 1, 2]], device=device)
    value = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], device=device)
    H, Ht, order = gathered_matrices(index, 3, 3, value)
    assert order.tolist() == [1, 2, 0]
    assert Ht.to_dense().tolist() == [[3, 4, 0], [0, 5, 0], [0, 2, 1]]
    assert H.to_dense().tolist() == [[3, 0, 0], [4, 5, 2], [0, 0, 1]]
    H, Ht, _ = gathered_matrices(index, 3, 3)
    assert H.values().data_ptr() == Ht.values().data_ptr()
    assert H.values().tolist() == [1.0] * 5


@settings(SETTINGS, max_examples=10)
@given(groupings())
def test_second_device(drawn: tuple[Groups, int]) -> None:
    groups, num_nodes = drawn
    index = to_index(groups)
    value = torch.arange(index.size(1)).double()

    def run(index: Tensor, value: Tensor) -> list[Tensor]:
        H, Ht, order = gathered_matrices(index, num_nodes, len(groups), value)
        parts = [
            part
            for matrix in (H, Ht)
            for part in (matrix.crow_indices(), matrix.col_indices(), matrix.values())
        ]
        return [*parts, order, *gather_hyperedges(index, len(groups))]

    with second_device() as device:
        found = run(index.to(device), value.to(device))
        assert all(part.device == device for part in found)
    for part, expected in zip(found, run(index, value), strict=True):
        assert torch.equal(part.cpu(), expected)
