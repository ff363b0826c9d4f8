"""Columns in all the ways that users hold them, against plain loops."""

import math
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.io.strategies import INT64, NAMES, examples
from tests.strategies import SETTINGS, one_line_error
from tgx_anchor.io.columns import (
    RowError,
    read_flags,
    read_ids,
    read_numbers,
    read_roles,
    read_sides,
    read_times,
    read_types,
    row_number,
    to_column,
)


class Person(str, Enum):
    ANN = 'ann'
    BOB = 'bob'


def ids(values: Any, is_text: bool = False) -> tuple[list[int], list[Any]]:
    code, found = read_ids('id', to_column('id', values), row_number, is_text)
    assert code.dtype == np.int64
    return code.tolist(), found.tolist() if isinstance(found, Tensor) else found


def text(values: list[str], repeated: bool) -> pa.ChunkedArray:
    """A column as it comes from a text file, in two parts."""
    half = len(values) // 2
    parts = [pa.array(part, pa.string()) for part in (values[:half], values[half:])]
    if repeated:
        parts = [part.dictionary_encode() for part in parts]
    return pa.chunked_array(parts)


# Ids #############################################################################


@given(st.lists(INT64 | st.integers(-2, 2)) | st.lists(NAMES | st.sampled_from('ab')))
@examples(100)
def test_ids_are_numbered_in_order_of_appearance(values: list[Any]) -> None:
    distinct = list(dict.fromkeys(values))
    assert ids(values) == ([distinct.index(v) for v in values], distinct)


@given(
    st.lists(INT64.map(str) | st.sampled_from(['7', '07', '-0', 'a']), max_size=8),
    st.booleans(),
)
@examples(100)
def test_ids_of_text(values: list[str], repeated: bool) -> None:
    code, found = ids(text(values, repeated), is_text=True)
    distinct = list(dict.fromkeys(values))
    assert code == [distinct.index(v) for v in values]
    if all(v not in ('07', '-0', 'a') for v in distinct):
        assert found == [int(v) for v in distinct]
    else:
        assert found == distinct


@pytest.mark.parametrize(
    'values',
    [
        pa.array(['b', 'a', 'b'], pa.large_string()),
        pa.array(['b', 'a', 'b'], pa.string_view()),
        pa.chunked_array([['b'], ['a', 'b']]),
        pd.Series(['b', 'a', 'b'], dtype='category'),
        pd.Categorical(['b', 'a', 'b'], categories=['unused', 'a', 'b']),
        np.array(['b', 'a', 'b']),
        np.array(['b', 'a', 'b'], dtype=object),
    ],
    ids=str,
)
def test_ids_of_all_kinds_of_strings(values: Any) -> None:
    if isinstance(values, pd.Categorical):
        values = pd.Series(values)
    assert ids(values) == ([0, 1, 0], ['b', 'a'])


def test_ids_of_an_enumeration_are_its_values() -> None:
    assert ids([Person.BOB, Person.ANN, Person.BOB]) == ([0, 1, 0], ['bob', 'ann'])


@pytest.mark.parametrize(
    'values',
    [
        [b'\xff'],
        [1.5],
        [2.0**60],
        [7, '7'],
        [True],
        [np.bool_(True), 1],
        [[1]],
        [{}],
        ['a', '\ud800'],
        [2**64],
        [1, Ellipsis],
        ['a', None],
        [1, math.nan],
        [pd.NaT],
        pa.array([2**63], pa.uint64()),
        pa.array([None], pa.string()),
    ],
    ids=str,
)
def test_ids_refuse(values: Any) -> None:
    with one_line_error("'id' must", 'row '):
        ids(values)


