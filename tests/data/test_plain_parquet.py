"""Columns of Parquet files that are mapped into memory."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.strategies import one_line_error
from tgx_anchor.data.plain_parquet import map_parquet, write_plain_parquet

SIZE = 100_003
VALUES = {
    'i': np.arange(SIZE, dtype=np.int32),
    'l': np.arange(SIZE, dtype=np.int64) - 7,
    'f': np.arange(SIZE, dtype=np.float32) / 3,
    'b': np.arange(SIZE) % 3 == 0,
}


def columns(size: int = SIZE) -> dict[str, pa.ChunkedArray]:
    half = size // 2
    return {
        name: pa.chunked_array([value[:half], value[half:size]])
        for name, value in VALUES.items()
    }


def test_numbers_are_mapped(tmp_path: Path) -> None:
    path = tmp_path / 'a.parquet'
    write_plain_parquet(columns(), path)
    found = map_parquet(path, list(VALUES))
    for name, value in VALUES.items():
        assert np.array_equal(found[name], value)
        assert found[name].dtype == value.dtype
        assert isinstance(found[name], np.memmap) == (name != 'b')
    table = pa.parquet.read_table(path)
    assert table['l'].to_numpy().tolist() == VALUES['l'].tolist()


@pytest.mark.parametrize(
    'options',
    [
        {},
        {'compression': 'none'},
        {'compression': 'none', 'use_dictionary': False},
        {'compression': 'none', 'use_dictionary': False, 'row_group_size': 999},
        {'use_dictionary': False, 'compression': 'zstd', 'data_page_version': '2.0'},
    ],
)
@pytest.mark.parametrize('nullable', [False, True])
def test_other_files_are_read(
    tmp_path: Path, options: dict[str, object], nullable: bool
) -> None:
    path = tmp_path / 'a.parquet'
    given = columns()
    fields = [pa.field(n, c.type, nullable) for n, c in given.items()]
    table = pa.Table.from_arrays(list(given.values()), schema=pa.schema(fields))
    pa.parquet.write_table(table, path, **options)
    found = map_parquet(path, list(VALUES))
    for name, value in VALUES.items():
        assert np.array_equal(found[name], value)


def test_no_rows_and_no_values(tmp_path: Path) -> None:
    path = tmp_path / 'a.parquet'
    write_plain_parquet(columns(0), path)
    assert [len(v) for v in map_parquet(path, ['i', 'b']).values()] == [0, 0]
    pa.parquet.write_table(pa.table({'i': [1, None]}), path)
    with one_line_error("'i'", 'null', 'a.parquet'):
        map_parquet(path, ['i'])
