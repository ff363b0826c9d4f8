import copy
import hashlib
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.devices import second_device
from tests.nn.predictors.learning import (
    accuracy,
    cross_entropy,
    drawn_rows,
    separable,
    to_rows,
)
from tests.strategies import SETTINGS, one_line_error
from tgx_anchor.nn.predictors import boosting_learner as module
from tgx_anchor.nn.predictors.boosting_learner import (
    BoostingLearner,
    group_gradient,
    import_lightgbm,
)
from tgx_anchor.nn.predictors.learning_rows import LearningRows


def fitted(rows: LearningRows, seed: int = 0) -> BoostingLearner:
    out = BoostingLearner(seed)
    out.fit(rows)
    return out


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@pytest.fixture(scope='module')
def rows() -> LearningRows:
    return separable(120)


@pytest.fixture(scope='module')
def learner(rows: LearningRows) -> BoostingLearner:
    return fitted(rows)


# The loss ############################################################################


@SETTINGS
@given(st.integers(1, 12), st.integers(0, 999), st.booleans())
def test_gradient_is_that_of_the_loss(
    num_groups: int, seed: int, is_soft: bool
) -> None:
    rows = drawn_rows(num_groups, 1, seed, is_soft)
    score = (3 * rows.feature[:, 0]).double().requires_grad_()
    loss = cross_entropy(rows, score)
    (grad,) = torch.autograd.grad(loss, score, create_graph=True)
    found, hessian = group_gradient(
        score.detach().numpy(),
        rows.group.numpy(),
        rows.target.numpy(),
        rows.weight.numpy(),
    )
    assert found.tolist() == pytest.approx(grad.tolist(), abs=1e-9)
    for i, value in enumerate(hessian.tolist()):
        (second,) = torch.autograd.grad(grad[i], score, retain_graph=True)
        least = 1e-3 * float(rows.weight[rows.group[i]])
        assert value == pytest.approx(2 * max(float(second[i]), least), abs=1e-9)


def test_gradient_by_hand() -> None:
    score = np.log([1.0, 3.0, 5.0])
    grad, hessian = group_gradient(
        score, np.array([0, 0, 1]), np.array([0.5, 0.5, 1.0]), np.array([2.0, 1.0])
    )
    assert grad.tolist() == pytest.approx([2 * (0.25 - 0.5), 2 * (0.75 - 0.5), 0])
    assert hessian.tolist() == pytest.approx([2 * 2 * 3 / 16] * 2 + [2 * 1e-3])
    # Scores of any size are finite.
    grad, hessian = group_gradient(
        np.array([1e4, -1e4]), np.zeros(2, int), np.array([0.0, 1.0]), np.ones(1)
    )
    assert grad.tolist() == [1, -1]
    assert hessian.tolist() == pytest.approx([2e-3, 2e-3])


def test_one_tree_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, '_NUM_ROUNDS', 1)
    params = {**module._PARAMS, 'feature_fraction': 1.0, 'bagging_fraction': 1.0}
    monkeypatch.setattr(module, '_PARAMS', params)
    # The anchor of all groups of two is the member with the feature; in every fourth
    # group with one half only.
    count = 200
    feature = torch.tensor([[1.0], [0.0]]).repeat(count, 1)
    share = torch.ones(count, dtype=torch.double)
    share[::4] = 0.5
    target = torch.stack([share, 1 - share], dim=1).view(-1)
    weight = torch.rand(count, dtype=torch.double) + 0.5
    score = fitted(to_rows(feature, [2] * count, target, weight))(feature[:2])
    # All probabilities are one half.
    gradient = float((weight * (0.5 - share)).sum())
    hessian = float((2 * weight * 0.25).sum())
    value = -0.05 * gradient / (hessian + 5)
    assert score.view(-1).tolist() == pytest.approx([value, -value], rel=1e-5)


