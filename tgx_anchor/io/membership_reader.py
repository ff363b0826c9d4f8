"""Memberships in one form, from the checked rows of a part of a long table."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tgx_anchor.data.building import BoolArray, IntArray, Locate
from tgx_anchor.io.bad_row import BadRow
from tgx_anchor.io.columns import (
    FLAGS,
    UNKNOWN,
    Column,
    read_ids,
    read_numbers,
    read_roles,
    read_times,
)
from tgx_anchor.io.good_rows import RowPlaces, read_good_rows
from tgx_anchor.io.group_columns import GroupColumns
from tgx_anchor.io.group_entries import GroupEntries, is_flag_name, list_words, take
from tgx_anchor.io.table import Table
from tgx_anchor.io.table_stream import TableStream
from tgx_anchor.utils.messages import listed

# So many different words that say neither yes nor no are names.
MANY_WORDS = 100_000


@dataclass(frozen=True)
class Memberships:
    r"""The memberships of a part of a table.

    Args:
        table (pyarrow.Table): One row per entry: its :obj:`row` in the part; whether
            it is :obj:`added`, as an anchor that the row names; :obj:`group`,
            :obj:`member` (null where the row only names its group), :obj:`y`,
            :obj:`role` and :obj:`time` if the table has them, and attributes
            :obj:`a0`, :obj:`a1`, ...
        num_rows (int): The number of rows of the part, the bad ones included.
        bad_rows (list[BadRow]): The rows that cannot be read.
        counts (dict[str, int]): The numbers of rows that notes are about.
        flags (dict[str, bool]): The words that say whether a member is an anchor.
    """

    table: pa.Table
    num_rows: int
    bad_rows: list[BadRow] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    flags: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class MembershipReader:
    r"""Reads the memberships of a long table part by part, with the checks of
    :func:`~tgx_anchor.io.incidence.inspect_incidence` that need one row only.

    Args:
        stream (TableStream): The table.
        layout (GroupColumns): The meanings of its columns.
        tidy (bool, optional): If set to :obj:`True`, spaces around names do not count,
            and a row may have no member. (default: :obj:`False`)
        addresses (bool, optional): If set to :obj:`True`, people are named by their
            e-mail address. (default: :obj:`False`)
    """

    stream: TableStream
    layout: GroupColumns
    tidy: bool = False
    addresses: bool = False

    def __post_init__(self) -> None:
        if self.layout.lists:
            raise ValueError(
                f'a table that is read in parts must have one row per member (got the '
                f"columns of members {listed(self.layout.lists)}; 'member' names a "
                f'column with one member per row)'
            )

    @property
    def attributes(self) -> list[str]:
        r"""The columns of all attributes, in the order of :obj:`a0`, :obj:`a1`, ..."""
        return [name for names in self.layout.attributes.values() for name in names]

    def is_integer(self, meaning: str) -> bool:
        r"""Returns :obj:`True` if a column of ids holds numbers, not strings.

        Args:
            meaning (str): One of :obj:`"group"`, :obj:`"member"` and :obj:`"role"`.
        """
        if meaning == 'role' and self.layout.role_names is not None:
            return True
        if meaning == 'member' and self.addresses:
            return False
        kind = self.stream.types[self.layout.columns[meaning]]
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))

    def has_flags(self) -> bool | None:
        r"""Returns whether the column of anchors says yes and no, or else names them,
        with one reading of the table unless the name of the column tells;
        :obj:`None` if there is no such column.
        """
        anchor = self.layout.columns.get('anchor')
        if anchor is None or self.layout.anchor_value is not None:
            return None
        if is_flag_name(anchor):
            return True
        flags: set[str] = set()
        names: set[str] = set()
        for number in range(len(self.stream.files)):
            for part in self.stream.parts(number):
                for word in list_words(part.columns[anchor]):
                    plain = word.strip().lower()
                    if plain not in UNKNOWN:
                        (flags if plain in FLAGS else names).add(word)
                if len(names) > MANY_WORDS:
                    break
        if len(flags) >= len(names):
            return True
        self._check_anchor_type(anchor)
        return False

    def _check_anchor_type(self, anchor: str) -> None:
        kinds = [self.stream.types[n] for n in (self.layout.columns['member'], anchor)]
        kinds = [k.value_type if pa.types.is_dictionary(k) else k for k in kinds]
        numeric = [pa.types.is_integer(k) or pa.types.is_floating(k) for k in kinds]
        if numeric[0] != numeric[1]:
            raise ValueError(
                f"'{anchor}' must have the type of "
                f"'{self.layout.columns['member']}' to name anchors "
                f'(got {kinds[1]} and {kinds[0]})'
            )

    def read(self, part: Table, has_flags: bool | None) -> Memberships:
        r"""Reads the memberships of a part.

        Args:
            part (Table): The part.
            has_flags (bool, optional): The answer of :meth:`has_flags`.
        """
        size = len(next(iter(part.columns.values())))
        read = partial(self._read, part=part, has_flags=has_flags)
        good = read_good_rows(part.columns, read)
        table, counts, flags = good.result
        bad_rows = [*part.bad_rows, *good.describe(part)]
        bad_rows.sort(key=lambda row: row.line)
        num_rows = size + len(part.bad_rows)
        return Memberships(table, num_rows, bad_rows, counts, flags)

    def _read(
        self,
        columns: dict[str, Column],
        places: RowPlaces,
        part: Table,
        has_flags: bool | None,
    ) -> tuple[pa.Table, dict[str, int], dict[str, bool]]:
        kept, layout = places.kept, self.layout

        def locate(number: int) -> str:
            return part.locate(int(places.row[number]))

        entries = GroupEntries.from_rows(
            columns, kept, layout, locate, self.tidy, has_flags
        )
        if self.addresses:
            entries = entries.with_addresses()
        places.row = entries.row
        out = {
            'row': pa.array(entries.row),
            'added': pa.array(np.arange(len(entries.row)) >= entries.size),
            'group': self._ids('group', entries.group, locate),
        }
        keep = np.ones(len(entries.row), dtype=np.bool_)
        if entries.nobody is not None:
            keep = ~entries.nobody
        people = entries.take(keep)
        places.row = people.row
        out['member'] = _spread(self._ids('member', people.member, locate), keep)
        out['y'] = pa.array(entries.y)
        listed = keep & (np.arange(len(keep)) < entries.size)
        at = np.searchsorted(kept, people.row[: people.size])
        counts = {'nobody': int((~keep).sum())}
        for name, value in self._values(columns, at, locate, counts).items():
            out[name] = _spread(value, listed)
        return pa.table(out), counts, entries.flags

    def _values(
        self,
        columns: dict[str, Column],
        at: IntArray,
        locate: Locate,
        counts: dict[str, int],
    ) -> dict[str, Any]:
        layout, is_text = self.layout, self.stream.is_text
        out: dict[str, Any] = {}
        if 'role' in layout.columns:
            role = take(columns[layout.columns['role']], at)
            if layout.role_names is None:
                out['role'] = self._ids('role', role, locate)
            else:
                name = layout.columns['role']
                number, _ = read_roles(name, role, locate, layout.role_names, is_text)
                out['role'] = pa.array(number.numpy())
        for i, name in enumerate(self.attributes):
            value = read_numbers(name, take(columns[name], at), locate, is_text)
            out[f'a{i}'] = pa.array(value, pa.float64())
        if 'time' in layout.columns:
            time, counts['odd_times'] = read_times(columns[layout.columns['time']])
            out['time'] = pa.array(time[at], pa.float64(), from_pandas=True)
        return out

    def _ids(self, meaning: str, column: Column, locate: Locate) -> pa.Array:
        name = self.layout.columns[meaning]
        code, ids = read_ids(name, column, locate, self.stream.is_text)
        kind = pa.int64() if self.is_integer(meaning) else pa.string()
        values = pa.array(ids if isinstance(ids, list) else ids.numpy())
        return values.cast(kind).take(pa.array(code))


def _spread(value: pa.Array, keep: BoolArray) -> pa.Array:
    # The values at the places that a mask keeps, null elsewhere.
    if keep.all():
        return value
    place = np.maximum(np.cumsum(keep) - 1, 0)
    return pc.take(value, pa.array(place, mask=~keep))
