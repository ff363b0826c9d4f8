from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.benchmarks.scripts import load_script
from tgx_anchor.benchmark.tables import markdown_table
from tgx_anchor.io import ResultTable


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    for name in ('matplotlib', 'rich'):
        pytest.importorskip(name)
    with load_script('calibration') as module:
        yield module


def test_planted_data(script: ModuleType, tmp_path: Path) -> None:
    out = tmp_path / 'calibration.csv'
    arguments = ['--settings', 'planted', '--epochs', '20', '--in-process']
    arguments += ['--out', str(out), '--root', str(tmp_path)]
    assert script.main(arguments) == 0
    text = out.read_text(encoding='utf-8')
    rows = ResultTable(script.Row, out, key=script.KEY).rows
    assert [row.bin for row in rows] == list(range(15)) * 3
    before, val, cross_fit = rows[::15]
    assert (before.source, val.source, cross_fit.source) == ('before', *script.SOURCES)
    assert before.accuracy == val.accuracy == cross_fit.accuracy
    assert max(val.error, cross_fit.error) < 0.06 < before.error
    for first in (0, 15, 30):
        bins = rows[first : first + 15]
        size = sum(row.size for row in bins)
        gap = sum(row.size * abs(row.probability - row.share_right) for row in bins)
        assert gap / size == pytest.approx(bins[0].error, abs=1e-5)
        right = sum(row.size * row.share_right for row in bins) / size
        assert right == pytest.approx(bins[0].accuracy, abs=1e-5)
    assert (tmp_path / 'calibration.png').stat().st_size > 0
    assert '| planted | 0 | 8,015 |' in out.with_suffix('.md').read_text()
    # Nothing is measured twice.
    assert script.main(arguments) == 0
    assert out.read_text(encoding='utf-8') == text


def test_committed_results(script: ModuleType) -> None:
    rows = ResultTable(script.Row, script.OUT, key=script.KEY).rows
    table = script.make_table(rows)
    text = script.OUT.with_suffix('.md').read_text(encoding='utf-8')
    assert markdown_table(table) == text
    for setting in script.SETTINGS:
        first = [row for row in rows if (row.setting, row.split) == (setting, 0)]
        errors = {row.source: row.error for row in first}
        for source in script.SOURCES:
            assert errors[source] < errors['before']
            if setting in ('coDB_first', 'coDB_last', 'emEU', 'qaPH'):
                assert errors[source] <= 0.03
