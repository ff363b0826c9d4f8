"""Members of groups, from the rows of a long or a wide table."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tgx_anchor.data.building import BoolArray, IntArray, Locate
from tgx_anchor.io.addresses import split_people, to_address
from tgx_anchor.io.columns import (
    FLAGS,
    INTEGER,
    UNKNOWN,
    Column,
    RowError,
    read_flags,
    take_rows,
    to_column,
)
from tgx_anchor.io.group_columns import GroupColumns, plain_name
from tgx_anchor.io.table import Table
from tgx_anchor.utils.messages import listed, shorten

# Between the members in a cell, if the user names no other.
SEPARATORS = (';', '|', ',', '\t')


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
        nobody (numpy.ndarray, optional): The entries without a member, which only name
            their group. (default: :obj:`None`)
        flags (dict[str, bool], optional): The words that say whether a member is an
            anchor. (default: :obj:`{}`)
    """

    group: Column
    member: Column
    y: BoolArray
    row: IntArray
    size: int
    nobody: BoolArray | None = None
    flags: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def from_rows(
        cls,
        columns: dict[str, Column],
        row: IntArray,
        layout: GroupColumns,
        locate: Locate,
        tidy: bool = False,
        has_flags: bool | None = None,
    ) -> 'GroupEntries':
        r"""Collects the entries of a long table.

        Args:
            columns (dict[str, Column]): The columns.
            row (numpy.ndarray): The row of the table that each of their rows is.
            layout (GroupColumns): The meanings of the columns.
            locate (Callable[[int], str]): Names a row of the columns.
            tidy (bool, optional): If set to :obj:`True`, spaces around names do not
                count, and a row may have no member, or be empty.
                (default: :obj:`False`)
            has_flags (bool, optional): Whether the column of anchors says yes and no,
                or else names them. If :obj:`None`, its values tell.
                (default: :obj:`None`)
        """
        group, member = (columns[layout.columns[key]] for key in ('group', 'member'))
        if tidy:
            group, member = _strip(group), _strip(member)
        y = np.zeros(len(row), dtype=np.bool_)
        flags: dict[str, bool] = {}
        named = None
        anchor = layout.columns.get('anchor')
        if anchor is not None and layout.anchor_value is not None:
            y = _equals(columns[anchor], layout.anchor_value)
        elif anchor is not None:
            words = list_words(columns[anchor])
            if has_flags is None:
                has_flags = is_flag_name(anchor) or are_flags(words)
            if has_flags:
                y = read_flags(anchor, columns[anchor], locate)
                flags = {
                    word: FLAGS[word.strip().lower()]
                    for word in words
                    if word.strip().lower() not in UNKNOWN
                }
            else:
                named = _strip(columns[anchor])
        out = cls(group, member, y, row, len(row), flags=flags)
        if tidy:
            nobody = _is_empty(member)
            out = replace(out, nobody=nobody).take(~(nobody & _is_empty(group)))
        if named is not None:
            given = np.flatnonzero(~_is_empty(named))
            out = out.add_anchors(take(group, given), take(named, given), row[given])
        return out

    @classmethod
    def from_lists(
        cls,
        columns: dict[str, Column],
        row: IntArray,
        layout: GroupColumns,
        locate: Locate,
        sep: str | None,
        addresses: bool = False,
        tidy: bool = False,
    ) -> 'GroupEntries':
        r"""Collects the entries of a wide table.

        Args:
            columns (dict[str, Column]): The columns.
            row (numpy.ndarray): The row of the table that each of their rows is.
            layout (GroupColumns): The meanings of the columns.
            locate (Callable[[int], str]): Names a row of the columns.
            sep (str, optional): The separator of members; if :obj:`None`, the first of
                :obj:`SEPARATORS` that occurs.
            addresses (bool, optional): If set to :obj:`True`, nothing is separated
                within quotes. (default: :obj:`False`)
            tidy (bool, optional): If set to :obj:`True`, spaces around the names of
                groups do not count, and a row may have no member.
                (default: :obj:`False`)
        """
        if sep is None and not addresses:
            sep = '' if layout.has_anchors_only else _find_separator(columns, layout)
        missing = UNKNOWN if tidy else ('',)
        parts = [
            _to_members(columns[name], sep, missing, addresses) for name in layout.lists
        ]
        anchor = layout.columns.get('anchor')
        anchors = []
        if anchor is not None:
            anchors = [_to_members(columns[anchor], sep, UNKNOWN, addresses)]
        nobody = None
        if tidy:
            somebody = np.concatenate([place for _, place in parts])
            alone = np.flatnonzero(np.bincount(somebody, minlength=len(row)) == 0)
            nobody = np.arange(len(somebody) + len(alone)) >= len(somebody)
            parts.append((pa.chunked_array([pa.nulls(len(alone), pa.string())]), alone))
        size = sum(len(place) for _, place in parts)
        parts += anchors
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
        order = np.argsort(place[:size], kind='stable')
        order = np.append(order, np.arange(size, len(place)))
        member = take(_concat([member for member, _ in parts]), order)
        place = place[order]
        number: Column = pa.chunked_array([pa.array(row + 1)])
        name = layout.columns.get('group')
        named = number if name is None else columns[name]
        group = take(_strip(named) if tidy else named, place)
        if nobody is not None:
            nobody = np.append(nobody, np.zeros(len(place) - size, np.bool_))[order]
        y = np.arange(len(place)) >= size
        return cls(group, member, y, row[place], size, nobody)

    def take(self, keep: BoolArray) -> 'GroupEntries':
        r"""Returns the entries that a mask keeps.

        Args:
            keep (numpy.ndarray): The mask.
        """
        if keep.all():
            return self
        return replace(
            self,
            group=take_rows(self.group, keep),
            member=take_rows(self.member, keep),
            y=self.y[keep],
            row=self.row[keep],
            size=int(keep[: self.size].sum()),
            nobody=None if self.nobody is None else self.nobody[keep],
        )

    def add_anchors(
        self, group: Column, member: Column, row: IntArray
    ) -> 'GroupEntries':
        r"""Returns the entries with anchors of their groups.

        Args:
            group (Column): The ids of the groups.
            member (Column): The ids of the anchors.
            row (numpy.ndarray): The row of each.
        """
        more = np.zeros(len(row), dtype=np.bool_)
        return replace(
            self,
            group=_concat([self.group, group]),
            member=_concat([self.member, member]),
            y=np.append(self.y, ~more),
            row=np.append(self.row, row),
            nobody=None if self.nobody is None else np.append(self.nobody, more),
        )

    def add_known(self, known: Table, notes: list[str]) -> 'GroupEntries':
        r"""Returns the entries with the known anchors of their groups.

        Args:
            known (Table): The columns :obj:`group` and :obj:`anchor`.
            notes (list[str]): Gets a note about groups that are not among the entries.
        """
        names = {key: _list(_strip(column)) for key, column in known.columns.items()}
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
        return self.add_anchors(
            [ids[str(names['group'][row])] for row in found],
            [_as_id(name, people, kind) for name in anchors],
            -1 - np.array(found, dtype=np.int64),
        )

    def with_addresses(self) -> 'GroupEntries':
        r"""Returns the entries with people named by their e-mail addresses."""
        words = [None if v is None else str(v) for v in _list(self.member)]
        people = {word: to_address(word) for word in set(words) if word is not None}
        named = pa.array([word and people[word] for word in words], pa.string())
        return replace(self, member=pa.chunked_array([named]))


