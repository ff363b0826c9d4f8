"""Tables of groups: one row per member, or one row per group."""

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from torch import Tensor, from_numpy

from tgx_anchor.data import AnchorData
from tgx_anchor.data.building import (
    FloatArray,
    Ids,
    IntArray,
    Locate,
    build_data,
    check_anchors,
    check_max_anchors,
    get_matrix,
    list_flags,
    list_ids,
    list_incidences,
    list_roles,
    list_sides,
    list_times,
    list_types,
    merge_repeats,
    show_id,
    to_features,
    warn_unwritten,
)
from tgx_anchor.io.bad_row import BadRowError
from tgx_anchor.io.columns import (
    Column,
    RowError,
    read_ids,
    read_numbers,
    read_roles,
    read_sides,
    read_times,
    read_types,
)
from tgx_anchor.io.good_rows import RowPlaces, read_good_rows
from tgx_anchor.io.group_columns import (
    OWNER,
    PREFIXES,
    READ,
    ROW_NUMBERS,
    USUAL,
    GroupColumns,
    plain_name,
)
from tgx_anchor.io.group_entries import GroupEntries, take
from tgx_anchor.io.incidence_reading import IncidenceReading
from tgx_anchor.io.table import Choice, Table, get_suffix, read_table, write_table
from tgx_anchor.utils.messages import listed, shorten

# The types of columns that may be empty.
KINDS = {'is_anchor': pa.bool_(), 'time': pa.float64()}


# Reading #####################################################################


def read_incidence(table: Any, **kwargs: Any) -> AnchorData:
    r"""Reads a table of groups and warns about guesses: see :func:`inspect_incidence`.

    Args:
        table (Any): The table.
        **kwargs: The other arguments of :func:`inspect_incidence`.
    """
    reading = inspect_incidence(table, **kwargs)
    for note in reading.notes:
        warnings.warn(note, stacklevel=2)
    return reading.data


