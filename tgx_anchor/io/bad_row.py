"""Rows of a table that cannot be read."""

from collections.abc import Sequence
from dataclasses import dataclass

from tgx_anchor.utils.messages import shorten

_SHOWN = 10


@dataclass(frozen=True)
class BadRow:
    r"""A row of a table that cannot be read.

    Args:
        file (str): The file.
        line (int): The line of the file in which the row begins, counted from one; the
            number of the row in a format without lines.
        reason (str): The reason, with the value that is wrong.
        text (str): The row.
    """

    file: str
    line: int
    reason: str
    text: str

    def __str__(self) -> str:
        place = f'{self.file}:{self.line}' if self.file else f'row {self.line}'
        shown = f' | {" ".join(self.text.split())[:200]}' if self.text else ''
        return f'{place}: {self.reason}{shown}'


class BadRowError(ValueError):
    r"""An error that lists the rows of a table that cannot be read.

    Args:
        rows (list[BadRow]): The rows, at least one.
    """

    def __init__(self, rows: Sequence[BadRow]) -> None:
        self.rows = list(rows)
        first = self.rows[0]
        word = 'row' if len(self.rows) == 1 else 'rows'
        where = (
            f'line {first.line} of {shorten(first.file)}'
            if first.file
            else (f'row {first.line}')
        )
        super().__init__(
            f'{len(self.rows):,} bad {word}, the first in {where}: {first.reason} '
            f"('--skip-bad', or skip_bad=True in Python, leaves bad rows out)"
        )

    @property
    def lines(self) -> list[str]:
        r"""The first ten rows, one line each."""
        shown = [str(row) for row in self.rows[:_SHOWN]]
        if len(self.rows) > _SHOWN:
            shown.append(f'and {len(self.rows) - _SHOWN:,} more')
        return shown
