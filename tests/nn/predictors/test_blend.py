"""Weights of the last step, against a general optimiser."""

import copy
import math

import pytest
import torch
from torch import Tensor
from torch_geometric.utils import softmax

from tests.devices import second_device
from tgx_anchor.nn.predictors.blend import Blend
from tgx_anchor.nn.predictors.learning_rows import LearningRows

RIDGE = 20.0


def made_up(num_groups: int, num_columns: int = 3, seed: int = 0) -> LearningRows:
    """Groups of two to four members whose anchors follow the first column."""
    generator = torch.Generator().manual_seed(seed)
    size = torch.randint(2, 5, (num_groups,), generator=generator)
    group = torch.repeat_interleave(size)
    shape = (group.numel(), num_columns + 1)
    draw = torch.randn(shape, generator=generator, dtype=torch.double)
    column, noise = draw[:, 1:], draw[:, 0]
    target = softmax(4 * (2 * column[:, 0] + noise), group)
    weight = torch.rand(num_groups, generator=generator, dtype=torch.double) + 0.5
    return LearningRows(column, group, target, weight)


def objective(value: Tensor, prior: Tensor, rows: LearningRows) -> Tensor:
    """The penalised likelihood, written out."""
    proba = softmax(rows.feature.double() @ value, rows.group)
    likelihood = (rows.weight[rows.group] * rows.target * proba.log()).sum()
    return likelihood - RIDGE / 2 * (value - prior).square().sum()


@pytest.mark.parametrize('num_groups', [1, 7, 300])
def test_is_the_optimum(num_groups: int) -> None:
    rows, prior = made_up(num_groups), [0.0, 1.0, 0.5]
    blend = Blend(prior)
    blend.fit(rows)
    start = torch.tensor(prior, dtype=torch.double)
    value = start.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([value], max_iter=500, tolerance_change=1e-14)

    def closure() -> float:
        optimizer.zero_grad()
        loss = -objective(value, start, rows)
        loss.backward()
        return float(loss.detach())

    optimizer.step(closure)
    torch.testing.assert_close(blend.weight, value.detach(), rtol=0, atol=1e-5)
    assert objective(blend.weight, start, rows) >= objective(start, start, rows)


def test_far_away_optimum_converges() -> None:
    # One column tells all anchors, on a scale on which a full step overshoots.
    rows = made_up(400)
    scale = torch.tensor([1e3, 1.0, 1e-3], dtype=torch.double)
    rows = rows._replace(feature=rows.feature * scale)
    blend = Blend([0.0, 0.0, 0.0])
    blend.fit(rows)
    value = blend.weight.clone().requires_grad_()
    objective(value, torch.zeros(3, dtype=torch.double), rows).backward()
    assert value.grad is not None
    assert float(value.grad.norm()) < 1e-4


def slope(blend: Blend, prior: list[float], rows: LearningRows) -> float:
    # The length of the gradient of the objective.
    value = blend.weight.clone().requires_grad_()
    start = torch.tensor(prior, dtype=torch.double)
    objective(value, start, rows).backward()
    assert value.grad is not None
    return float(value.grad.norm())


@pytest.mark.parametrize('start', [0.25, -0.25, 0.5, 3.0])
def test_steps_that_overshoot(start: float) -> None:
    # Sixty of a hundred groups follow a column of large differences: without shorter
    # steps, Newton's method goes to and fro around the solution.
    column = torch.tensor([[10.0], [-10.0]], dtype=torch.double).repeat(100, 1)
    target = torch.tensor([1.0, 0.0] * 60 + [0.0, 1.0] * 40, dtype=torch.double)
    group = torch.arange(100).repeat_interleave(2)
    rows = LearningRows(column, group, target, torch.ones(100, dtype=torch.double))
    blend = Blend([start])
    blend.fit(rows)
    assert float(blend.weight) == pytest.approx(0.02, abs=0.01)
    assert slope(blend, [start], rows) < 1e-5


def test_objective_is_concave() -> None:
    rows = made_up(50)
    prior = torch.tensor([0.0, 1.0, 0.5], dtype=torch.double)
    blend = Blend(prior.tolist())
    blend.fit(rows)
    best = objective(blend.weight, prior, rows)
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        draw = torch.randn((2, 3), generator=generator, dtype=torch.double)
        first, second = blend.weight + draw
        values = [objective(v, prior, rows) for v in (first, second)]
        assert max(values) < best
        assert objective((first + second) / 2, prior, rows) > sum(values) / 2


