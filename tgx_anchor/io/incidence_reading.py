"""A hypergraph read from a table, with what the user should know about the reading."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tgx_anchor.data import AnchorData
from tgx_anchor.io.bad_row import BadRow


@dataclass(frozen=True)
class IncidenceReading:
    r"""A hypergraph and the report of its reading.

    Args:
        data (AnchorData): The hypergraph.
        form (str): The format of the table in words, such as :obj:`"text with
            semicolons in Windows-1252"`.
        columns (dict[str, str]): The column of each meaning: :obj:`"group"`,
            :obj:`"member"` or :obj:`"members"`, :obj:`"anchor"`, :obj:`"role"` and
            :obj:`"time"`, those that the table has.
        notes (list[str]): Sentences about guesses, and about all that was merged,
            added or left out.
        bad_rows (list[BadRow]): The rows that were left out.
        num_rows (int): The number of rows of the table, the bad ones included.
        flags (dict[str, bool]): The words in the column of anchors of a long table,
            and whether they say that a member is an anchor.
    """

    data: AnchorData
    form: str
    columns: dict[str, str]
    notes: list[str]
    bad_rows: Sequence[BadRow] = ()
    num_rows: int = 0
    flags: dict[str, bool] = field(default_factory=dict)

    @property
    def rejected(self) -> pa.Table:
        r"""The rows that were left out, each with :obj:`file`, :obj:`line`,
        :obj:`reason` and :obj:`text`.
        """
        rows = [(row.file, row.line, row.reason, row.text) for row in self.bad_rows]
        kinds = {
            'file': pa.string(),
            'line': pa.int64(),
            'reason': pa.string(),
            'text': pa.string(),
        }
        columns = zip(*rows, strict=True) if rows else [[] for _ in kinds]
        arrays = [pa.array(c, k) for c, k in zip(columns, kinds.values(), strict=True)]
        return pa.table(arrays, names=list(kinds))
