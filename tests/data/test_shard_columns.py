from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tgx_anchor.data.shard_columns import (
    check_distinct,
    check_numeric,
    check_order,
    check_range,
    check_rows,
    check_types,
    read_columns,
    to_numbers,
)

# Two groups, of which the first one has an anchor.
ROWS: dict[str, np.ndarray[Any, Any]] = {
    'node': np.array([2, 0, 1, 2]),
    'hyperedge': np.array([5, 5, 6, 6]),
    'y': np.array([True, False, False, False]),
}


def test_right_columns_pass() -> None:
    check_range('node', ROWS['node'], 0, 3)
    check_range('node', np.empty(0, dtype=np.int32), 0, 0)
    check_types(0, ROWS | {'role': np.arange(4), 'price': np.ones(4)})
    check_rows(0, 1, ROWS)
    check_distinct(Path('a/b'), pa.chunked_array([['x'], ['y']]))
    for kind in (pa.int8(), pa.float64(), pa.null()):
        check_numeric(Path('a/b'), 'price', kind)


@pytest.mark.parametrize(
    ('check', 'words'),
    [
        (
            lambda: check_range('node', ROWS['node'], 0, 2),
            r'node must be integers in \[0, 2\) \(got \(0, 2\)\)',
        ),
        (lambda: check_range('node', ROWS['node'], 1, 3), r'got \(0, 2\)'),
        (lambda: check_range('node', np.ones(2), 0, 3), 'got float64'),
        (
            lambda: check_types(3, ROWS | {'y': np.ones(4)}),
            "'y' of shard 3 must be booleans",
        ),
        (
            lambda: check_types(3, ROWS | {'role': np.ones(4)}),
            "'role' of shard 3 must be integers",
        ),
        (
            lambda: check_types(3, ROWS | {'price': np.array(['a'] * 4)}),
            "'price' of shard 3 must be numbers",
        ),
        (lambda: check_rows(3, 2, ROWS), r'must have 2 groups .* \(got 1\)'),
        (
            lambda: check_rows(3, 1, ROWS | {'hyperedge': np.array([6, 5, 6, 6])}),
            'group by group',
        ),
        (
            lambda: check_rows(3, 1, ROWS | {'node': np.array([2, 0, 1, 1])}),
            'got node 1 again in hyperedge 6',
        ),
        (
            lambda: check_distinct(Path('a/b'), pa.chunked_array([['x'], ['x']])),
            "'id' of 'a/b' must be distinct .got 1 distinct ids in 2 rows",
        ),
        (
            lambda: check_numeric(Path('a/b'), 'price', pa.string()),
            "'price' of 'a/b' must hold numbers .got string",
        ),
    ],
)
def test_wrong_columns(check: Callable[[], None], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check()


def test_read_columns(tmp_path: Path) -> None:
    path = tmp_path / 'part-0.parquet'
    table = pa.table(
        {
            'node': [4, 5],
            'id': pa.array(['a', 'b']).dictionary_encode(),
            'gap': [1.0, None],
            'time': [1.0, None],
            'day': pa.array([1, 2], pa.date32()),
        }
    )
    pa.parquet.write_table(table, path)
    found = read_columns(path, ['id', 'time'])
    assert found.column('id').to_pylist() == ['a', 'b']
    assert to_numbers(path, 'node', read_columns(path, ['node'])).tolist() == [4, 5]
    check_order(path, 'node', 4)
    with pytest.raises(ValueError, match=r'the integers in \[0, 2\) in order'):
        check_order(path, 'node', 0)
    with pytest.raises(ValueError, match="must have the column 'x'"):
        read_columns(path, ['id', 'x'])
    with pytest.raises(ValueError, match=r'gap.* must not be null .*got 1 nulls'):
        read_columns(path, ['gap'])
    with pytest.raises(ValueError, match='must hold numbers'):
        to_numbers(path, 'day', read_columns(path, ['day']))


def test_ids_are_integers_or_strings(tmp_path: Path) -> None:
    path = tmp_path / 'part-0.parquet'
    pa.parquet.write_table(pa.table({'id': [1.5]}), path)
    with pytest.raises(ValueError, match=r'integers or strings .got double'):
        read_columns(path, ['id'])
