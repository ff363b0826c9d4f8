"""Values and errors in one short line of a message."""

import reprlib
from collections.abc import Iterable
from typing import Any

# Printing an integer takes quadratic time, and beyond 4300 digits Python refuses.
_PRINTED_BITS = 256
_LISTED = 10
_MESSAGE = 200

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 60


def shorten(value: Any) -> str:
    r"""Shows any value in one short line.

    Args:
        value (Any): The value.
    """
    if isinstance(value, int) and value.bit_length() > _PRINTED_BITS:
        return f'an integer of {value.bit_length()} bits'
    try:
        return ' '.join(_repr.repr(value).split())
    except ValueError:
        # A list that holds such an integer.
        return f'a {type(value).__name__}'


def one_line(error: BaseException) -> str:
    r"""Shows the message of an error in one line of at most 200 characters.

    Args:
        error (Exception): The error, of any library. If it has no message, its type is
            shown.
    """
    text = ' '.join(str(error).split()) or type(error).__name__
    return text if len(text) <= _MESSAGE else f'{text[:_MESSAGE]}...'


def listed(values: Iterable[Any]) -> str:
    r"""Shows the first ten values, separated by commas.

    Args:
        values (list): The values.
    """
    values = list(values)
    shown = [shorten(value) for value in values[:_LISTED]]
    if len(values) > _LISTED:
        shown.append(f'{len(values) - _LISTED} more')
    return ', '.join(shown) or 'none'