def inspect_incidence(
    table: Any,
    *,
    group: str = 'group',
    member: str = 'member',
    anchor: str = 'is_anchor',
    members: str | Sequence[str] | None = None,
    sep: str | None = ';',
    addresses: bool = False,
    role: str = 'role',
    time: str | None = None,
    side: str | None = None,
    group_type: str | None = None,
    member_type: str | None = None,
    known: Any = None,
    x: Sequence[str] | None = None,
    hyperedge_attr: Sequence[str] | None = None,
    incidence_attr: Sequence[str] | None = None,
    max_anchors: int | None = 1,
    skip_bad: bool = False,
    tidy: bool = False,
    anchors_only: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> IncidenceReading:
    r"""Reads a table of groups, and reports guesses and bad rows.

    A long table has one row per member of a group, a wide one has one row per group:

    .. code-block:: python

        reading = inspect_incidence({
            'group': ['mail 1', 'mail 1', 'mail 2', 'mail 2'],
            'member': ['ann', 'bob', 'bob', 'cat'],
            'is_anchor': [True, False, None, None],
        })
        reading = inspect_incidence(
            {'to': ['bob', 'bob; cat'], 'from': ['ann', None]},
            members='to',
            anchor='from',
        )

    Nodes and groups are numbered in order of first appearance, and their ids kept in
    :obj:`data.node_id` and :obj:`data.hyperedge_id`: integers as a tensor, strings as
    a list. Rows of a group need not be adjacent. The columns of a table are

    * the ids of group and member: integers or strings. Bytes in UTF-8, dates, decimals
      and UUIDs become strings, and so do integers next to strings. In a text file, a
      column holds integers if every value is written as Python would write an integer
      of 64 bits: :obj:`007` stays a string, and so does :obj:`7` next to :obj:`a`.
    * the members of the group (wide tables): a list, or text in which :obj:`sep`
      separates them. Without a column of groups, rows are numbered from one.
    * the anchor (optional). In a long table: true, yes, t, y or 1, and false, no, f, n
      or 0, in any case, or :obj:`"COLUMN=VALUE"` for the rows in which a column has
      this value. A group with no anchor among its rows, because all are false or left
      empty (or NA, null, none), has an unknown anchor. In a wide table: the id of the
      anchor, who becomes a member if it is not one, or nothing if it is unknown. A long
      table may hold ids, too: they are read as ids unless the column is called
      :obj:`is_...` or at least half of its distinct values are flags.
    * the role of the member (optional, long tables): integers are kept; strings are
      numbered in sorted order, and their names kept in :obj:`data.role_names`.
    * the time of the group (optional): numbers, or dates, which become seconds since
      1970. It is kept in :obj:`data.hyperedge_time`, NaN where it is missing or cannot
      be read. Of several in a group, the first counts.
    * the side of the member (optional, long tables) in a directed group: tail, source,
      from or 0; head, target, destination, to or 1. It is kept in
      :obj:`data.incidence_side`, as 0 in the tail, 1 in the head and :obj:`-1` where it
      is missing. A column :obj:`"side"` that is not asked for and holds other words is
      not read.
    * the type of the group, and that of the member (optional, the latter in long tables
      only), the same in all rows where it is given: read like roles, and kept in
      :obj:`data.hyperedge_type` and :obj:`data.node_type` with their names, :obj:`-1`
      where it is missing.
    * numbers (optional), which make up :obj:`data.x`, :obj:`data.hyperedge_attr` and
      :obj:`data.incidence_attr` in the order of the columns, by default those whose
      names start with :obj:`node_`, :obj:`hyperedge_` and :obj:`incidence_`. The
      names are kept in :obj:`data.column_names`.

    Columns that are not named are found by the usual names, such as :obj:`thread_id`
    and :obj:`user`. Other columns are not read. A member that is listed twice in a
    group is one member, an anchor if any of its rows says so, with the role and the
    attributes of the first. Groups of one member are kept. A row is bad if its group
    or member is empty, or one of its values cannot be read.

    A Parquet file or Arrow table that :func:`write_incidence` made also tells which
    columns are attributes.

    Args:
        table (Any): The columns by name (lists, arrays or tensors); a list of groups,
            each a list of members, which are numbered from zero; a list of records; a
            data frame of pandas, polars, pyarrow or any other library with Arrow's
            interface; the path of a file that ends in :obj:`.csv`, :obj:`.tsv`,
            :obj:`.txt`, :obj:`.jsonl`, :obj:`.ndjson` (or one of these and
            :obj:`.gz`) or :obj:`.parquet`; :obj:`"-"` for standard input; or a folder,
            a glob pattern or a list of such files.
        group (str, optional): The column of the ids of the groups.
            (default: :obj:`"group"`)
        member (str, optional): The column of the ids of the members.
            (default: :obj:`"member"`)
        anchor (str, optional): The column of the anchors; must exist if it is not the
            default. (default: :obj:`"is_anchor"`)
        members (str or list[str], optional): The columns of the members of a wide
            table. (default: :obj:`None`)
        sep (str, optional): The separator of members in a wide table; if :obj:`None`,
            the first of semicolon, bar, comma and tab that occurs.
            (default: :obj:`";"`)
        addresses (bool, optional): If set to :obj:`True`, people are named by their
            e-mail address in lower case where there is one, so that
            :obj:`"Ann Lee <Ann@x.org>"` is :obj:`"ann@x.org"`. (default: :obj:`False`)
        role (str, optional): The column of the roles; must exist if it is not the
            default. (default: :obj:`"role"`)
        time (str, optional): The column of the times. If :obj:`None`, the column
            :obj:`"time"` if there is one. (default: :obj:`None`)
        side (str, optional): The column of the sides. If :obj:`None`, the column
            :obj:`"side"` if there is one. (default: :obj:`None`)
        group_type (str, optional): The column of the types of groups. If :obj:`None`,
            the column :obj:`"group_type"` if there is one. (default: :obj:`None`)
        member_type (str, optional): The column of the types of members. If
            :obj:`None`, the column :obj:`"member_type"` if there is one.
            (default: :obj:`None`)
        known (Any, optional): A second table with known anchors, of which the columns
            :obj:`"group"` and :obj:`"anchor"` are read. (default: :obj:`None`)
        x (list[str], optional): The columns of :obj:`data.x`, equal in all rows of a
            member. (default: :obj:`None`)
        hyperedge_attr (list[str], optional): The columns of
            :obj:`data.hyperedge_attr`, equal in all rows of a group.
            (default: :obj:`None`)
        incidence_attr (list[str], optional): The columns of
            :obj:`data.incidence_attr`. (default: :obj:`None`)
        max_anchors (int, optional): The number of anchors that a group may have,
            without limit if :obj:`None`. (default: :obj:`1`)
        skip_bad (bool, optional): If set to :obj:`True`, bad rows are left out, and
            :obj:`reading.rejected` lists them; otherwise they raise a
            :class:`BadRowError`. (default: :obj:`False`)
        tidy (bool, optional): If set to :obj:`True`, spaces around names do not count,
            and a row without a member (empty, or NA, null, none) is not bad: it only
            names its group, which may be left without members. A row with neither
            counts as blank. (default: :obj:`False`)
        anchors_only (bool, optional): If set to :obj:`True`, a table without a column
            of members has one row per anchor. (default: :obj:`False`)
        delimiter (str, optional): The delimiter of a text file; if :obj:`None`, comma,
            semicolon, tab or bar, whichever fits the header. (default: :obj:`None`)
        encoding (str, optional): The encoding of a text file; if :obj:`None`, UTF-8
            or UTF-16, or else Windows-1252 with a note. (default: :obj:`None`)
        header (bool, optional): Whether a text file begins with the names of its
            columns. If :obj:`None`, it does unless the first line looks like data. The
            columns of a file without a header are :obj:`"1"`, :obj:`"2"`, ..., by
            default group, member and anchor. (default: :obj:`None`)
    """
    check_max_anchors(max_anchors)
    layout = GroupColumns.ask(
        group=group,
        member=member,
        anchor=anchor,
        role=role,
        time=time,
        side=side,
        group_type=group_type,
        member_type=member_type,
        members=members,
        x=x,
        hyperedge_attr=hyperedge_attr,
        incidence_attr=incidence_attr,
        anchors_only=anchors_only,
    )
    if sep is not None and (not isinstance(sep, str) or not sep):
        raise ValueError(f"'sep' must be a string, not empty (got {shorten(sep)})")
    if _is_list_of_groups(table):
        count = pa.array(np.arange(len(table)))
        table = {'group': count, 'members': [list(entry) for entry in table]}
        layout.members = ['members']
    read = read_table(
        table,
        layout.choose,
        delimiter=delimiter,
        encoding=encoding,
        header=header,
        keep_bad=True,
    )
    extra = None if known is None else _read_known(known, layout)
    assembly = _Assembly(read, layout, extra, sep, addresses, tidy, max_anchors)
    return assembly.read(skip_bad)


def _is_list_of_groups(table: Any) -> bool:
    kinds = (list, tuple, set, frozenset)
    is_list = isinstance(table, list | tuple) and len(table) > 0
    return is_list and all(isinstance(entry, kinds) for entry in table)


def _read_known(source: Any, layout: GroupColumns) -> Table:
    names = {'group': layout.columns.get('group', 'group'), 'anchor': 'anchor'}

    def choose(columns: Sequence[Any], _: Mapping[bytes, bytes]) -> Choice:
        for meaning, name in names.items():
            if name not in columns:
                usual = [c for c in columns if plain_name(str(c)) in USUAL[meaning]]
                if len(usual) != 1:
                    raise ValueError(
                        f"'known' must have the columns {listed(names.values())} "
                        f'(got the columns {listed(columns)})'
                    )
                names[meaning] = usual[0]
        return Choice(list(names.values()))

    asked = dict(names)
    table = read_table(source, choose)
    columns = [table.columns[name] for name in names.values()]
    notes = [f'known anchors: {note}' for note in table.notes]
    guessed = [f'{n!r} is {k!r}' for k, n in names.items() if n != asked[k]]
    if guessed:
        notes.append(
            f'columns of the known anchors found by their usual names: '
            f'{", ".join(guessed)}'
        )
    return replace(table, columns=dict(zip(names, columns, strict=True)), notes=notes)


@dataclass
class _Assembly:
    # Builds the hypergraph of the rows that can be read.
    table: Table
    layout: GroupColumns
    known: Table | None
    sep: str | None
    addresses: bool
    tidy: bool
    max_anchors: int | None
    notes: list[str] = field(default_factory=list)

    def read(self, skip_bad: bool) -> IncidenceReading:
        good = read_good_rows(self.table.columns, self._read)
        (data, flags), kept = good.result, good.kept
        bad_rows = list(self.table.bad_rows)
        if good.reasons:
            bad_rows += good.describe(self.table)
            files = list(dict.fromkeys(row.file for row in bad_rows))
            bad_rows.sort(key=lambda row: (files.index(row.file), row.line))
        if bad_rows and not (skip_bad and len(kept)):
            raise BadRowError(bad_rows, skip_bad=skip_bad)
        notes = [*self.table.notes, *self.layout.list_notes()]
        notes += [*([] if self.known is None else self.known.notes), *self.notes]
        if bad_rows:
            notes.append(
                f'bad rows that are left out: {len(bad_rows):,}; the first: '
                f'{bad_rows[0]}'
            )
        form, described = self.table.form, self.layout.describe()
        size = len(next(iter(self.table.columns.values()))) + len(self.table.bad_rows)
        return IncidenceReading(data, form, described, notes, bad_rows, size, flags)

    def _read(
        self, columns: dict[str, Column], places: RowPlaces
    ) -> tuple[AnchorData, dict[str, bool]]:
        self.notes = []
        entries = self._collect(columns, places.kept)
        places.row = entries.row
        groups = self._number_groups(entries)
        if entries.nobody is not None and entries.nobody.any():
            keep = ~entries.nobody
            groups = groups[0][keep], groups[1]
            entries = entries.take(keep)
            places.row = entries.row
            self.notes.append(
                f'rows without a member, which only name their group: '
                f'{int((~keep).sum()):,}'
            )
        data = self._build(columns, places.kept, entries, *groups)
        return data, entries.flags

    def _collect(self, columns: dict[str, Column], kept: IntArray) -> GroupEntries:
        def locate(number: int) -> str:
            return self.table.locate(int(kept[number]))

        if self.layout.lists:
            out = GroupEntries.from_lists(
                columns,
                kept,
                self.layout,
                locate,
                self.sep,
                self.addresses,
                self.tidy,
            )
        else:
            out = GroupEntries.from_rows(columns, kept, self.layout, locate, self.tidy)
        if self.known is not None:
            out = out.add_known(self.known, self.notes)
        return out.with_addresses() if self.addresses else out

    def _locate(self, entries: GroupEntries) -> Locate:
        def locate(number: int) -> str:
            row = int(entries.row[number])
            if row < 0 and self.known is not None:
                return f'{self.known.locate(-1 - row)} of the known anchors'
            return self.table.locate(row)

        return locate

    def _number_groups(self, entries: GroupEntries) -> tuple[IntArray, Ids]:
        name = self.layout.columns.get('group', 'group')
        locate = self._locate(entries)
        return read_ids(name, entries.group, locate, self.table.is_text)

    def _build(
        self,
        columns: dict[str, Column],
        kept: IntArray,
        entries: GroupEntries,
        hyperedge: IntArray,
        hyperedge_id: Ids,
    ) -> AnchorData:
        layout, is_text = self.layout, self.table.is_text
        locate = self._locate(entries)
        name = layout.columns.get('member', 'member')
        node, node_id = read_ids(name, entries.member, locate, is_text)
        size = entries.size
        place, code = merge_repeats(node, hyperedge)
        y = np.bincount(code, entries.y, len(place)) > 0
        self._note_merged(place, size)

        # The place of each entry among the rows that are left.
        at = np.searchsorted(kept, entries.row[:size])

        def get(name: str) -> Column:
            column = columns[name]
            every = len(at) == len(column) and not layout.lists
            return column if every else take(column, at)

        incidence: dict[str, Tensor] = {}
        other: dict[str, Any] = {}
        if 'role' in layout.columns:
            role = layout.columns['role']
            incidence['role'], other['role_names'] = read_roles(
                role, get(role), locate, layout.role_names, is_text
            )
        owner = {'x': (node, node_id), 'hyperedge_attr': (hyperedge, hyperedge_id)}
        numbers = {
            key: [read_numbers(n, get(n), locate, is_text) for n in chosen]
            for key, chosen in layout.attributes.items()
        }
        for key, values in numbers.items():
            chosen = layout.attributes[key]
            if key in owner:
                number, ids = owner[key]
                values = [
                    _one_per_owner(name, value, number[:size], ids, locate)
                    for name, value in zip(chosen, values, strict=True)
                ]
            level = incidence if key == 'incidence_attr' else other
            level[key] = to_features(np.stack(values, axis=1))
        if layout.attributes:
            other['column_names'] = layout.attributes
        if 'time' in layout.columns:
            time, odd = read_times(columns[layout.columns['time']])
            other['hyperedge_time'] = self._time_of_groups(
                time[at], odd, hyperedge[:size], len(hyperedge_id)
            )
        if (place >= size).any() and (incidence or 'x' in other):
            first = int(place[place >= size][0])
            raise ValueError(
                f"'known' must name members of the group where the table has roles or "
                f'attributes of members (got {show_id(node_id, int(node[first]))} for '
                f'group {show_id(hyperedge_id, int(hyperedge[first]))})'
            )
        if 'side' in layout.columns:
            found = self._read_sides(get, locate)
            if found is not None:
                # Anchors that become members have no row that tells their side.
                more = np.full(len(node) - size, -1, dtype=np.int64)
                incidence['incidence_side'] = from_numpy(np.append(found, more))
        for key, meaning, number, ids in (
            ('hyperedge_type', 'group_type', hyperedge, hyperedge_id),
            ('node_type', 'member_type', node, node_id),
        ):
            if meaning in layout.columns:
                name = layout.columns[meaning]
                known_names = layout.names.get(f'{meaning}_names')
                code_of, names = read_types(
                    name, get(name), locate, known_names, is_text, f'{key}_names'
                )
                value = _one_type_per_owner(
                    name, code_of, names, number[:size], ids, locate
                )
                other[key], other[f'{key}_names'] = from_numpy(value), names
        node, hyperedge = node[place], hyperedge[place]
        check_anchors(
            hyperedge,
            y,
            hyperedge_id,
            self.max_anchors,
            lambda number: locate(int(place[number])),
        )
        return build_data(
            node,
            hyperedge,
            y,
            len(node_id),
            len(hyperedge_id),
            {key: value[from_numpy(place)] for key, value in incidence.items()},
            node_id=node_id,
            hyperedge_id=hyperedge_id,
            **other,
        )

    def _read_sides(
        self, get: Callable[[str], Column], locate: Locate
    ) -> IntArray | None:
        name = self.layout.columns['side']
        try:
            return read_sides(name, get(name), locate)
        except RowError:
            if self.layout.asked['side'] is not None:
                raise
            # Many things have two sides.
            self.notes.append(
                f'the column {name!r} holds other words than tail and head, and is not '
                f'read'
            )
            return None

    def _note_merged(self, place: IntArray, size: int) -> None:
        merged = size - int((place < size).sum())
        if merged:
            self.notes.append(
                f'rows that list a member of their group again, who counts once: '
                f'{merged:,}'
            )
        added = int((place >= size).sum())
        if added:
            self.notes.append(
                f'anchors that are not listed as members of their group, and become '
                f'members: {added:,}'
            )

    def _time_of_groups(
        self, time: FloatArray, odd: int, hyperedge: IntArray, num_hyperedges: int
    ) -> Tensor:
        if odd:
            self.notes.append(
                f'times that are neither numbers nor dates, and count as missing: '
                f'{odd:,}'
            )
        # The first one of each group is written last.
        given = np.flatnonzero(~np.isnan(time))[::-1]
        out = np.full(num_hyperedges, np.nan)
        out[hyperedge[given]] = time[given]
        differs = np.unique(hyperedge[given][time[given] != out[hyperedge[given]]])
        if len(differs):
            self.notes.append(
                f'groups with several times, of which the first counts: '
                f'{len(differs):,}'
            )
        return from_numpy(out)


def _one_per_owner(
    name: str, value: FloatArray, code: IntArray, ids: Ids, locate: Locate
) -> FloatArray:
    first = np.full(len(ids), -1, dtype=np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    rows = np.flatnonzero(value != value[first[code]])
    if len(rows):
        raise RowError(
            name,
            f'be the same in all rows of {show_id(ids, int(code[rows[0]]))}',
            rows,
            lambda row: f'got {value[first[code[row]]]} before and {value[row]}',
            locate,
        )
    # A group may have no row that counts.
    return np.where(first < 0, 0.0, value[first] if len(value) else 0.0)


def _one_type_per_owner(
    name: str,
    value: IntArray,
    names: list[str] | None,
    code: IntArray,
    ids: Ids,
    locate: Locate,
) -> IntArray:
    # The first type that is given counts, and no other may be given.
    given = np.flatnonzero(value >= 0)
    out = np.full(len(ids), -1, dtype=np.int64)
    out[code[given[::-1]]] = value[given[::-1]]
    rows = given[value[given] != out[code[given]]]

    def show(number: int) -> str:
        return shorten(number if names is None else names[number])

    if len(rows):
        raise RowError(
            name,
            f'be the same in all rows of {show_id(ids, int(code[rows[0]]))}',
            rows,
            lambda row: (
                f'got {show(int(out[code[row]]))} before and {show(int(value[row]))}'
            ),
            locate,
        )
    return out


# Writing #####################################################################


def write_incidence(
    data: AnchorData, path: str | PathLike[str] | None = None
) -> dict[str, Any]:
    r"""Writes a long table with one row per member of a group: the inverse of
    :func:`read_incidence`.

    The columns are :obj:`group`, :obj:`member`, :obj:`is_anchor` (:obj:`None` in a
    group whose anchor is unknown), :obj:`role` (by name where :obj:`data.role_names`
    has them), :obj:`side`, :obj:`group_type` and :obj:`member_type` (:obj:`None` where
    they are unknown), the attributes under their names in :obj:`data.names`, and
    :obj:`time` (:obj:`None` where it is unknown). A name that is taken gets the prefix
    of its attribute, such as :obj:`node_`. Without :obj:`data.node_id` or
    :obj:`data.hyperedge_id`, positions serve as ids.

    .. note::

        Nodes without a group, groups without a member, masks and further attributes
        are not written, and a warning names them; :func:`write_hif` keeps all but the
        last. Parquet keeps all names and types. In other formats, attributes
        whose names lack the prefix have to be named to the reader (arguments :obj:`x`,
        :obj:`hyperedge_attr` and :obj:`incidence_attr`), and a column of strings that
        all look like integers, such as :obj:`"1"` and :obj:`"2"`, comes back from
        CSV as integers.

    Args:
        data (AnchorData): The hypergraph.
        path (str or os.PathLike, optional): A file to write as well, in the format
            of its ending, one of those of :func:`read_incidence`.
            (default: :obj:`None`)

    Returns:
        The columns by name, as lists.
    """
    if path is not None:
        get_suffix(Path(path))
    node, hyperedge = list_incidences(data)
    node_id = list_ids(data, 'node_id', int(data.num_nodes or 0))
    hyperedge_id = list_ids(data, 'hyperedge_id', data.num_hyperedges)
    columns: dict[str, list[Any]] = {
        'group': [hyperedge_id[i] for i in hyperedge],
        'member': [node_id[i] for i in node],
        'is_anchor': list_flags(data),
    }
    noted: dict[str, list[str]] = {}
    role = list_roles(data)
    if role is not None:
        columns['role'] = list(role)
        if getattr(data, 'role_names', None):
            noted['role_names'] = list(map(str, data.role_names))
    side = list_sides(data)
    if side is not None:
        columns['side'] = list(side)
    for key, meaning, index in (
        ('hyperedge_type', 'group_type', hyperedge),
        ('node_type', 'member_type', node),
    ):
        types = list_types(data, key)
        if types is not None:
            columns[meaning] = [types[i] for i in index]
            type_names = getattr(data, f'{key}_names')
            if type_names:
                noted[f'{meaning}_names'] = list(map(str, type_names))
    rows = {'x': node, 'hyperedge_attr': hyperedge, 'incidence_attr': slice(None)}
    for key, prefix in PREFIXES.items():
        matrix = get_matrix(data, key)
        if matrix is None:
            continue
        noted[key] = []
        for name, value in zip(data.names(key), matrix.T, strict=True):
            while name in (*columns, *READ, *ROW_NUMBERS):
                name = prefix + name
            columns[name] = value[rows[key]].tolist()
            noted[key].append(name)
    if 'hyperedge_time' in data:
        time = list_times(data)
        columns['time'] = [time[i] for i in hyperedge]
    _warn_alone(len(node_id) - len(np.unique(node)), 'nodes without a group')
    _warn_alone(
        len(hyperedge_id) - len(np.unique(hyperedge)), 'groups without a member'
    )
    warn_unwritten(
        data,
        (
            *('node_id', 'hyperedge_id', 'y', 'role', 'hyperedge_time'),
            *('incidence_side', 'hyperedge_type', 'node_type'),
            *PREFIXES,
        ),
        'a table of incidences',
    )
    if path is not None:
        write_table(_to_arrow(columns, noted), Path(path))
    return columns


def _warn_alone(count: int, what: str) -> None:
    if count:
        warnings.warn(
            f"a table of incidences leaves out {count} {what}; 'to_hif' keeps them",
            stacklevel=3,
        )


def _to_arrow(columns: dict[str, list[Any]], noted: dict[str, list[str]]) -> pa.Table:
    try:
        arrays = {
            name: pa.array(column, KINDS.get(name)) for name, column in columns.items()
        }
    except UnicodeEncodeError as error:
        raise ValueError(
            f"'data' must have names that can be encoded in UTF-8 "
            f'(got {shorten(error.object)})'
        ) from error
    return pa.table(arrays).replace_schema_metadata({OWNER: json.dumps(noted)})
