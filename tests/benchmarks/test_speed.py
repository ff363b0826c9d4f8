import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.benchmarks.scripts import load_script
from tgx_anchor.benchmark.tables import markdown_table
from tgx_anchor.io import ResultTable

SIZES = ('200', '1000')
KEY = ('measurement', 'case', 'threads', 'quantity')
STEPS = ['generate', 'features', 'split', 'fit', 'stage 1', 'stage 2', 'predict']
STEPS += ['peak memory', 'processor', 'total']


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    for name in ('matplotlib', 'rich'):
        pytest.importorskip(name)
    with load_script('speed') as module:
        yield module


def arguments(folder: Path) -> list[str]:
    args = ['--sizes', *SIZES, '--tune', SIZES[0], '--pipeline', *SIZES]
    args += ['--variants', '1', '3', '--epochs', '1', '--seconds', '0', '--in-process']
    return [*args, '--out', str(folder / 'results' / 'speed.csv')]


def read(script: ModuleType, path: Path) -> list[Any]:
    return ResultTable(script.Row, path, key=KEY).rows


@pytest.fixture(scope='module')
def folder(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp('benchmark')
    assert script.main(arguments(out)) == 0
    return out


def test_every_task_has_its_figures(script: ModuleType, folder: Path) -> None:
    path = folder / 'results' / 'speed.csv'
    found: dict[tuple[str, str], list[str]] = {}
    for row in read(script, path):
        found.setdefault((row.measurement, row.case), []).append(row.quantity)
        assert row.value > 0
    expected = {('tune', SIZES[0]): ['points', 'search', 'fit', 'ratio']}
    for size in SIZES:
        expected['stage1', size] = ['epoch', 'bare MLP', 'ratio']
        for number in (1, 3):
            expected['stage2', f'{size} x {number}'] = [
                'own loop epoch',
                'own loop ratio',
                'epoch',
                'bare products',
                'ratio',
            ]
        expected['pipeline', size] = STEPS
    assert found == expected
    assert path.with_suffix('.png').stat().st_size > 0
    assert '| growth | 200 1000 |' in path.with_suffix('.md').read_text(
        encoding='utf-8'
    )


def test_figures_belong_together(script: ModuleType, folder: Path) -> None:
    rows = read(script, folder / 'results' / 'speed.csv')
    value = {(row.measurement, row.case, row.quantity): row.value for row in rows}
    assert value['tune', SIZES[0], 'points'] == 3 * 3 * 20 * 11
    for size in SIZES:
        ratio = value['stage1', size, 'epoch'] / value['stage1', size, 'bare MLP']
        assert value['stage1', size, 'ratio'] == pytest.approx(ratio, rel=1e-4)
        parts = [value['pipeline', size, name] for name in script.TOTAL]
        assert value['pipeline', size, 'total'] == pytest.approx(sum(parts), rel=1e-4)
        stages = [value['pipeline', size, f'stage {k}'] for k in (1, 2)]
        assert sum(stages) < value['pipeline', size, 'fit']


def test_goals(script: ModuleType, folder: Path) -> None:
    rows = read(script, folder / 'results' / 'speed.csv')
    goals = {(row.measurement, row.quantity): row.goal for row in rows}
    assert goals['stage1', 'ratio'] == 2
    assert goals['stage2', 'ratio'] == 3
    assert goals['tune', 'search'] == 20
    # Only the size of coAA has a bound on memory.
    assert goals['pipeline', 'peak memory'] is None


def test_continues_after_a_cut(
    script: ModuleType, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first task is whole; the second one broke off in the middle of a line.
    text = (folder / 'results' / 'speed.csv').read_text(encoding='utf-8')
    lines = text.splitlines(keepends=True)
    out = tmp_path / 'results' / 'speed.csv'
    out.parent.mkdir()
    out.write_text(''.join(lines[:5]) + lines[5][:20], encoding='utf-8')
    whole = read(script, folder / 'results' / 'speed.csv')
    measured = []

    def again(task: Any, *_: Any, **__: Any) -> list[Any]:
        measured.append(task[:2])
        return [row for row in whole if (row.measurement, row.case) == task[:2]]

    monkeypatch.setattr(script, 'measure', again)
    assert script.main(arguments(tmp_path)) == 0
    first, *others = dict.fromkeys((row.measurement, row.case) for row in whole)
    assert first == ('stage1', SIZES[0])
    assert measured == others
    # The file begins with what was there, and no line runs into another.
    assert out.read_text(encoding='utf-8').startswith(''.join(lines[:5]))
    assert sorted(read(script, out), key=repr) == sorted(whole, key=repr)


def test_failures_do_not_stop_the_others(
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*args: object) -> None:
        raise ConnectionError('no data')

    monkeypatch.setattr(script, 'measure_tune', fail)
    args = ['--sizes', SIZES[0], '--variants', '--pipeline', '--seconds', '0']
    args += ['--in-process', '--out', str(tmp_path / 'speed.csv')]
    assert script.main(args) == 1
    assert 'tune qaBI 1 failed: ConnectionError: no data' in capsys.readouterr().out
    rows = read(script, tmp_path / 'speed.csv')
    assert {row.measurement for row in rows} == {'stage1'}


def test_growth(script: ModuleType) -> None:
    def row(case: str, size: int, seconds: float) -> Any:
        return script.Row('pipeline', case, 1, 1, 1, size, 'total', seconds, 's')

    rows = [row(f'1e{k}', 10**k, 3.0 * 10 ** (1.2 * k)) for k in (3, 4, 5)]
    # Another number of threads, and coAA, which is no step of the same ladder.
    rows += [replace(rows[0], threads=2, value=99.0), row('coAA', 10**6, 1.0)]
    (out,) = script.growth(rows)
    assert math.isclose(out.value, 1.2)
    assert (out.case, out.threads, out.goal) == ('1e3 1e4 1e5', 1, 1.1)


def test_coaa_has_its_size_and_a_bound(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, 'COAA', (300, 400, 2.55))
    data = script.planted('coAA')
    assert (data.num_nodes, data.num_hyperedges) == (300, 400)
    task = ('pipeline', 'coAA', 1)
    rows = script.measure(task, print, root=None, seconds=0.0, num_epochs=1)
    (peak,) = (row for row in rows if row.quantity == 'peak memory')
    assert peak.goal == 8


def test_turns(script: ModuleType) -> None:
    def epochs() -> Iterator[None]:
        for number in itertools.count():
            time.sleep(0.02 if number == 1 else 0.05)
            yield

    calls: list[int] = []
    best, _ = script.take_turns(epochs(), lambda: calls.append(1), 0.0)
    # Two turns at least, of which the better one counts.
    assert len(calls) == 2
    assert 0.02 <= best < 0.05
    calls.clear()
    script.take_turns(epochs(), lambda: calls.append(1), 0.3)
    assert len(calls) > 2


def test_committed_results(script: ModuleType) -> None:
    rows = read(script, script.OUT)
    exponents = {
        row.threads: row.value for row in script.growth(rows) if row.goal is not None
    }
    assert exponents == pytest.approx({1: 1.04032, 2: 0.931764}, abs=1e-5)
    text = script.OUT.with_suffix('.md').read_text(encoding='utf-8')
    lines = script.make_table([*rows, *script.growth(rows)])
    assert markdown_table(lines, num_left=3) == text
