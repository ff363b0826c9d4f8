"""Rows of a table that cannot be read."""

from collections.abc import Sequence
from dataclasses import dataclass

# The rows that follow a message.
_LISTED = 10


@dataclass(frozen=True)
class BadRow:
    r"""A row of a table that cannot be read.

    Args:
        file (str): The file, empty for a table in memory.
        line (int): The line of the file in which the row begins; the number of the row
            where there are no lines. Both are counted from one.
        reason (str): The rule that is broken, and the value that breaks it.
        text (str): The row as text.
        unit (str, optional): What :obj:`line` counts. (default: :obj:`"line"`)
    """

    file: str
    line: int
    reason: str
    text: str
    unit: str = 'line'

    @property
    def place(self) -> str:
        r"""The place of the row, such as :obj:`"line 7 of 'mails.csv'"`."""
        of_file = f' of {self.file!r}' if self.file else ''
        return f'{self.unit} {self.line}{of_file}'

    @property
    def summary(self) -> str:
        r"""The place, the reason and the text in one line."""
        place = f'{self.file}:{self.line}' if self.file else self.place
        shown = f' | {" ".join(self.text.split())[:200]}' if self.text else ''
        return f'{place}: {self.reason}{shown}'

    def __str__(self) -> str:
        return f'{self.reason.removesuffix(")")} in {self.place})'


class BadRowError(ValueError):
    r"""An error in the rows of a table.

    Args:
        rows (list[BadRow]): The bad rows in their order, at least one.
        count (int, optional): The number of bad rows, if only the first are given.
            (default: :obj:`None`)
        skip_bad (bool, optional): If set to :obj:`True`, they were to be left out, and
            no other rows are left. (default: :obj:`False`)
    """

    def __init__(
        self, rows: Sequence[BadRow], count: int | None = None, skip_bad: bool = False
    ) -> None:
        self.rows = list(rows)
        self.count = len(self.rows) if count is None else count
        more = self.count - 1
        others = f'; {more:,} more bad row{"s" * (more > 1)}' if more else ''
        hint = 'no row is good' if skip_bad else "'skip_bad' leaves out bad rows"
        super().__init__(f'{self.rows[0]}{others}; {hint}')

    @property
    def lines(self) -> list[str]:
        r"""The first ten rows, one line each."""
        shown = [row.summary for row in self.rows[:_LISTED]]
        more = self.count - _LISTED
        return [*shown, f'and {more:,} more'] if more > 0 else shown
