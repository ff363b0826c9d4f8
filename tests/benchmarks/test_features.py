import os
import signal
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from tests.benchmarks.scripts import load_script
from tgx_anchor.data import AnchorData
from tgx_anchor.transforms import AddTopologicalFeatures
from tgx_anchor.utils import coreness

SIZES = ('500', '2000')


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    for name in ('igraph', 'matplotlib', 'networkx', 'rich'):
        pytest.importorskip(name)
    with load_script('features') as module:
        yield module


def arguments(folder: Path) -> list[str]:
    return [
        '--datasets',
        '--sizes',
        *SIZES,
        '--repeats',
        '1',
        '--competitor-limit',
        '1000',
        '--root',
        str(folder / 'root'),
        '--out',
        str(folder / 'results' / 'features.csv'),
    ]


@pytest.fixture(scope='module')
def folder(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp('benchmark')
    assert script.main([*arguments(out), '--in-process']) == 0
    return out


def test_every_comparison_has_a_row(script: ModuleType, folder: Path) -> None:
    path = folder / 'results' / 'features.csv'
    header = path.read_text(encoding='utf-8').splitlines()[0].split(',')
    assert header == [field.name for field in fields(script.Row)]
    rows = script.read_rows(path)
    expected = [
        (f'planted_{size}', method, library)
        for size in SIZES
        for method, libraries in script.COMPARISONS.items()
        for library in libraries
    ]
    assert [(row.dataset, row.method, row.library) for row in rows] == expected
    assert path.with_suffix('.png').stat().st_size > 0


def test_competitors_agree_and_have_ratios(script: ModuleType, folder: Path) -> None:
    rows = [
        row
        for row in script.read_rows(folder / 'results' / 'features.csv')
        if row.dataset == f'planted_{SIZES[0]}'
    ]
    for row in rows:
        assert row.status == 'measured'
        assert row.total_seconds > 0
        assert row.peak_mib >= 0
        if row.library == script.OURS:
            assert row.ratio is None
            continue
        assert row.build_seconds + row.compute_seconds == pytest.approx(
            row.total_seconds, rel=1e-4
        )
        assert row.ratio > row.ratio_without_build > 0
        # igraph goes on where we stop: values that we call equal need not be there.
        if (row.method, row.library) != ('features', 'igraph'):
            assert row.max_abs_difference < script.AGREEMENT, (row.method, row.library)


def test_large_sizes_skip_competitors_only(script: ModuleType, folder: Path) -> None:
    rows = [
        row
        for row in script.read_rows(folder / 'results' / 'features.csv')
        if row.dataset == f'planted_{SIZES[1]}'
    ]
    for row in rows:
        competes = row.library != script.OURS or row.method in script.UNBOUNDED
        assert (row.status == 'skipped: over 1000 incidences') == competes
        assert (row.exponent is None) == competes


def test_second_run_measures_nothing(
    script: ModuleType,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = folder / 'results' / 'features.csv'
    before = path.read_bytes()
    for name in ('measure', 'Laboratory', 'prepare'):
        monkeypatch.delattr(script, name)
    assert script.main(arguments(folder)) == 0
    assert '\n0 measurements' in capsys.readouterr().out
    assert path.read_bytes() == before


def test_measurement_in_its_own_process(script: ModuleType, tmp_path: Path) -> None:
    path = script.prepare('planted_500', tmp_path)
    template = script.Row('planted_500', 'degree', 'igraph', 'cpu', 1, status='')
    laboratory = script.Laboratory(threads=1)
    try:
        row = laboratory.measure(path, template, 2, 60.0)
        assert (row.status, row.repeats, row.max_abs_difference) == ('measured', 2, 0)
        row = laboratory.measure(path, template, 1, 0.0)
        assert row.status == 'skipped: over 0 seconds'
        row = laboratory.measure(tmp_path / 'gone.pt', template, 1, 60.0)
        assert row.status.startswith('failed: FileNotFoundError')
    finally:
        laboratory.close()
    assert laboratory.process.returncode == 0


def test_killed_measurement_is_a_failure(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def out_of_memory(*args: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(script, 'measure', out_of_memory)
    template = script.Row('planted_500', 'degree', script.OURS, 'cpu', 1, status='')
    row = script.measure_apart(tmp_path / 'any.pt', template, 1, 60.0)
    assert row.status == 'failed: exit code -9'


def test_missing_dataset_is_reported(
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def no_answer(*args: object) -> None:
        raise ConnectionError('no answer')

    monkeypatch.setattr(script, 'prepare', no_answer)
    assert script.main([*arguments(tmp_path), '--in-process']) == 1
    out = capsys.readouterr().out
    assert out.count('planted_500 cannot be had: no answer') == 1


def test_exponent_of_a_power_law(script: ModuleType) -> None:
    points = [(size, 3e-7 * size**1.25) for size in (10**5, 10**6, 10**7)]
    assert script.growth_exponent(points) == pytest.approx(1.25)
    assert script.growth_exponent(points[:1]) is None


def test_competitors_by_hand(script: ModuleType) -> None:
    # A triangle of nodes 0, 1, 2 listed twice, a pair, and somebody alone.
    index = torch.tensor(
        [[0, 1, 2, 0, 1, 2, 2, 3, 4], [0, 0, 0, 1, 1, 1, 2, 2, 3]],
    )
    graph = script.Hypergraph(index.numpy(), num_nodes=5, num_hyperedges=4)
    core = script.peel(script._lists(graph), graph)
    assert core.tolist() == [2, 2, 2, 1, 1]
    assert core.tolist() == coreness(index, 5, 4).tolist()

    edge, weight = script._clique_edges(graph)
    assert sorted(map(tuple, edge.tolist())) == [(0, 1), (0, 2), (1, 2), (2, 3)]
    assert weight.sum() == 7

    data = AnchorData(hyperedge_index=index, num_nodes=5, num_hyperedges=4)
    ours = AddTopologicalFeatures(centralities=['coreness'])(data).incidence_attr
    assert np.abs(script.loop_features([core], graph) - ours.numpy()).max() < 1e-6
