"""Checked arrays of ids, flags and numbers from the columns of a table."""

from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

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
    check_finite,
    show_id,
    to_numpy,
)
from tgx_anchor.utils.messages import shorten

# A list holds values that Arrow has no common type for.
Column: TypeAlias = 'pa.ChunkedArray | list[Any]'

INTEGER = '^(0|-?[1-9][0-9]*)$'
TRUE = ('true', 't', 'yes', 'y', '1', '1.0')
FALSE = ('false', 'f', 'no', 'n', '0', '0.0')
UNKNOWN = ('', 'na', '<na>', 'n/a', 'nan', 'nat', 'null', 'none')
FLAGS = {**dict.fromkeys(TRUE, True), **dict.fromkeys((*FALSE, *UNKNOWN), False)}
TEXT_TYPES = ('string', 'large_string', 'string_view')


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
    try:
        column = pa.array(value, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return list(value)
    if isinstance(column, pa.ChunkedArray):
        return column
    if pa.types.is_integer(column.type) and np.bool_ in set(map(type, value)):
        # Arrow counts NumPy's booleans among the integers.
        return list(value)
    return pa.chunked_array([column])


def _first(mask: pa.ChunkedArray) -> int:
    return int(pc.index(mask, True).as_py())


def _check_no_null(name: str, column: pa.ChunkedArray, locate: Locate) -> None:
    empty = pc.is_null(column, nan_is_null=True)
    if pc.any(empty).as_py():
        _fail_on_empty(name, _first(empty), locate)


def _fail_on_empty(name: str, row: int, locate: Locate) -> NoReturn:
    raise ValueError(
        f"'{name}' must be given in every row (it is empty in {locate(row)})"
    )


# Ids #########################################################################


def read_ids(
    name: str, column: Column, locate: Locate = row_number, is_text: bool = False
) -> tuple[IntArray, Ids]:
    r"""Numbers the distinct ids of a column in order of first appearance.

    Args:
        name (str): The name of the column in messages.
        column (pyarrow.ChunkedArray or list): The ids, all of them integers or all
            of them strings.
        locate (Callable[[int], str], optional): Names a row in messages.
            (default: :obj:`row_number`)
        is_text (bool, optional): If set to :obj:`True`, strings come from a text
            file, and are integers if every distinct one is written as Python would
            write an integer of 64 bits. (default: :obj:`False`)

    Returns:
        The number of each row, and the ids.
    """
    if isinstance(column, list):
        _fail_on_ids(name, column, locate)
    if len(column) == 0:
        return np.empty(0, np.int64), torch.empty(0, dtype=torch.long)
    coded = pa.types.is_dictionary(column.type)
    if coded and not is_text:
        # Categories may be unused, and in any order.
        column, coded = column.cast(column.type.value_type), False
    if not coded:
        _check_no_null(name, column, locate)
        column = _check_id_type(name, column, locate)
        column = pc.dictionary_encode(column)
    encoded = column.unify_dictionaries().combine_chunks()
    code = encoded.indices.to_numpy().astype(np.int64)
    values = encoded.dictionary
    if pa.types.is_integer(values.type):
        return code, torch.from_numpy(values.to_numpy().copy())
    empty = pc.index(values, pa.scalar('', values.type)).as_py()
    if empty >= 0:
        _fail_on_empty(name, int(np.argmax(code == empty)), locate)
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
    if not pa.types.is_integer(kind):
        hint = '; convert whole numbers' if pa.types.is_floating(kind) else ''
        raise ValueError(
            f"'{name}' must hold integers or strings "
            f'(got the {kind} {column[0]!s:.60} in {locate(0)}{hint})'
        )
    if pa.types.is_uint64(kind):
        large = pc.greater(column, pa.scalar(INT64.max, kind))
        if pc.any(large).as_py():
            row = _first(large)
            _fail_on_size(name, column[row].as_py(), row, locate)
    return column.cast(pa.int64())


def _fail_on_size(name: str, value: int, row: int, locate: Locate) -> NoReturn:
    raise ValueError(
        f"'{name}' must hold integers of at most 64 bits (got {shorten(value)} in "
        f'{locate(row)}; strings can be longer)'
    )


def _fail_on_ids(name: str, column: list[Any], locate: Locate) -> NoReturn:
    # Finds the row that Arrow could not take.
    for row, value in enumerate(column):
        got = f'got {shorten(value)} in {locate(row)}'
        is_integer = isinstance(value, int | np.integer) and not isinstance(
            value, bool | np.timedelta64
        )
        if value is None:
            _fail_on_empty(name, row, locate)
        if not is_integer and not isinstance(value, str):
            raise ValueError(f"'{name}' must hold integers or strings ({got})")
        if is_integer and not INT64.min <= value <= INT64.max:
            _fail_on_size(name, value, row, locate)
        if isinstance(value, str) != isinstance(column[0], str):
            raise ValueError(
                f"'{name}' must hold only integers or only strings ({got}, and "
                f'{shorten(column[0])} in {locate(0)})'
            )
        if isinstance(value, str) and not _is_unicode(value):
            raise ValueError(
                f"'{name}' must hold strings that can be encoded in UTF-8 ({got})"
            )
    raise ValueError(f"'{name}' must hold integers or strings (got {shorten(column)})")


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

    Returns:
        The role of each row, and the names, or :obj:`None` for integers.
    """
    code, role = read_ids(name, column, locate, is_text and names is None)
    if names is None:
        if isinstance(role, Tensor):
            return role[torch.from_numpy(code)], None
        names = sorted(role)
    rank = {name: i for i, name in enumerate(names)}
    for number, value in enumerate(role):
        if value not in rank:
            row = int(np.argmax(code == number))
            raise ValueError(
                f"'{name}' must be one of the 'role_names' "
                f'(got {show_id(role, number)} in {locate(row)})'
            )
    ranks = torch.tensor([rank[str(value)] for value in role], dtype=torch.long)
    return ranks[torch.from_numpy(code)], names


# Flags #######################################################################


def read_flags(name: str, column: Column, locate: Locate = row_number) -> BoolArray:
    r"""Reads booleans, in numbers or words; a missing one is :obj:`False`.

    Args:
        name (str): The name of the column in messages.
        column (pyarrow.ChunkedArray or list): The values: booleans, 1 and 0, or any
            of true, t, yes, y, false, f, no, n, NA, null and none in any case.
        locate (Callable[[int], str], optional): Names a row in messages.
            (default: :obj:`row_number`)
    """
    if len(column) == 0:
        return np.zeros(0, dtype=np.bool_)
    if not isinstance(column, list) and pa.types.is_nested(column.type):
        column = column.to_pylist()
    if isinstance(column, list):
        # Printed, all values that count as flags are among the known words.
        column = pa.chunked_array([[_print(value) for value in column]])
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    encoded = column.unify_dictionaries().combine_chunks()
    values = encoded.dictionary.to_pylist()
    code = pc.fill_null(encoded.indices, len(values)).to_numpy()
    flags = [FLAGS.get(_print(value).strip().lower()) for value in values]
    for number, flag in enumerate(flags):
        row = -1 if flag is not None else pc.index(encoded.indices, number).as_py()
        if row >= 0:
            raise ValueError(
                f"'{name}' must be true, false or left empty "
                f'(got {shorten(values[number])} in {locate(row)})'
            )
    return np.asarray(np.array([*flags, False], dtype=np.bool_)[code])


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
    if isinstance(column, list):
        number = np.array(
            [_to_float(name, value, row, locate) for row, value in enumerate(column)]
        )
    elif len(column) == 0:
        number = np.empty(0)
    else:
        if not is_text:
            _check_no_null(name, column, locate)
        number = _cast_numbers(name, column, locate, is_text)
    check_finite(name, number, locate)
    return number


def _cast_numbers(
    name: str, column: pa.ChunkedArray, locate: Locate, is_text: bool
) -> FloatArray:
    kind = column.type
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if numeric or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())
    if is_text:
        try:
            return np.asarray(column.cast(pa.float64()).to_numpy())
        except pa.ArrowInvalid:
            # Python takes more spellings, and the first bad row has to be named.
            pass
    words = column.to_pylist()
    return np.array(
        [_to_float(name, word, row, locate, is_text) for row, word in enumerate(words)]
    )


def _to_float(
    name: str, value: Any, row: int, locate: Locate, is_text: bool = False
) -> float:
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
    raise ValueError(
        f"'{name}' must hold numbers (got {shorten(value)} in {locate(row)})"
    )
