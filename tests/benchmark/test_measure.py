from pathlib import Path
from typing import Any

import pytest

from tgx_anchor.benchmark.measure import measure, progress_line
from tgx_anchor.benchmark.methods import load_setting, new_model, one_split, prepare
from tgx_anchor.benchmark.results import Task
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
    (found,) = measure(Task('planted', method, 1))
    data: Any = RandomHyperedgeSplit(num_splits=2)(PlantedAnchorDataset()[0])
    data.train_mask, test = data.train_mask[:, 1], data.test_mask[:, 1]
    assert found.accuracy == round(model.fit(data).score(data, test), 6)
    assert (found.num_parameters, found.threads, found.split) == (0, 1, 1)
    assert min(found.train_seconds, found.predict_seconds) >= 0
    assert found.peak_memory > 0.05


def test_anchors_by_probability_ranks_by_logit(tmp_path: Path) -> None:
    cache = tmp_path / 'embedding'
    (found,) = measure(Task('planted', 'HNN', 0, 5), cache=str(cache))
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
    told: list[str] = []
    task = Task('planted', 'HNN', 0, 6)
    (row,) = measure(task, told.append, cache=str(tmp_path / 'embedding'))
    assert row.trained_epochs == 6
    assert told[:4] == [f'planted HNN {i}/6' for i in range(1, 5)]
    assert [line.partition(' (val ')[0] for line in told[4:]] == [
        'planted HNN 5/6',
        'planted HNN 6/6',
    ]
    record = {'epoch': 5.0, 'num_epochs': 6.0, 'val_accuracy': 0.25, 'stage': 2.0}
    assert progress_line(task, record) == 'planted HNN stage 2 5/6 (val 25.0 %)'


def test_stages_are_epochs() -> None:
    told: list[str] = []
    (row,) = measure(Task('planted', 'AnchorRadar', 0, 3), told.append)
    assert row.trained_epochs == len(told) == 6
    assert told[3] == 'planted AnchorRadar stage 2 1/3'
    # The 33 features, 64 hidden units, and a strength per node.
    assert row.num_parameters == 64 * (33 + 2) + 1 + 1000


def test_epochs_until_it_stopped() -> None:
    def impatient(_: str) -> AnchorModel:
        # Nothing is learnt, so that the second look is no better than the first.
        encoder = HNN(4, 4, 1)
        return AnchorPredictor(
            encoder, lr=1e-12, batch_size=None, num_epochs=50, eval_every=1, patience=1
        )

    (row,) = measure(Task('planted', 'Mine', 0), make=impatient)
    assert row.trained_epochs == 2


def test_killed_trainings_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, cache = Task('planted', 'HCHA', 0, 10), str(tmp_path / 'embedding')
    epochs: list[int] = []
    train = PredictorTraining._train_epoch

    def count(self: PredictorTraining) -> float:
        epochs.append(self.epoch)
        return train(self)

    monkeypatch.setattr(PredictorTraining, '_train_epoch', count)
    folder = str(tmp_path / 'kept')
    (half,) = measure(task._replace(num_epochs=5), cache=cache, checkpoint=folder)
    assert len(list((tmp_path / 'kept').iterdir())) == 1
    (whole,) = measure(task, cache=cache)
    epochs.clear()
    (resumed,) = measure(task, cache=cache, checkpoint=folder)
    assert epochs == [5, 6, 7, 8, 9]
    assert resumed.accuracy == whole.accuracy
    assert resumed.trained_epochs == whole.trained_epochs == 10
    # The time before the kill counts, and so does the memory.
    assert resumed.train_seconds > half.train_seconds
    epochs.clear()
    (again,) = measure(task, cache=cache, checkpoint=folder)
    assert epochs == []
    assert again.train_seconds > half.train_seconds
    assert again.peak_memory >= resumed.peak_memory - 0.1
