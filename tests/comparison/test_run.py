import os
import time
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.strategies import one_line_error
from tgx_anchor.comparison import ComparisonRow, compare
from tgx_anchor.comparison.methods import load_setting, one_split, prepare
from tgx_anchor.comparison.run import Checkpoints, ComparisonFile, Task, measure
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.nn import (
    AnchorModel,
    AnchorPredictor,
    DegreeHeuristic,
    RandomHeuristic,
)
from tgx_anchor.transforms import RandomHyperedgeSplit


def row(**kwargs: Any) -> ComparisonRow:
    given: dict[str, Any] = {
        'setting': 'emER',
        'method': 'HGNN',
        'split': 0,
        'num_epochs': 0,
        'accuracy': 0.5,
        'mrr': 0.6,
        'ndcg': 0.7,
        'train_seconds': 1.5,
        'predict_seconds': 0.1,
        'num_parameters': 100,
        'peak_memory': 0.25,
        'threads': 1,
    }
    return ComparisonRow(**{**given, **kwargs})


def test_file(tmp_path: Path) -> None:
    path = tmp_path / 'new' / 'rows.csv'
    rows = [row(), row(split=1, accuracy=0.25), row(method='Degree')]
    file = ComparisonFile(path)
    for each in rows:
        file.add(each)
    assert ComparisonFile(path).rows == rows
    content = path.read_bytes()
    last = content.rindex(b'emER')
    for cut in (last, last + 9, len(content) - 8, len(content) - 1):
        path.write_bytes(content[:cut])
        again = ComparisonFile(path)
        whole = cut == len(content) - 1
        assert again.rows == (rows if whole else rows[:2]), cut
        again.add(rows[2])
        assert ComparisonFile(path).rows[-1] == rows[2]
    path.write_text('other,columns\n1,2\n', encoding='utf-8')
    with one_line_error(str(path), 'setting,method'):
        ComparisonFile(path)
    assert path.read_text(encoding='utf-8') == 'other,columns\n1,2\n'


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


def test_compare_goes_on(tmp_path: Path) -> None:
    path = tmp_path / 'rows.csv'
    told: list[ComparisonRow] = []
    arguments: dict[str, Any] = {'path': path, 'progress': False, 'report': told.append}
    first = compare(['planted'], ['Degree'], **arguments)
    assert told == first
    assert [each.task for each in first] == [('planted', 'Degree', 0)]
    both = compare(['planted'], ['Degree', 'Random'], **arguments)
    assert both[0] == first[0]
    assert len(told) == 2
    assert ComparisonFile(path).rows == both
    assert compare(['planted'], ['Random'], **arguments) == both[1:]
    assert len(told) == 2


def test_what_fails_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # qaMA is nowhere to be had: its files are neither here nor in the mirror.
    (tmp_path / 'mirror').mkdir()
    monkeypatch.setenv('TGX_ANCHOR_MIRROR', str(tmp_path / 'mirror'))
    monkeypatch.setenv('HTTPS_PROXY', 'http://127.0.0.1:9')
    path = tmp_path / 'rows.csv'
    with one_line_error('1 of 2', 'Degree', 'qaMA'):
        compare(
            ['qaMA', 'planted'],
            ['Degree', 'Degree'],
            path=path,
            root=str(tmp_path),
            jobs=2,
            progress=False,
        )
    assert [row.setting for row in ComparisonFile(path).rows] == ['planted']


def die(*_: Any) -> None:
    """Stands for a process that the system kills."""
    os._exit(9)


def test_a_killed_process_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('tgx_anchor.comparison.run._work', die)
    with one_line_error('1 of 1', 'Random', 'ended with 9'):
        compare(['planted'], ['Random'], progress=False)


def test_interrupted_workers_end(tmp_path: Path) -> None:
    path = tmp_path / 'rows.csv'

    def stop(_: ComparisonRow) -> None:
        raise KeyboardInterrupt

    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        compare(
            ['planted'],
            ['Degree', 'HCHA'],
            num_splits=4,
            num_epochs=100000,
            path=path,
            root=str(tmp_path),
            progress=False,
            report=stop,
        )
    assert [row.method for row in ComparisonFile(path).rows] == ['Degree']
    assert time.perf_counter() - start < 120
    assert active_children() == []