def test_by_hand() -> None:
    # One group of two members: the weight solves w (1 - p) = 20 (b - b0).
    column = torch.tensor([[1.0], [0.0]])
    group, target = torch.zeros(2, dtype=torch.long), torch.tensor([1.0, 0.0])
    blend = Blend([0.5])
    blend.fit(LearningRows(column, group, target, torch.tensor([30.0])))
    b = float(blend.weight)
    assert 30 * (1 - 1 / (1 + math.exp(-b))) == pytest.approx(RIDGE * (b - 0.5))
    # A second fit starts from there: it is the new prior.
    blend.fit(LearningRows(column, group, target, torch.tensor([0.0])))
    assert float(blend.weight) == b


def test_weights_count_groups() -> None:
    rows = made_up(5)
    twice = LearningRows(
        torch.cat([rows.feature, rows.feature]),
        torch.cat([rows.group, rows.group + 5]),
        torch.cat([rows.target, rows.target]),
        torch.cat([rows.weight, rows.weight]),
    )
    found = []
    for each in (twice, rows._replace(weight=2 * rows.weight)):
        found.append(Blend([0.0, 1.0, 0.5]))
        found[-1].fit(each)
    torch.testing.assert_close(found[0].weight, found[1].weight)


def test_columns_are_compared_within_groups() -> None:
    # Logarithms of probabilities may be far below zero, in whole groups.
    rows = made_up(30)
    shift = -1e4 * torch.arange(30, dtype=torch.double)[rows.group].unsqueeze(1)
    found = []
    for each in (rows, rows._replace(feature=rows.feature + shift)):
        found.append(Blend([0.0, 1.0, 0.5]))
        found[-1].fit(each)
    torch.testing.assert_close(found[0].weight, found[1].weight, rtol=0, atol=1e-6)


def test_few_groups_stay_close_to_the_prior() -> None:
    distances = []
    for num_groups in (2, 20, 2000):
        blend = Blend([0.0, 1.0, 0.5])
        blend.fit(made_up(num_groups))
        distances.append(float((blend.weight - Blend([0.0, 1.0, 0.5]).weight).norm()))
    assert distances == sorted(distances)
    assert distances[0] < 0.3 < 1 < distances[2]


def test_nothing_to_learn_from() -> None:
    empty = LearningRows(
        torch.empty(0, 2), torch.empty(0, dtype=torch.long), *torch.empty(2, 0)
    )
    # Columns that are the same for all members tell nothing either.
    same = made_up(9, 2)
    same = same._replace(feature=torch.ones_like(same.feature))
    for rows in (empty, same):
        blend = Blend([0.25, 0.75])
        blend.fit(rows)
        assert blend.weight.tolist() == pytest.approx([0.25, 0.75], abs=1e-12)


def test_no_columns() -> None:
    rows = made_up(3)
    blend = Blend()
    blend.fit(rows._replace(feature=rows.feature[:, :0]))
    assert blend.weight.numel() == 0
    assert blend(rows.feature[:, :0]).tolist() == [0.0] * rows.group.numel()


def test_weighted_sum() -> None:
    blend = Blend([2.0, -1.0])
    out = blend(torch.tensor([[1.0, 2.0], [0.5, 0.25]]))
    assert out.tolist() == [0.0, 0.75]
    assert out.dtype == torch.double
    assert repr(blend) == 'Blend(2)'


def test_state_of_another_size() -> None:
    blend = Blend([2.0, -1.0])
    other = Blend()
    other.load_state_dict(copy.deepcopy(blend.state_dict()))
    assert torch.equal(other.weight, blend.weight)


def test_second_device() -> None:
    rows, here = made_up(30), Blend([0.0, 1.0, 0.5])
    here.fit(rows)
    with second_device() as device:
        there = Blend([0.0, 1.0, 0.5]).to(device)
        there.fit(LearningRows(*(value.to(device) for value in rows)))
        assert there.weight.device == device
        torch.testing.assert_close(there.weight.cpu(), here.weight)
