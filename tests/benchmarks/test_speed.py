import math
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from tests.benchmarks.scripts import load_script

SIZES = ('200', '1000')
STEPS = [
    'generate',
    'degree',
    'eigenvector',
    'pagerank',
    'coreness',
    'features',
    'split',
    'stage 1',
    'stage 1 scores',
    'stage 2',
    'aggregate',
    'fit',
    'predict',
    'peak memory',
    'processor',
    'total',
]


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    for name in ('matplotlib', 'rich'):
        pytest.importorskip(name)
    with load_script('speed') as module:
        yield module


def arguments(folder: Path) -> list[str]:
    args = ['--sizes', *SIZES, '--tune', SIZES[0], '--pipeline', *SIZES]
    args += ['--variants', '1', '3', '--epochs', '1', '--repeats', '2']
    args += ['--seconds', '0', '--threads', '1', '--in-process']
    return [*args, '--out', str(folder / 'results' / 'speed.csv')]


@pytest.fixture(scope='module', autouse=True)
def one_thread() -> Iterator[None]:
    # The number of threads belongs to the process, hence to other tests.
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope='module')
def folder(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp('benchmark')
    assert script.main(arguments(out)) == 0
    return out


def test_every_task_has_its_figures(script: ModuleType, folder: Path) -> None:
    path = folder / 'results' / 'speed.csv'
    header = path.read_text(encoding='utf-8').splitlines()[0].split(',')
    assert header == [field.name for field in fields(script.Row)]
    found: dict[tuple[str, str], list[str]] = {}
    for row in script.read_rows(path):
        found.setdefault((row.measurement, row.case), []).append(row.quantity)
        assert row.value > 0 or row.measurement == 'growth'
    expected = {('tune', SIZES[0]): ['points', 'search', 'fit', 'ratio']}
    for size in SIZES:
        expected['stage1', size] = ['epoch', 'bare MLP', 'ratio']
        for number in (1, 3):
            case = f'{size} x {number}'
            expected['stage2', case] = [
                'own loop epoch',
                'own loop ratio',
                'epoch',
                'bare products',
                'ratio',
            ]
        expected['pipeline', size] = STEPS
    expected['growth', ' '.join(SIZES)] = ['processor exponent', 'exponent']
    assert found == expected
    assert path.with_suffix('.png').stat().st_size > 0


def test_figures_belong_together(script: ModuleType, folder: Path) -> None:
    rows = script.read_rows(folder / 'results' / 'speed.csv')
    value = {(row.measurement, row.case, row.quantity): row.value for row in rows}
    points = value['tune', SIZES[0], 'points']
    assert points == 3 * 3 * 20 * 11
    for (measurement, case, quantity), ratio in value.items():
        if measurement == 'stage1' and quantity == 'ratio':
            epoch = value[measurement, case, 'epoch']
            bare = value[measurement, case, 'bare MLP']
            assert ratio == pytest.approx(epoch / bare, rel=1e-4)
    for size in SIZES:
        parts = [value['pipeline', size, name] for name in script.TOTAL]
        assert value['pipeline', size, 'total'] == pytest.approx(sum(parts), rel=1e-4)


def test_goals(script: ModuleType, folder: Path) -> None:
    rows = script.read_rows(folder / 'results' / 'speed.csv')
    goals = {(row.measurement, row.quantity): row.goal for row in rows}
    assert goals['stage1', 'ratio'] == 2
    assert goals['stage2', 'ratio'] == 3
    assert goals['tune', 'search'] == 20
    # Only the size of coAA has a bound on memory.
    assert goals['pipeline', 'peak memory'] is None


def test_nothing_is_measured_twice(
    script: ModuleType,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = folder / 'results' / 'speed.csv'
    before = path.read_bytes()

    def refuse(*args: object) -> None:
        raise AssertionError

    for name in ('stage1', 'stage2', 'tune', 'pipeline'):
        monkeypatch.setattr(script, f'measure_{name}', refuse)
    assert script.main(arguments(folder)) == 0
    assert path.read_bytes() == before
    assert 'growth' in capsys.readouterr().out


def test_continues_after_a_cut(
    script: ModuleType, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first task is whole; the second one broke off in the middle of a line.
    lines = (folder / 'results' / 'speed.csv').read_text(encoding='utf-8').splitlines()
    out = tmp_path / 'results' / 'speed.csv'
    out.parent.mkdir()
    out.write_text('\n'.join([*lines[:5], lines[5][:20]]), encoding='utf-8')
    measured = []
    whole = {row.task: row for row in script.read_rows(folder / 'results/speed.csv')}

    def stage1(size: str, turns: object) -> list[object]:
        measured.append(('stage1', size))
        row = whole['stage1', size, 1]
        return [replace(row, quantity='ratio')]

    def stage2(size: str, number: int, turns: object) -> list[object]:
        measured.append(('stage2', f'{size} x {number}'))
        row = whole['stage2', f'{size} x {number}', 1]
        return [replace(row, quantity='ratio')]

    monkeypatch.setattr(script, 'measure_stage1', stage1)
    monkeypatch.setattr(script, 'measure_stage2', stage2)
    args = arguments(tmp_path)
    place = args.index('--tune')
    nothing = ['--tune', '--pipeline']
    assert script.main([*args[:place], *nothing, *args[place + 5 :]]) == 0
    assert measured == [
        ('stage2', f'{SIZES[0]} x 1'),
        ('stage2', f'{SIZES[0]} x 3'),
        ('stage1', SIZES[1]),
        ('stage2', f'{SIZES[1]} x 1'),
        ('stage2', f'{SIZES[1]} x 3'),
    ]
    # The file begins with what was there, and no line runs into another.
    text = out.read_text(encoding='utf-8').splitlines()
    assert text[:5] == lines[:5]
    assert {len(line.split(',')) for line in text[6:]} == {len(fields(script.Row))}


def test_a_task_that_fails_does_not_stop_the_others(
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*args: object) -> None:
        raise ConnectionError('no data')

    monkeypatch.setattr(script, 'measure_tune', fail)
    args = ['--sizes', SIZES[0], '--variants', '--repeats', '1', '--pipeline']
    args += ['--seconds', '0', '--threads', '1']
    args += ['--out', str(tmp_path / 'speed.csv')]
    assert script.main(args) == 1
    assert 'tune qaBI failed: no data' in capsys.readouterr().out
    rows = script.read_rows(tmp_path / 'speed.csv')
    assert {row.measurement for row in rows} == {'stage1'}


def test_growth(script: ModuleType) -> None:
    def row(case: str, size: int, seconds: float) -> Any:
        return script.Row('pipeline', case, 1, 1, 1, size, 'total', seconds, 's')

    rows = [row(f'1e{k}', 10**k, 3.0 * 10 ** (1.2 * k)) for k in (3, 4, 5)]
    # Another number of threads, and coAA, which is no step of the same ladder.
    rows += [replace(rows[0], threads=2, value=99.0), row('coAA', 10**6, 1.0)]
    (out,) = script.growth(rows, 1)
    assert math.isclose(out.value, 1.2)
    assert out.case == '1e3 1e4 1e5'
    assert script.growth(rows, 2) == []


def test_coaa_has_its_size_and_a_bound(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, 'COAA', (300, 400, 2.55))
    data = script.planted('coAA')
    assert (data.num_nodes, data.num_hyperedges) == (300, 400)
    rows = script.measure_pipeline('coAA', 1)
    (peak,) = (row for row in rows if row.quantity == 'peak memory')
    assert peak.goal == 8


@pytest.mark.slow
def test_process_of_its_own(script: ModuleType, tmp_path: Path) -> None:
    args = script.parse(['--threads', '1', '--epochs', '1', '--pipeline-repeats', '1'])
    rows = script._pipeline_apart(SIZES[0], args)
    assert [row.quantity for row in rows] == STEPS
    assert {row.threads for row in rows} == {1}


def test_turns(script: ModuleType) -> None:
    turns = script.Turns(repeats=3, seconds=1.0)
    assert not turns.end(2, 5.0)
    assert not turns.end(9, 0.5)
    assert turns.end(3, 1.0)
    # Who waits too long makes do with two.
    assert turns.end(2, script.PATIENCE + 1)
    assert not turns.end(1, script.PATIENCE + 1)
