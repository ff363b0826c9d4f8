from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.benchmarks.scripts import load_script
from tests.nn.predictors.radar import planted, quick
from tgx_anchor.benchmark.tables import markdown_table
from tgx_anchor.io import ResultTable
from tgx_anchor.utils import distinct_hyperedges


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    for name in ('matplotlib', 'rich'):
        pytest.importorskip(name)
    with load_script('labelling') as module:
        yield module


def test_planted_data(script: ModuleType, tmp_path: Path) -> None:
    out = tmp_path / 'labelling.csv'
    arguments = ['--settings', 'planted', '--epochs', '5', '--seeds', '1']
    arguments += ['--in-process', '--out', str(out), '--root', str(tmp_path)]
    assert script.main(arguments) == 0
    rows = ResultTable(script.Row, out, key=script.KEY).rows
    assert [row.per_mille for row in rows] == list(script.SHARES) * 3
    # All start with the same known groups, and are told the same number of them.
    total = rows[0].num_known / script.SHARES[0]
    for first in (0, 6, 12):
        curve = rows[first : first + 6]
        assert curve[0].accuracy == rows[0].accuracy
        for row in curve:
            assert row.num_known == pytest.approx(total * row.per_mille, rel=0.01)
    assert len({row.accuracy for row in rows[5::6]}) == 3
    assert (tmp_path / 'labelling.png').stat().st_size > 0


def test_choices(script: ModuleType) -> None:
    data = planted()
    model = quick().fit(data)
    number = distinct_hyperedges(data.hyperedge_index, 120, 600)
    pool = data.test_mask
    for strategy in script.STRATEGIES:
        told = script.choose(strategy, model, data, pool, number, 12, 0)
        assert not (told & ~pool).any()
        assert torch.unique(number[told]).numel() == 12
        # Copies are told together.
        assert torch.equal(told, pool & torch.isin(number, number[told]))
    proba = model.predict_proba(data)
    margins = []
    for group in script.smallest_margin(model, data, pool).tolist():
        first, second = proba[data.hyperedge_index[1] == group].topk(2).values.tolist()
        margins.append(first - second)
    assert margins == sorted(margins)
    assert len(margins) == int(pool.sum())


def test_area_and_table(script: ModuleType) -> None:
    assert script.area([1.0, 2.0, 3.0]) == 2.0
    assert script.area([0.0, 0.0, 0.0, 6.0]) == 1.0
    rows = [
        script.Row('emER', strategy, seed, share, 1, (seed + bonus) / 100)
        for strategy, bonus in (('suggest', 3), ('random', 1))
        for seed in (0, 1)
        for share in script.SHARES
    ]
    table = script.make_table(rows)
    assert table[1][:4] == ['emER', 'suggest', '2', '3.5']
    assert table[1][-2:] == ['3.5 ± 0.5', '2.0 ± 0.0']
    assert table[2][-2:] == ['1.5 ± 0.5', '']
    # Curves that are not complete are left out.
    assert len(script.make_table(rows[:-1])) == 3


def test_committed_results(script: ModuleType) -> None:
    rows = ResultTable(script.Row, script.OUT, key=script.KEY).rows
    table = script.make_table(rows)
    text = script.OUT.with_suffix('.md').read_text(encoding='utf-8')
    assert markdown_table(table, num_left=2) == text
    assert len(table) == 1 + 3 * 3
