import time
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from tqdm import tqdm

from tests.benchmark.test_methods import of_width
from tests.benchmark.test_results import row
from tests.strategies import one_line_error
from tgx_anchor.benchmark import BenchmarkRow, fill_table, run_benchmark
from tgx_anchor.benchmark.methods import load_setting, new_model, one_split, prepare
from tgx_anchor.benchmark.results import benchmark_table
from tgx_anchor.nn import HNN, AnchorModel, AnchorPredictor


@pytest.mark.parametrize('name', ['rows.md', 'rows.tex', 'rows.png', 'rows'])
def test_file_has_no_name_of_a_report(name: str, tmp_path: Path) -> None:
    with one_line_error(name, "'.csv'"):
        run_benchmark(['planted'], ['Degree'], path=tmp_path / name)
    assert not (tmp_path / name).exists()


def test_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # From a process of its own, and from a model of one's own in this one.
    shown: list[str] = []

    def show(_: Any, text: str, refresh: bool = True) -> None:
        shown.append(text)

    monkeypatch.setattr(tqdm, 'set_postfix_str', show)

    def mine(_: str) -> AnchorModel:
        return new_model('HNN', 'planted', 2)

    methods = {'HNN': None, 'Mine': mine}
    run_benchmark(['planted'], methods, num_epochs=1, root=str(tmp_path))
    assert [text.partition(' (')[0] for text in shown] == [
        'planted HNN 1/1',
        '',
        'planted Mine 1/2',
        'planted Mine 2/2',
        '',
    ]


def test_second_run_continues(tmp_path: Path) -> None:
    path = tmp_path / 'rows.csv'
    told: list[BenchmarkRow] = []
    arguments: dict[str, Any] = {
        'path': path,
        'progress': False,
        'callback': told.append,
    }
    first = run_benchmark(['planted'], ['Degree'], **arguments)
    assert told == first
    assert [each.task for each in first] == [('planted', 'Degree', 0, 0)]
    both = run_benchmark(['planted'], ['Degree', 'Random'], **arguments)
    assert both[0] == first[0]
    assert len(told) == 2
    assert benchmark_table(path).rows == both
    assert run_benchmark(['planted'], ['Random'], **arguments) == both[1:]
    assert len(told) == 2


def test_failures_do_not_stop_the_others(tmp_path: Path) -> None:
    path = tmp_path / 'rows.csv'
    (tmp_path / 'file').touch()
    with one_line_error('1 of 2', 'Degree', 'qaMA', 'file'):
        run_benchmark(
            ['qaMA', 'planted'],
            ['Degree', 'Degree'],
            path=path,
            # No folder, so that the real dataset cannot be kept there.
            root=str(tmp_path / 'file'),
            jobs=2,
            progress=False,
        )
    assert [row.setting for row in benchmark_table(path).rows] == ['planted']


def test_interrupted_workers_end(tmp_path: Path) -> None:
    path = tmp_path / 'rows.csv'

    def stop(_: BenchmarkRow) -> None:
        raise KeyboardInterrupt

    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        run_benchmark(
            ['planted'],
            ['Degree', 'HCHA'],
            num_splits=4,
            num_epochs=100000,
            path=path,
            root=str(tmp_path),
            progress=False,
            callback=stop,
        )
    assert [row.method for row in benchmark_table(path).rows] == ['Degree']
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
        return AnchorPredictor(Mean(), batch_size=None, num_epochs=4)

    state = torch.get_rng_state()
    found = run_benchmark(
        ['planted'],
        {'Mine': make, 'Degree': None},
        path=path,
        root=str(tmp_path),
        progress=False,
    )
    # Once to see that it works at all, and once to fit it.
    assert asked == ['planted', 'planted']
    assert torch.equal(torch.get_rng_state(), state)
    assert {each.method for each in found} == {'Mine', 'Degree'}
    mine = next(each for each in found if each.method == 'Mine')
    data = one_split(prepare(load_setting('planted'), make('planted')), 0)
    assert data['x'].size(1) == 6
    torch.manual_seed(0)
    model = make('planted').fit(data)
    assert mine.accuracy == round(model.score(data, data.test_mask), 6)
    assert mine.num_parameters == sum(p.numel() for p in model.parameters())
    assert sorted(map(str, tmp_path.glob('*.csv*'))) == [str(path)]
    # What is in the file is not measured again.
    asked.clear()
    again = {'Mine': make, 'Degree': None}
    for num_epochs in (None, 7):
        rows = run_benchmark(
            ['planted'], again, num_epochs=num_epochs, path=path, progress=False
        )
        assert rows == found
    assert asked == ['planted', 'planted']