@pytest.mark.parametrize(
    ('values', 'expected'),
    [
        ([date(2020, 1, 31), date(2021, 1, 1)], ['2020-01-31', '2021-01-01']),
        ([datetime(2020, 1, 31, 12)], ['2020-01-31 12:00:00']),
        ([Decimal('1.50'), Decimal(2)], ['1.50', '2.00']),
        ([Decimal('1.5'), 'a'], ['1.5', 'a']),
        ([b'a', 'b', 'é'.encode()], ['a', 'b', 'é']),
        ([UUID(int=7), UUID(int=8)], [str(UUID(int=7)), str(UUID(int=8))]),
        ([7, 'a', 8.0], ['7', 'a', '8']),
        ([Person.ANN, 3], ['ann', '3']),
    ],
    ids=str,
)
def test_ids_become_strings(values: Any, expected: list[str]) -> None:
    assert ids([*values, values[0]]) == ([*range(len(values)), 0], expected)


def test_ids_of_whole_numbers() -> None:
    assert ids([1.0, -3.0, 1.0]) == ([0, 1, 0], [1, -3])
    assert ids(pd.Series([5, 6], dtype='float32')) == ([0, 1], [5, 6])


@pytest.mark.parametrize('scale', [0, 1])
def test_errors_list_all_bad_rows(scale: int) -> None:
    column = to_column('id', ['a', '', 'b', None, '', 'a'][scale:])
    with pytest.raises(RowError) as info:
        read_ids('id', column)
    assert info.value.rows.tolist() in ([3 - scale], [1 - scale, 4 - scale])
    with pytest.raises(RowError, match="got 'z' in row 2") as info:
        read_flags('flag', to_column('flag', ['1', 'z', '', 'no', 'y?', 'z']))
    assert info.value.rows.tolist() == [1, 4, 5]
    assert info.value.reason(4) == "'flag' must be true, false or left empty (got 'y?')"
    with pytest.raises(RowError, match="got 'b' in row 1") as info:
        read_numbers('n', to_column('n', ['b', '1', '', '2']), row_number, True)
    assert info.value.rows.tolist() == [0, 2]


# Times ###########################################################################

NOON = 1580472000.0  # 2020-01-31 12:00 UTC


@pytest.mark.parametrize(
    ('values', 'expected', 'odd'),
    [
        ([1, 2, None], [1, 2, None], 0),
        ([1.5, math.nan, math.inf], [1.5, None, None], 1),
        ([datetime(2020, 1, 31, 12), None], [NOON, None], 0),
        ([date(2020, 1, 31)], [NOON - 43200], 0),
        (['2020-01-31', '2020-01-31 12:00:00.5'], [NOON - 43200, NOON + 0.5], 0),
        (['2020-01-31T12:00:00Z', '2020-01-31T13:00:00+01:00'], [NOON, NOON], 0),
        (['Fri, 31 Jan 2020 13:00:00 +0100', '1e3'], [NOON, 1000], 0),
        (['7', '', 'NA', 'soon', 'soon'], [7, None, None, None, None], 2),
        ([datetime(2020, 1, 31, 12), '7', 'x', None], [NOON, 7, None, None], 1),
        (pa.array([1580472000000], pa.timestamp('ms', 'Asia/Tokyo')), [NOON], 0),
        (pa.array(['2020-01-31', None]).dictionary_encode(), [NOON - 43200, None], 0),
        ([np.datetime64('2020-01-31T12'), 'x'], [NOON, None], 1),
        ([], [], 0),
        ([[1], [2]], [None, None], 2),
        ([{'a': 1}, None], [None, None], 1),
    ],
    ids=str,
)
def test_times(values: Any, expected: list[Any], odd: int) -> None:
    time, count = read_times(to_column('time', values))
    assert [None if math.isnan(t) else t for t in time.tolist()] == expected
    assert count == odd


@given(st.lists(st.datetimes(timezones=st.sampled_from([None, timezone.utc]))))
def test_times_of_iso_dates(values: list[datetime]) -> None:
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    zoned = [v if v.tzinfo else v.replace(tzinfo=timezone.utc) for v in values]
    expected = [(v - epoch).total_seconds() for v in zoned]
    time, odd = read_times(to_column('time', [v.isoformat() for v in values]))
    assert time.tolist() == pytest.approx(expected, abs=1e-4)
    assert odd == 0