def test_soft_targets_matter() -> None:
    feature = torch.tensor([[1.0], [0.0]]).repeat(300, 1)
    found = []
    for share in (1.0, 0.7, 0.5):
        target = torch.tensor([share, 1 - share], dtype=torch.double).repeat(300)
        score = fitted(to_rows(feature, [2] * 300, target))(feature[:2])
        found.append(float(score.softmax(0)[0]))
    assert found[0] > 0.9
    assert found[1] == pytest.approx(0.7, abs=0.02)
    assert found[2] == pytest.approx(0.5, abs=1e-6)


def test_weights_of_groups() -> None:
    # Two kinds of groups contradict each other.
    feature = torch.tensor([[1.0], [0.0]]).repeat(300, 1)
    target = torch.tensor([1.0, 0, 0, 1], dtype=torch.double).repeat(150)
    for weight, best in (([1.8, 0.2], 0), ([0.2, 1.8], 1)):
        weights = torch.tensor(weight, dtype=torch.double).repeat(150)
        score = fitted(to_rows(feature, [2] * 300, target, weights))(feature[:2])
        assert int(score.argmax()) == best


# Learning ############################################################################


def test_better_than_chance(learner: BoostingLearner) -> None:
    test = separable(300, seed=1)
    assert accuracy(test, learner(test.feature)[:, 0]) > 0.8


def test_depends_on_the_seed_only(rows: LearningRows, learner: BoostingLearner) -> None:
    state = torch.get_rng_state()
    assert torch.equal(fitted(rows).text, learner.text)
    assert not torch.equal(fitted(rows, 1)(rows.feature), learner(rows.feature))
    assert torch.equal(torch.get_rng_state(), state)


def test_the_same_on_two_threads(rows: LearningRows, learner: BoostingLearner) -> None:
    with threads(2):
        twin = fitted(rows)
        found = twin(rows.feature)
    assert torch.equal(found, learner(rows.feature))


