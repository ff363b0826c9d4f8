import math
from unittest import mock

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.utils import softmax

from tests.devices import second_device
from tests.strategies import SETTINGS, Groups, groupings, to_index
from tgx_anchor.nn.predictors import units as module
from tgx_anchor.nn.predictors.units import Units, make_units
from tgx_anchor.utils import NodeSets, node_sets


class Drawn:
    """Groups to score, after further groups that are not.

    Args:
        draw: Draws the groups.
        repeated_members: Whether a group may list a member twice.
    """

    def __init__(self, draw: st.DrawFn, repeated_members: bool) -> None:
        drawn = groupings(1, 5, 8, repeated_members)
        groups, self.num_nodes = draw(drawn)
        count = draw(st.integers(0, len(groups)))
        self.groups = groups[count:]
        self.index = to_index(self.groups)
        self.sets = node_sets(to_index(groups), self.num_nodes, len(groups))
        pairs = [(v, frozenset(g)) for g in self.groups for v in g]
        # A number that tells the node and the set.
        self.shared = torch.tensor([hash(p) % 9973 for p in pairs]).float().view(-1, 1)

    def units(self, feature: Tensor) -> Units:
        size = len(self.groups)
        return make_units(feature, self.index, self.num_nodes, size, self.sets)


@st.composite
def drawn_groups(draw: st.DrawFn, repeated_members: bool = True) -> Drawn:
    return Drawn(draw, repeated_members)


def check(units: Units, index: Tensor, sets: NodeSets, size: int) -> None:
    # Everything that holds in both cases.
    assert units.number.size() == (size,)
    assert units.unit.tolist() == sorted(units.unit.tolist())
    assert (units.unit < units.num_units).all()
    # The row of an incidence is in the unit of its hyperedge, and holds its node.
    assert torch.equal(units.unit[units.place], units.number[index[1]])
    assert torch.equal(sets.hyperedge_index[0, units.row][units.place], index[0])
    assert torch.equal(sets.hyperedge_index[1, units.row], units.set_number[units.unit])
    # A unit holds the members of its set, each once.
    assert torch.equal(
        torch.bincount(units.unit, minlength=units.num_units),
        sets.size[units.set_number].long(),
    )
    assert torch.equal(units.place[units.incidence], torch.arange(units.unit.numel()))


@SETTINGS
@given(drawn_groups())
def test_copies_with_equal_features_are_one_unit(drawn: Drawn) -> None:
    units = drawn.units(drawn.shared)
    check(units, drawn.index, drawn.sets, len(drawn.groups))
    assert units.num_units == len({frozenset(g) for g in drawn.groups})
    assert torch.equal(drawn.shared[units.incidence][units.place], drawn.shared)
    number = units.number.tolist()
    for i, first in enumerate(drawn.groups):
        for j, second in enumerate(drawn.groups):
            assert (number[i] == number[j]) == (set(first) == set(second))


@SETTINGS
@given(drawn_groups(), st.data())
def test_each_hyperedge_is_a_unit_if_any_copies_differ(
    drawn: Drawn, draw: st.DataObject
) -> None:
    counts: dict[frozenset[int], int] = {}
    for group in drawn.groups:
        counts[frozenset(group)] = counts.get(frozenset(group), 0) + 1
    copied = [
        i
        for i, e in enumerate(drawn.index[1].tolist())
        if counts[frozenset(drawn.groups[e])] > 1
    ]
    assume(copied)
    feature = torch.cat([drawn.shared, torch.zeros_like(drawn.shared)], dim=1)
    # A single number of a single incidence.
    feature[draw.draw(st.sampled_from(copied)), 1] = 1e-30
    units = drawn.units(feature)
    size = len(drawn.groups)
    check(units, drawn.index, drawn.sets, size)
    assert units.num_units == size
    assert units.number.tolist() == list(range(size))
    assert torch.equal(units.set_number, drawn.sets.number[-size:])


@SETTINGS
@given(drawn_groups(repeated_members=False), st.data())
def test_own_features_are_found(drawn: Drawn, draw: st.DataObject) -> None:
    # No two incidences are equal: each has its own row, unless there are no copies.
    count = drawn.index.size(1)
    order = draw.draw(st.permutations(range(count)))
    feature = torch.tensor(order, dtype=torch.float).view(-1, 1)
    units = drawn.units(feature)
    check(units, drawn.index, drawn.sets, len(drawn.groups))
    assert torch.equal(feature[units.incidence][units.place], feature)


