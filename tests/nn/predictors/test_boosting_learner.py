"""Boosted trees: the gradient of their loss, what they learn, and their text."""

import copy
import pickle
import sys

import numpy as np
import pytest
import torch

from tests.nn.predictors.learning import (
    accuracy,
    cross_entropy,
    drawn_rows,
    separable,
)
from tests.strategies import one_line_error
from tgx_anchor.nn.predictors.boosting_learner import (
    BoostingLearner,
    group_gradient,
    import_lightgbm,
)


def test_gradient_is_that_of_the_loss() -> None:
    rows = drawn_rows(40, 2)
    generator = torch.Generator().manual_seed(1)
    score = torch.randn(rows.group.numel(), generator=generator, dtype=torch.double)
    score.requires_grad_()
    cross_entropy(rows, score).backward()
    assert score.grad is not None
    gradient, hessian = group_gradient(
        score.detach().numpy(),
        rows.group.numpy(),
        rows.target.numpy(),
        rows.weight.numpy(),
    )
    np.testing.assert_allclose(gradient, score.grad.numpy(), atol=1e-12)
    assert (hessian > 0).all()


def test_learns_and_repeats() -> None:
    train, test = separable(300), separable(100, seed=1)
    learner = BoostingLearner(seed=3)
    learner.fit(train)
    score = learner(test.feature)
    assert score.size() == (test.feature.size(0), 1)
    assert accuracy(test, score.squeeze(1)) > 0.85
    assert learner.in_channels == 4
    again = BoostingLearner(seed=3)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2 if before == 1 else 1)
        again.fit(train)
        assert torch.equal(again(test.feature), score)
    finally:
        torch.set_num_threads(before)
    other = BoostingLearner(seed=4)
    other.fit(train)
    assert not torch.equal(other(test.feature), score)


def test_shares_of_copies_matter() -> None:
    rows = separable(300)
    # The anchors of most copies, and all of them, are not the same.
    soft = rows._replace(target=0.7 * rows.target + 0.3 * drawn_rows(300, 4).target)
    scores = []
    for each in (rows, soft):
        learner = BoostingLearner()
        learner.fit(each)
        scores.append(learner(rows.feature))
    assert float(scores[1].std()) < 0.9 * float(scores[0].std())


@pytest.mark.parametrize('constant', [False, True])
def test_nothing_to_split(constant: bool) -> None:
    rows = separable(300 if constant else 20)
    if constant:
        rows = rows._replace(feature=torch.ones_like(rows.feature))
    learner = BoostingLearner()
    learner.fit(rows)
    assert learner.trees() is None
    assert learner.in_channels == 0
    assert not learner(rows.feature).any()
    assert repr(learner) == 'BoostingLearner(0 trees)'


def test_text_is_the_state() -> None:
    rows = separable(200)
    learner = BoostingLearner()
    learner.fit(rows)
    score = learner(rows.feature)
    loaded = BoostingLearner()
    loaded.load_state_dict(learner.state_dict())
    copies = [loaded, copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))]  # noqa: S301
    for each in copies:
        assert torch.equal(each(rows.feature), score)
        assert repr(each) == 'BoostingLearner(80 trees)'
    assert learner(rows.feature[:0]).size() == (0, 1)
    for place in (0, 40, learner.text.numel() - 1):
        damaged = copy.deepcopy(learner)
        damaged.text[place] ^= 1
        with one_line_error("'text'"):
            damaged.trees()


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'lightgbm', None)
    with one_line_error("'learner'", 'tgx_anchor[boost]'):
        import_lightgbm()
    with one_line_error('tgx_anchor[boost]'):
        BoostingLearner().fit(separable(200))
