"""One column of foreign values in, checked arrays out."""

import re
import reprlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.floating[Any]]
BoolArray = NDArray[np.bool_]
Locate = Callable[[int], str]
Vocabulary = Tensor | list[str]
Kind = Literal['boolean', 'integer', 'float', 'string', 'missing', 'other']

INTEGER_TEXT = re.compile(r'0|-?[1-9][0-9]*')
FLAG_TEXT = {
    'true': True,
    'yes': True,
    '1': True,
    '1.0': True,
    'false': False,
    'no': False,
    '0': False,
    '0.0': False,
    '': False,
}
INT64 = np.iinfo(np.int64)
IDS = ('integer', 'string')
# Printing an integer takes quadratic time, and beyond 4300 digits Python refuses.
PRINTED_BITS = 256
LISTED = 10
MESSAGE = 200


@dataclass(frozen=True)
class TextColumn:
    r"""A column of strings, most of them repeated.

    Args:
        code (numpy.ndarray): The number of the string in each row, numbered in order
            of first appearance.
        value (list[str]): The distinct strings.
    """

    code: IntArray
    value: list[str]


Column = NDArray[Any] | list[Any] | TextColumn


class TextNumbering(defaultdict[str, int]):
    r"""Numbers the strings it is asked for in order of first appearance."""

    def __init__(self) -> None:
        super().__init__()
        self.default_factory = self.__len__

    def encode(self, values: Sequence[str]) -> IntArray:
        r"""Returns the number of each string."""
        return np.fromiter(map(self.__getitem__, values), np.int64, len(values))


# Values in messages ##########################################################

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 60


def shorten(value: Any) -> str:
    r"""Shows any value in one short line."""
    if isinstance(value, int) and value.bit_length() > PRINTED_BITS:
        return f'an integer of {value.bit_length()} bits'
    return ' '.join(_repr.repr(value).split())


def one_line(error: Exception) -> str:
    r"""Shows what another library has to say in one line."""
    text = ' '.join(str(error).split())
    return text if len(text) <= MESSAGE else f'{text[:MESSAGE]}...'


def listed(values: Iterable[Any]) -> str:
    r"""Shows the first few values, separated by commas."""
    values = list(values)
    shown = [shorten(value) for value in values[:LISTED]]
    if len(values) > LISTED:
        shown.append(f'{len(values) - LISTED} more')
    return ', '.join(shown) or 'none'


def row_number(row: int) -> str:
    r"""Names a row of a table in memory, counted from one."""
    return f'row {row + 1}'


# Columns #####################################################################