@pytest.mark.parametrize('other', [np.int64(1), np.float32(0.5), np.bool_(True), 2])
def test_dates_among_numbers_stay_a_list(other: Any) -> None:
    # PyArrow itself ends the process here.
    values = [np.datetime64('2020-01-01'), other]
    assert to_column('id', values) == values


def test_roles() -> None:
    role, names = read_roles('role', to_column('role', ['to', 'cc', 'to']))
    assert (role.tolist(), names) == ([1, 0, 1], ['cc', 'to'])
    role, names = read_roles('role', to_column('role', [3, -1]))
    assert (role.tolist(), names) == ([3, -1], None)
    column = to_column('role', ['to', 'cc'])
    role, names = read_roles('role', column, row_number, ['to', 'from', 'cc'])
    assert (role.tolist(), names) == ([0, 2], ['to', 'from', 'cc'])
    with one_line_error("'role_names'", "'cc' in row 2"):
        read_roles('role', column, row_number, ['to'])


def test_types() -> None:
    types, names = read_types('t', to_column('t', ['to', None, 'cc', ' NA ', 'to']))
    assert (types.tolist(), names) == ([1, -1, 0, -1, 1], ['cc', 'to'])
    types, names = read_types('t', to_column('t', [3, None, 0]))
    assert (types.tolist(), names) == ([3, -1, 0], None)
    types, names = read_types('t', to_column('t', ['3', '', '0']), is_text=True)
    assert (types.tolist(), names) == ([3, -1, 0], None)
    column = to_column('t', [None, 'to', 'cc'])
    assert read_types('t', column, names=['cc', 'to'])[0].tolist() == [-1, 1, 0]
    # Rows are those of the whole column.
    with one_line_error("'type_names'", "'cc' in row 3"):
        read_types('t', column, names=['to'])
    with one_line_error("'t'", 'zero or more', 'got -4 in row 2'):
        read_types('t', to_column('t', [None, -4]))
    assert read_types('t', to_column('t', []))[0].tolist() == []
    assert read_types('t', to_column('t', [None, None]))[0].tolist() == [-1, -1]


@given(st.lists(st.sampled_from(['a', 'b', 'c', None, 'NA', '']), max_size=8))
@SETTINGS
def test_types_match_a_loop(values: list[str | None]) -> None:
    types, names = read_types('t', to_column('t', values))
    given_names = sorted({v for v in values if v not in (None, 'NA', '')})
    assert (names or []) == given_names
    expected = [-1 if v in (None, 'NA', '') else given_names.index(v) for v in values]
    assert types.tolist() == expected


SIDE_WORDS = {'tail': 0, 'Source': 0, 'FROM ': 0, 'head': 1, 'target': 1, 'to': 1}


@given(st.lists(st.sampled_from([*SIDE_WORDS, None, 'n/a', 'left']), max_size=6))
@SETTINGS
def test_sides_match_a_loop(values: list[str | None]) -> None:
    column = to_column('side', values)
    if 'left' in values:
        place = f"got 'left' in row {values.index('left') + 1}"
        with one_line_error("'side' must be tail, head or left empty", place):
            read_sides('side', column)
        return
    expected = [SIDE_WORDS.get(str(value), -1) for value in values]
    assert read_sides('side', column).tolist() == expected


@pytest.mark.parametrize('values', [[0, 1, None], [0.0, 1.0, math.nan], ['0', '1', '']])
def test_sides_are_also_numbers(values: list[Any]) -> None:
    assert read_sides('side', to_column('side', values)).tolist() == [0, 1, -1]


# Flags ###########################################################################


