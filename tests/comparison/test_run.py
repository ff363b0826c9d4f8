import os
import time
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from tqdm import tqdm

from tests.strategies import one_line_error
from tgx_anchor.comparison import ComparisonRow, compare
from tgx_anchor.comparison.methods import load_setting, new_model, one_split, prepare
from tgx_anchor.comparison.run import (
    Checkpoints,
    ComparisonFile,
    Progress,
    Task,
    forget_peak_memory,
    measure,
    peak_memory,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import (
    HNN,
    AnchorModel,
    AnchorPredictor,
    DegreeHeuristic,
    RandomHeuristic,
)
from tgx_anchor.nn.models.anchor_predictor_training import PredictorTraining
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
    # Nothing but a last line is given up, and what was measured twice counts once.
    path.write_bytes(content.replace(b',0,0,0.5,', b',0,0.0,0.5,'))
    with one_line_error(str(path), 'line 2'):
        ComparisonFile(path)
    path.write_bytes(content)
    twice = row(accuracy=0.75)
    ComparisonFile(path).add(twice)
    assert ComparisonFile(path).rows == [twice, *rows[1:]]
    path.write_text('other,columns\n1,2\n', encoding='utf-8')
    with one_line_error(str(path), 'setting,method'):
        ComparisonFile(path)
    assert path.read_text(encoding='utf-8') == 'other,columns\n1,2\n'


@pytest.mark.parametrize('name', ['rows.md', 'rows.tex', 'rows.png', 'rows'])
def test_file_has_no_name_of_a_report(name: str, tmp_path: Path) -> None:
    with one_line_error(name, "'.csv'"):
        compare(['planted'], ['Degree'], path=tmp_path / name)
    assert not (tmp_path / name).exists()


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


def test_progress_within_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Progress] = []
    task = Task('planted', 'HNN', 0)
    measure(task, 6, cache=str(tmp_path / 'embedding'), tell=told.append)
    assert [state[:3] for state in told] == [(task, i, 6) for i in range(1, 7)]
    found = [state.val_accuracy for state in told]
    assert found[:4] == [None] * 4
    assert found[4] is not None
    assert found[5] is not None
    assert str(told[0]) == 'planted HNN 1/6'
    assert str(told[4]) == f'planted HNN 5/6 (val {100 * found[4]:.1f} %)'

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


def of_width(width: Any = -1) -> AnchorPredictor:
    encoder = HNN(4, 4, 1)
    encoder.in_channels = width
    return AnchorPredictor(encoder)


@pytest.mark.parametrize('width', [-1, None, (3, 4)])
def test_an_encoder_of_any_width(width: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def walk(_: AnchorData, dim: int, *__: Any) -> Tensor:
        asked.append(dim)
        return torch.zeros(1000, dim)

    monkeypatch.setattr('tgx_anchor.comparison.methods._embedding', walk)
    prepare(load_setting('planted'), of_width(width))
    assert asked == [48]


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


def test_files_of_trainings(tmp_path: Path) -> None:
    assert Checkpoints(None).stem(Task('planted', 'HCHA', 0)) is None
    kept = Checkpoints(tmp_path / 'rows.csv', 10)
    task, other = Task('planted', 'HCHA', 0), Task('planted', 'HCHA', 1)
    # Both kinds of anchors learn the same roles.
    first, last = (Task(f'coDB_{kind}', 'HCHA', 0) for kind in ('first', 'last'))
    stems = {kept.stem(each) for each in (task, other, first, last)}
    assert len(stems) == 3
    assert kept.stem(first) == kept.stem(last)
    kept.clear([task], [])
    folder = tmp_path / 'rows_checkpoints'
    folder.mkdir()
    for stem in stems:
        Path(f'{stem}0123.pt').touch()
        Path(f'{stem}0123.pt.77').touch()
    kept.clear([task, first, last], [last])
    # Not what is left, and not what was not asked for.
    assert len(list(folder.iterdir())) == 4
    assert not list(folder.glob('planted_HCHA_0*'))
    kept.clear([other, first, last], [])
    assert not folder.exists()


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
    # The time before the kill counts, and so does the memory.
    assert resumed.train_seconds > half.train_seconds
    epochs.clear()
    again = measure(task, 10, cache=cache, checkpoint=stem)
    assert epochs == []
    assert again.train_seconds == resumed.train_seconds
    assert again.peak_memory >= resumed.peak_memory - 0.1


def test_comparison_hands_states_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def found(tasks: Any, *_: Any) -> Any:
        given.extend(tasks)
        yield from ((task, row(**task._asdict())) for task, _ in tasks)

    monkeypatch.setattr('tgx_anchor.comparison.run._measure_apart', found)
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
    monkeypatch.setattr('tgx_anchor.comparison.run.parent_process', object)
    with one_line_error("'compare'", '__main__'):
        compare(['planted'], ['Degree'])


def test_forgotten_peak() -> None:
    block = torch.ones(2**26)
    high = peak_memory()
    del block
    forget_peak_memory()
    # Where the system cannot forget, the peak stays.
    assert peak_memory() <= high
    if Path('/proc/self/clear_refs').exists():
        assert peak_memory() < high - 0.2


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
