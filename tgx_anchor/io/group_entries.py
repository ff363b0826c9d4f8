"""Members of groups, from the rows of a long or a wide table."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tgx_anchor.data.building import BoolArray, IntArray, Locate
from tgx_anchor.io.columns import (
    INTEGER,
    UNKNOWN,
    Column,
    RowError,
    read_flags,
    to_column,
)
from tgx_anchor.io.group_columns import GroupColumns
from tgx_anchor.io.table import Table
from tgx_anchor.utils.messages import listed, shorten


@dataclass(frozen=True)
class GroupEntries:
    r"""Lists the members of groups, one entry each: first those that are listed as
    members, then anchors that are named by their ids, whether or not they are members.

    Args:
        group (Column): The id of the group.
        member (Column): The id of the member.
        y (numpy.ndarray): Whether the member is an anchor.
        row (numpy.ndarray): The row of the table; -1, -2, ... for the rows of the
            table of known anchors.
        size (int): The number of entries that are listed as members.
    """

    group: Column
    member: Column
    y: BoolArray
    row: IntArray
    size: int

    @classmethod
    def from_rows(
        cls,
        columns: dict[str, Column],
        row: IntArray,
        layout: GroupColumns,
        locate: Locate,
    ) -> 'GroupEntries':
        r"""Collects the entries of a long table.

        Args:
            columns (dict[str, Column]): The columns.
            row (numpy.ndarray): The row of the table that each of their rows is.
            layout (GroupColumns): The meanings of the columns.
            locate (Callable[[int], str]): Names a row of the columns.
        """
        y = np.zeros(len(row), dtype=np.bool_)
        anchor = layout.columns.get('anchor')
        if anchor is not None and layout.anchor_value is not None:
            y = _equals(columns[anchor], layout.anchor_value)
        elif anchor is not None:
            y = read_flags(anchor, columns[anchor], locate)
        group, member = (columns[layout.columns[key]] for key in ('group', 'member'))
        return cls(group, member, y, row, len(row))

    @classmethod
    def from_lists(
        cls,
        columns: dict[str, Column],
        row: IntArray,
        layout: GroupColumns,
        locate: Locate,
        sep: str,
    ) -> 'GroupEntries':
        r"""Collects the entries of a wide table.

        Args:
            columns (dict[str, Column]): The columns.
            row (numpy.ndarray): The row of the table that each of their rows is.
            layout (GroupColumns): The meanings of the columns.
            locate (Callable[[int], str]): Names a row of the columns.
            sep (str): The separator of members.
        """
        parts = [_to_members(columns[name], sep) for name in layout.lists]
        sizes = [len(place) for _, place in parts]
        anchor = layout.columns.get('anchor')
        if anchor is not None:
            parts.append(_to_members(columns[anchor], sep, UNKNOWN))
        place = np.concatenate([place for _, place in parts])
        empty = np.bincount(place, minlength=len(row)) == 0
        if empty.any():
            raise RowError(
                listed(layout.lists).strip("'"),
                'name at least one member',
                np.flatnonzero(empty),
                lambda _: 'it is empty',
                locate,
            )
        # In the order of the rows, anchors last.
        size = sum(sizes)
        order = np.argsort(place[:size], kind='stable')
        order = np.append(order, np.arange(size, len(place)))
        member = take(_concat([member for member, _ in parts]), order)
        place = place[order]
        number: Column = pa.chunked_array([pa.array(row + 1)])
        name = layout.columns.get('group')
        group = take(number if name is None else columns[name], place)
        return cls(group, member, np.arange(len(place)) >= size, row[place], size)

    def add_known(self, known: Table, notes: list[str]) -> 'GroupEntries':
        r"""Returns the entries with the known anchors of their groups.

        Args:
            known (Table): The columns :obj:`group` and :obj:`anchor`.
            notes (list[str]): Gets a note about groups that are not among the entries.
        """
        names = {key: _list(column) for key, column in known.columns.items()}
        rows = [
            row
            for row, pair in enumerate(zip(*names.values(), strict=True))
            if not any(str(name).strip().lower() in UNKNOWN for name in pair)
        ]
        ids = _by_name(self.group)
        found = [row for row in rows if str(names['group'][row]) in ids]
        lost = [
            names['group'][row] for row in rows if str(names['group'][row]) not in ids
        ]
        if lost and not found:
            raise ValueError(
                f"'known' must name groups of the table (got {len(lost):,} others, "
                f'such as {shorten(lost[0])})'
            )
        if lost:
            notes.append(f'known anchors of groups that the table lacks: {len(lost):,}')
        people = _by_name(self.member)
        kind = type(next(iter(people.values()), ''))
        anchors = [names['anchor'][row] for row in found]
        return GroupEntries(
            _concat([self.group, [ids[str(names['group'][row])] for row in found]]),
            _concat([self.member, [_as_id(name, people, kind) for name in anchors]]),
            np.append(self.y, np.ones(len(found), dtype=np.bool_)),
            np.append(self.row, -1 - np.array(found, dtype=np.int64)),
            self.size,
        )


def _by_name(column: Column) -> dict[str, Any]:
    # The distinct ids by what they look like in a text file.
    values = column if isinstance(column, list) else pc.unique(column).to_pylist()
    return {str(value): value for value in values}


def _as_id(name: Any, ids: dict[str, Any], kind: type) -> Any:
    # The same id, or a new one of the same type.
    if str(name) in ids or kind is str:
        return ids.get(str(name), str(name))
    return int(name) if kind is int and re.fullmatch(INTEGER, str(name)) else name


def _list(column: Column) -> list[Any]:
    return column if isinstance(column, list) else list(column.to_pylist())


def take(column: Column, place: IntArray) -> Column:
    r"""Returns the rows of a column at the given places."""
    if isinstance(column, list):
        return [column[i] for i in place.tolist()]
    return column.take(pa.array(place))


def _decode(column: Column) -> Column:
    if not isinstance(column, list) and pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column


def _concat(columns: list[Column]) -> Column:
    if len(columns) == 1:
        return columns[0]
    filled = [_decode(column) for column in columns if len(column)]
    kinds = {c.type for c in filled if not isinstance(c, list)}
    parts = []
    for column in filled:
        part = to_column('', column) if isinstance(column, list) else column
        if isinstance(part, list) or len(kinds) != 1 or part.type not in kinds:
            return to_column('', [value for c in filled for value in _list(c)])
        parts += part.chunks
    return pa.chunked_array(parts) if parts else columns[0]


def _equals(column: Column, value: str) -> BoolArray:
    if not isinstance(column, list) and pa.types.is_dictionary(column.type):
        encoded = column.unify_dictionaries().combine_chunks()
        same = [str(word) == value for word in encoded.dictionary.to_pylist()]
        code = pc.fill_null(encoded.indices, len(same)).to_numpy()
        return np.asarray(np.array([*same, False], dtype=np.bool_)[code])
    return np.array([str(word) == value for word in _list(column)], dtype=np.bool_)


def _to_members(
    column: Column, sep: str, missing: Sequence[str] = ('',)
) -> tuple[Column, IntArray]:
    # The members in all cells, and the number of the cell of each.
    column = _decode(column)
    if not isinstance(column, list):
        cells = column.combine_chunks()
        if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
            if not _is_json(cells):
                text = pc.fill_null(cells, '')
                return _flatten(pc.split_pattern(text, sep), missing)
            column = [json.loads(cell) if cell else None for cell in cells.to_pylist()]
        elif pa.types.is_list(cells.type) or pa.types.is_large_list(cells.type):
            return _flatten(cells, missing)
    values, numbers = [], []
    for number, cell in enumerate(_list(column)):
        is_list = isinstance(cell, list | tuple | set | frozenset | np.ndarray)
        for value in cell if is_list else [cell]:
            if value is not None and str(value).strip().lower() not in missing:
                values.append(value)
                numbers.append(number)
    return to_column('members', values), np.array(numbers, dtype=np.int64)


def _flatten(cells: pa.Array, missing: Sequence[str]) -> tuple[Column, IntArray]:
    value = pc.list_flatten(cells)
    place = pc.list_parent_indices(cells).to_numpy().astype(np.int64)
    empty = pc.is_null(value, nan_is_null=True)
    if pa.types.is_string(value.type) or pa.types.is_large_string(value.type):
        value = pc.utf8_trim_whitespace(value)
        lower = pc.utf8_lower(value)
        empty = pc.or_(empty, pc.is_in(lower, pa.array(missing, lower.type)))
    given = pc.invert(empty)
    keep = given.to_numpy(zero_copy_only=False)
    return pa.chunked_array([value.filter(given)]), place[keep]


def _is_json(text: pa.Array) -> bool:
    # Whether all cells are lists in JSON.
    given = text.filter(pc.not_equal(text, ''))
    if not len(given) or not pc.all(pc.match_like(given, '[%]')).as_py():
        return False
    try:
        return all(isinstance(json.loads(cell), list) for cell in given.to_pylist())
    except ValueError:
        return False
