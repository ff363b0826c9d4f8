import math
from collections import Counter
from fractions import Fraction
from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.nn.predictors.sets import (
    known_of,
    labelled,
    listed,
    random_beliefs,
    rows,
    sets_of,
    size,
)
from tests.strategies import SETTINGS, renamings, to_data, to_index
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors import stack as module
from tgx_anchor.nn.predictors.known_sets import known_sets
from tgx_anchor.nn.predictors.stack import Stack, with_known
from tgx_anchor.utils import node_sets

Labelled = tuple[AnchorData, Tensor]


def stack_of(data: AnchorData, by_time: bool = False) -> Stack:
    # Copies differ by their number, or not at all.
    node, hyperedge = data.hyperedge_index
    feature = torch.stack([node, hyperedge * by_time], dim=1).float()
    sets, count = sets_of(data), data.num_hyperedges
    return Stack(sets, size(data), feature, data.hyperedge_index, count, 64)


class Linear(torch.nn.Module):
    """Scores that are weighted sums of features."""

    def __init__(self, *weights: list[float]) -> None:
        super().__init__()
        self.register_buffer('weight', torch.tensor(weights, dtype=torch.double))

    def forward(self, feature: Tensor) -> Tensor:
        return feature.double() @ self.get_buffer('weight').t()


# Labels ##############################################################################


@SETTINGS
@given(labelled(repeated_members=True), st.booleans())
def test_labels(drawn: Labelled, by_time: bool) -> None:
    data, mask = drawn
    stack = stack_of(data, by_time)
    units, groups = stack.units, listed(data, mask)
    target, weight = stack.labels(data['y'], mask)
    assert target.size() == units.unit.size()
    assert weight.size() == (units.num_units,)
    copies = Counter(g.members for g in groups if g.anchors)
    number = units.number.tolist()
    for unit in range(units.num_units):
        known = [g for g, n in zip(groups, number, strict=True) if n == unit]
        known = [g for g in known if g.anchors]
        expected = sum(1 / (1 + 0.1 * (copies[g.members] - 1)) for g in known)
        assert float(weight[unit]) == pytest.approx(expected)
        for row in (units.unit == unit).nonzero().view(-1).tolist():
            node = int(stack.sets.hyperedge_index[0, units.row[row]])
            parts = [Fraction(node in g.anchors, len(g.anchors)) for g in known]
            share = sum(parts) / max(len(known), 1)
            assert float(target[row]) == pytest.approx(float(share))


@SETTINGS
@given(labelled(repeated_members=True))
def test_labels_of_shared_units_are_those_of_sets(drawn: Labelled) -> None:
    data, mask = drawn
    stack = stack_of(data)
    target, _ = stack.labels(data['y'], mask)
    share = known_of(data, mask).share(stack.sets)
    torch.testing.assert_close(target, share[stack.units.row])


def test_labels_by_hand(device: torch.device) -> None:
    # Three known copies of {0, 1, 2}, one of which has two anchors, and {2, 3}.
    groups = [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 1, 2], [3, 2]]
    data = to_data(groups, 4, [[0], [0, 2], [2], [1], [3]]).to(device)
    mask = torch.tensor([True, True, True, False, True], device=device)
    target, weight = stack_of(data).labels(data['y'], mask)
    assert target.tolist() == pytest.approx([1.5 / 3, 0, 1.5 / 3, 0, 1])
    # Three copies are worth 3 / (1 + 0.1 * 2) groups.
    assert weight.tolist() == pytest.approx([2.5, 1])
    # Each copy has its own unit, and the same weight.
    target, weight = stack_of(data, by_time=True).labels(data['y'], mask)
    assert weight.tolist() == pytest.approx([1 / 1.2, 1 / 1.2, 1 / 1.2, 0, 1])
    assert target.tolist() == [1, 0, 0, 0.5, 0, 0.5, 0, 0, 1, 0, 0, 0, 0, 1]
    assert target.device.type == weight.device.type == device.type


def test_nothing_is_known() -> None:
    data = to_data([[0, 1], [], [0]], 2, [[0], [], [0]])
    target, weight = stack_of(data).labels(data['y'], torch.zeros(3, dtype=torch.bool))
    assert target.tolist() == [0, 0, 0]
    assert weight.tolist() == [0, 0, 0]


# Rows to learn from ##################################################################


