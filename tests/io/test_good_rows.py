"""Rows that are left out, one rule after the other."""

import numpy as np
import pyarrow as pa
import pytest

from tgx_anchor.data.building import IntArray
from tgx_anchor.io.columns import Column, RowError
from tgx_anchor.io.good_rows import RowPlaces, read_good_rows
from tgx_anchor.io.table import Table, number_rows

COLUMNS: dict[str, Column] = {'n': pa.chunked_array([[3, -1, 4, 0, -2, 5]])}


def check(columns: dict[str, Column], places: RowPlaces) -> IntArray:
    value = np.asarray(columns['n'])
    for rule, bad in (('be positive or zero', value < 0), ('not be zero', value == 0)):
        if bad.any():
            rows = np.flatnonzero(bad)
            raise RowError('n', rule, rows, lambda row: f'got {value[row]}', str)
    assert places.kept.tolist() == places.row.tolist()
    return value


def test_each_bad_row_has_its_reason() -> None:
    good = read_good_rows(COLUMNS, check)
    assert good.result.tolist() == [3, 4, 5]
    assert good.kept.tolist() == [0, 2, 5]
    rows = good.describe(Table(COLUMNS, number_rows('a.parquet', COLUMNS)))
    assert [(row.line, row.reason, row.text) for row in rows] == [
        (2, "'n' must be positive or zero (got -1)", '-1'),
        (4, "'n' must not be zero (got 0)", '0'),
        (5, "'n' must be positive or zero (got -2)", '-2'),
    ]


def test_rows_of_other_tables_are_not_left_out() -> None:
    def read(_: dict[str, Column], places: RowPlaces) -> None:
        places.row = np.array([-1])
        raise RowError('known', 'be given', [0], lambda _: 'it is empty', str)

    with pytest.raises(RowError, match="'known' must be given"):
        read_good_rows(COLUMNS, read)