def as_column(name: str, value: Any) -> NDArray[Any] | list[Any]:
    r"""Turns the column of a table in memory into a numeric array or a list.

    Args:
        name (str): The name of the column in messages.
        value (Any): A sequence, tensor, :obj:`numpy` array or anything else with a
            method :meth:`to_numpy`.
    """
    if isinstance(value, Tensor):
        value = to_numpy(name, value)
    elif hasattr(value, 'to_numpy'):
        with suppress(TypeError, ValueError):
            value = value.to_numpy()
    if isinstance(value, np.ma.MaskedArray):
        # Turns masked entries into None.
        value = value.tolist()
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            raise ValueError(
                f"'{name}' must have one dimension (got the shape {list(value.shape)})"
            )
        if value.dtype.kind in 'biuf':
            return value
        # NumPy would list dates as bare integers.
        return value.tolist() if value.dtype.kind in 'OSTU' else list(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return list(value)
    raise ValueError(f"'{name}' must be a list or an array (got {shorten(value)})")


def to_numpy(name: str, value: Tensor) -> NDArray[Any]:
    r"""Turns a tensor into an array of numbers.

    Args:
        name (str): The name of the tensor in messages.
        value (torch.Tensor): A tensor of any type and device.
    """
    try:
        value = value.detach().cpu()
        # NumPy lacks the short floating-point types of PyTorch.
        short = value.is_floating_point() and value.element_size() < 4
        return np.asarray((value.float() if short else value).numpy())
    except (TypeError, RuntimeError):
        raise ValueError(
            f"'{name}' must be a dense tensor of numbers (got {value.dtype} and "
            f'{value.layout})'
        ) from None


def _kind(kind: type) -> Kind:
    if issubclass(kind, bool | np.bool_):
        return 'boolean'
    if issubclass(kind, int | np.integer) and not issubclass(kind, np.timedelta64):
        return 'integer'
    if issubclass(kind, float | np.floating):
        return 'float'
    if issubclass(kind, str):
        return 'string'
    # Whoever holds pandas.NA or NaT has pandas; nobody else has to import it.
    if kind is type(None) or kind.__name__ in ('NAType', 'NaTType'):
        return 'missing'
    return 'other'


def _kinds(column: list[Any]) -> dict[type, Kind]:
    return {kind: _kind(kind) for kind in set(map(type, column))}


def _first_row(column: TextColumn, value: int) -> int:
    return int(np.argmax(column.code == value))


# Ids #########################################################################


def factorise(
    name: str, column: Column, locate: Locate = row_number
) -> tuple[IntArray, Vocabulary]:
    r"""Numbers the distinct ids of a column in order of first appearance.

    Args:
        name (str): The name of the column in messages.
        column (numpy.ndarray or list or TextColumn): The ids, all of them integers
            or all of them strings. Text counts as integers if every distinct one is
            as Python would print an integer of 64 bits.
        locate (Callable[[int], str], optional): Names a row in messages.
            (default: :obj:`row_number`)

    Returns:
        The number of each row, and the vocabulary.
    """
    if isinstance(column, TextColumn):
        _check_text(name, column, locate)
        return column.code, _vocabulary(column.value)
    if len(column) == 0:
        return np.empty(0, np.int64), torch.empty(0, dtype=torch.long)
    if isinstance(column, list):
        kinds = _kinds(column)
        if set(kinds.values()) == {'string'}:
            numbering = TextNumbering()
            text = TextColumn(numbering.encode(column), list(map(str, numbering)))
            _check_text(name, text, locate)
            return text.code, text.value
        if set(kinds.values()) != {'integer'}:
            _fail_on_id(name, column, kinds, locate)
    elif column.dtype.kind not in 'iu':
        values = column.tolist()
        _fail_on_id(name, values, _kinds(values), locate)
    number = parse_integers(name, column, locate)
    value, first, inverse = np.unique(number, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[inverse], torch.from_numpy(value[order])


def _vocabulary(text: list[str]) -> Vocabulary:
    if all(map(INTEGER_TEXT.fullmatch, text)):
        # Python would take long over the digits of what cannot fit anyway.
        longest = max(map(len, text), default=0)
        number = [int(value) for value in text] if longest <= 20 else [INT64.max + 1]
        if all(INT64.min <= value <= INT64.max for value in number):
            return torch.tensor(number, dtype=torch.long)
    return text


def _check_text(name: str, column: TextColumn, locate: Locate) -> None:
    if '' in column.value:
        row = _first_row(column, column.value.index(''))
        raise ValueError(f"'{name}' must not be empty (got '' in {locate(row)})")


def _fail_on_id(
    name: str, column: list[Any], kinds: dict[type, Kind], locate: Locate
) -> NoReturn:
    kind = [kinds[type(value)] for value in column]
    lost = next(
        (
            row
            for row, value in enumerate(column)
            if kind[row] == 'missing' or (kind[row] == 'float' and value != value)
        ),
        None,
    )
    # Names a missing id first: pandas turns the whole numbers around it into floats.
    row = next(r for r in range(len(kind)) if kind[r] != kind[0] or kind[r] not in IDS)
    row = row if lost is None else lost
    got = f'got {shorten(column[row])} in {locate(row)}'
    if lost is not None:
        raise ValueError(f"'{name}' must be given in every row ({got})")
    if kind[row] == 'float':
        got += '; convert whole numbers to integers'
    elif kind[row] in IDS:
        raise ValueError(
            f"'{name}' must hold only integers or only strings ({got}, and "
            f'{shorten(column[0])} in {locate(0)})'
        )
    raise ValueError(f"'{name}' must hold integers or strings ({got})")


# Integers ####################################################################


def parse_integers(
    name: str, column: NDArray[Any] | list[Any], locate: Locate = row_number
) -> IntArray:
    r"""Reads integers of 64 bits.

    Args:
        name (str): The name of the column in messages.
        column (numpy.ndarray or list): The values.
        locate (Callable[[int], str], optional): Names a row in messages.
            (default: :obj:`row_number`)
    """
    if len(column) == 0:
        return np.empty(0, np.int64)
    if isinstance(column, list):
        kinds = _kinds(column)
        if set(kinds.values()) != {'integer'}:
            row = next(r for r, v in enumerate(column) if kinds[type(v)] != 'integer')
            raise ValueError(
                f"'{name}' must hold integers "
                f'(got {shorten(column[row])} in {locate(row)})'
            )
        try:
            return np.array(list(map(int, column)), dtype=np.int64)
        except OverflowError:
            _fail_on_size(name, column, locate)
    if column.dtype.kind not in 'iu':
        raise ValueError(f"'{name}' must hold integers (got {column.dtype})")
    if column.dtype.kind == 'u' and column.max() > INT64.max:
        _fail_on_size(name, column.tolist(), locate)
    return column.astype(np.int64)


def _fail_on_size(name: str, column: list[Any], locate: Locate) -> NoReturn:
    row = next(r for r, v in enumerate(column) if not INT64.min <= v <= INT64.max)
    raise ValueError(
        f"'{name}' must hold integers of at most 64 bits (got {shorten(column[row])} "
        f'in {locate(row)}; strings can be longer)'
    )


# Flags #######################################################################


def parse_flags(name: str, column: Column, locate: Locate = row_number) -> BoolArray:
    r"""Reads booleans in their many spellings; a missing one is :obj:`False`.

    Args:
        name (str): The name of the column in messages.
        column (numpy.ndarray or list or TextColumn): The values.
        locate (Callable[[int], str], optional): Names a row in messages.
            (default: :obj:`row_number`)
    """
    if isinstance(column, TextColumn):
        state = [_flag(value) for value in column.value]
        if None in state:
            bad = state.index(None)
            _fail_on_flag(name, column.value[bad], _first_row(column, bad), locate)
        return np.array(state, dtype=np.bool_)[column.code]
    if isinstance(column, list):
        kinds = _kinds(column)
        if 'other' not in kinds.values():
            known = {value: _flag(value) for value in set(column)}
            if None not in known.values():
                return np.fromiter(map(known.__getitem__, column), bool, len(column))
        row = next(
            row
            for row, value in enumerate(column)
            if kinds[type(value)] == 'other' or _flag(value) is None
        )
        _fail_on_flag(name, column[row], row, locate)
    valid = (column == 0) | (column == 1) | np.isnan(column)
    if not valid.all():
        row = int(np.argmin(valid))
        _fail_on_flag(name, column[row].item(), row, locate)
    return np.asarray(column == 1)


def _flag(value: Any) -> bool | None:
    if isinstance(value, str):
        return FLAG_TEXT.get(value.strip().lower())
    if _kind(type(value)) == 'missing' or value != value:
        return False
    return bool(value) if value in (0, 1) else None


def _fail_on_flag(name: str, value: Any, row: int, locate: Locate) -> NoReturn:
    raise ValueError(
        f"'{name}' must be true, false or left empty "
        f'(got {shorten(value)} in {locate(row)})'
    )


# Numbers #####################################################################


def parse_numbers(
    name: str,
    column: NDArray[Any] | list[Any],
    locate: Locate = row_number,
    boolean: bool = True,
) -> FloatArray:
    r"""Reads numbers that stay finite in 32 bits.

    Args:
        name (str): The name of the column in messages.
        column (numpy.ndarray or list): The values.
        locate (Callable[[int], str], optional): Names a row in messages.
            (default: :obj:`row_number`)
        boolean (bool, optional): If set to :obj:`False`, will refuse booleans in a
            list. (default: :obj:`True`)
    """
    number: FloatArray
    if isinstance(column, list):
        allowed = {'integer', 'float', *(['boolean'] if boolean else [])}
        kinds = _kinds(column)
        if not set(kinds.values()) <= allowed:
            row = next(r for r, v in enumerate(column) if kinds[type(v)] not in allowed)
            raise ValueError(
                f"'{name}' must hold numbers "
                f'(got {shorten(column[row])} in {locate(row)})'
            )
        try:
            number = np.array(list(map(float, column)), dtype=np.float64)
        except OverflowError:
            number = np.array([_to_float(value) for value in column])
    else:
        # Large matrices of features are not copied on the way.
        single = column.dtype == np.float32
        number = column if single else _cast(column, np.float64)
    finite = np.isfinite(number if number.dtype == np.float32 else to_float32(number))
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(
            f"'{name}' must be finite in 32 bits "
            f'(got {shorten(_item(column[row]))} in {locate(row)})'
        )
    return number


def _to_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float('inf')


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def to_float32(value: FloatArray) -> NDArray[np.float32]:
    r"""Rounds to 32 bits; what is too large becomes infinite without a warning."""
    return _cast(value, np.float32)


def _cast(value: NDArray[Any], dtype: type[np.floating[Any]]) -> NDArray[Any]:
    with np.errstate(over='ignore'):
        return value.astype(dtype)