def test_bad_models_of_your_own(tmp_path: Path) -> None:
    def fails(_: str) -> AnchorPredictor:
        raise RuntimeError('no such thing')

    path = tmp_path / 'rows.csv'
    bad: dict[str, tuple[Any, type[Exception], str]] = {
        'HGNN': (fails, ValueError, "'HGNN'"),
        'Number': (5, ValueError, "'Number' to a function .*int"),
        'Fitted': (of_width(), ValueError, "'Fitted' to a function .*AnchorPredictor"),
        'Encoder': (lambda _: HNN(4, 4, 1), ValueError, "'Encoder' .*HNN"),
        'Fails': (fails, RuntimeError, 'no such thing'),
    }
    for name, (make, kind, words) in bad.items():
        # Before anything else is measured.
        with pytest.raises(kind, match=words):
            run_benchmark(['planted'], {'Degree': None, name: make}, path=path)
    assert not path.exists()


def test_interrupted_models_of_your_own(tmp_path: Path) -> None:
    path, calls = tmp_path / 'rows.csv', []

    class Impatient(HNN):
        def forward(self, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
            if self.training:
                calls.append(1)
            if len(calls) == 5:
                raise KeyboardInterrupt
            return super().forward(*args, **kwargs)

    def make(_: str) -> AnchorPredictor:
        return AnchorPredictor(Impatient(4, 4, 1), batch_size=None)

    methods = {'Mine': make, 'Degree': None}
    with pytest.raises(KeyboardInterrupt):
        run_benchmark(
            ['planted'], methods, path=path, root=str(tmp_path), progress=False
        )
    # Nothing half trained passes for a measurement.
    assert [each.method for each in benchmark_table(path).rows] == ['Degree']


def test_checkpoints_are_removed_once_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []

    def found(task: Any, _: Any, *, checkpoint: str, **__: Any) -> list[BenchmarkRow]:
        given.append(Path(checkpoint).name)
        Path(checkpoint).mkdir(parents=True, exist_ok=True)
        (Path(checkpoint) / 'state.pt').touch()
        if task.split == 1:
            raise ValueError('diverged')
        return [row(**task._asdict())]

    def here(*args: Any, isolated: bool, **kwargs: Any) -> Any:
        return fill_table(*args, isolated=False, **kwargs)

    monkeypatch.setattr('tgx_anchor.benchmark.run.measure', found)
    monkeypatch.setattr('tgx_anchor.benchmark.run.fill_table', here)
    path = tmp_path / 'rows.csv'
    folder = tmp_path / 'rows_checkpoints'
    (folder / 'qaBI_HNN_0_0').mkdir(parents=True)
    settings = ['coDB_first', 'coDB_last']
    with one_line_error('2 of 4', 'diverged'):
        run_benchmark(settings, ['HNN'], 2, path=path, progress=False)
    # Both kinds of anchors share the training of roles.
    assert given == ['coDB_HNN_0_0', 'coDB_HNN_1_0'] * 2
    # The state of failed and of other tasks stays.
    assert sorted(each.name for each in folder.iterdir()) == [
        'coDB_HNN_1_0',
        'qaBI_HNN_0_0',
    ]
    (folder / 'qaBI_HNN_0_0').rmdir()
    monkeypatch.setattr(
        'tgx_anchor.benchmark.run.measure',
        lambda task, *_, **__: [row(**task._asdict())],
    )
    run_benchmark(settings, ['HNN'], 2, path=path, progress=False)
    assert not folder.exists()


@pytest.mark.parametrize('name', ['num_splits', 'num_epochs', 'jobs', 'threads'])
def test_bad_numbers(name: str) -> None:
    numbers: dict[str, Any] = {name: 0}
    with one_line_error(f"'{name}'", '0'):
        run_benchmark(['planted'], **numbers)


def test_bad_names(tmp_path: Path) -> None:
    path = tmp_path / 'rows.csv'
    with one_line_error("'method'", "'HGCN'"):
        run_benchmark(['planted'], ['Degree', 'HGCN'], path=path)
    for name in ('qaXX', 'coDB', 'qaBI_last'):
        with pytest.raises(ValueError, match='must be one of'):
            run_benchmark(['planted', name], ['Degree', 'HGNN'], path=path)
    assert not path.exists()
