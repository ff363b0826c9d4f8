"""The benchmark of shards: its tables, its measurements, its projection."""

import math
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.benchmarks.scripts import load_script


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    with load_script('scale') as module:
        yield module


def test_tables(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, 'FILE_ROWS', 4000)
    script.write_tables(tmp_path, 10_000)
    tables = [
        pa.parquet.read_table(path) for path in sorted(tmp_path.glob('*.parquet'))
    ]
    assert [table.num_rows for table in tables] == [4000, 4000, 2000]
    table = pa.concat_tables(tables)
    group, member = (table[name].to_numpy() for name in ('group', 'member'))
    # No group lies in two files.
    ends = [set(t['group'].to_pylist()) for t in tables]
    assert not ends[0] & ends[1]
    assert member.max() < 2800
    sizes = np.bincount(group)
    assert 2.5 < sizes.mean() < 3.1
    anchors = np.bincount(group, weights=table['is_anchor'].to_numpy())
    assert set(anchors) == {0.0, 1.0}
    assert 0.05 < anchors.mean() < 0.10
    before = (tmp_path / 'part-0000.parquet').stat().st_mtime_ns
    script.write_tables(tmp_path, 10_000)
    assert (tmp_path / 'part-0000.parquet').stat().st_mtime_ns == before


def test_projection_is_the_model_it_was_made_of(
    script: ModuleType, tmp_path: Path
) -> None:
    true = script.CostModel(2e-5, 1e-5, 400.0, 1e9, 1e-4, 80.0, 200.0, 4e8)
    rows = [
        script.Row(
            size,
            'shards',
            processes,
            math.nan,
            true.seconds(size, processes),
            true.gib(size, processes),
            int(8 * script.PEOPLE * size),
            int(400 * 8 * script.PEOPLE * size),
            int(script.PEOPLE * size),
            size,
            1.0,
        )
        for size in (10**6, 10**7)
        for processes in (1, 2)
    ]
    for size in script.SUM_BYTES:
        seconds = size / 1e9 + 1e-4
        row = script.Row(size, 'sum', 2, seconds, seconds, 0, 0, 0, 0, 0, math.nan)
        rows.append(row)
    found = script.CostModel.fit(rows)
    for size, machines in ((10**7, 1), (10**7, 2), (10**8, 4)):
        assert found.seconds(size, machines) == pytest.approx(
            true.seconds(size, machines), rel=0.02
        )
        assert found.gib(size, machines) == pytest.approx(
            true.gib(size, machines), rel=0.02
        )
    assert any('projection' in line for line in found.sentences())
    assert script.CostModel.fit(rows[:1]) is None
    script.plot(rows, tmp_path / 'scale.png')
    assert (tmp_path / 'scale.png').stat().st_size > 10_000
    script.plot(rows[:1], tmp_path / 'none.png')
    assert not (tmp_path / 'none.png').exists()
    lines = script.findings(rows)
    assert any('1e+07: two processes take' in line for line in lines)


@pytest.mark.slow
def test_small_run(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / 'scale.csv'
    words = ['--sizes', '2e4', '--work', str(tmp_path / 'work'), '--out', str(out)]
    script.main(words)
    text = out.with_suffix('.md').read_text(encoding='utf-8')
    assert text.count('100.00%') == 3
    assert 'two processes take' in text
    assert 'Cost model' in text
    before = out.read_bytes()
    script.main(words)
    assert out.read_bytes() == before
    assert '2e+04' in capsys.readouterr().out