@SETTINGS
@given(labelled(), st.booleans(), st.data())
def test_learning_rows(drawn: Labelled, by_time: bool, draw: st.DataObject) -> None:
    data, mask = drawn
    stack = stack_of(data, by_time)
    units, sets = stack.units, stack.sets
    target, weight = stack.labels(data['y'], mask)
    flag = st.lists(st.booleans(), min_size=sets.num_sets, max_size=sets.num_sets)
    without = torch.tensor(draw.draw(flag), dtype=torch.bool)
    view = torch.arange(2.0 * sets.num_rows).view(-1, 2)
    for left_out in (None, without):
        found = stack.learning_rows([view], target, weight, left_out)
        chosen = [
            unit
            for unit in range(units.num_units)
            if weight[unit] > 0
            and not (left_out is not None and left_out[units.set_number[unit]])
        ]
        kept = [i for i, unit in enumerate(units.unit.tolist()) if unit in chosen]
        assert torch.equal(
            found.feature, stack.table([view], torch.tensor(kept).long())
        )
        assert found.target.tolist() == target[kept].tolist()
        group = [chosen.index(unit) for unit in units.unit[kept].tolist()]
        assert found.group.tolist() == group
        assert found.weight.numel() == len(chosen)
        if chosen:
            mean = sum(float(weight[unit]) for unit in chosen) / len(chosen)
            assert found.weight.tolist() == pytest.approx(
                [float(weight[unit]) / mean for unit in chosen]
            )
            # One on average, and targets are distributions.
            assert float(found.weight.mean()) == pytest.approx(1)
            totals = torch.zeros(len(chosen), dtype=torch.double)
            totals.index_add_(0, found.group, found.target)
            assert totals.tolist() == pytest.approx([1] * len(chosen))


@SETTINGS
@given(labelled(), st.booleans())
def test_table(drawn: Labelled, by_time: bool) -> None:
    data, _ = drawn
    stack = stack_of(data, by_time)
    sets = stack.sets
    first = torch.arange(2.0 * sets.num_rows).view(-1, 2)
    second = -torch.arange(1.0 * sets.num_rows).view(-1, 1)
    everything = torch.arange(stack.units.unit.numel())
    table = stack.table([first, second], everything)
    # By incidence, these are its own features and the views of its set.
    expected = torch.cat([stack.feature, first[sets.row], second[sets.row]], dim=1)
    assert torch.equal(table[stack.units.place], expected)
    assert torch.equal(stack.table([], everything), table[:, :2])
    some = everything.flip(0)[::2]
    assert torch.equal(stack.table([first, second], some), table[some])


# Beliefs #############################################################################


@SETTINGS
@given(labelled(), st.booleans(), st.integers(1, 9))
def test_log_beliefs(drawn: Labelled, by_time: bool, chunk: int) -> None:
    data, _ = drawn
    stack = stack_of(data, by_time)
    view = torch.arange(1.0 * stack.sets.num_rows).view(-1, 1)
    learners = [Linear([0.3, 0.1, 0.2], [0.5, 0, -0.1]), Linear([0, 0, 0.7])]
    with mock.patch.object(module, '_CHUNK_ROWS', chunk):
        found = stack.log_beliefs(iter(learners), [view])
    assert len(found) == 2
    units = stack.units
    table = stack.table([view], torch.arange(units.unit.numel()))
    for log_belief, learner in zip(found, learners, strict=True):
        torch.testing.assert_close(log_belief, units.log_softmax(learner(table)))
    # A single network gives probabilities.
    total = torch.zeros(units.num_units, dtype=torch.double)
    total.index_add_(0, units.unit, found[1].exp())
    has_members = torch.bincount(units.unit, minlength=units.num_units) > 0
    torch.testing.assert_close(total, has_members.double())


@SETTINGS
@given(labelled(), st.booleans())
def test_by_set(drawn: Labelled, by_time: bool) -> None:
    data, _ = drawn
    stack = stack_of(data, by_time)
    learner = Linear([0.3, -0.4])
    (log_belief,) = stack.log_beliefs([learner], [])
    found = stack.by_set(log_belief)
    # The mean over copies, hyperedge by hyperedge.
    by_incidence = log_belief.exp()[stack.units.place]
    total = torch.zeros(stack.sets.num_rows, dtype=torch.double)
    total.index_add_(0, stack.sets.row, by_incidence)
    copies = stack.sets.copies[stack.sets.hyperedge_index[1]]
    torch.testing.assert_close(found, total / copies)


def test_by_set_of_groups_to_score() -> None:
    # The first group is remembered, and no copy of it is scored.
    index = to_index([[0, 1], [1, 2], [2, 1]])
    sets = node_sets(index, 3, 3, torch.tensor([1, 0, 0]))
    query = to_index([[1, 2], [2, 1]])
    feature = torch.tensor([[0.0], [1], [2], [3]])
    stack = Stack(sets, 3, feature, query, 2, 64)
    # Averaged logarithms: the sum of each group is below one.
    log_belief = torch.tensor([0.1, 0.3, 0.2, 0.2]).double().log()
    found = stack.by_set(log_belief)
    assert found.tolist() == pytest.approx([0, 0, 0.3 / 0.8, 0.5 / 0.8])


