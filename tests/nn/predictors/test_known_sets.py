from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.nn.predictors.sets import (
    Group,
    known_of,
    labelled,
    listed,
    rows,
    sets_of,
    size,
)
from tests.strategies import SETTINGS, renamings, to_data, to_index
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.known_sets import anchored_rows, known_sets
from tgx_anchor.utils import node_sets

Labelled = tuple[AnchorData, Tensor]


def slow_share(groups: list[Group], node: int, members: frozenset[int]) -> float:
    copies = [g.anchors for g in groups if g.members == members and g.anchors]
    parts = [Fraction(node in a, len(a)) for a in copies]
    return float(sum(parts) / len(copies)) if copies else 0.0


@SETTINGS
@given(labelled(repeated_members=True))
def test_counts(drawn: Labelled) -> None:
    data, mask = drawn
    sets, known, groups = sets_of(data), known_of(data, mask), listed(data, mask)
    assert [part.dtype for part in known] == [torch.double] * 3
    for number, e in enumerate(sets.number.tolist()):
        copies = [g for g in groups if g.members == groups[number].members]
        assert known.num_known[e] == sum(bool(g.anchors) for g in copies)
    for i, (node, members) in enumerate(rows(sets)):
        copies = [g for g in groups if g.members == members]
        assert known.anchored[i] == sum(node in g.anchors for g in copies)
        expected = slow_share(groups, node, members)
        assert float(known.share(sets)[i]) == pytest.approx(expected, abs=1e-12)
        assert float(known.credit[i]) == pytest.approx(
            expected * sum(bool(g.anchors) for g in copies), abs=1e-12
        )


@SETTINGS
@given(labelled(repeated_members=True))
def test_shares_sum_to_one(drawn: Labelled) -> None:
    data, mask = drawn
    sets, known = sets_of(data), known_of(data, mask)
    torch.testing.assert_close(
        sets.total(known.share(sets)), (known.num_known > 0).double()
    )
    torch.testing.assert_close(sets.total(known.credit), known.num_known)


@SETTINGS
@given(labelled(), st.data())
def test_without(drawn: Labelled, draw: st.DataObject) -> None:
    # The same as if the anchors of these sets had never been known.
    data, mask = drawn
    sets, known = sets_of(data), known_of(data, mask)
    flag = st.lists(st.booleans(), min_size=sets.num_sets, max_size=sets.num_sets)
    left_out = torch.tensor(draw.draw(flag), dtype=torch.bool)
    part = known.without(left_out, sets)
    expected = known_of(data, mask & ~left_out[sets.number])
    assert all(torch.equal(a, b) for a, b in zip(part, expected, strict=True))
    # The whole stays as it was.
    again = known_of(data, mask)
    assert all(torch.equal(a, b) for a, b in zip(known, again, strict=True))


@SETTINGS
@given(labelled(repeated_members=True), st.data())
def test_names_do_not_matter(drawn: Labelled, draw: st.DataObject) -> None:
    data, mask = drawn
    other = draw.draw(renamings(data))
    sets, twins = sets_of(data), sets_of(other.data)
    known = known_of(data, mask)
    found = known_of(other.data, other.hyperedges(mask))
    assert torch.equal(
        found.num_known[twins.number], other.hyperedges(known.num_known[sets.number])
    )
    for value, expected in (
        (found.anchored, known.anchored),
        (found.credit, known.credit),
        (found.share(twins), known.share(sets)),
    ):
        torch.testing.assert_close(
            value[twins.row], other.incidences(expected[sets.row])
        )


def test_by_hand(device: torch.device) -> None:
    # Three copies of {0, 1, 2}, of which one is unknown, and one of {1, 3}.
    groups = [[0, 1, 2], [2, 1, 0], [3, 1], [1, 0, 2], []]
    data = to_data(groups, 4, [[0, 2], [2], [3], [1], []])
    index, y = data.hyperedge_index.to(device), data['y'].to(device)
    mask = torch.tensor([True, True, True, False, False], device=device)
    sets = node_sets(index, 4, 5)
    known = known_sets(sets, index, y, mask)
    assert known.num_known.tolist() == [2, 1, 0]
    assert known.anchored.tolist() == [1, 0, 2, 0, 1]
    assert known.credit.tolist() == [0.5, 0, 1.5, 0, 1]
    assert known.share(sets).tolist() == [0.25, 0, 0.75, 0, 1]
    part = known.without(torch.tensor([True, False, False], device=device), sets)
    assert part.num_known.tolist() == [0, 1, 0]
    assert part.anchored.tolist() == part.credit.tolist() == [0, 0, 0, 0, 1]
    assert part.share(sets).tolist() == [0, 0, 0, 0, 1]
    assert all(value.device.type == device.type for value in part)


def test_member_that_is_listed_twice_counts_once() -> None:
    data = to_data([[0, 0, 1], [1, 1, 0, 0]], 2, [[0], [0, 1]])
    known = known_of(data, torch.tensor([True, True]))
    assert known.num_known.tolist() == [2]
    assert known.anchored.tolist() == [2, 1]
    assert known.credit.tolist() == [1.5, 0.5]


def test_anchors_of_the_first_hyperedges() -> None:
    # The last two hyperedges have no labels, but one is a copy of the first.
    index = to_index([[0, 1], [2], [1, 2], [1, 0]])
    sets = node_sets(index, 3, 4)
    known = known_sets(
        sets,
        index[:, :3],
        torch.tensor([False, True, True]),
        torch.tensor([True, False]),
    )
    assert known.num_known.tolist() == [1, 0, 0]
    assert known.anchored.tolist() == [0, 1, 0, 0, 0]


def test_anchored_rows() -> None:
    row = torch.tensor([4, 1, 1, 4, 4])
    hyperedge = torch.tensor([0, 0, 1, 1, 1])
    y = torch.tensor([True, True, False, True, False])
    counts, credit = anchored_rows(row, hyperedge, y, torch.tensor([True, True]), 5)
    assert counts.tolist() == [0, 1, 0, 0, 2]
    assert credit.tolist() == [0, 0.5, 0, 0, 1.5]
    counts, credit = anchored_rows(row, hyperedge, y, torch.tensor([False, True]), 5)
    assert counts.tolist() == credit.tolist() == [0, 0, 0, 0, 1]


@pytest.mark.parametrize('groups', [[], [[]], [[], []]])
def test_nothing_is_known(groups: list[list[int]]) -> None:
    data = to_data(groups, 2, groups)
    known = known_of(data, torch.zeros(len(groups), dtype=torch.bool))
    assert known.num_known.tolist() == [0.0] * min(len(groups), 1)
    assert known.share(sets_of(data)).numel() == 0


@settings(SETTINGS, max_examples=10)
@given(labelled(repeated_members=True))
def test_second_device(drawn: Labelled) -> None:
    data, mask = drawn
    sets, known = sets_of(data), known_of(data, mask)
    left_out = torch.arange(sets.num_sets) % 2 == 0
    expected = (*known.without(left_out, sets), known.share(sets))
    with second_device() as device:
        index = data.hyperedge_index.to(device)
        there = node_sets(index, size(data), data.num_hyperedges)
        found = known_sets(there, index, data['y'].to(device), mask.to(device))
        parts = found.without(left_out.to(device), there)
        out = (*parts, found.share(there))
        assert all(value.device == device for value in out)
    for a, b in zip(out, expected, strict=True):
        assert torch.equal(a.cpu(), b)
