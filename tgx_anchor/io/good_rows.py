"""Rows of a table that can be read, found by leaving out those that cannot."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np

from tgx_anchor.data.building import IntArray
from tgx_anchor.io.bad_row import BadRow
from tgx_anchor.io.columns import Column, RowError, take_rows
from tgx_anchor.io.table import Table

Result = TypeVar('Result')


@dataclass
class RowPlaces:
    r"""The rows of the table that the remaining rows come from.

    Args:
        kept (numpy.ndarray): The rows that were not found to be bad.
        row (numpy.ndarray): The rows that the numbers in errors are about; a reader
            that picks or adds rows keeps it up to date. Rows of other tables are
            negative.
    """

    kept: IntArray
    row: IntArray


@dataclass(frozen=True)
class GoodRows(Generic[Result]):
    r"""The result of reading a table, and the rows that were left out.

    Args:
        result (Any): The result.
        kept (numpy.ndarray): The rows that were read.
        reasons (dict[int, str]): The reason for each row that was left out.
    """

    result: Result
    kept: IntArray
    reasons: dict[int, str] = field(default_factory=dict)

    def describe(self, table: Table) -> list[BadRow]:
        r"""Returns the rows that were left out, in their order.

        Args:
            table (Table): The table.
        """
        found = sorted(self.reasons)
        return [
            replace(row, reason=self.reasons[number])
            for number, row in zip(
                found, table.describe(found) if found else [], strict=True
            )
        ]


def read_good_rows(
    columns: dict[str, Column],
    read: Callable[[dict[str, Column], RowPlaces], Result],
) -> GoodRows[Result]:
    r"""Reads the rows of a table, again and again without those that raise a
    :class:`RowError`, until none does.

    Args:
        columns (dict[str, Column]): The columns.
        read (Callable): Reads the columns that are left.
    """
    # The rows of the table that were not found to be bad.
    kept: IntArray = np.arange(len(next(iter(columns.values()))))
    reasons: dict[int, str] = {}
    while True:
        places = RowPlaces(kept, kept)
        try:
            return GoodRows(read(columns, places), kept, reasons)
        except RowError as error:
            place: Any = places.row[error.rows]
            if (place < 0).any():
                raise
            for i, number in zip(place.tolist(), error.rows.tolist(), strict=True):
                reasons.setdefault(i, error.reason(number))
            keep = np.isin(kept, place, invert=True)
            columns = {n: take_rows(c, keep) for n, c in columns.items()}
            kept = kept[keep]
