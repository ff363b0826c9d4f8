import pytest
import torch
from torch import Tensor

from tests.nn.predictors.learning import accuracy, separable
from tgx_anchor.nn.predictors.boosting_learner import BoostingLearner
from tgx_anchor.nn.predictors.learner import Learner
from tgx_anchor.nn.predictors.learning_rows import LearningRows
from tgx_anchor.nn.predictors.mlp_learner import MLPLearner


def test_is_abstract() -> None:
    class Half(Learner):
        def fit(self, rows: LearningRows) -> None:
            pass

    with pytest.raises(TypeError, match='in_channels'):
        Half()  # type: ignore[abstract]


def test_own_learner() -> None:
    class First(Learner):
        # Scores are the first feature.
        in_channels = 1

        def fit(self, rows: LearningRows) -> None:
            pass

        def forward(self, feature: Tensor) -> Tensor:
            return feature[:, :1]

    rows = separable(20)
    learner = First()
    learner.fit(rows)
    assert isinstance(learner, torch.nn.Module)
    assert accuracy(rows, learner(rows.feature)[:, 0]) == 1


@pytest.mark.parametrize('kind', [MLPLearner, BoostingLearner])
def test_all_learners_learn(kind: type[MLPLearner] | type[BoostingLearner]) -> None:
    rows, test = separable(150), separable(100, seed=1)
    learner: Learner = kind(seed=3)
    assert learner.in_channels == 0
    learner.fit(rows)
    assert learner.in_channels == 4
    score = learner(test.feature)
    assert score.size(0) == test.feature.size(0)
    assert not score.requires_grad
    for column in score.t():
        assert accuracy(test, column) > 0.85
