"""The worth of a prediction beside known copies, by hand and by likelihood."""

import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.nn.predictors.sets import (
    Group,
    known_of,
    listed,
    random_beliefs,
    rows,
    sets_of,
)
from tests.strategies import SETTINGS, Groups, groupings, to_data
from tgx_anchor.nn.predictors.copy_prior import copy_prior
from tgx_anchor.nn.predictors.known_sets import KnownSets, known_sets
from tgx_anchor.utils import NodeSets, node_sets

Row = tuple[int, frozenset[int]]

CANDIDATES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)


def known(
    groups: list[list[int]], anchors: list[list[int]]
) -> tuple[NodeSets, KnownSets]:
    data = to_data(groups, 4, anchors)
    index, size = data.hyperedge_index, data.num_hyperedges
    sets = node_sets(index, 4, size)
    return sets, known_sets(sets, index, data['y'], torch.ones(size, dtype=torch.bool))


def likelihood(kappa: float, counts: list[list[int]], belief: list[float]) -> float:
    """Each copy of each set is predicted from the other copies."""
    total, place = 0.0, 0
    for anchored in counts:
        n = sum(anchored)
        for a in anchored:
            if a > 0 and n > 1:
                value = (kappa * belief[place] + a - 1) / (kappa + n - 1)
                total += a * math.log(value) / (1 + 0.1 * (n - 1))
            place += 1
    return total


@pytest.mark.parametrize('belief', [[0.5, 0.5, 0.9, 0.1], [0.1, 0.9, 0.4, 0.6]])
@pytest.mark.parametrize(
    'counts', [[[4, 0], [0, 3]], [[2, 2], [1, 2]], [[9, 1], [1, 0]]]
)
def test_highest_likelihood(counts: list[list[int]], belief: list[float]) -> None:
    groups, anchors = [], []
    for number, anchored in enumerate(counts):
        members = [2 * number, 2 * number + 1]
        for member, count in zip(members, anchored, strict=True):
            groups += [members] * count
            anchors += [[member]] * count
    sets, found = known(groups, anchors)
    best = max(CANDIDATES, key=lambda kappa: likelihood(kappa, counts, belief))
    assert copy_prior(sets, found, torch.tensor(belief)) == best


def prior(anchors: list[list[int]], belief: Tensor) -> float:
    sets, found = known([[0, 1]] * len(anchors), anchors)
    return copy_prior(sets, found, belief)


def test_copies_that_agree_make_predictions_worth_little() -> None:
    even = torch.tensor([0.5, 0.5])
    assert prior([[0]] * 8, even) == 0.1
    # Copies whose anchors take turns say no more than an even prediction.
    assert prior([[0], [1]] * 20, even) > 10


def test_without_copies() -> None:
    sets, found = known([[0, 1], [2, 3]], [[0], [3]])
    assert copy_prior(sets, found, torch.full((4,), 0.5)) == 1.0


def test_several_anchors_and_impossible_beliefs() -> None:
    sets, found = known([[0, 1, 2]] * 4, [[0, 1]] * 4)
    assert copy_prior(sets, found, torch.tensor([0.0, 0.5, 0.5])) in CANDIDATES


# Copy by copy, for any number of anchors #############################################


def slow_likelihood(
    kappa: float, groups: list[Group], belief: dict[Row, float]
) -> float:
    total = 0.0
    for i, (members, anchors) in enumerate(groups):
        others = [g.anchors for j, g in enumerate(groups) if j != i]
        same = [g.members == members for j, g in enumerate(groups) if j != i]
        copies = [a for a, flag in zip(others, same, strict=True) if flag and a]
        if not anchors or not copies:
            continue
        n = 1 + len(copies)
        for v in anchors:
            rest = sum((v in a) / len(a) for a in copies)
            value = (kappa * belief[v, members] + rest) / (kappa + n - 1)
            weight = 1 / (len(anchors) * (1 + 0.1 * (n - 1)))
            total += weight * math.log(value)
    return total