@SETTINGS
@given(labelled(), st.data())
def test_names_do_not_matter(drawn: Labelled, draw: st.DataObject) -> None:
    data, mask = drawn
    other = draw.draw(renamings(data))
    outputs = []
    for each, known, feature in (
        (data, mask, torch.arange(data.num_hyperedges)),
        (
            other.data,
            other.hyperedges(mask),
            other.hyperedges(torch.arange(data.num_hyperedges)),
        ),
    ):
        hyperedge = each.hyperedge_index[1]
        table = feature[hyperedge].double().view(-1, 1)
        count = each.num_hyperedges
        stack = Stack(sets_of(each), size(each), table, each.hyperedge_index, count, 64)
        target, weight = stack.labels(each['y'], known)
        view = stack.views(known_of(each, known))
        width = 1 + view.size(1)
        weights = [math.sin(i) for i in range(width)]
        (log_belief,) = stack.log_beliefs([Linear(weights)], [view])
        place = stack.units.place
        outputs.append(
            (
                target[place],
                weight[stack.units.number],
                log_belief[place],
                stack.by_set(log_belief)[stack.sets.row],
            )
        )
    mine, theirs = outputs
    for i in (0, 2, 3):
        torch.testing.assert_close(
            theirs[i], other.incidences(mine[i]), rtol=1e-4, atol=1e-4
        )
    torch.testing.assert_close(theirs[1], other.hyperedges(mine[1]))


# Known anchors in the place of beliefs ###############################################


@SETTINGS
@given(labelled())
def test_with_known(drawn: Labelled) -> None:
    data, mask = drawn
    sets = sets_of(data)
    belief, groups = random_beliefs(sets), listed(data, mask)
    found = with_known(sets, known_of(data, mask), belief)
    for i, (node, members) in enumerate(rows(sets)):
        copies = [g.anchors for g in groups if g.members == members]
        parts = [(node in a) / len(a) if a else float(belief[i]) for a in copies]
        assert float(found[i]) == pytest.approx(sum(parts) / len(parts))


def test_with_known_of_sets_that_do_not_count() -> None:
    sets = node_sets(to_index([[0, 1]]), 2, 1, torch.zeros(1))
    known = known_sets(
        sets,
        to_index([]),
        torch.empty(0, dtype=torch.bool),
        torch.empty(0, dtype=torch.bool),
    )
    belief = torch.tensor([0.3, 0.7], dtype=torch.double)
    assert with_known(sets, known, belief).tolist() == [0.3, 0.7]


@pytest.mark.parametrize('groups', [[], [[]], [[], []]])
def test_no_members(groups: list[list[int]]) -> None:
    data = to_data(groups, 2, groups)
    stack, mask = stack_of(data), data.known_mask
    target, weight = stack.labels(data['y'], mask)
    view = stack.views(known_of(data, mask))
    assert stack.learning_rows([view], target, weight).feature.size() == (0, 26)
    (log_belief,) = stack.log_beliefs([Linear([1.0, 1.0])], [])
    assert log_belief.size() == stack.by_set(log_belief).size() == (0,)


@settings(SETTINGS, max_examples=10)
@given(labelled(), st.booleans())
def test_second_device(drawn: Labelled, by_time: bool) -> None:
    data, mask = drawn
    stack, known = stack_of(data, by_time), known_of(data, mask)
    learner = Linear([0.3, -0.4] + [0.0] * 24)

    def outputs(stack: Stack, y: Tensor, mask: Tensor, view: Tensor) -> list[Tensor]:
        target, weight = stack.labels(y, mask)
        (log_belief,) = stack.log_beliefs([learner], [view])
        learning = stack.learning_rows([view], target, weight)
        return [target, weight, log_belief, stack.by_set(log_belief), *learning]

    expected = outputs(stack, data['y'], mask, stack.views(known))
    expected.append(with_known(stack.sets, known, expected[3]))
    with second_device() as device:
        learner.to(device)
        moved = data.clone().to(device)
        there = stack_of(moved, by_time)
        known = known_of(moved, mask.to(device))
        found = outputs(there, moved['y'], mask.to(device), there.views(known))
        found.append(with_known(there.sets, known, found[3]))
        assert all(value.device == device for value in found)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a.cpu(), b)
