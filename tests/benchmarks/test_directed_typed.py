from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.benchmarks.scripts import load_script
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.io import ResultTable
from tgx_anchor.nn import AnchorRadar
from tgx_anchor.transforms import RandomHyperedgeSplit


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    pytest.importorskip('rich')
    with load_script('directed_typed') as module:
        yield module


def test_rows(script: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / 'out.csv'
    words = ['--kinds', 'directed', '--shares', '0.5', '--known', '0.2', '--seeds', '2']
    words += ['--num-nodes', '60', '--num-groups', '400', '--in-process']
    assert script.main([*words, '--out', str(path)]) == 0
    rows = ResultTable(script.Row, path, key=script.KEY).rows
    assert [row.seed for row in rows] == [100, 101]
    # The plain model by hand.
    data = PlantedAnchorDataset(60, 400, directed=True, context=0.5, seed=101)[0]
    data = RandomHyperedgeSplit(0.2, 0.025, seed=101)(data)
    model = AnchorRadar()
    data = model.required_transform()(data)
    expected = model.fit(data).score(data, data.test_mask)
    assert rows[1].plain == pytest.approx(expected, abs=1e-6)
    text = path.with_suffix('.md').read_text(encoding='utf-8')
    assert '| directed | 0.5 | 20 % | 2 |' in text


def test_table(script: ModuleType) -> None:
    rows = [
        script.Row('typed', 0.5, 0.3, seed, 0.5, 0.5 + gain, 1.0)
        for seed, gain in enumerate([0.01, 0.03, 0.05])
    ]
    head, line = script.make_table(rows)
    assert head[-1] == 'context - plain'
    # The standard deviation of the gains is two points.
    assert line == ['typed', '0.5', '30 %', '3', '50.0', '53.0', '+3.00 ± 1.15']
    assert script.make_table(rows[:1])[1][-1] == '+1.00'
