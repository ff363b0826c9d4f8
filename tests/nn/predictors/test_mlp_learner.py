import copy
import pickle
from unittest import mock

import pytest
import torch
from torch import Tensor

from tests.devices import second_device
from tests.nn.predictors.learning import (
    accuracy,
    cross_entropy,
    drawn_rows,
    separable,
    to_rows,
)
from tests.nn.predictors.sets import double
from tgx_anchor.nn.predictors import mlp_learner as module
from tgx_anchor.nn.predictors.learning_rows import LearningRows
from tgx_anchor.nn.predictors.mlp_learner import MLPLearner


def fitted(rows: LearningRows, num_networks: int = 3, seed: int = 0) -> MLPLearner:
    out = MLPLearner(num_networks, seed)
    out.fit(rows)
    return out


def same_state(first: MLPLearner, second: MLPLearner) -> bool:
    a, b = first.state_dict(), second.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


def slow_network(rows: LearningRows, learner: MLPLearner, i: int) -> Tensor:
    """The scores of one network, trained alone from its first weights."""
    start = MLPLearner(learner.num_networks, learner.seed)
    start._make(rows.feature.size(1))
    W, b, a = (
        value[i].detach().clone().requires_grad_()
        for value in (start.weight, start.bias, start.out)
    )
    x = (rows.feature - rows.feature.mean(0)) / rows.feature.std(0, correction=0)
    x = x.clamp(-8, 8)
    count = rows.weight.numel()
    decay = min(0.4, (130 / count) ** 1.5)
    optimizer = torch.optim.Adam([W, b, a], 0.01, weight_decay=decay)
    for _ in range(60):
        optimizer.zero_grad()
        score = ((x @ W + b).relu() @ a).squeeze(1)
        (cross_entropy(rows, score) / count).backward()
        optimizer.step()
    return ((x @ W + b).relu() @ a).detach().squeeze(1)


@pytest.mark.parametrize(
    ('num_groups', 'is_soft'), [(12, True), (12, False), (400, True)]
)
def test_equal_to_networks_trained_alone(num_groups: int, is_soft: bool) -> None:
    with double():
        rows = drawn_rows(num_groups, 5, seed=4, is_soft=is_soft)
        learner = fitted(rows, 2, seed=7)
        found = learner(rows.feature)
        assert found.size() == (rows.feature.size(0), 2)
        for i in range(2):
            expected = slow_network(rows, learner, i)
            torch.testing.assert_close(found[:, i], expected, rtol=0, atol=1e-8)
        # They differ in their first weights.
        assert (found[:, 0] - found[:, 1]).abs().max() > 1e-4


def test_first_weights() -> None:
    learner = MLPLearner(2)
    learner._make(16)
    shapes = [tuple(p.size()) for p in learner.parameters()]
    assert shapes == [(2, 16, 64), (2, 1, 64), (2, 64, 1)]
    # Uniform, between plus and minus one by the root of the number of inputs.
    for value, bound in zip(learner.parameters(), (1 / 4, 1 / 4, 1 / 8), strict=True):
        assert 0.9 * bound < float(value.detach().abs().max()) <= bound
        assert abs(float(value.detach().mean())) < 0.2 * bound


def test_depends_on_the_seed_only() -> None:
    rows = separable(30)
    state = torch.get_rng_state()
    first = fitted(rows)
    torch.rand(3)
    again = fitted(rows)
    # A second fit starts anew.
    again.fit(rows)
    assert same_state(first, again)
    assert not same_state(first, fitted(rows, seed=1))
    torch.set_rng_state(state)
    fitted(rows)
    assert torch.equal(torch.get_rng_state(), state)


def test_no_gradients_are_left() -> None:
    rows = separable(30)
    before = rows.feature.clone()
    learner = fitted(rows)
    assert all(parameter.grad is None for parameter in learner.parameters())
    assert not any(value.requires_grad for value in learner.state_dict().values())
    assert not learner(rows.feature).requires_grad
    # Features are not standardised in place.
    assert torch.equal(rows.feature, before)


