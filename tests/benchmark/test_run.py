import time
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from tqdm import tqdm

from tests.benchmark.test_comparison_row import row
from tests.benchmark.test_methods import of_width
from tests.strategies import one_line_error
from tgx_anchor.benchmark import ComparisonRow, compare
from tgx_anchor.benchmark.comparison_file import ComparisonFile
from tgx_anchor.benchmark.methods import load_setting, new_model, one_split, prepare
from tgx_anchor.nn import HNN, AnchorModel, AnchorPredictor


@pytest.mark.parametrize('name', ['rows.md', 'rows.tex', 'rows.png', 'rows'])
def test_file_has_no_name_of_a_report(name: str, tmp_path: Path) -> None:
    with one_line_error(name, "'.csv'"):
        compare(['planted'], ['Degree'], path=tmp_path / name)
    assert not (tmp_path / name).exists()


def test_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # From a process of its own, and from a model of one's own in this one.
    shown: list[str] = []
    monkeypatch.setattr(tqdm, 'set_postfix_str', lambda _, text: shown.append(text))

    def mine(_: str) -> AnchorModel:
        return new_model('HNN', 'planted', 2)

    rows = compare(
        ['planted'], {'HNN': None, 'Mine': mine}, num_epochs=1, root=str(tmp_path)
    )
    last = [f'planted {row.method} {100 * row.accuracy:.1f} %' for row in rows]
    assert [text.partition(' (')[0] for text in shown] == [
        'planted HNN 1/1',
        last[0],
        'planted Mine 1/2',
        'planted Mine 2/2',
        last[1],
    ]


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
        return AnchorPredictor(Mean(), batch_size=None, num_epochs=4)

    threads, state = torch.get_num_threads(), torch.get_rng_state()
    found = compare(
        ['planted'],
        {'Mine': make, 'Degree': None},
        path=path,
        root=str(tmp_path),
        threads=threads + 1,
        progress=False,
    )
    # Once to see that it works at all, and once to fit it.
    assert asked == ['planted', 'planted']
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)
    assert {each.method for each in found} == {'Mine', 'Degree'}
    mine = next(each for each in found if each.method == 'Mine')
    assert mine.threads == threads + 1
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
        rows = compare(
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
        'Number': (5, ValueError, "'Number' a function .*int"),
        'Fitted': (of_width(), ValueError, "'Fitted' a function .*AnchorPredictor"),
        'Encoder': (lambda _: HNN(4, 4, 1), ValueError, "'Encoder' .*HNN"),
        'Fails': (fails, RuntimeError, 'no such thing'),
    }
    for name, (make, kind, words) in bad.items():
        # Before anything else is measured.
        with pytest.raises(kind, match=words):
            compare(['planted'], {'Degree': None, name: make}, path=path)
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
        compare(['planted'], methods, path=path, root=str(tmp_path), progress=False)
    # Nothing half trained passes for a measurement.
    assert [each.method for each in ComparisonFile(path).rows] == ['Degree']


def test_comparison_hands_states_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def found(tasks: Any, *_: Any) -> Any:
        given.extend(tasks)
        yield from ((task, row(**task._asdict())) for task, _ in tasks)

    monkeypatch.setattr('tgx_anchor.benchmark.run.measure_apart', found)
    path = tmp_path / 'rows.csv'
    folder = tmp_path / 'rows_checkpoints'
    folder.mkdir()
    (folder / 'planted_HNN_0_0_12.pt').touch()
    (folder / 'qaBI_HNN_0_0_12.pt').touch()
    compare(['planted'], ['HNN'], path=path, progress=False)
    assert given[0][1][-1] == str(folder / 'planted_HNN_0_0_')
    # What another run needs stays.
    assert [file.name for file in folder.iterdir()] == ['qaBI_HNN_0_0_12.pt']


def test_only_below_main(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('tgx_anchor.benchmark.run.parent_process', object)
    with one_line_error("'compare'", '__main__'):
        compare(['planted'], ['Degree'])


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
