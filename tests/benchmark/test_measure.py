from pathlib import Path
from typing import Any

import pytest

from tgx_anchor.benchmark.comparison_row import Task
from tgx_anchor.benchmark.measure import Progress, measure
from tgx_anchor.benchmark.methods import load_setting, new_model, one_split, prepare
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import (
    HNN,
    AnchorModel,
    AnchorPredictor,
    DegreeHeuristic,
    RandomHeuristic,
)
from tgx_anchor.nn.predictors.training import PredictorTraining
from tgx_anchor.transforms import RandomHyperedgeSplit


@pytest.mark.parametrize(
    ('method', 'model'), [('Degree', DegreeHeuristic()), ('Random', RandomHeuristic())]
)
def test_measure(method: str, model: AnchorModel) -> None:
    found = measure(Task('planted', method, 1))
    data: Any = RandomHyperedgeSplit(num_splits=2)(PlantedAnchorDataset()[0])
    data.train_mask, test = data.train_mask[:, 1], data.test_mask[:, 1]
    assert found.accuracy == round(model.fit(data).score(data, test), 6)
    assert (found.num_parameters, found.threads, found.split) == (0, 1, 1)
    assert min(found.train_seconds, found.predict_seconds) >= 0
    assert found.peak_memory > 0.05


def test_anchors_by_probability_ranks_by_logit(tmp_path: Path) -> None:
    cache = tmp_path / 'embedding'
    found = measure(Task('planted', 'HNN', 0), 5, cache=str(cache))
    model: Any = new_model('HNN', 'planted', 5)
    data = one_split(prepare(load_setting('planted'), model, cache), 0)
    model.fit(data)
    scores = {'probability': model.predict_proba(data), 'logit': model.rank_score(data)}
    judged = {
        by: AnchorEvaluator().eval(score, data, data.test_mask)
        for by, score in scores.items()
    }
    for name in ('accuracy', 'mrr', 'ndcg'):
        assert judged['probability'][name] != judged['logit'][name]
    assert found.accuracy == round(judged['probability']['accuracy'], 6)
    assert found.mrr == round(judged['logit']['mrr'], 6)
    assert found.ndcg == round(judged['logit']['ndcg'], 6)


def test_progress(tmp_path: Path) -> None:
    told: list[Progress] = []
    task = Task('planted', 'HNN', 0)
    row = measure(task, 6, cache=str(tmp_path / 'embedding'), tell=told.append)
    assert row.trained_epochs == 6
    assert [state[:3] for state in told] == [(task, i, 6) for i in range(1, 7)]
    found = [state.val_accuracy for state in told]
    assert found[:4] == [None] * 4
    assert found[4] is not None
    assert found[5] is not None
    assert str(told[0]) == 'planted HNN 1/6'
    assert str(told[4]) == f'planted HNN 5/6 (val {100 * found[4]:.1f} %)'


def test_epochs_until_it_stopped() -> None:
    def impatient(_: str) -> AnchorModel:
        # Nothing is learnt, so that the second look is no better than the first.
        encoder = HNN(4, 4, 1)
        return AnchorPredictor(
            encoder, lr=1e-12, batch_size=None, num_epochs=50, eval_every=1, patience=1
        )

    assert measure(Task('planted', 'Mine', 0), make=impatient).trained_epochs == 2


def test_killed_trainings_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, cache = Task('planted', 'HCHA', 0), str(tmp_path / 'embedding')
    epochs: list[int] = []
    train = PredictorTraining._train_epoch

    def count(self: PredictorTraining) -> float:
        epochs.append(self.epoch)
        return train(self)

    monkeypatch.setattr(PredictorTraining, '_train_epoch', count)
    stem = str(tmp_path / 'kept' / 'state_')
    half = measure(task, 5, cache=cache, checkpoint=stem)
    assert len(list((tmp_path / 'kept').iterdir())) == 1
    whole = measure(task, 10, cache=cache)
    epochs.clear()
    resumed = measure(task, 10, cache=cache, checkpoint=stem)
    assert epochs == [5, 6, 7, 8, 9]
    assert resumed.accuracy == whole.accuracy
    assert resumed.trained_epochs == whole.trained_epochs == 10
    # The time before the kill counts, and so does the memory.
    assert resumed.train_seconds > half.train_seconds
    epochs.clear()
    again = measure(task, 10, cache=cache, checkpoint=stem)
    assert epochs == []
    assert again.train_seconds == resumed.train_seconds
    assert again.peak_memory >= resumed.peak_memory - 0.1
