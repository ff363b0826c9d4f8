"""The worth of a prediction beside known copies, by hand and by likelihood."""

import math

import pytest
import torch
from torch import Tensor

from tests.strategies import to_data
from tgx_anchor.nn.predictors.copy_prior import copy_prior
from tgx_anchor.nn.predictors.known_sets import KnownSets, known_sets
from tgx_anchor.utils import NodeSets, node_sets

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