def _by_name(column: Column) -> dict[str, Any]:
    # The distinct ids by what they look like in a text file.
    values = column if isinstance(column, list) else pc.unique(column).to_pylist()
    return {str(value): value for value in values if value is not None}


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


def _strip(column: Column) -> Column:
    # Names without spaces around them.
    if isinstance(column, list):
        return [value.strip() if isinstance(value, str) else value for value in column]
    kind = column.type
    if pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type):
        encoded = column.unify_dictionaries().combine_chunks()
        words = pc.utf8_trim_whitespace(encoded.dictionary)
        if words.equals(encoded.dictionary):
            return column
        # Different names may have become the same.
        return pa.chunked_array([pc.dictionary_encode(words.take(encoded.indices))])
    return pc.utf8_trim_whitespace(column) if pa.types.is_string(kind) else column


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


def _is_empty(column: Column) -> BoolArray:
    if len(column) == 0:
        # Arrow has no empty dictionaries of some types.
        return np.zeros(0, dtype=np.bool_)
    if isinstance(column, list) or pa.types.is_nested(column.type):
        return np.array([_is_unknown(v) for v in _list(column)], dtype=np.bool_)
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    encoded = column.unify_dictionaries().combine_chunks()
    empty = [_is_unknown(value) for value in encoded.dictionary.to_pylist()]
    code = pc.fill_null(encoded.indices, len(empty)).to_numpy(zero_copy_only=False)
    return np.asarray(np.array([*empty, True], dtype=np.bool_)[code])


def _is_unknown(value: Any) -> bool:
    return value is None or str(value).strip().lower() in UNKNOWN


def list_words(column: Column) -> list[str]:
    r"""Returns the distinct values of a column as text, without missing ones.

    Args:
        column (pyarrow.ChunkedArray or list): The column.
    """
    if not isinstance(column, list) and not pa.types.is_nested(column.type):
        column = column.unique()
    return list(dict.fromkeys(str(v) for v in _list(column) if v is not None))


def is_flag_name(name: str) -> bool:
    r"""Returns :obj:`True` if a column of this name must say yes and no.

    Args:
        name (str): The name.
    """
    return plain_name(name).startswith('is_')


def are_flags(words: list[str]) -> bool:
    r"""Returns :obj:`True` if at least half of the words say yes or no.

    Args:
        words (list[str]): Distinct words.
    """
    given = [word.strip().lower() for word in words]
    given = [word for word in given if word not in UNKNOWN]
    return 2 * sum(word in FLAGS for word in given) >= len(given)


def _find_separator(columns: dict[str, Column], layout: GroupColumns) -> str:
    texts = [_decode(columns[name]) for name in layout.lists]
    texts = [t for t in texts if not isinstance(t, list) and pa.types.is_string(t.type)]
    return next(
        (s for s in SEPARATORS if any(_holds(text, s) for text in texts)), SEPARATORS[0]
    )


def _holds(text: pa.ChunkedArray, word: str) -> bool:
    return bool(pc.any(pc.match_substring(text, word)).as_py())


def _to_members(
    column: Column, sep: str | None, missing: Sequence[str], addresses: bool
) -> tuple[Column, IntArray]:
    # The members in all cells, and the number of the cell of each. An empty separator
    # leaves cells whole.
    column = _decode(column)
    if not isinstance(column, list):
        cells = column.combine_chunks()
        if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
            if not _is_json(cells):
                text = pc.fill_null(cells, '')
                return _flatten(_split(text, sep, addresses), missing)
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


def _split(text: pa.Array, sep: str | None, addresses: bool) -> pa.Array:
    if addresses:
        cells = [split_people(cell, sep) for cell in text.to_pylist()]
        return pa.array(cells, pa.list_(pa.string()))
    if not sep:
        offsets = pa.array(np.arange(len(text) + 1), pa.int32())
        return pa.ListArray.from_arrays(offsets, text)
    return pc.split_pattern(text, sep)


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