@SETTINGS
@given(drawn_groups(), st.integers(1, 5), st.data())
def test_features_are_compared_in_parts(
    drawn: Drawn, rows: int, draw: st.DataObject
) -> None:
    feature = drawn.shared.clone()
    if len(feature) > 0 and draw.draw(st.booleans()):
        feature[draw.draw(st.integers(0, len(feature) - 1))] = -1
    whole = drawn.units(feature)
    with mock.patch.object(module, '_CHUNK_ROWS', rows):
        parts = drawn.units(feature)
    assert all(torch.equal(a, b) for a, b in zip(parts, whole, strict=True))


def test_by_hand(device: torch.device) -> None:
    # The groups to score follow {0, 1} and {2}; {2} is not among them.
    old: Groups = [[1, 0], [2]]
    new: Groups = [[2, 1], [0, 1], [], [1, 2], [1, 0]]
    sets = node_sets(to_index(old + new).to(device), 3, 7)
    index = to_index(new).to(device)
    feature = torch.tensor([3.0, 4, 1, 2, 4, 3, 2, 1], device=device).view(-1, 1)
    units = make_units(feature, index, 3, 5, sets)
    assert all(part.device.type == device.type for part in units)
    # The sets are {0, 1}, {2}, {1, 2} and {}.
    assert units.set_number.tolist() == [0, 2, 3]
    assert units.number.tolist() == [1, 0, 2, 1, 0]
    assert units.unit.tolist() == [0, 0, 1, 1]
    assert units.row.tolist() == [0, 1, 3, 4]
    assert units.place.tolist() == [3, 2, 0, 1, 2, 3, 1, 0]
    assert feature[units.incidence].view(-1).tolist() == [1, 2, 4, 3]

    feature[-1] = 9
    units = make_units(feature, index, 3, 5, sets)
    assert units.set_number.tolist() == [2, 0, 3, 2, 0]
    assert units.unit.tolist() == [0, 0, 1, 1, 3, 3, 4, 4]
    assert units.row.tolist() == [3, 4, 0, 1, 3, 4, 0, 1]
    assert units.place.tolist() == [1, 0, 2, 3, 4, 5, 7, 6]
    assert feature[units.incidence].view(-1).tolist() == [4, 3, 1, 2, 4, 3, 9, 2]


@pytest.mark.parametrize('num_hyperedges', [0, 2])
def test_no_members(num_hyperedges: int) -> None:
    sets = node_sets(to_index([[0, 1]]), 2, 1 + num_hyperedges)
    units = make_units(torch.empty((0, 4)), to_index([]), 2, num_hyperedges, sets)
    assert units.num_units == min(num_hyperedges, 1)
    assert units.unit.numel() == units.place.numel() == 0
    assert units.number.tolist() == [0] * num_hyperedges
    assert units.log_softmax(torch.empty((0, 3))).size() == (0,)


def test_no_features_are_equal_features() -> None:
    sets = node_sets(to_index([[0, 1], [1, 0]]), 2, 2)
    units = make_units(torch.empty((4, 0)), to_index([[0, 1], [1, 0]]), 2, 2, sets)
    assert units.num_units == 1


def test_log_softmax_by_hand() -> None:
    index = to_index([[0, 1], [2], [1, 2]])
    units = make_units(torch.zeros((5, 1)), index, 3, 3, node_sets(index, 3, 3))
    score = torch.tensor([[0.0, 0], [math.log(3), 0], [7, 8], [0, 0], [0, 1000]])
    out = units.log_softmax(score)
    assert out.dtype == torch.double
    half, least = math.log(0.5), math.log(1e-9)
    assert out.tolist() == pytest.approx(
        [
            (math.log(0.25) + half) / 2,
            (math.log(0.75) + half) / 2,
            0,
            # The logarithm of zero would be infinite.
            (half + least) / 2,
            half / 2,
        ],
        abs=1e-7,
    )
    one = units.log_softmax(score[:, :1]).exp()
    torch.testing.assert_close(one, softmax(score[:, 0].double(), units.unit))


@settings(SETTINGS, max_examples=10)
@given(drawn_groups(), st.booleans())
def test_second_device(drawn: Drawn, differ: bool) -> None:
    feature = drawn.shared.clone()
    feature[:1] -= float(differ)
    expected = drawn.units(feature)
    score = torch.arange(2.0 * expected.unit.numel()).view(-1, 2)
    with second_device() as device:
        sets = NodeSets(*(part.to(device) for part in drawn.sets))
        size = len(drawn.groups)
        found = make_units(
            feature.to(device), drawn.index.to(device), drawn.num_nodes, size, sets
        )
        out = found.log_softmax(score.to(device))
        assert all(part.device == device for part in (*found, out))
    assert all(torch.equal(a.cpu(), b) for a, b in zip(found, expected, strict=True))
    assert torch.equal(out.cpu(), expected.log_softmax(score))
