from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tests.benchmarks.scripts import load_script
from tgx_anchor.benchmark.tables import markdown_table
from tgx_anchor.io import ResultTable

SIZES = ('500', '2000')


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    for name in ('igraph', 'matplotlib', 'networkx', 'rich'):
        pytest.importorskip(name)
    with load_script('features') as module:
        yield module


def arguments(folder: Path) -> list[str]:
    args = ['--datasets', '--sizes', *SIZES, '--repeats', '1', '--in-process']
    args += ['--competitor-limit', '1000', '--root', str(folder / 'root')]
    return [*args, '--out', str(folder / 'results' / 'features.csv')]


@pytest.fixture(scope='module')
def folder(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp('benchmark')
    assert script.main(arguments(out)) == 0
    return out


@pytest.fixture(scope='module')
def rows(script: ModuleType, folder: Path) -> list:  # type: ignore[type-arg]
    path = folder / 'results' / 'features.csv'
    return ResultTable(script.Row, path, key=script.KEY).rows


def test_every_comparison_has_a_row(
    script: ModuleType,
    folder: Path,
    rows: list,  # type: ignore[type-arg]
) -> None:
    expected = [
        (f'planted_{size}', method, library)
        for size in SIZES
        for method, libraries in script.METHODS.items()
        for library in libraries
    ]
    assert [(row.dataset, row.method, row.library) for row in rows] == expected
    for suffix in ('.png', '.md'):
        assert (folder / 'results' / f'features{suffix}').stat().st_size > 0


def test_competitors_agree_and_have_ratios(script: ModuleType, rows: list) -> None:  # type: ignore[type-arg]
    for row in rows[: len(rows) // 2]:
        assert row.status == 'measured'
        assert row.total_seconds > 0
        assert row.peak_mib >= 0
        ratio = script.ratio(row, rows, 'total_seconds')
        if row.library == script.OURS:
            assert ratio is None
            continue
        total = row.build_seconds + row.compute_seconds
        assert total == pytest.approx(row.total_seconds, rel=1e-4)
        (ours,) = (
            other.total_seconds
            for other in rows
            if other.library == script.OURS
            and (other.dataset, other.method) == (row.dataset, row.method)
        )
        assert ratio == pytest.approx(row.total_seconds / ours)
        # igraph goes on where we stop: values that we call equal need not be there.
        if (row.method, row.library) != ('features', 'igraph'):
            assert row.max_abs_difference < script.AGREEMENT, (row.method, row.library)


def test_large_sizes_skip_competitors_only(script: ModuleType, rows: list) -> None:  # type: ignore[type-arg]
    for row in rows[len(rows) // 2 :]:
        competes = row.library != script.OURS or row.method in script.UNBOUNDED
        assert (row.status == 'skipped: over 1000 incidences') == competes
        assert (script.exponent(row, rows, 'cpu_seconds') is None) == competes


def test_second_run_measures_nothing(
    script: ModuleType,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = folder / 'results' / 'features.csv'
    before = path.read_bytes()
    monkeypatch.setattr(script, '_timed', None)
    assert script.main(arguments(folder)) == 0
    assert '\n0 measurements' in capsys.readouterr().out
    assert path.read_bytes() == before


def test_failures_are_rows(
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def no_answer(*args: object) -> None:
        raise ConnectionError('no answer')

    monkeypatch.setattr(script, 'save_hypergraph', no_answer)
    assert script.main([*arguments(tmp_path), '--methods', 'degree']) == 1
    path = tmp_path / 'results' / 'features.csv'
    rows = ResultTable(script.Row, path, key=script.KEY).rows
    assert {row.status for row in rows} == {'failed: ConnectionError: no answer'}
    assert 'failed' in capsys.readouterr().out
    # What failed is measured again.
    monkeypatch.undo()
    assert script.main([*arguments(tmp_path), '--methods', 'degree']) == 0


def test_exponent(script: ModuleType) -> None:
    row = script.Row('planted_10', 'degree', script.OURS, 'cpu', 1, 'measured')
    rows = [
        replace(row, dataset=f'planted_{n}', num_incidences=n, cpu_seconds=n**1.5)
        for n in (10, 100, 1000)
    ]
    # A real dataset and another number of threads belong to other curves.
    rows += [replace(rows[0], dataset='emEU'), replace(rows[1], threads=2)]
    assert script.exponent(rows[0], rows, 'cpu_seconds') == pytest.approx(1.5)
    assert script.exponent(rows[3], rows, 'cpu_seconds') is None


def test_committed_results(script: ModuleType) -> None:
    rows = ResultTable(script.Row, script.OUT, key=script.KEY).rows
    assert len(rows) == 75
    # In the order of the report.
    lines = script.make_table(rows)
    text = script.OUT.with_suffix('.md').read_text(encoding='utf-8')
    assert markdown_table(lines, num_left=3) == text
