"""Tables of groups as people export them, long or wide, with all their flaws."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from tgx_anchor.data import AnchorData
from tgx_anchor.data.building import (
    BoolArray,
    FloatArray,
    Ids,
    IntArray,
    build_data,
    to_features,
)
from tgx_anchor.io.bad_row import BadRow, BadRowError
from tgx_anchor.io.columns import FLAGS, INTEGER, Column
from tgx_anchor.io.group_columns import GroupColumns, guess_column
from tgx_anchor.io.hif import read_hif
from tgx_anchor.io.table import Choice, Table, read_table
from tgx_anchor.utils.messages import listed, one_line, shorten

# Stand for nobody in place of a name, as programs write them.
NOBODY = ('', 'NA', 'N/A', 'n/a', '<NA>', 'NULL', 'null', 'NaN', 'nan', 'None', '\\N')
WORDS = {**FLAGS, 'x': True, 'on': True, 'off': False, '-': False, '\\n': False}
SEPARATORS = (';', '|', ',', '\t')
# In place of a separator where a cell is one name.
NOT_SEPARATED = ''

_ADDRESS = re.compile(r'[^\s<>,;:"\'()\[\]]+@[^\s<>,;:"\'()\[\]]+')


@dataclass(frozen=True)
class GroupTable:
    r"""A hypergraph that was read from a table, and an account of the reading.

    Args:
        data (AnchorData): The hypergraph.
        notes (list[str]): What was found out about the table, in sentences.
        bad_rows (list[BadRow]): The rows that were left out.
        counts (dict[str, int]): The number of :obj:`rows`, and of flaws that were
            mended: :obj:`rows_without_member`, :obj:`repeated_members` and
            :obj:`added_anchors`.
    """

    data: AnchorData
    notes: list[str]
    bad_rows: list[BadRow]
    counts: dict[str, int]


def read_groups(
    source: Any,
    columns: GroupColumns | None = None,
    *,
    separator: str | None = None,
    known: Any = None,
    addresses: bool = False,
    skip_bad: bool = False,
    encoding: str | None = None,
) -> GroupTable:
    r"""Reads a table of groups of any layout.

    Each flaw of a table has one meaning:

    ===================================  ============================================
    flaw                                 meaning
    ===================================  ============================================
    empty group                          bad row
    empty member                         nobody; the group stays, even without members
    empty group and member               no row
    a member again in its group          one member, an anchor if any row says so
    a group again in a wide table        one group with the members of all its rows
    several anchors in a group           all are anchors
    an anchor that is not a member       is added to the members
    no anchor in a group                 the anchor is unknown
    a group with one member              the member is its anchor; not learnt from
    neither yes nor no                   bad row
    a line with too many or few fields   bad row
    unreadable time or number            bad row
    a known anchor of an unknown group   bad row (of the file of known anchors)
    ===================================  ============================================

    Names lose spaces around them, and :obj:`NOBODY` has the words that mean an empty
    name.

    Args:
        source (Any): A file, folder, glob pattern or table in memory, as in
            :func:`~tgx_anchor.io.read_incidence`; or a HIF document or a list
            of rows, in a file that ends in :obj:`.json`.
        columns (GroupColumns, optional): The columns. (default: :obj:`None`)
        separator (str, optional): The separator between the members in a cell of a
            wide table; if :obj:`None`, the first of :obj:`SEPARATORS` that occurs.
            (default: :obj:`None`)
        known (Any, optional): A table of known anchors, with a column of groups and
            one of anchors, or long. (default: :obj:`None`)
        addresses (bool, optional): If set to :obj:`True`, people are named by their
            e-mail address in lower case where there is one, so that
            :obj:`"Ann Lee <Ann@x.org>"` is :obj:`"ann@x.org"`.
            (default: :obj:`False`)
        skip_bad (bool, optional): If set to :obj:`True`, leaves out bad rows instead
            of raising a :class:`~tgx_anchor.io.bad_row.BadRowError`.
            (default: :obj:`False`)
        encoding (str, optional): The encoding of text files, found if :obj:`None`.
            (default: :obj:`None`)
    """
    columns = GroupColumns() if columns is None else columns
    if isinstance(source, str | PathLike) and str(source).lower().endswith('.json'):
        records = _read_records(Path(source))
        if records is None:
            return _read_hif(source, known)
        source = records
    table = read_table(source, columns.choose, encoding=encoding, keep_bad=True)
    reader = _Reader(table, columns, separator, addresses)
    reader.read()
    if known is not None:
        reader.add_known(known)
    if reader.bad_rows and not skip_bad:
        raise BadRowError(reader.bad_rows)
    return reader.finish()


def read_known_anchors(
    source: Any,
    columns: GroupColumns | None = None,
    *,
    separator: str | None = None,
    addresses: bool = False,
) -> pa.Table:
    r"""Reads the columns :obj:`group` and :obj:`anchor` of a table, as text, with one
    row for each known anchor.

    Args:
        source (Any): A table with a column of groups and one of anchors, or a long one
            with members and flags.
        columns (GroupColumns, optional): The columns. (default: :obj:`None`)
        separator (str, optional): As in :func:`read_groups`. (default: :obj:`None`)
        addresses (bool, optional): As in :func:`read_groups`. (default: :obj:`False`)
    """
    columns = GroupColumns() if columns is None else columns
    reader, found = _read_known(source, columns, separator, addresses)
    if reader.bad_rows:
        raise BadRowError(reader.bad_rows)
    group = reader.groups.code[found.row]
    return pa.table(
        {
            'group': reader.groups.value.take(pa.array(group)),
            'anchor': found.names.value.take(pa.array(found.names.code)),
        }
    )


def read_texts(source: Any, names: Sequence[str], optional: Sequence[str]) -> pa.Table:
    r"""Reads columns of a table as text, null where they are empty.

    Args:
        source (Any): The table.
        names (list[str]): The columns, which must exist.
        optional (list[str]): Columns to read if they exist.
    """

    def choose(words: Sequence[Any], _: Mapping[bytes, bytes]) -> Choice:
        lost = [name for name in names if name not in words]
        if lost:
            raise ValueError(
                f'a table of anchors needs the columns {listed(names)} '
                f'(got the columns {listed(words)})'
            )
        return Choice([*names, *(name for name in optional if name in words)])

    table = read_table(source, choose)
    columns = {n: _read_names(c, table.is_text) for n, c in table.columns.items()}
    return pa.table(
        {
            name: column.value.take(pa.array(column.code, mask=column.code < 0))
            for name, column in columns.items()
        }
    )


def _read_known(
    source: Any, columns: GroupColumns, separator: str | None, addresses: bool
) -> 'tuple[_Reader, _Lists]':
    if separator is None:
        separator = NOT_SEPARATED
    own = _KnownColumns(columns)
    table = read_table(source, own.choose, keep_bad=True)
    reader = _Reader(table, own.columns, separator, addresses)
    reader.read()
    found = _join_lists(reader.members.take(reader.flag), reader.anchors)
    return reader, found.take((found.names.code >= 0) & reader.good()[found.row])


def _read_records(path: Path) -> pa.Table | None:
    # A JSON document that is a list of rows; a HIF document is an object.
    text = path.read_bytes()
    if not text.lstrip(b'\xef\xbb\xbf \t\r\n').startswith(b'['):
        return None
    try:
        return pa.Table.from_pylist(json.loads(text.decode('utf-8-sig')))
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f'{str(path)!r} must be a HIF document or a list of rows '
            f'(got {one_line(error)})'
        ) from None


def _read_hif(source: str | PathLike[str], known: Any) -> GroupTable:
    if known is not None:
        raise ValueError(
            "known anchors of a HIF document are in its incidences: '--known' goes "
            'with a table only'
        )
    data = read_hif(source, max_anchors=None)
    return GroupTable(
        data,
        [f'{str(source)!r}: Hypergraph Interchange Format'],
        [],
        {'rows': data.num_incidences},
    )


# Columns of names ############################################################


@dataclass
class _Names:
    # Numbers of distinct names, -1 for nobody.
    code: IntArray
    value: pa.Array
    are_integers: bool = False

    def take(self, rows: Any) -> '_Names':
        return _Names(self.code[rows], self.value, self.are_integers)


def _read_names(column: Column, is_text: bool) -> _Names:
    code, value = _encode(column)
    are_integers = is_text or pa.types.is_integer(value.type)
    if pa.types.is_floating(value.type):
        # Whole numbers next to missing ones, as pandas has them.
        whole = value.cast(pa.int64(), safe=False)
        if pc.all(pc.equal(whole.cast(value.type), value)).as_py() is not False:
            value, are_integers = whole, True
    return _distinct(_Names(code, _to_text(value), are_integers))


def _distinct(names: _Names) -> _Names:
    # Numbers names that have become equal as one, and nobody as -1.
    (code,), value = _merge([names])
    return _Names(code, value, names.are_integers)


def _encode(column: Column) -> tuple[IntArray, pa.Array]:
    if isinstance(column, list):
        words = [None if value is None else str(value) for value in column]
        column = pa.chunked_array([pa.array(words, pa.string())])
    if len(column) == 0:
        return np.empty(0, np.int64), pa.array([], pa.string())
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    encoded = column.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    code = encoded.indices
    if code.null_count:
        code = pc.fill_null(code, -1)
    return code.to_numpy().astype(np.int64), encoded.dictionary


def _to_text(value: pa.Array) -> pa.Array:
    # Names without spaces around them, null for nobody.
    try:
        text = value.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        shown = shorten(value[0].as_py()) if len(value) else str(value.type)
        raise ValueError(
            f'names must be text, numbers or dates (got {shown})'
        ) from None
    text = pc.utf8_trim_whitespace(text)
    nobody = pc.is_in(text, pa.array(NOBODY))
    return pc.if_else(nobody, pa.scalar(None, pa.string()), text)


def _merge(parts: Sequence[_Names]) -> tuple[list[IntArray], pa.Array]:
    # Numbers the names of several columns together.
    encoded = pc.dictionary_encode(pa.concat_arrays([part.value for part in parts]))
    number = pc.fill_null(encoded.indices, -1).to_numpy().astype(np.int64)
    codes = []
    start = 0
    for part in parts:
        own = np.append(number[start : start + len(part.value)], -1)
        start += len(part.value)
        codes.append(own[part.code])
    return codes, encoded.dictionary


def _to_ids(value: pa.Array, are_integers: bool) -> Ids:
    if not len(value):
        return torch.empty(0, dtype=torch.long)
    if are_integers and pc.all(pc.match_substring_regex(value, INTEGER)).as_py():
        try:
            return torch.from_numpy(value.cast(pa.int64()).to_numpy().copy())
        except pa.ArrowInvalid:
            pass  # too long for 64 bits
    names: list[str] = value.to_pylist()
    return names


def _address(name: str | None) -> str | None:
    if name is None:
        return None
    found = _ADDRESS.search(name)
    return name.strip('"\' ') if found is None else found[0].lower().strip('.')


# Cells with several names


@dataclass
class _Lists:
    # The names in the cells of a column, one after the other, and their rows.
    row: IntArray
    names: _Names

    def take(self, rows: Any) -> '_Lists':
        return _Lists(self.row[rows], self.names.take(rows))


NO_LISTS = _Lists(
    np.empty(0, np.int64), _Names(np.empty(0, np.int64), pa.array([], pa.string()))
)


def _read_lists(
    column: Column, is_text: bool, separator: str | None, addresses: bool
) -> _Lists:
    if not isinstance(column, list) and pa.types.is_list(column.type):
        lists = column.combine_chunks()
        if isinstance(lists, pa.ChunkedArray):
            lists = lists.chunk(0) if lists.num_chunks else pa.array([], column.type)
        code, are_integers = np.arange(len(lists)), False
    else:
        names = _read_names(column, is_text)
        code, are_integers = names.code, names.are_integers
        lists = _split(names.value, separator, addresses)
    flat = _read_names(pa.chunked_array([lists.flatten()]), are_integers)
    size = np.append(pc.fill_null(pc.list_value_length(lists), 0).to_numpy(), 0)
    start = np.cumsum(size) - size
    size = size[code]
    row = np.repeat(np.arange(len(code)), size)
    first = np.cumsum(size) - size
    place = np.arange(len(row)) - first[row] + start[code][row]
    return _Lists(row, flat.take(place))


def _split(value: pa.Array, separator: str | None, addresses: bool) -> pa.Array:
    if addresses:
        # A separator within quotes is part of a name.
        marks = re.escape(',;' if separator is None else separator)
        part = re.compile(rf'(?:"[^"]*"|[^{marks}"]|")+')
        return pa.array(
            [None if v is None else part.findall(v) for v in value.to_pylist()],
            pa.list_(pa.string()),
        )
    if separator == NOT_SEPARATED:
        return pa.ListArray.from_arrays(
            pa.array(np.arange(len(value) + 1), pa.int32()), value
        )
    if separator is None:
        quoted = value.drop_null()
        if (
            len(quoted)
            and pc.all(pc.match_substring_regex(quoted, r'^\[.*\]$')).as_py()
        ):
            return pa.array(map(_parse_list, value.to_pylist()), pa.list_(pa.string()))
        separator = find_separator(value)
    return pc.split_pattern(value, separator)


def find_separator(value: pa.Array) -> str:
    r"""Returns the first of :obj:`SEPARATORS` that occurs in some cell."""
    for separator in SEPARATORS:
        if pc.any(pc.match_substring(value, separator)).as_py():
            return separator
    return SEPARATORS[0]


def _parse_list(cell: str | None) -> list[str] | None:
    # A list as Python and JSON print it.
    if cell is None:
        return None
    try:
        parsed = ast.literal_eval(cell)
    except (SyntaxError, ValueError):
        parsed = cell[1:-1].split(',')
    return [str(name) for name in parsed]


# Other columns ###############################################################


def _are_flags(value: pa.Array) -> bool:
    # Whether most of the distinct values say yes or no.
    words = [str(v).lower() for v in value.to_pylist() if v is not None]
    return 2 * sum(word in WORDS for word in words) >= len(words)


def read_times(value: pa.Array) -> FloatArray:
    r"""Reads times as seconds since 1970; without a zone, they are in UTC.

    Args:
        value (pyarrow.Array): Times as text: numbers, ISO 8601, or as in the header
            of an e-mail. Null is a missing time.

    Returns:
        The times, NaN where they are missing and infinite where they are unreadable.
    """
    for kind in (pa.float64(), pa.timestamp('us'), pa.timestamp('us', 'UTC')):
        try:
            parsed = value.cast(kind)
        except pa.ArrowInvalid:
            continue
        if kind != pa.float64():
            parsed = pc.divide(parsed.cast(pa.int64()).cast(pa.float64()), 1e6)
        return np.asarray(pc.fill_null(parsed, np.nan).to_numpy(zero_copy_only=False))
    return np.array([_parse_time(text) for text in value.to_pylist()], np.float64)


def _parse_time(text: str | None) -> float:
    if text is None:
        return np.nan
    for parse in (float, _parse_iso, _parse_mail):
        with suppress(TypeError, ValueError, IndexError, OverflowError):
            return parse(text)
    return np.inf


def _parse_iso(text: str) -> float:
    return _seconds(datetime.fromisoformat(re.sub('[zZ]$', '+00:00', text)))


def _parse_mail(text: str) -> float:
    return _seconds(parsedate_to_datetime(text))


def _seconds(time: datetime) -> float:
    return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()


def _read_numbers(value: pa.Array) -> FloatArray:
    # NaN where they are missing, infinite where they are unreadable.
    numbers = []
    for word in value.to_pylist():
        try:
            number = np.nan if word is None else float(word)
        except ValueError:
            number = np.inf
        numbers.append(number)
    return np.array(numbers, np.float64)


# Putting it together #########################################################


@dataclass
class _Reader:
    table: Table
    columns: GroupColumns
    separator: str | None
    addresses: bool
    bad_rows: list[BadRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def read(self) -> None:
        table, columns = self.table, self.columns
        self.size = len(next(iter(table.columns.values())))
        self.reason: dict[int, str] = {}
        self.bad_rows += table.bad_rows
        self.notes.append(f'{table.form}; {columns.describe()}')
        self.notes += table.notes
        self.groups = self._groups()
        if columns.is_wide:
            self._read_wide()
        else:
            self._read_long()
        self._read_time()
        self.numbers = {
            name: self._read_number(name)
            for name in (*columns.x, *columns.hyperedge_attr)
        }
        if self.reason:
            rows = sorted(self.reason)
            places = table.places(rows)
            self.bad_rows += [
                BadRow(file, line, self.reason[row], text)
                for row, (file, line, text) in zip(rows, places, strict=True)
            ]
        self.bad_rows.sort(key=lambda bad: (bad.file, bad.line))
        self.counts['rows'] = self.size + len(table.bad_rows)

    def _column(self, name: str) -> _Names:
        return _read_names(self.table.columns[name], self.table.is_text)

    def _groups(self) -> _Names:
        if self.columns.group is None:
            number = np.arange(self.size)
            return _Names(number, pa.array(number + 1).cast(pa.string()), True)
        return self._column(self.columns.group)

    def _people(self, names: _Names) -> _Names:
        if not self.addresses:
            return names
        value = pa.array(map(_address, names.value.to_pylist()), pa.string())
        return _distinct(_Names(names.code, _to_text(value)))

    def _mark(self, rows: IntArray, reasons: Sequence[str] | str) -> None:
        if isinstance(reasons, str):
            reasons = [reasons] * len(rows)
        for row, reason in zip(rows.tolist(), reasons, strict=True):
            self.reason.setdefault(row, reason)

    def _read_long(self) -> None:
        member = self._people(self._column(str(self.columns.member)))
        self.members = _Lists(np.arange(self.size), member)
        self._check_groups(member.code >= 0)
        self.flag = np.zeros(self.size, dtype=np.bool_)
        self.anchors = NO_LISTS
        if self.columns.anchor is not None:
            self._read_anchors(self.columns.anchor)

    def _check_groups(self, is_filled: BoolArray) -> None:
        # A row without group and members is none.
        is_empty = self.groups.code < 0
        self.blank = is_empty & ~is_filled
        self._mark(np.flatnonzero(is_empty & is_filled), 'the group is empty')

    def _read_anchors(self, name: str) -> None:
        names = self._column(name)
        number = names.code
        words: list[str | None] = [*names.value.to_pylist(), None]
        wanted = self.columns.value
        if wanted is not None:
            self.flag = np.array([w == wanted for w in words], np.bool_)[number]
            return
        if not name.lower().startswith('is_') and not _are_flags(names.value):
            self.anchors = _Lists(np.arange(self.size), self._people(names))
            self.notes.append(f'{name!r} names the anchor of the group')
            return
        flags = [False if w is None else WORDS.get(w.lower()) for w in words]
        wrong = np.array([flag is None for flag in flags], np.bool_)[number]
        rows = np.flatnonzero(wrong)
        self._mark(
            rows,
            [
                f'{name!r} is neither yes nor no: {shorten(words[number[row]])}'
                for row in rows.tolist()
            ],
        )
        self.flag = np.array([flag is True for flag in flags], np.bool_)[number]
        used = {True: [], False: []}  # type: dict[bool, list[str]]
        for word, flag in zip(words, flags, strict=True):
            if word is not None and flag is not None:
                used[flag].append(word)
        yes, no = (listed(used[flag] or ['']) for flag in (True, False))
        self.notes.append(f'{name!r} is yes where it is {yes}, no where it is {no}')

    def _read_wide(self) -> None:
        self.members = NO_LISTS
        for name in self.columns.members:
            self.members = _join_lists(self.members, self._lists(name))
        if self.separator is None:
            # Anchors are separated as members are.
            self.separator = self._find_separator(self.columns.members[0])
        self.flag = np.zeros(len(self.members.row), dtype=np.bool_)
        self.anchors = NO_LISTS
        if self.columns.anchor is not None:
            self.anchors = self._lists(self.columns.anchor)
        somebody = self.members.row[self.members.names.code >= 0]
        self._check_groups(np.bincount(somebody, minlength=self.size) > 0)

    def _lists(self, name: str) -> _Lists:
        column = self.table.columns[name]
        found = _read_lists(column, self.table.is_text, self.separator, self.addresses)
        return _Lists(found.row, self._people(found.names))

    def _find_separator(self, name: str) -> str:
        column = self.table.columns[name]
        if not isinstance(column, list) and pa.types.is_list(column.type):
            return NOT_SEPARATED
        return find_separator(self._column(name).value)

    def _read_time(self) -> None:
        self.time: FloatArray | None = None
        name = self.columns.time
        if name is None:
            return
        self.time = self._numbers_of(self._column(name), read_times, name, 'a time')

    def _read_number(self, name: str) -> FloatArray:
        return self._numbers_of(self._column(name), _read_numbers, name, 'a number')

    def _numbers_of(self, names: _Names, read: Any, name: str, what: str) -> FloatArray:
        value = np.append(read(names.value), np.nan)[names.code]
        rows = np.flatnonzero(np.isinf(value))
        words = names.value.take(pa.array(names.code[rows])).to_pylist()
        self._mark(rows, [f'{name!r} is not {what}: {shorten(w)}' for w in words])
        return np.asarray(value)

    # Known anchors

    def add_known(self, source: Any) -> None:
        r"""Adds the anchors of a second table."""
        reader, found = _read_known(
            source, self.columns, self.separator, self.addresses
        )
        self.bad_rows += reader.bad_rows
        self.notes += [f'known anchors: {note}' for note in reader.notes]
        (mine, theirs), value = _merge([self.groups, reader.groups])
        # The first row of each group stands for it.
        first = np.full(len(value) + 1, -1, dtype=np.int64)
        rows = np.flatnonzero(self.good())[::-1]
        first[mine[rows]] = rows
        row = first[theirs[found.row]]
        foreign = np.unique(found.row[row < 0]).tolist()
        places = reader.table.places(foreign)
        for each, (file, line, text) in zip(foreign, places, strict=True):
            group = shorten(value[int(theirs[each])].as_py())
            reason = f'the group {group} is not in the table'
            self.bad_rows.append(BadRow(file, line, reason, text))
        known = _Lists(row[row >= 0], found.names.take(row >= 0))
        self.anchors = _join_lists(self.anchors, known)

    def good(self) -> BoolArray:
        r"""Returns the rows that count."""
        good = ~self.blank
        good[list(self.reason)] = False
        return np.asarray(good)

    # The hypergraph

    def finish(self) -> GroupTable:
        r"""Builds the hypergraph from all rows that are not bad."""
        group_of_row, group_value = self.groups.code, self.groups.value
        good = self.good()
        (member, anchor), person_value = _merge(
            [self.members.names, self.anchors.names]
        )
        keep = good[self.members.row]
        alone = 0 if self.columns.is_wide else int((keep & (member < 0)).sum())
        self.counts['rows_without_member'] = alone
        keep &= member >= 0
        keep_anchor = good[self.anchors.row] & (anchor >= 0)
        group = group_of_row[self.members.row[keep]]
        node = member[keep]
        flag = self.flag[keep]
        # An anchor is one more row of its group, which says yes.
        node = np.concatenate([node, anchor[keep_anchor]])
        group = np.concatenate([group, group_of_row[self.anchors.row[keep_anchor]]])
        num_rows = len(flag)
        y = np.concatenate([flag, np.ones(int(keep_anchor.sum()), dtype=np.bool_)])
        node, group, y, row = _merge_repeats(node, group, y)
        num_members = int((row < num_rows).sum())
        self.counts['repeated_members'] = num_rows - num_members
        self.counts['added_anchors'] = len(row) - num_members

        used = np.zeros(len(group_value), dtype=np.bool_)
        used[group_of_row[good]] = True
        group_number = np.append(np.cumsum(used) - 1, -1)
        present = np.zeros(len(person_value), dtype=np.bool_)
        present[node] = True
        node_number = np.append(np.cumsum(present) - 1, -1)
        people = self.members.names.are_integers and (
            self.anchors.names.are_integers or len(self.anchors.row) == 0
        )
        other: dict[str, Any] = {}
        num_groups = int(used.sum())
        group_row = np.where(good, group_number[group_of_row], -1)
        if self.time is not None:
            other['hyperedge_time'] = torch.from_numpy(
                _earliest(self.time, group_row, num_groups)
            )
        names: dict[str, list[str]] = {}
        if self.columns.x:
            owner = np.where(good & (member >= 0), node_number[member], -1)
            other['x'] = self._attribute(self.columns.x, owner, int(present.sum()))
            names['x'] = list(self.columns.x)
        if self.columns.hyperedge_attr:
            other['hyperedge_attr'] = self._attribute(
                self.columns.hyperedge_attr, group_row, num_groups
            )
            names['hyperedge_attr'] = list(self.columns.hyperedge_attr)
        if names:
            other['column_names'] = names
        data = build_data(
            node_number[node],
            group_number[group],
            y,
            int(present.sum()),
            num_groups,
            {},
            node_id=_to_ids(person_value.filter(pa.array(present)), people),
            hyperedge_id=_to_ids(
                group_value.filter(pa.array(used)), self.groups.are_integers
            ),
            **other,
        )
        self._describe(data, np.bincount(group[y], minlength=len(used)))
        return GroupTable(data, self.notes, self.bad_rows, self.counts)

    def _attribute(
        self, columns: Sequence[str], owner: IntArray, size: int
    ) -> torch.Tensor:
        values = []
        for name in columns:
            value = np.full(size, np.nan)
            given = (owner >= 0) & ~np.isnan(self.numbers[name])
            rows = np.flatnonzero(given)[::-1]
            value[owner[rows]] = self.numbers[name][rows]
            missing = np.isnan(value)
            if missing.any():
                mean = float(np.nanmean(value)) if not missing.all() else 0.0
                value[missing] = mean
                self.notes.append(
                    f'{name!r} is missing for {int(missing.sum()):,} of {size:,}, and '
                    f'is taken as the mean, {mean:.4g}'
                )
            values.append(value)
        return to_features(np.stack(values, axis=1))

    def _describe(self, data: AnchorData, num_anchors: IntArray) -> None:
        counts = self.counts
        several = int((num_anchors > 1).sum())
        size = data.hyperedge_size
        for number, one, many in (
            (counts['rows_without_member'], 'row has no member', 'rows have no member'),
            (
                counts['repeated_members'],
                'member is in its group twice',
                'members are in their group twice',
            ),
            (
                counts['added_anchors'],
                'anchor is added to the members of its group',
                'anchors are added to the members of their groups',
            ),
            (several, 'group has several anchors', 'groups have several anchors'),
            (
                int((size == 1).sum()),
                'group has a single member',
                'groups have a single member',
            ),
            (int((size == 0).sum()), 'group has no member', 'groups have no member'),
        ):
            if number:
                self.notes.append(f'{number:,} {one if number == 1 else many}')
        known = data.known_mask
        added = counts['added_anchors']
        if added and added == int(known.sum()) and not bool(known.all()):
            self.notes.append(
                'no known anchor is among the listed members: where the anchor is '
                'unknown, it may not be there either'
            )
        if not self.addresses and self.columns.is_wide:
            odd = [str(name) for name in data.node_id[:1000] if '<' in str(name)]
            if len(odd) > 1:
                self.notes.append(
                    f"people are written like {odd[0]!r}: '--addresses' takes the "
                    f'address as their name'
                )


class _KnownColumns:
    # The columns of a table of known anchors: a long one, or one row per anchor.

    def __init__(self, table: GroupColumns) -> None:
        self.table = table
        self.columns = GroupColumns()

    def choose(self, names: Sequence[Any], metadata: Mapping[bytes, bytes]) -> Choice:
        words = [str(name) for name in names]
        # Both tables may call them the same.
        group = self.table.group if self.table.group in words else None
        anchor = self.table.anchor if self.table.anchor in words else None
        member = self.table.member if self.table.member in words else None
        anchor = guess_column(words, 'anchor') if anchor is None else anchor
        member = guess_column(words, 'member') if member is None else member
        if anchor is None or member is None:
            # Everybody who is listed is an anchor.
            only = member if anchor is None else anchor
            if only is None:
                raise ValueError(
                    f'known anchors need a column of anchors '
                    f'(got the columns {listed(words)})'
                )
            self.columns = GroupColumns(group, members=[only], anchor=only)
        else:
            self.columns = GroupColumns(group, member, anchor=anchor)
        chosen = self.columns.choose(words, metadata)
        if self.columns.group is None and not self.table.members:
            raise ValueError(
                f'known anchors need the column of the groups, as in the table '
                f'(got the columns {listed(words)})'
            )
        return chosen


def _join_lists(first: _Lists, second: _Lists) -> _Lists:
    codes, value = _merge([first.names, second.names])
    are_integers = all(
        part.names.are_integers for part in (first, second) if len(part.row)
    )
    return _Lists(
        np.concatenate([first.row, second.row]),
        _Names(np.concatenate(codes), value, are_integers),
    )


def _merge_repeats(
    node: IntArray, group: IntArray, y: BoolArray
) -> tuple[IntArray, IntArray, BoolArray, IntArray]:
    # Keeps the first of equal incidences, an anchor if any of them is one.
    pair = group * (int(node.max(initial=0)) + 1) + node
    ordered = np.sort(pair)
    if not (ordered[1:] == ordered[:-1]).any():
        return node, group, y, np.arange(len(node))
    order = np.argsort(pair, kind='stable')
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    start = np.flatnonzero(first)
    anchors = np.zeros(len(order), dtype=np.bool_)
    anchors[order[start]] = np.logical_or.reduceat(y[order], start)
    kept = np.sort(order[start])
    return node[kept], group[kept], anchors[kept], kept


def _earliest(time: FloatArray, owner: IntArray, size: int) -> FloatArray:
    out = np.full(size, np.inf)
    given = (owner >= 0) & ~np.isnan(time)
    np.minimum.at(out, owner[given], time[given])
    out[np.isinf(out)] = np.nan
    return out