@settings(SETTINGS, max_examples=200)
@given(groupings(2, 5, 12), st.integers(0, 99), st.data())
def test_copy_by_copy(
    drawn: tuple[Groups, int], seed: int, draw: st.DataObject
) -> None:
    # As many anchors in all copies of a set, one to three.
    groups, num_nodes = drawn
    anchors = [
        draw.draw(st.permutations(group))[: 1 + (sum(group) + seed) % 3]
        for group in groups
    ]
    data = to_data(groups, num_nodes, anchors)
    sets, mask = sets_of(data), data.known_mask
    belief = random_beliefs(sets, seed)
    found = copy_prior(sets, known_of(data, mask), belief)
    values = dict(zip(rows(sets), belief.tolist(), strict=True))
    likelihoods = {
        kappa: slow_likelihood(kappa, listed(data, mask), values)
        for kappa in CANDIDATES
    }
    if any(likelihoods.values()):
        assert likelihoods[found] >= max(likelihoods.values()) - 1e-9
    elif not any(mask[sets.number == number].sum() > 1 for number in sets.number):
        assert found == 1


@SETTINGS
@given(
    st.lists(st.tuples(*[st.integers(0, 60)] * 2), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_many_copies(counts: list[tuple[int, int]], seed: int) -> None:
    groups, anchors = [], []
    for i, pair in enumerate(counts):
        for member, count in zip((2 * i, 2 * i + 1), pair, strict=True):
            groups += [[2 * i, 2 * i + 1]] * count
            anchors += [[member]] * count
    data = to_data(groups, 8, anchors)
    sets = sets_of(data)
    belief = random_beliefs(sets, seed)
    found = copy_prior(sets, known_of(data, data.known_mask), belief)
    left = [list(pair) for pair in counts if sum(pair) > 0]
    assume(any(sum(pair) > 1 for pair in left))
    likelihoods = {k: likelihood(k, left, belief.tolist()) for k in CANDIDATES}
    assert likelihoods[found] >= max(likelihoods.values()) - 1e-9


def test_sets_of_many_copies_do_not_outvote_the_others() -> None:
    # The anchors of five sets of a hundred copies take turns; those of two others are
    # the same twice, which counts for more.
    groups, anchors = [], []
    for i in range(5):
        groups += [[2 * i, 2 * i + 1]] * 100
        anchors += [[2 * i], [2 * i + 1]] * 50
    for i in (5, 6):
        groups += [[2 * i, 2 * i + 1]] * 2
        anchors += [[2 * i]] * 2
    data = to_data(groups, 14, anchors)
    sets = sets_of(data)
    even = torch.full((sets.num_rows,), 0.5)
    assert copy_prior(sets, known_of(data, data.known_mask), even) == 0.1
    # Without these two, a prediction is worth more than any number of copies.
    mask = torch.arange(504) < 500
    assert copy_prior(sets, known_of(data, mask), even) == 1000


def test_impossible_beliefs() -> None:
    # The first set does not make all candidates infinitely bad.
    sets, found = known([[0, 1]] * 2 + [[2, 3]] * 8, [[0], [1]] + [[2], [3]] * 4)
    assert copy_prior(sets, found, torch.tensor([0.0, 1.0, 0.5, 0.5])) > 1


@pytest.mark.parametrize('groups', [[], [[]], [[0], [0]]])
def test_no_choices(groups: Groups) -> None:
    data = to_data(groups, 1, groups)
    sets = sets_of(data)
    kappa = copy_prior(sets, known_of(data, data.known_mask), random_beliefs(sets))
    assert kappa in CANDIDATES


def test_second_device() -> None:
    data = to_data([[0, 1]] * 5, 2, [[0], [0], [1], [0], [0]])
    with second_device() as device:
        moved = data.to(device)
        sets = sets_of(moved)
        found = known_of(moved, moved.known_mask)
        kappa = copy_prior(sets, found, torch.tensor([0.9, 0.1], device=device))
    assert kappa == prior([[0], [0], [1], [0], [0]], torch.tensor([0.9, 0.1]))