def test_better_than_chance() -> None:
    learner = fitted(separable(500))
    test = separable(300, seed=1)
    for column in learner(test.feature).t():
        assert accuracy(test, column) > 0.95


def test_features_in_any_unit() -> None:
    rows = separable(100)
    scale = torch.tensor([1e-3, 1.0, 1e3, 1e5])
    shift = torch.tensor([0.0, 5.0, -1e4, 1e5])
    moved = rows._replace(feature=rows.feature * scale + shift)
    torch.testing.assert_close(
        fitted(moved)(moved.feature),
        fitted(rows)(rows.feature),
        rtol=0,
        atol=0.02,
    )


def test_far_features_are_cut_off() -> None:
    rows = separable(50, 1)
    learner = fitted(rows)
    mean, std = float(learner.mean), float(learner.std)
    assert mean == pytest.approx(float(rows.feature.mean()), abs=1e-6)
    assert std == pytest.approx(float(rows.feature.std(correction=0)), abs=1e-6)
    values = [mean + k * std for k in (-1e9, -9, -8, 8, 9, 1e9)]
    score = learner(torch.tensor(values).view(-1, 1))
    torch.testing.assert_close(score[:2], score[2:3].expand(2, -1))
    torch.testing.assert_close(score[4:], score[3:4].expand(2, -1))
    near = learner(torch.tensor([[mean + 7.9 * std]]))
    assert (near - score[3]).abs().min() > 1e-3


@pytest.mark.parametrize('value', [0.0, 0.1, 12345.678, 1e6, -1e8])
def test_constant_columns(value: float) -> None:
    rows = separable(2000, 2)
    constant = torch.full((rows.feature.size(0), 1), value)
    more = rows._replace(feature=torch.cat([rows.feature, constant], dim=1))
    learner = fitted(more, 1)
    # Their unit stays, and all but the constant is seen.
    assert float(learner.std[2]) == 1
    assert torch.isfinite(learner(more.feature)).all()
    assert accuracy(more, learner(more.feature)[:, 0]) > 0.95


def test_constant_columns_only() -> None:
    rows = separable(20)
    learner = fitted(rows._replace(feature=torch.ones_like(rows.feature)))
    score = learner(torch.ones((5, 4)))
    assert torch.equal(score, score[:1].expand(5, -1))


def test_one_group_only() -> None:
    feature = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    rows = to_rows(feature, [3], torch.tensor([0.0, 1.0, 0.0], dtype=torch.double))
    score = fitted(rows)(feature)
    assert (score.argmax(dim=0) == 1).all()
    # A single member is no choice, and leaves the scores finite.
    single = to_rows(feature[:1], [1], torch.ones(1, dtype=torch.double))
    assert torch.isfinite(fitted(single)(feature)).all()


def test_large_scores_stay_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    # Scores of thousands, whose exponentials would be infinite.
    monkeypatch.setattr(module, '_LR', 3.0)
    monkeypatch.setattr(module, '_MAX_DECAY', 0.0)
    rows = separable(50)
    score = fitted(rows)(rows.feature)
    assert float(score.abs().max()) > 100
    assert torch.isfinite(score).all()


def test_weights_of_groups() -> None:
    # Two groups contradict each other.
    feature = torch.tensor([[0.0], [1.0], [0.0], [1.0]])
    target = torch.tensor([1.0, 0.0, 0.0, 1.0], dtype=torch.double)
    for weight, best in (([1.8, 0.2], 0), ([0.2, 1.8], 1)):
        rows = to_rows(feature, [2, 2], target, torch.tensor(weight).double())
        score = fitted(rows)(feature[:2])
        assert (score.argmax(dim=0) == best).all()


def test_soft_targets() -> None:
    # Many groups of two: the first member anchors seven of ten copies.
    feature = torch.tensor([[0.0], [1.0]]).repeat(4000, 1)
    target = torch.tensor([0.7, 0.3], dtype=torch.double).repeat(4000)
    proba = fitted(to_rows(feature, [2] * 4000, target))(feature[:2]).softmax(0)
    assert proba[0].tolist() == pytest.approx([0.7] * 3, abs=0.02)