@pytest.mark.parametrize('num_rows', [0, 2, 198, 200])
def test_too_few_rows(num_rows: int) -> None:
    feature = torch.tensor([[1.0], [0.0]]).repeat(num_rows // 2, 1)
    target = torch.tensor([1.0, 0.0], dtype=torch.double).repeat(num_rows // 2)
    few = to_rows(feature, [2] * (num_rows // 2), target)
    learner = fitted(few)
    score = learner(torch.tensor([[1.0], [0.0]]))
    assert score.size() == (2, 1)
    if num_rows < 200:
        assert score.tolist() == [[0], [0]]
        assert learner.trees() is None
        assert (learner.in_channels, learner.text.numel()) == (0, 0)
        assert str(learner) == 'BoostingLearner(0 trees)'
    else:
        assert score[0] > 0 > score[1]


def test_no_column_tells_rows_apart(rows: LearningRows) -> None:
    rare = torch.zeros_like(rows.feature)
    # Too few rows for a leaf.
    rare[:40, 0] = 1
    for feature in (torch.ones_like(rows.feature), rare):
        learner = fitted(rows._replace(feature=feature))
        assert not learner(rows.feature).any()
        assert learner.trees() is None


def test_second_fit_starts_anew(rows: LearningRows, learner: BoostingLearner) -> None:
    other = separable(150, 3, seed=5)
    twin = fitted(other)
    twin.fit(rows)
    assert torch.equal(twin.text, learner.text)
    # Nothing is left of the first trees.
    twin.fit(rows._replace(feature=torch.ones_like(rows.feature)))
    assert twin.in_channels == 0
    assert not twin(rows.feature).any()


def test_nothing_is_printed(
    rows: LearningRows, capfd: pytest.CaptureFixture[str]
) -> None:
    fitted(rows)(rows.feature)
    fitted(rows._replace(feature=torch.ones_like(rows.feature)))
    assert capfd.readouterr() == ('', '')


def test_output(rows: LearningRows, learner: BoostingLearner) -> None:
    out = learner(rows.feature)
    assert out.size() == (rows.feature.size(0), 1)
    assert out.dtype == torch.double
    assert learner(rows.feature[:0]).size() == (0, 1)
    assert learner.in_channels == 4
    assert str(learner) == 'BoostingLearner(80 trees)'
    assert not list(learner.parameters())
    # Rows are scored one by one.
    assert torch.equal(learner(rows.feature[5:9]), out[5:9])


# The text ############################################################################


def test_state_is_a_text(rows: LearningRows, learner: BoostingLearner) -> None:
    expected = learner(rows.feature)
    other = fitted(separable(150, 3, seed=5))
    # Both into a new one and into one with other trees.
    for twin in (BoostingLearner(), other):
        twin.load_state_dict(learner.state_dict())
        assert torch.equal(twin.text, learner.text)
        assert torch.equal(twin(rows.feature), expected)
        assert twin.in_channels == 4
    twin.load_state_dict(BoostingLearner().state_dict())
    assert twin.in_channels == 0
    parts = torch.nn.ModuleList([BoostingLearner()])
    parts.load_state_dict(torch.nn.ModuleList([learner]).state_dict())
    assert torch.equal(parts[0](rows.feature), expected)


def test_load_without_allocating(rows: LearningRows, learner: BoostingLearner) -> None:
    with torch.device('meta'):
        twin = BoostingLearner()
        twin.load_state_dict(learner.state_dict(), assign=True)
    assert torch.equal(twin(rows.feature), learner(rows.feature))


def test_copies(rows: LearningRows, learner: BoostingLearner) -> None:
    expected = learner(rows.feature)
    for twin in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):  # noqa: S301
        assert twin._trees is None
        assert torch.equal(twin(rows.feature), expected)
    # The trees of the first one stay.
    assert learner._trees is not None
    # Later changes are not shared.
    twin.fit(separable(150, 3, seed=5))
    assert torch.equal(learner(rows.feature), expected)


def with_text(content: bytes) -> BoostingLearner:
    out = BoostingLearner()
    values = np.frombuffer(content, np.uint8).copy()
    out.load_state_dict({'text': torch.from_numpy(values)})
    return out


@SETTINGS
@given(st.data())
def test_damaged_text(learner: BoostingLearner, draw: st.DataObject) -> None:
    # LightGBM itself would end the process on most of these.
    content = learner.text.numpy().tobytes()
    place = draw.draw(st.integers(0, len(content) - 1))
    kind = draw.draw(st.sampled_from(['changed', 'cut', 'shorter']))
    if kind == 'changed':
        byte = bytes([content[place] ^ draw.draw(st.integers(1, 255))])
        damaged = content[:place] + byte + content[place + 1 :]
    elif kind == 'cut':
        damaged = content[: max(place, 1)]
    else:
        damaged = content[:place] + content[place + 1 :]
    twin = with_text(damaged)
    for use in (
        twin.trees,
        lambda: twin(torch.zeros((1, 4))),
        lambda: twin.in_channels,
    ):
        with one_line_error("'text' must hold trees"):
            use()


def test_text_of_something_else() -> None:
    # The code is right, but there are no trees.
    for text in (b'nothing', b'\xff\xfe'):
        with one_line_error("'text' must hold trees of LightGBM"):
            with_text(hashlib.sha256(text).digest() + text).trees()
    twin = BoostingLearner()
    twin.text = torch.ones(100)
    with one_line_error("'text' must hold trees"):
        twin.trees()


# LightGBM is not installed ###########################################################


def test_without_lightgbm(
    rows: LearningRows, learner: BoostingLearner, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = copy.deepcopy(learner)
    monkeypatch.setitem(sys.modules, 'lightgbm', None)
    for use in (import_lightgbm, twin.trees, lambda: BoostingLearner().fit(rows)):
        with one_line_error("'learner' must be 'mlp'", "'tgx_anchor[boost]'"):
            use()
    # It is not needed to hold no trees.
    assert BoostingLearner().in_channels == 0
    assert not BoostingLearner()(rows.feature).any()


def test_second_device(rows: LearningRows, learner: BoostingLearner) -> None:
    expected = learner(rows.feature)
    with second_device() as device:
        moved = LearningRows(*(part.to(device) for part in rows))
        there = fitted(moved)
        assert there.text.device == device
        out = there(moved.feature)
        assert out.device == device
        assert BoostingLearner().to(device)(moved.feature).device == device
    assert torch.equal(out.cpu(), expected)
