"""Long tables: one row per member of a group."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.data.building import (
    FloatArray,
    Ids,
    IntArray,
    Locate,
    build_data,
    check_groups,
    check_max_anchors,
    get_matrix,
    list_flags,
    list_ids,
    list_incidences,
    list_roles,
    show_id,
    to_features,
    warn_unwritten,
)
from tgx_anchor.io.columns import read_flags, read_ids, read_numbers, read_roles
from tgx_anchor.io.table import Choice, Table, get_suffix, read_table, write_table
from tgx_anchor.utils.messages import listed, shorten

if TYPE_CHECKING:
    import pandas as pd

PREFIXES = {
    'x': 'node_',
    'hyperedge_attr': 'hyperedge_',
    'incidence_attr': 'incidence_',
}
READ = ('group', 'member', 'is_anchor', 'role')
# Row numbers that pandas adds to a file.
ROW_NUMBERS = ('', 'Unnamed: 0', '__index_level_0__')
# The part of the metadata that this package writes and reads.
OWNER = b'tgx_anchor'


@dataclass
class _Layout:
    # The column of each meaning, and the columns of each attribute that the user named.
    chosen: dict[str, str]
    given: dict[str, list[str] | None]
    # Filled in once the columns of the table are known.
    attributes: dict[str, list[str]] = field(default_factory=dict)
    role_names: list[str] | None = None
    ignored: list[Any] = field(default_factory=list)

    def choose(self, names: Sequence[Any], metadata: Mapping[bytes, bytes]) -> Choice:
        labels = []
        for meaning, column in self.chosen.items():
            optional = column == meaning and meaning in ('is_anchor', 'role')
            if column in names:
                labels.append(column)
            elif not optional:
                raise ValueError(
                    f"'table' must have the column {shorten(column)} for '{meaning}' "
                    f'(got the columns {listed(names)})'
                )
        noted = _read_metadata(metadata)
        self.role_names = noted.pop('role_names', None)
        left = [name for name in names if name not in (*labels, *ROW_NUMBERS)]
        named: dict[str, list[str]] = {}
        for key, given in self.given.items():
            lost = [name for name in given or () if name not in left]
            if lost:
                raise ValueError(
                    f"'{key}' must name columns of numbers (got {listed(lost)}, not "
                    f'among {listed(left)})'
                )
            found = [name for name in noted.get(key, ()) if name in left]
            named[key] = found if given is None else given
        taken = [name for columns in named.values() for name in columns]
        for key, prefix in PREFIXES.items():
            if self.given[key] is None and not named[key]:
                named[key] = [
                    name
                    for name in left
                    if str(name).startswith(prefix)
                    and isinstance(name, str)
                    and name not in taken
                ]
        self.attributes = {key: columns for key, columns in named.items() if columns}
        numbers = [name for columns in self.attributes.values() for name in columns]
        unread = [name for name in left if name not in numbers]
        self.ignored = list(dict.fromkeys([*self.ignored, *unread]))
        return Choice(labels, numbers)


def _read_metadata(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    # Tables of others may use the key for something else.
    try:
        noted = json.loads(metadata.get(OWNER, b'{}'))
        return {
            key: noted[key]
            for key in (*PREFIXES, 'role_names')
            if key in noted and all(isinstance(name, str) for name in noted[key])
        }
    except (ValueError, TypeError):
        return {}


# Reading #####################################################################


def read_incidence(
    table: 'Mapping[str, Any] | pd.DataFrame | str | PathLike[str] | Any',
    *,
    group: str = 'group',
    member: str = 'member',
    is_anchor: str = 'is_anchor',
    role: str = 'role',
    x: Sequence[str] | None = None,
    hyperedge_attr: Sequence[str] | None = None,
    incidence_attr: Sequence[str] | None = None,
    max_anchors: int | None = 1,
    sep: str | None = None,
    encoding: str | None = None,
) -> AnchorData:
    r"""Reads a long table with one row per member of a group.

    .. code-block:: python

        data = read_incidence({
            'group': ['mail 1', 'mail 1', 'mail 2', 'mail 2'],
            'member': ['ann', 'bob', 'bob', 'cat'],
            'is_anchor': [True, False, None, None],
        })

    Nodes and groups are numbered in order of first appearance, and their ids kept in
    :obj:`data.node_id` and :obj:`data.hyperedge_id`: integers as a tensor, strings as
    a list. Rows of a group need not be adjacent. The columns of a table are

    * the ids of group and member, which are all integers or all strings. In a text
      file, a column holds integers if every value is written as Python would write
      an integer of 64 bits: :obj:`007` stays a string, and so does :obj:`7` next to
      :obj:`a`.
    * whether the member is an anchor (optional): true, yes, t, y or 1, and false,
      no, f, n or 0, in any case. A group with no anchor among its rows, because all
      are false or left empty (or NA, null, none), has an unknown anchor.
    * the role of the member (optional): integers are kept; strings are numbered in
      sorted order, and their names kept in :obj:`data.role_names`.
    * numbers (optional), which make up :obj:`data.x`, :obj:`data.hyperedge_attr` and
      :obj:`data.incidence_attr` in the order of the columns, by default those whose
      names start with :obj:`node_`, :obj:`hyperedge_` and :obj:`incidence_`. The
      names are kept in :obj:`data.column_names`.

    Other columns are not read, and a warning names them. A Parquet file or Arrow table
    that :func:`write_incidence` made also tells which columns are attributes.

    Args:
        table (Mapping or pandas.DataFrame or str or os.PathLike): The columns by
            name (lists, arrays or tensors); a data frame of pandas, polars, pyarrow
            or any other library with Arrow's interface; the path of a file that ends
            in :obj:`.csv`, :obj:`.tsv`, :obj:`.txt`, :obj:`.jsonl`, :obj:`.ndjson`
            (or one of these and :obj:`.gz`) or :obj:`.parquet`; or a folder, a glob
            pattern or a list of such files.
        group (str, optional): The column of the ids of the groups.
            (default: :obj:`"group"`)
        member (str, optional): The column of the ids of the members.
            (default: :obj:`"member"`)
        is_anchor (str, optional): The column that marks the anchors; must exist if
            it is not the default. (default: :obj:`"is_anchor"`)
        role (str, optional): The column of the roles; must exist if it is not the
            default. (default: :obj:`"role"`)
        x (list[str], optional): The columns of :obj:`data.x`, equal in all rows of a
            member. (default: :obj:`None`)
        hyperedge_attr (list[str], optional): The columns of
            :obj:`data.hyperedge_attr`, equal in all rows of a group.
            (default: :obj:`None`)
        incidence_attr (list[str], optional): The columns of
            :obj:`data.incidence_attr`. (default: :obj:`None`)
        max_anchors (int, optional): The number of anchors that a group may have,
            without limit if :obj:`None`. (default: :obj:`1`)
        sep (str, optional): The separator of a text file; if :obj:`None`, comma,
            semicolon or tab, whichever fits the header. (default: :obj:`None`)
        encoding (str, optional): The encoding of a text file; if :obj:`None`, UTF-8
            or UTF-16, or else Windows-1252 with a warning. (default: :obj:`None`)
    """
    check_max_anchors(max_anchors)
    chosen = {'group': group, 'member': member, 'is_anchor': is_anchor, 'role': role}
    for name, column in chosen.items():
        if not isinstance(column, str):
            raise ValueError(f"'{name}' must be a string (got {shorten(column)})")
    if len(set(chosen.values())) < len(chosen):
        raise ValueError(
            f"'group', 'member', 'is_anchor' and 'role' must name different columns "
            f'(got {listed(chosen.values())})'
        )
    given = {'x': x, 'hyperedge_attr': hyperedge_attr, 'incidence_attr': incidence_attr}
    layout = _Layout(chosen, _check_names(given))
    read = read_table(table, layout.choose, sep=sep, encoding=encoding)
    for note in read.notes:
        warnings.warn(note, stacklevel=2)
    if layout.ignored:
        warnings.warn(
            f"the columns {listed(layout.ignored)} of the table are not read; 'x', "
            f"'hyperedge_attr' and 'incidence_attr' take the names of columns to keep",
            stacklevel=2,
        )
    return _assemble(read, layout, max_anchors)


def _check_names(
    given: Mapping[str, Sequence[str] | None],
) -> dict[str, list[str] | None]:
    used: list[str] = []
    for key, names in given.items():
        if names is None:
            continue
        if isinstance(names, str) or not all(isinstance(n, str) for n in names):
            raise ValueError(f"'{key}' must be a list of names (got {shorten(names)})")
        used += names
    if len(set(used)) < len(used):
        raise ValueError(
            f"'x', 'hyperedge_attr' and 'incidence_attr' must name different columns "
            f'(got {listed(used)})'
        )
    return {key: None if names is None else list(names) for key, names in given.items()}


def _assemble(table: Table, layout: _Layout, max_anchors: int | None) -> AnchorData:
    columns, locate, is_text = table.columns, table.locate, table.is_text
    group, member, is_anchor, role = layout.chosen.values()
    hyperedge, hyperedge_id = read_ids(group, columns[group], locate, is_text)
    node, node_id = read_ids(member, columns[member], locate, is_text)
    y = np.zeros(len(node), dtype=np.bool_)
    if is_anchor in columns:
        y = read_flags(is_anchor, columns[is_anchor], locate)

    incidence: dict[str, Tensor] = {}
    other: dict[str, Any] = {}
    if role in columns:
        incidence['role'], other['role_names'] = read_roles(
            role, columns[role], locate, layout.role_names, is_text
        )
    owner = {'x': (node, node_id), 'hyperedge_attr': (hyperedge, hyperedge_id)}
    for key, names in layout.attributes.items():
        values = [read_numbers(n, columns[n], locate, is_text) for n in names]
        if key in owner:
            values = [
                _one_per_owner(name, value, *owner[key], locate)
                for name, value in zip(names, values, strict=True)
            ]
        level = incidence if key == 'incidence_attr' else other
        level[key] = to_features(np.stack(values, axis=1))
    if layout.attributes:
        other['column_names'] = layout.attributes
    check_groups(node, hyperedge, y, node_id, hyperedge_id, max_anchors, locate)
    return build_data(
        node,
        hyperedge,
        y,
        len(node_id),
        len(hyperedge_id),
        incidence,
        node_id=node_id,
        hyperedge_id=hyperedge_id,
        **other,
    )


def _one_per_owner(
    name: str, value: FloatArray, code: IntArray, ids: Ids, locate: Locate
) -> FloatArray:
    last = np.empty(len(ids), dtype=np.int64)
    last[code] = np.arange(len(code))
    differs = value != value[last[code]]
    if differs.any():
        row = int(np.argmax(differs))
        other = int(last[code[row]])
        raise ValueError(
            f"'{name}' must be the same in all rows of "
            f'{show_id(ids, int(code[row]))} (got {value[row]} in {locate(row)} '
            f'and {value[other]} in {locate(other)})'
        )
    return np.asarray(value[last])


# Writing #####################################################################


def write_incidence(
    data: AnchorData, path: str | PathLike[str] | None = None
) -> dict[str, Any]:
    r"""Writes a long table with one row per member of a group: the inverse of
    :func:`read_incidence`.

    The columns are :obj:`group`, :obj:`member`, :obj:`is_anchor` (:obj:`None` in a
    group whose anchor is unknown), :obj:`role` (by name where :obj:`data.role_names`
    has them) and the attributes under their names in :obj:`data.names`. A name that
    is taken gets the prefix of its attribute, such as :obj:`node_`. Without
    :obj:`data.node_id` or :obj:`data.hyperedge_id`, positions serve as ids.

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
    _warn_alone(len(node_id) - len(np.unique(node)), 'nodes without a group')
    _warn_alone(
        len(hyperedge_id) - len(np.unique(hyperedge)), 'groups without a member'
    )
    warn_unwritten(
        data,
        ('node_id', 'hyperedge_id', 'y', 'role', *PREFIXES),
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
            name: pa.array(column, pa.bool_() if name == 'is_anchor' else None)
            for name, column in columns.items()
        }
    except UnicodeEncodeError as error:
        raise ValueError(
            f"'data' must have names that can be encoded in UTF-8 "
            f'(got {shorten(error.object)})'
        ) from error
    return pa.table(arrays).replace_schema_metadata({OWNER: json.dumps(noted)})