@pytest.mark.parametrize(
    'values',
    [
        [True, False, None],
        [1, 0, None],
        [1.0, 0.0, math.nan],
        ['Yes', 'no', ''],
        ['y', 'N', 'NA'],
        [' T', 'f', 'n/a'],
        ['TRUE', 'False', 'null'],
        ['1', '0', 'None'],
        ['1.0', '0.0', 'nan'],
        [1, 'no', pd.NA],
        [np.float32(1), np.False_, pd.NaT],
        pd.Series(['1', '0', None], dtype='category'),
        pd.Series([True, False, None], dtype='boolean'),
        np.ma.masked_equal([1, 0, 9], 9),
        torch.tensor([1, 0, 0], dtype=torch.uint8),
    ],
    ids=str,
)
def test_flags(values: Any) -> None:
    flags = read_flags('flag', to_column('flag', values))
    assert flags.dtype == np.bool_
    assert flags.tolist() == [True, False, False]


@pytest.mark.parametrize(
    'value', ['maybe', 2, -1, 0.5, [1], {}, b'1', 1j, '\ud800', [10**5000], math.inf]
)
def test_flags_refuse(value: Any) -> None:
    for values in ([value], [True, 'no', value], [None, value]):
        with one_line_error("'flag'", f'in row {len(values)}'):
            read_flags('flag', to_column('flag', values))


def test_flags_ignore_unused_categories() -> None:
    column = pd.Series(['yes', 'no'], dtype=pd.CategoricalDtype(['x', 'no', 'yes']))
    assert read_flags('flag', to_column('flag', column)).tolist() == [True, False]
    assert read_flags('flag', to_column('flag', [None, None])).tolist() == [False] * 2
    assert read_flags('flag', to_column('flag', [])).tolist() == []


# Numbers #########################################################################


@pytest.mark.parametrize(
    ('values', 'expected'),
    [
        ([1, 2], [1.0, 2.0]),
        ([1, 0.5, True], [1.0, 0.5, 1.0]),
        ([True, False], [1.0, 0.0]),
        ([2**53 + 1, 1], [2.0**53, 1.0]),
        ([10**30, np.float32(0.5)], [1e30, 0.5]),
        (np.array([1, 2], dtype='>f4'), [1.0, 2.0]),
        (torch.tensor([1.5, 2.5]).bfloat16(), [1.5, 2.5]),
        (pa.array([1.5, 2.5], pa.float16()), [1.5, 2.5]),
        ([Decimal('0.5'), Decimal(2)], [0.5, 2.0]),
        ([], []),
    ],
)
def test_numbers(values: Any, expected: list[float]) -> None:
    assert read_numbers('n', to_column('n', values)).tolist() == expected


@given(st.lists(st.floats(-1e38, 1e38).map(repr) | st.integers(-99, 99).map(str)))
@examples(100)
def test_numbers_of_text(values: list[str]) -> None:
    column = pa.chunked_array([pa.array(values, pa.string())])
    expected = [float(value) for value in values]
    assert read_numbers('n', column, is_text=True).tolist() == expected
    spaced = pa.chunked_array([pa.array([f' +{abs(v)!r}' for v in expected], 'string')])
    assert read_numbers('n', spaced, is_text=True).tolist() == list(map(abs, expected))


@pytest.mark.parametrize('value', ['', 'x', '1_0', 'nan', '-inf', '1e39', '0x1', '1,5'])
def test_numbers_of_text_refuse(value: str) -> None:
    column = pa.chunked_array([['1', value]])
    with one_line_error("'n' must", 'row 2'):
        read_numbers('n', column, is_text=True)


@pytest.mark.parametrize(
    'value', ['1', None, math.nan, math.inf, 1e39, 10**400, [1], b'1', 1j, pd.NA]
)
def test_numbers_refuse(value: Any) -> None:
    with one_line_error("'n' must", 'row 2'):
        read_numbers('n', to_column('n', [1.5, value]))
