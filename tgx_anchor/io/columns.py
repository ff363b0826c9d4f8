"""Checked arrays of ids, flags and numbers from the columns of a table."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from tgx_anchor.data.building import (
    INT64,
    BoolArray,
    FloatArray,
    Ids,
    IntArray,
    Locate,
    show_id,
    to_numpy,
)
from tgx_anchor.utils.messages import shorten

# A list holds values that Arrow has no common type for.
Column: TypeAlias = 'pa.ChunkedArray | list[Any]'

INTEGER = '^(0|-?[1-9][0-9]*)$'
TRUE = ('true', 't', 'yes', 'y', '1', '1.0')
FALSE = ('false', 'f', 'no', 'n', '0', '0.0')
# The last one is how databases export it, in lower case.
UNKNOWN = ('', 'na', '<na>', 'n/a', 'nan', 'nat', 'null', 'none', '\\n')
FLAGS = {
    **dict.fromkeys((*TRUE, 'x', 'on'), True),
    **dict.fromkeys((*FALSE, *UNKNOWN, 'off', '-'), False),
}
SIDES = {
    **dict.fromkeys(('tail', 'source', 'from', '0'), 0),
    **dict.fromkeys(('head', 'target', 'destination', 'to', '1'), 1),
    **dict.fromkeys(UNKNOWN, -1),
}
TEXT_TYPES = ('string', 'large_string', 'string_view')


class RowError(ValueError):
    r"""An error in rows of a column.

    Args:
        name (str): The name of the column.
        rule (str): The rule that is broken, such as :obj:`"hold numbers"`.
        rows (numpy.ndarray): The numbers of all bad rows, ascending.
        show (Callable[[int], str]): Returns what is wrong in a row.
        locate (Callable[[int], str]): Names a row.
    """

    def __init__(
        self,
        name: str,
        rule: str,
        rows: 'IntArray | list[int]',
        show: Callable[[int], str],
        locate: Locate,
    ) -> None:
        super().__init__(name, rule)
        self.rule = f"'{name}' must {rule}"
        self.rows, self.show, self.locate = np.asarray(rows), show, locate

    def __str__(self) -> str:
        # Not before it is asked for: to name a line, a file is read again.
        row = int(self.rows[0])
        return f'{self.rule} ({self.show(row)} in {self.locate(row)})'

    def reason(self, row: int) -> str:
        r"""Returns the message about a row, without its place."""
        return f'{self.rule} ({self.show(row)})'


def row_number(row: int) -> str:
    r"""Returns the name of a row of a table in memory, counted from one."""
    return f'row {row + 1}'


def to_column(name: str, value: Any) -> Column:
    r"""Converts a column of a table in memory to Arrow; :obj:`None`, NaN and
    :obj:`pandas.NA` become null.

    Args:
        name (str): The name of the column in messages.
        value (Any): A sequence, a tensor, a :obj:`numpy` array, a series of a data
            frame, or an Arrow array. A sequence of mixed values stays a list.
    """
    if isinstance(value, pa.Array | pa.ChunkedArray):
        if 'view' in str(value.type) and str(value.type) != 'string_view':
            # Arrow has few functions for the dictionaries and lists of polars.
            value = pa.array(value.to_pylist())
        return (
            value if isinstance(value, pa.ChunkedArray) else pa.chunked_array([value])
        )
    if isinstance(value, Tensor):
        value = to_numpy(name, value)
    if isinstance(value, np.ma.MaskedArray):
        # Masked entries become None.
        value = value.tolist()
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            raise ValueError(
                f"'{name}' must have one dimension (got the shape {list(value.shape)})"
            )
        value = value.astype(value.dtype.newbyteorder('='), copy=False)
    elif hasattr(value, '__arrow_c_stream__') and not hasattr(value, 'iloc'):
        return pa.chunked_array(value)
    elif not hasattr(value, 'iloc') and (
        not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray)
    ):
        raise ValueError(f"'{name}' must be a list or an array (got {shorten(value)})")
    if _is_mixed_with_dates(value):
        return list(value)
    try:
        column = pa.array(value, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return list(value)
    if isinstance(column, pa.ChunkedArray):
        return column
    kind = column.type
    may_mix = pa.types.is_integer(kind) or (
        pa.types.is_floating(kind) and isinstance(value, list | tuple)
    )
    if may_mix and not {bool, np.bool_}.isdisjoint(map(type, value)):
        # Arrow counts booleans among other numbers.
        return list(value)
    return pa.chunked_array([column])


def _is_mixed_with_dates(value: Any) -> bool:
    # PyArrow crashes on NumPy's dates among other scalars of NumPy.
    if isinstance(value, np.ndarray) and value.dtype != object:
        return False
    kinds = set(map(type, value))
    dates = (np.datetime64, np.timedelta64)
    return len(kinds) > 1 and any(issubclass(kind, dates) for kind in kinds)


def take_rows(column: Column, keep: BoolArray) -> Column:
    r"""Returns the rows of a column that a mask keeps.

    Args:
        column (pyarrow.ChunkedArray or list): The column.
        keep (numpy.ndarray): The mask.
    """
    if isinstance(column, list):
        return [value for value, kept in zip(column, keep, strict=True) if kept]
    kept = column.filter(pa.array(keep))
    if pa.types.is_dictionary(kept.type):
        # Forgets the values of the rows that are left out.
        return pc.dictionary_encode(kept.cast(kept.type.value_type))
    return kept


def _where(mask: Any) -> IntArray:
    return np.flatnonzero(np.asarray(mask)).astype(np.int64)


def _check_no_null(name: str, column: pa.ChunkedArray, locate: Locate) -> None:
    if column.null_count or pa.types.is_floating(column.type):
        _check_given(name, pc.is_null(column, nan_is_null=True).to_numpy(), locate)


def _check_given(name: str, empty: Any, locate: Locate) -> None:
    rows = _where(empty)
    if len(rows):
        rule = 'be given in every row'
        raise RowError(name, rule, rows, lambda _: 'it is empty', locate)


# Ids #########################################################################


def read_ids(
    name: str, column: Column, locate: Locate = row_number, is_text: bool = False
) -> tuple[IntArray, Ids]:
    r"""Numbers the distinct ids of a column in order of first appearance.

    Args:
        name (str): The name of the column in messages.
        column (pyarrow.ChunkedArray or list): The ids: integers, also as
            floating-point numbers; strings; bytes in UTF-8, dates, decimals and UUIDs,
            which become strings. If some are integers and some are strings, all
            become strings.
        locate (Callable[[int], str], optional): Names a row in messages.
            (default: :obj:`row_number`)
        is_text (bool, optional): If set to :obj:`True`, strings come from a text
            file, and are integers if every distinct one is written as Python would
            write an integer of 64 bits. (default: :obj:`False`)

    Returns:
        The number of each row, and the ids.
    """
    if len(column) == 0:
        return np.empty(0, np.int64), torch.empty(0, dtype=torch.long)
    if isinstance(column, list):
        column = pa.chunked_array([_to_strings(name, column, locate)])
    coded = pa.types.is_dictionary(column.type)
    if coded and not is_text:
        # Categories may be unused, and in any order.
        column, coded = column.cast(column.type.value_type), False
    if not coded:
        _check_no_null(name, column, locate)
        column = pc.dictionary_encode(_check_id_type(name, column, locate))
    encoded = column.unify_dictionaries().combine_chunks()
    code = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    values = encoded.dictionary
    if coded and len(np.unique(code)) < len(values):
        # Rows that were left out leave their values behind.
        encoded = pc.dictionary_encode(encoded.cast(values.type))
        code = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        values = encoded.dictionary
    if pa.types.is_integer(values.type):
        return code, torch.from_numpy(values.to_numpy().copy())
    empty = pc.index(values, pa.scalar('', values.type)).as_py()
    if empty >= 0:
        _check_given(name, code == empty, locate)
    if is_text and pc.all(pc.match_substring_regex(values, INTEGER)).as_py():
        try:
            return code, torch.from_numpy(values.cast(pa.int64()).to_numpy().copy())
        except pa.ArrowInvalid:
            pass  # too long for 64 bits
    return code, values.to_pylist()


def _check_id_type(
    name: str, column: pa.ChunkedArray, locate: Locate
) -> pa.ChunkedArray:
    kind = column.type
    if str(kind) in TEXT_TYPES:
        return column.cast(pa.large_string()) if str(kind) != 'string' else column
    if pa.types.is_floating(kind):
        # Such as integers of pandas next to missing ones.
        number = column.to_numpy().astype(np.float64)
        bad = (number != np.floor(number)) | (np.abs(number) > 2.0**53)
        _check_ids(name, column, bad, locate)
    elif pa.types.is_uint64(kind):
        large = pc.greater(column, pa.scalar(INT64.max, kind)).to_numpy()
        _check_ids(name, column, large, locate)
    elif not pa.types.is_integer(kind):
        return pa.chunked_array([_to_strings(name, column.to_pylist(), locate)])
    return column.cast(pa.int64())


def _check_ids(name: str, column: Any, bad: Any, locate: Locate) -> None:
    rows = _where(bad)
    if len(rows):

        def show(row: int) -> str:
            value = column[row]
            is_arrow = isinstance(value, pa.Scalar)
            return f'got {shorten(value.as_py() if is_arrow else value)}'

        rule = 'hold strings, integers of at most 64 bits, dates, decimals or UUIDs'
        raise RowError(name, rule, rows, show, locate)


def _to_strings(name: str, values: list[Any], locate: Locate) -> pa.Array:
    _check_given(name, list(map(_is_missing, values)), locate)
    texts = list(map(_id_text, values))
    _check_ids(name, values, [text is None for text in texts], locate)
    kinds = {type(value) for value in values}
    if len(kinds) > 1 and len(set(texts)) < len(set(values)):
        first = dict(zip(texts, values, strict=True))
        same = [t != '' and first[t] != v for t, v in zip(texts, values, strict=True)]
        rule = 'not hold two ids that are written alike, such as 7 and "7"'
        raise RowError(name, rule, _where(same), lambda r: f'got {values[r]!r}', locate)
    return pa.array(texts, pa.string())


def _is_missing(value: Any) -> bool:
    return not isinstance(value, str | bytes) and _print(value).lower() in UNKNOWN


def _id_text(value: Any) -> str | None:
    # The id as a string, None if it is none.
    if isinstance(value, bytes):
        value = value.decode('utf-8', 'surrogateescape')
    if isinstance(value, str):
        # The value of a string enumeration, not its name.
        return str.__str__(value) if _is_unicode(value) else None
    if isinstance(value, bool | np.bool_ | np.timedelta64):
        return None
    if isinstance(value, int | np.integer):
        return str(int(value)) if INT64.min <= int(value) <= INT64.max else None
    if isinstance(value, float | np.floating):
        number = float(value)
        return (
            str(int(number)) if number.is_integer() and abs(number) <= 2**53 else None
        )
    if isinstance(value, np.datetime64):
        return str(value)
    return str(value) if isinstance(value, date | Decimal | UUID) else None


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_roles(
    name: str,
    column: Column,
    locate: Locate = row_number,
    names: list[str] | None = None,
    is_text: bool = False,
    list_name: str = 'role_names',
) -> tuple[Tensor, list[str] | None]:
    r"""Reads roles: integers are kept, strings are numbered.

    Args:
        name (str): The name of the column in messages.
        column (pyarrow.ChunkedArray or list): The roles.
        locate (Callable[[int], str], optional): Names a row in messages.
            (default: :obj:`row_number`)
        names (list[str], optional): The names of the roles by their number. If
            :obj:`None`, the names in the column are numbered in sorted order.
            (default: :obj:`None`)
        is_text (bool, optional): See :func:`read_ids`. (default: :obj:`False`)
        list_name (str, optional): The name of :obj:`names` in messages.
            (default: :obj:`"role_names"`)

    Returns:
        The role of each row, and the names, or :obj:`None` for integers.
    """
    code, role = read_ids(name, column, locate, is_text and names is None)
    if names is None:
        if isinstance(role, Tensor):
            return role[torch.from_numpy(code)], None
        names = sorted(role)
    rank = {name: i for i, name in enumerate(names)}
    odd = np.array([value not in rank for value in role], dtype=np.bool_)
    if odd.any():
        raise RowError(
            name,
            f"be one of the '{list_name}'",
            _where(odd[code]),
            lambda row: f'got {show_id(role, int(code[row]))}',
            locate,
        )
    ranks = torch.tensor([rank[str(value)] for value in role], dtype=torch.long)
    return ranks[torch.from_numpy(code)], names


def read_types(
    name: str,
    column: Column,
    locate: Locate = row_number,
    names: list[str] | None = None,
    is_text: bool = False,
    list_name: str = 'type_names',
) -> tuple[IntArray, list[str] | None]:
    r"""Reads types of groups or members like roles, with :obj:`-1` where one is
    missing.

    Args:
        name (str): The name of the column in messages.
        column (pyarrow.ChunkedArray or list): The types: integers of zero or more,
            which are kept, or strings, which are numbered.
        locate (Callable[[int], str], optional): Names a row in messages.
            (default: :obj:`row_number`)
        names (list[str], optional): The names of the types by their number. If
            :obj:`None`, the names in the column are numbered in sorted order.
            (default: :obj:`None`)
        is_text (bool, optional): See :func:`read_ids`. (default: :obj:`False`)
        list_name (str, optional): The name of :obj:`names` in messages.
            (default: :obj:`"type_names"`)

    Returns:
        The type of each row, and the names, or :obj:`None` for integers.
    """
    is_given = ~_is_unknown(column)
    given = np.flatnonzero(is_given)
    out = np.full(len(column), -1, dtype=np.int64)

    def locate_given(row: int) -> str:
        return locate(int(given[row]))

    try:
        part = take_rows(column, is_given)
        number, found = read_roles(name, part, locate_given, names, is_text, list_name)
    except RowError as error:
        raise _moved(error, given, locate) from None
    out[given] = number.numpy()
    negative = _where(out[given] < 0)
    if len(negative):
        raise RowError(
            name,
            'hold names, or integers of zero or more',
            given[negative],
            lambda row: f'got {out[row]}',
            locate,
        )
    return out, found


def read_sides(name: str, column: Column, locate: Locate = row_number) -> IntArray:
    r"""Reads the sides of members of directed groups: 0 for the tail, where a group
    comes from, 1 for the head, where it goes to, and :obj:`-1` where the side is
    missing.

    Args:
        name (str): The name of the column in messages.
        column (pyarrow.ChunkedArray or list): The values: 0 and 1, or any of tail,
            source, from, head, target, destination and to, in any case.
        locate (Callable[[int], str], optional): Names a row in messages.
            (default: :obj:`row_number`)
    """
    code, values = _distinct(column)
    sides = [SIDES.get(_print(v).strip().lower().removesuffix('.0')) for v in values]
    odd = np.array([side is None for side in sides], dtype=np.bool_)
    rows = _where(odd[code])
    if len(rows):
        raise RowError(
            name,
            'be tail, head or left empty',
            rows,
            lambda row: f'got {shorten(values[code[row]])}',
            locate,
        )
    return np.array(sides, dtype=np.int64)[code]


def _is_unknown(column: Column) -> BoolArray:
    # Null, NaN, or a word that stands for them.
    code, values = _distinct(column)
    words = [_print(value).strip().lower() in UNKNOWN for value in values]
    return np.asarray(np.array(words, dtype=np.bool_)[code])


def _moved(error: RowError, place: IntArray, locate: Locate) -> RowError:
    # The same error about rows of the whole column.
    back = {int(row): i for i, row in enumerate(place.tolist())}
    out = RowError('', '', place[error.rows], lambda row: error.show(back[row]), locate)
    out.rule = error.rule
    return out


# Flags #######################################################################


def read_flags(name: str, column: Column, locate: Locate = row_number) -> BoolArray:
    r"""Reads booleans, in numbers or words; a missing one is :obj:`False`.

    Args:
        name (str): The name of the column in messages.
        column (pyarrow.ChunkedArray or list): The values: booleans, 1 and 0, or any
            of true, t, yes, y, on, x, false, f, no, n, off, -, NA, null and none in
            any case.
        locate (Callable[[int], str], optional): Names a row in messages.
            (default: :obj:`row_number`)
    """
    code, values = _distinct(column)
    flags = [FLAGS.get(_print(value).strip().lower()) for value in values]
    odd = np.array([flag is None for flag in flags], dtype=np.bool_)
    rows = _where(odd[code])
    if len(rows):
        raise RowError(
            name,
            'be true, false or left empty',
            rows,
            lambda row: f'got {shorten(values[code[row]])}',
            locate,
        )
    return np.asarray(np.array(flags, dtype=np.bool_)[code])


def _distinct(column: Column) -> tuple[IntArray, list[Any]]:
    # The number of the value of each row, and the distinct values; the last is missing.
    if len(column) == 0:
        return np.zeros(0, dtype=np.int64), [None]
    if not isinstance(column, list) and pa.types.is_nested(column.type):
        column = column.to_pylist()
    if isinstance(column, list):
        # Printed, all values that have a meaning are among the known words.
        column = pa.chunked_array([[_print(value) for value in column]])
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    encoded = column.unify_dictionaries().combine_chunks()
    values = encoded.dictionary.to_pylist()
    code = pc.fill_null(encoded.indices, len(values)).to_numpy()
    return code.astype(np.int64), [*values, None]


def _print(value: Any) -> str:
    if isinstance(value, str):
        return value if _is_unicode(value) else ascii(value)
    plain = isinstance(value, np.bool_ | np.integer | np.floating)
    return shorten(value.item() if plain else value)


# Numbers #####################################################################


def read_numbers(
    name: str, column: Column, locate: Locate = row_number, is_text: bool = False
) -> FloatArray:
    r"""Reads numbers that are finite in 32 bits.

    Args:
        name (str): The name of the column in messages.
        column (pyarrow.ChunkedArray or list): The values.
        locate (Callable[[int], str], optional): Names a row in messages.
            (default: :obj:`row_number`)
        is_text (bool, optional): If set to :obj:`True`, will also read numbers from
            strings. (default: :obj:`False`)
    """
    number: FloatArray
    if len(column) == 0:
        return np.empty(0)
    words: list[Any] = []
    if not isinstance(column, list) and not is_text:
        _check_no_null(name, column, locate)
    try:
        number = _cast_numbers(column, is_text)
    except (pa.ArrowException, TypeError):
        # Python takes more spellings, and the bad rows have to be named.
        words = column if isinstance(column, list) else column.to_pylist()
        found = [_to_float(word, is_text) for word in words]
        rows = _where([value is None for value in found])
        if len(rows):
            rule = 'hold numbers'
            raise RowError(
                name, rule, rows, lambda row: f'got {shorten(words[row])}', locate
            ) from None
        number = np.array(found, dtype=np.float64)
    with np.errstate(over='ignore'):
        rows = _where(~np.isfinite(number.astype(np.float32, copy=False)))
    if len(rows):
        rule = 'be finite in 32 bits'
        raise RowError(name, rule, rows, lambda row: f'got {number[row]}', locate)
    return number


def _cast_numbers(column: Column, is_text: bool) -> FloatArray:
    if isinstance(column, list):
        raise TypeError
    kind = column.type
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if numeric or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())
    if not is_text:
        raise TypeError
    return np.asarray(column.cast(pa.float64()).to_numpy())


def _to_float(value: Any, is_text: bool) -> float | None:
    kinds = (bool, int, float, np.bool_, np.integer, np.floating)
    try:
        # Python takes underscores for digit separators.
        if isinstance(value, kinds) and not isinstance(value, np.timedelta64):
            return float(value)
        if is_text and '_' not in value:
            return float(value)
    except OverflowError:
        return float('inf')
    except ValueError:
        pass
    return None


# Times #######################################################################


def read_times(column: Column) -> tuple[FloatArray, int]:
    r"""Reads times as numbers: dates become seconds since 1970 (UTC unless they name
    their time zone), missing and unreadable times NaN.

    Args:
        column (pyarrow.ChunkedArray or list): Numbers, dates, timestamps, or strings
            that hold a number, a date of ISO 8601 or one of an e-mail (RFC 2822).

    Returns:
        The times, and the number of those that are there and cannot be read.
    """
    if not isinstance(column, list) and pa.types.is_nested(column.type):
        column = column.to_pylist()
    if isinstance(column, list):
        found = [_to_seconds(value) for value in column]
        odd = sum(
            time is None and _print(value).strip().lower() not in UNKNOWN
            for time, value in zip(found, column, strict=True)
        )
        return np.array(found, dtype=np.float64), odd
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan), 0
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        zone = getattr(kind, 'tz', None)
        micros = column.cast(pa.timestamp('us', zone), safe=False).cast(pa.int64())
        return np.asarray(micros.cast(pa.float64(), safe=False).to_numpy()) / 1e6, 0
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        number = np.asarray(column.cast(pa.float64(), safe=False).to_numpy())
        infinite = np.isinf(number)
        return np.where(infinite, np.nan, number), int(infinite.sum())
    if not pa.types.is_dictionary(kind):
        column = pc.dictionary_encode(column)
    encoded = column.unify_dictionaries().combine_chunks()
    code = pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy()
    values = np.append(_read_words(encoded.dictionary), np.nan)
    unread = np.flatnonzero(np.isnan(values[:-1])).tolist()
    words = (_print(encoded.dictionary[i].as_py()).strip().lower() for i in unread)
    wrong = [i for i, word in zip(unread, words, strict=True) if word not in UNKNOWN]
    return values[code], int(np.isin(code, wrong).sum())


def _read_words(words: pa.Array) -> FloatArray:
    # Arrow reads the usual spellings at once, Python all of them.
    for kind in (pa.float64(), pa.timestamp('us'), pa.timestamp('us', 'UTC')):
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return read_times(pa.chunked_array([words.cast(kind)]))[0]
    return np.array(list(map(_to_seconds, words.to_pylist())), dtype=np.float64)


def _to_seconds(value: Any) -> float | None:
    number = _to_float(value, isinstance(value, str))
    if number is not None:
        return number if np.isfinite(number) else None
    if isinstance(value, np.datetime64):
        value = value.astype('M8[us]').item()
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        if isinstance(value, str):
            with suppress(TypeError, ValueError):
                # Python 3.10 does not take the letter.
                value = parse(re.sub('Z$', '+00:00', value.strip()))
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=timezone.utc)
    if not isinstance(value, datetime):
        return None
    zoned = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
    return (zoned - datetime(1970, 1, 1, tzinfo=timezone.utc)) / timedelta(seconds=1)
