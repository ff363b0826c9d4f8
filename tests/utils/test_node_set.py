from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.strategies import (
    SETTINGS,
    Groups,
    groupings,
    incidences,
    renamings,
    to_data,
    to_index,
)
from tgx_anchor.utils import NodeSets, node_sets


def numbered(groups: Groups) -> dict[frozenset[int], int]:
    # The number of each set, in order of first appearance.
    seen: dict[frozenset[int], int] = {}
    for group in groups:
        seen.setdefault(frozenset(group), len(seen))
    return seen


def slow_sets(groups: Groups, weight: Sequence[float]) -> dict[str, list[float]]:
    # Everything but the rows of incidences, member by member.
    seen = numbered(groups)
    members = [(v, i) for s, i in seen.items() for v in sorted(s)]
    size = [len(s) for s in seen]
    return {
        'node': [v for v, _ in members],
        'set': [i for _, i in members],
        'ptr': [sum(size[:i]) for i in range(len(seen) + 1)],
        'size': [float(n) for n in size],
        'copies': [
            sum(x for g, x in zip(groups, weight, strict=True) if set(g) == s)
            for s in seen
        ],
        'number': [seen[frozenset(group)] for group in groups],
    }


def as_lists(sets: NodeSets) -> dict[str, list[float]]:
    node, number = sets.hyperedge_index.tolist()
    return {
        'node': node,
        'set': number,
        'ptr': sets.ptr.tolist(),
        'size': sets.size.tolist(),
        'copies': sets.copies.tolist(),
        'number': sets.number.tolist(),
    }


@SETTINGS
@given(groupings(repeated_members=True))
def test_node_sets(drawn: tuple[Groups, int]) -> None:
    groups, num_nodes = drawn
    index = to_index(groups)
    before = index.clone()
    sets = node_sets(index, num_nodes, len(groups))
    assert as_lists(sets) == slow_sets(groups, [1] * len(groups))
    assert sets.num_sets == len(numbered(groups))
    assert sets.num_rows == sum(map(len, numbered(groups)))
    assert sets.size.dtype == sets.copies.dtype == torch.float64
    assert torch.equal(index, before)


@SETTINGS
@given(incidences())
def test_rows_hold_the_node_in_the_set_of_the_hyperedge(
    drawn: tuple[Tensor, Groups, int],
) -> None:
    index, groups, num_nodes = drawn
    sets = node_sets(index, num_nodes, len(groups))
    assert torch.equal(sets.hyperedge_index[0, sets.row], index[0])
    assert torch.equal(sets.hyperedge_index[1, sets.row], sets.number[index[1]])


@SETTINGS
@given(groupings(repeated_members=True), st.data())
def test_weight(drawn: tuple[Groups, int], draw: st.DataObject) -> None:
    groups, num_nodes = drawn
    entry = st.sampled_from([0, 1, 2, 5])
    weight = draw.draw(st.lists(entry, min_size=len(groups), max_size=len(groups)))
    expected = slow_sets(groups, weight)
    for dtype in (torch.long, torch.float32, torch.float64):
        given_weight = torch.tensor(weight, dtype=dtype)
        sets = node_sets(to_index(groups), num_nodes, len(groups), given_weight)
        assert as_lists(sets) == expected
        assert sets.copies.dtype == torch.float64


@SETTINGS
@given(groupings(repeated_members=True))
def test_total(drawn: tuple[Groups, int]) -> None:
    groups, num_nodes = drawn
    sets = node_sets(to_index(groups), num_nodes, len(groups))
    # Powers of two: each sum tells its members.
    value = 2.0 ** sets.hyperedge_index[0]
    expected = [sum(2.0**v for v in s) for s in numbered(groups)]
    assert sets.total(value).tolist() == expected


@SETTINGS
@given(groupings(repeated_members=True), st.data())
def test_names_do_not_matter(drawn: tuple[Groups, int], draw: st.DataObject) -> None:
    data = to_data(*drawn)
    other = draw.draw(renamings(data))

    def tables(index: Tensor) -> tuple[Tensor, Tensor]:
        sets = node_sets(index, int(data.num_nodes or 0), data.num_hyperedges)
        per_set = torch.stack([sets.size, sets.copies], dim=1)
        rows = per_set[sets.hyperedge_index[1]]
        return per_set[sets.number], rows[sets.row]

    by_hyperedge, by_incidence = tables(data.hyperedge_index)
    found = tables(other.data.hyperedge_index)
    assert torch.equal(found[0], other.hyperedges(by_hyperedge))
    assert torch.equal(found[1], other.incidences(by_incidence))


def test_by_hand(device: torch.device) -> None:
    groups = [[3, 1], [2], [1, 3, 3], [], [0, 1, 2], [2], []]
    index = to_index(groups).to(device)
    weight = torch.tensor([1, 1, 2, 1, 1, 0, 4], device=device)
    sets = node_sets(index, 5, 7, weight)
    assert all(part.device.type == device.type for part in sets)
    assert sets.hyperedge_index.tolist() == [[1, 3, 2, 0, 1, 2], [0, 0, 1, 3, 3, 3]]
    assert sets.ptr.tolist() == [0, 2, 3, 3, 6]
    assert sets.size.tolist() == [2, 1, 0, 3]
    assert sets.copies.tolist() == [3, 1, 5, 1]
    assert sets.number.tolist() == [0, 1, 0, 2, 3, 1, 2]
    assert sets.row.tolist() == [1, 0, 2, 0, 1, 1, 3, 4, 5, 2]
    assert (sets.num_sets, sets.num_rows) == (4, 6)


@pytest.mark.parametrize('num_hyperedges', [0, 3])
@pytest.mark.parametrize('num_nodes', [0, 2])
def test_no_incidences(num_nodes: int, num_hyperedges: int) -> None:
    sets = node_sets(to_index([]), num_nodes, num_hyperedges)
    # The empty set, once.
    assert sets.num_sets == min(num_hyperedges, 1)
    assert sets.num_rows == 0
    assert sets.row.size() == (0,)
    assert sets.copies.tolist() == [3.0][:num_hyperedges]
    assert sets.total(torch.empty(0)).tolist() == [0.0][:num_hyperedges]


@settings(SETTINGS, max_examples=10)
@given(groupings(repeated_members=True))
def test_second_device(drawn: tuple[Groups, int]) -> None:
    groups, num_nodes = drawn
    index = to_index(groups)
    expected = node_sets(index, num_nodes, len(groups))
    with second_device() as device:
        sets = node_sets(index.to(device), num_nodes, len(groups))
        total = sets.total(sets.hyperedge_index[0].double())
        assert all(part.device == device for part in (*sets, total))
    for part, held in zip(sets, expected, strict=True):
        assert torch.equal(part.cpu(), held)
    assert torch.equal(
        total.cpu(), expected.total(expected.hyperedge_index[0].double())
    )
