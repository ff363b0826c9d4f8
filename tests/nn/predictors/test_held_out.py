import math

import pytest
import torch

from tests.nn.predictors.radar import planted, quick
from tests.strategies import to_data
from tgx_anchor.metrics import AnchorEvaluator, wilson_interval
from tgx_anchor.nn import DegreeHeuristic
from tgx_anchor.nn.predictors.cross_fit import HeldOutScores
from tgx_anchor.nn.predictors.held_out import HeldOut


def example() -> HeldOut:
    # Three groups, the first of which occurs twice; the last is not held out.
    data = to_data(
        [[0, 1], [0, 1], [2, 3, 4], [5, 6], [7, 8]], 9, [[0], [1], [2], [5], [7]]
    )
    proba = [0.9, 0.1, 0.9, 0.1, 0.5, 0.3, 0.2, 0.5, 0.5, 1.0, 0.0]
    degree = [1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    mask = torch.tensor([True, True, True, True, False])
    scores = HeldOutScores(mask, torch.tensor(proba).double(), torch.tensor(degree))
    out = HeldOut()
    out.keep(scores, data, None, torch.tensor([3, 3, 7, 8, 9]))
    return out


def test_hand_computed() -> None:
    out = example()
    assert len(out) == 4
    assert out.num_distinct == 3
    # A copy counts 1 / 1.1. Hits: 1, 0, 1, 1/2; by degree: 1, 0, 1/3, 0.
    weights = [1 / 1.1, 1 / 1.1, 1, 1]
    for name, column in (
        ('correct', [1, 0, 1, 0.5]),
        ('by_degree', [1, 0, 1 / 3, 0]),
        ('chance', [1 / 2, 1 / 2, 1 / 3, 1 / 2]),
    ):
        total = sum(w * value for w, value in zip(weights, column, strict=True))
        assert out.mean(name) == pytest.approx(total / sum(weights))
    found = out.accuracy()
    assert found.value == out.mean('correct')
    # (2 / 1.1 + 1 + 1)^2 / ((2 / 1.1)^2 + 1 + 1) = 2.7 node sets, rounded down.
    assert (found.low, found.high) == wilson_interval(2 * found.value, 2)
    assert found.num_hyperedges == 4
    gain, error = out.gain('by_degree')
    assert gain == pytest.approx(out.mean('correct') - out.mean('by_degree'))
    share = [w / sum(weights) for w in weights]
    parts = [
        share[0] * (0 - gain) + share[1] * (0 - gain),
        share[2] * (2 / 3 - gain),
        share[3] * (1 / 2 - gain),
    ]
    assert error == pytest.approx(math.sqrt(sum(part**2 for part in parts)))
    bins = out.bins(2)
    assert bins.probability.tolist() == pytest.approx([0.5, 0.9])
    assert bins.accuracy.tolist() == pytest.approx([0.75, 0.5])


def test_copies_do_not_narrow_the_interval() -> None:
    groups = [[2 * i, 2 * i + 1] for i in range(30)]
    few, many = [
        to_data(each, 60, [[group[0]] for group in each])
        for each in (groups, [group for group in groups for _ in range(50)])
    ]
    widths = []
    for data in (few, many):
        everything = torch.ones(data.num_hyperedges, dtype=torch.bool)
        proba = torch.tensor([0.5, 0.5] * data.num_hyperedges).double()
        proba[: len(proba) // 2 : 2] = 0.9
        number = torch.div(
            torch.arange(data.num_hyperedges),
            data.num_hyperedges // 30,
            rounding_mode='floor',
        )
        out = HeldOut()
        out.keep(HeldOutScores(everything, proba, proba), data, None, number)
        accuracy = out.accuracy()
        widths.append(accuracy.high - accuracy.low)
    assert widths[0] == pytest.approx(widths[1], rel=1e-6)


def test_columns_are_those_of_the_validation_groups() -> None:
    data = planted()
    model = quick().fit(data)
    out = model.held_out
    assert len(out) == int(data.val_mask.sum())
    evaluator = AnchorEvaluator(chance=True)
    for name, score, key in (
        ('correct', model.rank_score(data), 'accuracy'),
        ('by_degree', DegreeHeuristic().fit(data).predict_proba(data), 'accuracy'),
        ('chance', model.rank_score(data), 'chance'),
    ):
        expected = evaluator.per_hyperedge(score, data, data.val_mask)[key]
        assert out._column(name).tolist() == pytest.approx(expected.tolist())


def test_state_of_any_length() -> None:
    out = example()
    twin = HeldOut()
    twin.load_state_dict(out.state_dict())
    assert torch.equal(twin.table, out.table)
    with pytest.raises(RuntimeError, match='size mismatch'):
        twin.load_state_dict({'table': torch.zeros(3, 2)})
