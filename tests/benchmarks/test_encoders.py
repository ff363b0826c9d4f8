from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from torch import Tensor

from tests.benchmarks.scripts import load_script
from tgx_anchor.data import AnchorData
from tgx_anchor.io import ResultTable
from tgx_anchor.nn.predictors.training import PredictorTraining
from tgx_anchor.paper import BASELINES


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    with load_script('encoders') as module:
        yield module


def test_epochs_under_two_labels(script: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / 'encoders.csv'
    args = ['--datasets', 'planted', '--methods', 'HNN', 'HCHA', '--epochs', '2']
    args += ['--in-process', '--root', str(tmp_path), '--out', str(path)]
    for label in ('before', 'after', 'after'):
        assert script.main([*args, '--label', label]) == 0
    rows = ResultTable(script.Row, path).rows
    assert [(row.label, row.method, row.num_epochs) for row in rows] == [
        ('before', 'HNN', 2),
        ('before', 'HCHA', 2),
        ('after', 'HNN', 2),
        ('after', 'HCHA', 2),
    ]
    assert all(0 < row.best_seconds <= row.median_seconds for row in rows)
    text = path.with_suffix('.md').read_text(encoding='utf-8')
    assert text.startswith(
        '| setting | method | threads | steps | before (s) | after (s) | ratio |'
    )


def test_table(script: ModuleType) -> None:
    rows = [
        script.Row('before', 'qaBI', 'HNN', 1, 0, 3, 3.0, 3.5),
        script.Row('before', 'qaBI', 'HAT', 1, 5, 3, 1.0, 1.0),
        script.Row('after', 'qaBI', 'HNN', 1, 0, 3, 2.0, 2.0),
    ]
    assert script.make_table(rows)[1:] == [
        ['qaBI', 'HNN', '1', 'all', '3', '2', '1.50'],
        ['qaBI', 'HAT', '1', '5', '1', '', ''],
    ]
    assert script.make_table(rows[:1])[1] == ['qaBI', 'HNN', '1', 'all', '3']


def test_some_steps_of_an_epoch(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    loss = PredictorTraining.loss

    def note(training: PredictorTraining, batch: AnchorData) -> Tensor:
        sizes.append(int(batch['num_targets']))
        return loss(training, batch)

    monkeypatch.setattr(PredictorTraining, 'loss', note)
    task = ('now', 'planted', 'HNHN', 1, 2)
    (row,) = script.measure(task, print, root=str(tmp_path), num_epochs=1)
    assert (row.num_steps, row.num_epochs) == (2, 1)
    # Two epochs of two full batches.
    assert len(sizes) == 4
    assert len(set(sizes)) == 1


def test_all_baselines_by_default(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def note(
        task: tuple[str, str, str, int, int], *_: object, **__: object
    ) -> list[object]:
        asked.append(task[2])
        return [script.Row(*task, 3, 1.0, 1.0)]

    monkeypatch.setattr(script, 'measure', note)
    script.main(['--in-process', '--out', str(tmp_path / 'encoders.csv')])
    assert asked == list(BASELINES)
