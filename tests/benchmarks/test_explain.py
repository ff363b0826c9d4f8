from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.benchmarks.scripts import load_script
from tgx_anchor.io import ResultTable
from tgx_anchor.utils import degree


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    with load_script('explain') as module:
        yield module


def test_true_causes_are_named_first(script: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / 'explain.csv'
    args = ['--seeds', '1', '--scales', 'inf', '--people', '150', '--groups', '800']
    args += ['--known', '0.3', '--in-process', '--out', str(path)]
    assert script.main(args) == 0
    rows = ResultTable(script.Row, path).rows
    assert [row.cause for row in rows] == list(script.CAUSES)
    for row in rows:
        assert row.num_correct >= 200
        assert row.true_cause_first >= 0.9
    text = path.with_suffix('.md').read_text(encoding='utf-8')
    assert text.startswith('| cause | scale | accuracy (%) | cause first (%) |')


def test_planted_causes(script: ModuleType) -> None:
    options = {'num_nodes': 50, 'num_hyperedges': 100}
    data = script.planted('degree', **options)
    node, hyperedge = data.hyperedge_index
    assert int(data.y.sum()) == 100
    count = degree(data.hyperedge_index, 50, 100)
    best: dict[int, list[tuple[bool, int]]] = {}
    for v, e, y in zip(node.tolist(), hyperedge.tolist(), data.y.tolist(), strict=True):
        best.setdefault(e, []).append((y, int(count[v])))
    for members in best.values():
        assert max(c for y, c in members if y) == max(c for _, c in members)
    # The groups and attributes are the same for all causes.
    other = script.planted('attribute_2', **options)
    assert (other.x == data.x).all()
    assert (other.hyperedge_index == data.hyperedge_index).all()
    assert (other.y != data.y).any()
    noisy = script.planted('degree', scale=1.0, **options)
    assert int(noisy.y.sum()) == 100
    assert (noisy.y != data.y).any()


def test_table(script: ModuleType) -> None:
    rows = [
        script.Row('degree', 2.5, seed, 10, 100, 0.5, rate, 'strength', 0.1, 0.2)
        for seed, rate in enumerate((0.9, 1.0))
    ]
    assert script.make_table(rows)[1:] == [
        ['degree', '2.5', '50.0 ± 0.0', '95.0 ± 5.0', '90.0', '0.200']
    ]
