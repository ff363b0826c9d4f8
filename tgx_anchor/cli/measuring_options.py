"""Options that the commands that measure methods have in common."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

# Arguments of functions by the words of the command line.
_NAMED = {
    'datasets': '--datasets',
    'folder': '--out',
    'jobs': '--jobs',
    'method': '--methods',
    'methods': '--methods',
    'name': '--datasets',
    'num_epochs': '--epochs',
    'num_splits': '--splits',
    'tables': 'table',
    'threads': '--threads',
}


@contextmanager
def measuring_options() -> Iterator[None]:
    r"""Raises errors with the names of options instead of arguments."""
    try:
        yield
    except ValueError as error:
        raise ValueError(_name_options(str(error))) from error


def names_in(words: str, option: str) -> list[str]:
    r"""Returns the names in a comma-separated list.

    Args:
        words (str): The list.
        option (str): The option that it was given to.
    """
    names = [word.strip() for word in words.split(',') if word.strip()]
    if not names:
        raise ValueError(
            f"'{option}' must have names, separated by commas (got {words!r})"
        )
    return names


def _name_options(text: str) -> str:
    # Settings are datasets with their kind of anchor in one word.
    text = re.sub(
        r"^'anchor' of '(\w+)' must be one of '(\w+)'",
        r"'--datasets' must name the anchor of '\1', as in '\1_\2': '\2'",
        text,
    )
    names = '|'.join(_NAMED)
    return re.sub(rf"^'({names})'(?= must\b)", lambda m: f"'{_NAMED[m[1]]}'", text)