def test_few_groups_are_trusted_less() -> None:
    # The same ten groups, once and a hundred times.
    rows = separable(10)
    count = rows.feature.size(0)
    many = LearningRows(
        rows.feature.repeat(100, 1),
        torch.cat([rows.group + 10 * i for i in range(100)]),
        rows.target.repeat(100),
        rows.weight.repeat(100),
    )
    few = fitted(rows)(rows.feature).abs().mean()
    assert fitted(many)(many.feature[:count]).abs().mean() > 1.5 * few


def test_order_of_groups_does_not_matter() -> None:
    with double():
        rows = drawn_rows(10, 3)
        order = torch.arange(rows.group.numel() - 1, -1, -1)
        other = LearningRows(
            rows.feature[order],
            9 - rows.group[order],
            rows.target[order],
            rows.weight.flip(0),
        )
        torch.testing.assert_close(
            fitted(other)(rows.feature), fitted(rows)(rows.feature)
        )


def test_chunks() -> None:
    rows = separable(30)
    learner = fitted(rows)
    whole = learner(rows.feature)
    with mock.patch.object(module, '_CHUNK_ROWS', 7):
        torch.testing.assert_close(learner(rows.feature), whole)
    assert learner(rows.feature[:0]).size() == (0, 3)


def test_state_of_another_size() -> None:
    rows = separable(30)
    learner = fitted(rows, 2, seed=5)
    for twin in (MLPLearner(), fitted(separable(20, 7), 4)):
        twin.load_state_dict(learner.state_dict())
        assert same_state(twin, learner)
        assert torch.equal(twin(rows.feature), learner(rows.feature))
        assert (twin.num_networks, twin.in_channels) == (2, 4)
    # Learning again works, too.
    twin.fit(separable(20, 7))
    assert twin.in_channels == 7
    # Inside of another module, keys have a prefix.
    parts = torch.nn.ModuleList([MLPLearner()])
    parts.load_state_dict(torch.nn.ModuleList([learner]).state_dict())
    assert torch.equal(parts[0](rows.feature), learner(rows.feature))


def test_state_keeps_its_precision() -> None:
    with double():
        learner = fitted(separable(20))
    twin = MLPLearner()
    twin.load_state_dict(learner.state_dict())
    assert same_state(twin, learner)
    assert twin.weight.dtype == torch.double


@pytest.mark.parametrize('name', ['weight', 'bias', 'out', 'mean', 'std'])
def test_state_that_does_not_fit(name: str) -> None:
    state = fitted(separable(20), 2).state_dict()
    cut = dict(state)
    cut[name] = state[name][:-1] if state[name].dim() == 1 else state[name][:, :-1]
    if name == 'weight':
        # The others do not fit its size.
        assert cut['weight'].size(1) == 3
    with pytest.raises(RuntimeError, match='size mismatch'):
        MLPLearner().load_state_dict(cut)
    cut = {key: value for key, value in state.items() if key != name}
    with pytest.raises(RuntimeError, match=name):
        MLPLearner().load_state_dict(cut)


def test_load_without_allocating() -> None:
    learner = fitted(separable(20))
    with torch.device('meta'):
        twin = MLPLearner()
        twin.load_state_dict(learner.state_dict(), assign=True)
    assert same_state(twin, learner)


def test_copies() -> None:
    rows = separable(20)
    learner = fitted(rows)
    for twin in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):  # noqa: S301
        assert same_state(twin, learner)
        assert torch.equal(twin(rows.feature), learner(rows.feature))


def test_repr() -> None:
    assert str(MLPLearner()) == 'MLPLearner(0, num_networks=3)'
    assert str(fitted(separable(20), 2)) == 'MLPLearner(4, num_networks=2)'


def test_second_device() -> None:
    rows = separable(20)
    expected = fitted(rows)(rows.feature)
    with second_device() as device:
        moved = LearningRows(*(part.to(device) for part in rows))
        learner = fitted(moved)
        out = learner(moved.feature)
        state = [*learner.state_dict().values(), out]
        assert all(value.device == device for value in state)
    torch.testing.assert_close(out.cpu(), expected, rtol=1e-4, atol=1e-5)