class Mean(torch.nn.Module):
    """An encoder of one's own, which takes ranks and topological features."""

    in_channels = 6

    def __init__(self) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(6 + 4 + 33, 5)

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor,
        incidence_rank: Tensor,
        incidence_attr: Tensor,
    ) -> Tensor:
        x = x[hyperedge_index[0]]
        out: Tensor = self.lin(torch.cat([x, incidence_rank, incidence_attr], dim=1))
        return out


def test_a_model_of_your_own(tmp_path: Path) -> None:
    path, asked = tmp_path / 'rows.csv', []

    def make(setting: str) -> AnchorPredictor:
        asked.append(setting)
        torch.manual_seed(0)
        return AnchorPredictor(Mean(), batch_size=None, num_epochs=4)

    threads = torch.get_num_threads()
    found = compare(
        ['planted'],
        {'Mine': make, 'Degree': None},
        path=path,
        root=str(tmp_path),
        threads=1,
        progress=False,
    )
    assert asked == ['planted']
    assert torch.get_num_threads() == threads
    assert {each.method for each in found} == {'Mine', 'Degree'}
    mine = next(each for each in found if each.method == 'Mine')
    data = one_split(prepare(load_setting('planted'), make('planted')), 0)
    assert data['x'].size(1) == 6
    model = make('planted').fit(data)
    assert mine.accuracy == round(model.score(data, data.test_mask), 6)
    assert mine.num_parameters == sum(p.numel() for p in model.parameters())
    assert sorted(map(str, tmp_path.glob('*.csv*'))) == [str(path)]
    # What is in the file is not measured again.
    asked.clear()
    again = {'Mine': make, 'Degree': None}
    assert compare(['planted'], again, path=path, progress=False) == found
    assert asked == []
    with one_line_error("'methods'", "'HGNN'"):
        compare(['planted'], {'HGNN': make}, progress=False)

    def broken(_: str) -> AnchorPredictor:
        raise RuntimeError('no such thing')

    with one_line_error('1 of 2', 'Other', 'no such thing'):
        compare(['planted'], {'Other': broken, 'Random': None}, progress=False)


def test_killed_trainings_go_on(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path / 'rows.csv', 10)
    task = Task('planted', 'HCHA', 0)
    file = kept.path(task)
    assert file is not None
    assert Path(file).parent == tmp_path / 'rows_checkpoints'
    # Both kinds of anchors learn the same roles.
    first, last = (Task(f'coDB_{kind}', 'HCHA', 0) for kind in ('first', 'last'))
    assert kept.path(first) == kept.path(last) != file
    assert Checkpoints(None).path(task) is None

    cache = str(tmp_path / 'embedding')
    half = measure(task, 5, cache=cache, checkpoint=file)
    whole = measure(task, 10, cache=cache)
    resumed = measure(task, 10, cache=cache, checkpoint=file)
    assert resumed.accuracy == whole.accuracy
    # The time before the kill counts.
    assert resumed.train_seconds > half.train_seconds
    kept.clear([last, task])
    assert Path(file).exists()
    kept.clear([last])
    assert not Path(file).exists()
    # Others are yet to come.
    assert Path(file).parent.exists()
    kept.clear([])
    assert not Path(file).parent.exists()


@pytest.mark.parametrize('name', ['num_splits', 'num_epochs', 'jobs', 'threads'])
def test_bad_numbers(name: str) -> None:
    numbers: dict[str, Any] = {name: 0}
    with one_line_error(f"'{name}'", '0'):
        compare(['planted'], **numbers)


def test_bad_names(tmp_path: Path) -> None:
    path = tmp_path / 'rows.csv'
    with one_line_error("'method'", "'HGCN'"):
        compare(['planted'], ['Degree', 'HGCN'], path=path)
    for name in ('qaXX', 'coDB', 'qaBI_last'):
        with pytest.raises(ValueError, match='must be one of'):
            compare(['planted', name], ['Degree', 'HGNN'], path=path)
    assert not path.exists()
