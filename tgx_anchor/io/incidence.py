"""Long tables: one row per member of a group."""

import csv
import gzip
import importlib
import io
import re
import sys
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.io._columns import (
    Column,
    FloatArray,
    IntArray,
    Locate,
    TextColumn,
    TextNumbering,
    Vocabulary,
    as_column,
    factorise,
    listed,
    one_line,
    parse_flags,
    parse_numbers,
    row_number,
    shorten,
)
from tgx_anchor.io._hypergraph import (
    build_data,
    check_groups,
    check_max_anchors,
    flags_of,
    id_of,
    ids_of,
    incidences_of,
    matrix_of,
    names_of,
    number_roles,
    roles_of,
    to_tensor,
    warn_left_out,
)
from tgx_anchor.io.files import check_is_file, paused_collection, replace_file

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = ('.csv', '.csv.gz', '.tsv', '.tsv.gz', '.parquet')
PREFIXES = {
    'x': 'node_',
    'hyperedge_attr': 'hyperedge_',
    'incidence_attr': 'incidence_',
}
# What pandas calls the row numbers that it adds to a file.
ROW_NUMBER_COLUMNS = ('', 'Unnamed: 0', '__index_level_0__')
CHUNK_ROWS = 2**16


@dataclass(frozen=True)
class _Layout:
    # Which column holds what; the features by the attribute that they make up.
    group: str
    member: str
    is_anchor: str | None
    role: str | None
    features: dict[str, list[str]] = field(default_factory=dict)

    @property
    def labels(self) -> list[str]:
        names = (self.group, self.member, self.is_anchor, self.role)
        return [name for name in names if name is not None]

    @property
    def numbers(self) -> list[str]:
        return [name for names in self.features.values() for name in names]


@dataclass(frozen=True)
class _Table:
    layout: _Layout
    labels: dict[str, Column]
    numbers: dict[str, NDArray[Any] | list[Any]]
    locate: Locate


# Reading #####################################################################


def read_incidence(
    table: 'Mapping[str, Any] | pd.DataFrame | str | PathLike[str]',
    *,
    group: str = 'group',
    member: str = 'member',
    is_anchor: str = 'is_anchor',
    role: str = 'role',
    max_anchors: int | None = 1,
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
      file, a column counts as integers if every value is as Python would print an
      integer of 64 bits: :obj:`007` stays a string, and so does :obj:`7` next to
      :obj:`a`.
    * whether the member is an anchor (optional): true and false, yes and no in any
      case, or 1 and 0. A group with no anchor among its rows, because all are false
      or left empty, has an unknown anchor.
    * the role of the member (optional): integers are kept; strings are numbered in
      sorted order, and their names kept in :obj:`data.role_names`.
    * numbers called :obj:`node_*`, :obj:`hyperedge_*` or :obj:`incidence_*`
      (optional), which make up :obj:`data.x`, :obj:`data.hyperedge_attr` and
      :obj:`data.incidence_attr` in the order of the columns. Their names, without
      the prefix, are kept in :obj:`data.feature_names`.

    Every other column is an error, except for the row numbers that pandas writes
    under no name.

    Args:
        table (Mapping or pandas.DataFrame or str or os.PathLike): The columns by
            name (lists, arrays or tensors), a data frame, or the path of a file that
            ends in :obj:`.csv`, :obj:`.csv.gz`, :obj:`.tsv`, :obj:`.tsv.gz` (UTF-8,
            with a header line) or :obj:`.parquet`.
        group (str, optional): The column of the ids of the groups.
            (default: :obj:`"group"`)
        member (str, optional): The column of the ids of the members.
            (default: :obj:`"member"`)
        is_anchor (str, optional): The column that marks the anchors; must exist if
            it is not the default. (default: :obj:`"is_anchor"`)
        role (str, optional): The column of the roles; must exist if it is not the
            default. (default: :obj:`"role"`)
        max_anchors (int, optional): The number of anchors that a group may have,
            without limit if :obj:`None`. (default: :obj:`1`)
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
    if isinstance(table, str | PathLike):
        path = Path(table)
        suffix = _suffix(path)
        check_is_file('table', path)
        if suffix == '.parquet':
            return _assemble(_read_columns(_read_parquet(path), chosen), max_anchors)
        return _assemble(_read_text(path, chosen), max_anchors)
    if not isinstance(table, Mapping) and not _is_data_frame(table):
        raise ValueError(
            f"'table' must be a mapping of columns, a pandas.DataFrame or a path "
            f'(got {shorten(table)})'
        )
    return _assemble(_read_columns(list(table.items()), chosen), max_anchors)


def _assemble(table: _Table, max_anchors: int | None) -> AnchorData:
    layout, labels, locate = table.layout, table.labels, table.locate
    hyperedge, hyperedge_id = factorise(layout.group, labels[layout.group], locate)
    node, node_id = factorise(layout.member, labels[layout.member], locate)
    y = np.zeros(len(node), dtype=np.bool_)
    if layout.is_anchor is not None:
        y = parse_flags(layout.is_anchor, labels[layout.is_anchor], locate)

    incidence: dict[str, Tensor] = {}
    other: dict[str, Any] = {}
    if layout.role is not None:
        incidence['role'], other['role_names'] = number_roles(
            layout.role, labels[layout.role], locate
        )

    owner = {'x': (node, node_id), 'hyperedge_attr': (hyperedge, hyperedge_id)}
    for key, names in layout.features.items():
        columns = [parse_numbers(n, table.numbers[n], locate) for n in names]
        if key in owner:
            columns = [
                _one_per_owner(name, column, *owner[key], locate)
                for name, column in zip(names, columns, strict=True)
            ]
        level = incidence if key == 'incidence_attr' else other
        level[key] = to_tensor(np.stack(columns, axis=1))
    if layout.features:
        other['feature_names'] = {
            key: [name.removeprefix(PREFIXES[key]) for name in names]
            for key, names in layout.features.items()
        }
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
    name: str, value: FloatArray, code: IntArray, vocabulary: Vocabulary, locate: Locate
) -> FloatArray:
    last = np.empty(len(vocabulary), dtype=np.int64)
    last[code] = np.arange(len(code))
    differs = value != value[last[code]]
    if differs.any():
        row = int(np.argmax(differs))
        other = int(last[code[row]])
        raise ValueError(
            f"'{name}' must be the same in all rows of "
            f'{id_of(vocabulary, int(code[row]))} (got {value[row]} in {locate(row)} '
            f'and {value[other]} in {locate(other)})'
        )
    return np.asarray(value[last])


def _plan(present: Sequence[Any], chosen: Mapping[str, str]) -> _Layout:
    repeated = [name for i, name in enumerate(present) if name in present[:i]]
    if repeated:
        raise ValueError(
            f"'table' must have distinct column names (got {listed(repeated)} again)"
        )
    for name, column in chosen.items():
        optional = column == name and name in ('is_anchor', 'role')
        if column not in present and not optional:
            raise ValueError(
                f"'table' must have the column {shorten(column)} for '{name}' (got "
                f'the columns {listed(present)})'
            )
    layout = _Layout(
        chosen['group'],
        chosen['member'],
        chosen['is_anchor'] if chosen['is_anchor'] in present else None,
        chosen['role'] if chosen['role'] in present else None,
    )
    for name in present:
        if name in layout.labels or name in ROW_NUMBER_COLUMNS:
            continue
        key = next((k for k, p in PREFIXES.items() if str(name).startswith(p)), None)
        if key is None or not isinstance(name, str):
            raise ValueError(
                f"'table' must have no columns but {listed(chosen.values())} and "
                f'those that start with {listed(PREFIXES.values())} '
                f'(got {shorten(name)})'
            )
        layout.features.setdefault(key, []).append(name)
    return layout


# In memory


def _is_data_frame(table: Any) -> bool:
    # Only a program that has imported pandas can hold a data frame.
    pandas = sys.modules.get('pandas')
    return pandas is not None and isinstance(table, pandas.DataFrame)


def _read_columns(
    items: Sequence[tuple[Any, Any]], chosen: Mapping[str, str]
) -> _Table:
    layout = _plan([name for name, _ in items], chosen)
    used = {*layout.labels, *layout.numbers}
    columns = {name: as_column(name, value) for name, value in items if name in used}
    size = len(columns[layout.group])
    for name, column in columns.items():
        if len(column) != size:
            raise ValueError(
                f"'{name}' must be as long as '{layout.group}', that is {size} rows "
                f'(got {len(column)})'
            )
    return _Table(
        layout,
        {name: columns[name] for name in layout.labels},
        {name: columns[name] for name in layout.numbers},
        row_number,
    )


# Parquet


def _import_pyarrow(task: str) -> tuple[Any, Any]:
    try:
        return (
            importlib.import_module('pyarrow'),
            importlib.import_module('pyarrow.parquet'),
        )
    except ImportError as error:
        raise ImportError(
            f"{task} Parquet needs pyarrow: pip install 'tgx_anchor[interop]'"
        ) from error


def _read_parquet(path: Path) -> list[tuple[str, Any]]:
    pyarrow, parquet = _import_pyarrow('reading')
    with path.open('rb') as file:
        try:
            table = parquet.ParquetFile(file).read()
            return [
                (name, column.to_numpy())
                for name, column in zip(table.column_names, table.columns, strict=True)
            ]
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise ValueError(
                f"'table' must be a Parquet file (got {str(path)!r}: {one_line(error)})"
            ) from error


# Text


def _suffix(path: Path) -> str:
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise ValueError(
        f'the file of a table must end in {", ".join(SUFFIXES)} (got {str(path)!r})'
    )


def _delimiter(path: Path) -> str:
    return '\t' if _suffix(path).startswith('.tsv') else ','


@contextmanager
def _open_bytes(path: Path) -> Iterator[IO[bytes]]:
    with path.open('rb') as file:
        if not _suffix(path).endswith('.gz'):
            yield file
            return
        try:
            with gzip.GzipFile(fileobj=file) as unzipped:
                yield cast(IO[bytes], unzipped)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(
                f"'table' must be compressed by gzip "
                f'(got {str(path)!r}: {one_line(error)})'
            ) from error


@contextmanager
def _open_text(path: Path) -> Iterator[TextIO]:
    with (
        _open_bytes(path) as file,
        io.TextIOWrapper(file, encoding='utf-8-sig', newline='') as text,
    ):
        yield text


def _read_text(path: Path, chosen: Mapping[str, str]) -> _Table:
    try:
        with paused_collection(), _open_text(path) as file:
            reader = csv.reader(file, delimiter=_delimiter(path), strict=True)
            try:
                # A blank line is a record without fields.
                return _read_records(path, filter(None, reader), chosen)
            except csv.Error as error:
                raise ValueError(
                    f"'table' must be well-formed text (got {one_line(error)} in "
                    f'line {reader.line_num} of {str(path)!r})'
                ) from error
    except UnicodeDecodeError as error:
        raise ValueError(
            f"'table' must be encoded in UTF-8 "
            f'(got {_first_undecodable(path)} of {str(path)!r})'
        ) from error


def _read_records(
    path: Path, records: Iterator[list[str]], chosen: Mapping[str, str]
) -> _Table:
    header = next(records, None)
    if header is None:
        raise ValueError(
            f"'table' must have a header line (got the empty file {str(path)!r})"
        )
    if '\0' in ''.join(header):
        raise ValueError(
            f"'table' must not hold NUL characters (got the columns {listed(header)})"
        )
    layout = _plan(header, chosen)
    locate = partial(_line_of, path)
    numberings = {name: TextNumbering() for name in layout.labels}
    codes: dict[str, list[IntArray]] = {name: [] for name in layout.labels}
    numbers: dict[str, list[FloatArray]] = {name: [] for name in layout.numbers}
    start = 0
    while chunk := list(islice(records, CHUNK_ROWS)):
        if set(map(len, chunk)) != {len(header)}:
            row = next(
                r for r, record in enumerate(chunk) if len(record) != len(header)
            )
            raise ValueError(
                f"'table' must have {len(header)} fields in every line, as in its "
                f'header (got {len(chunk[row])} in {locate(start + row)})'
            )
        for name, values in zip(header, zip(*chunk, strict=True), strict=True):
            if name in codes:
                codes[name].append(numberings[name].encode(values))
            elif name in numbers:
                numbers[name].append(_parse_text(name, values, start, locate))
        start += len(chunk)
    labels: dict[str, Column] = {}
    for name, code in codes.items():
        labels[name] = text = TextColumn(_join(code), list(numberings[name]))
        for number, value in enumerate(text.value):
            if '\0' in value:
                row = int(np.argmax(text.code == number))
                raise ValueError(
                    f"'{name}' must not hold NUL characters "
                    f'(got {shorten(value)} in {locate(row)})'
                )
    return _Table(
        layout, labels, {name: _join(part) for name, part in numbers.items()}, locate
    )


def _join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _parse_text(
    name: str, values: Sequence[str], start: int, locate: Locate
) -> FloatArray:
    try:
        # Python takes underscores for digit separators.
        if '_' not in ''.join(values):
            return np.fromiter(map(float, values), np.float64, len(values))
    except ValueError:
        pass
    row = next(r for r, value in enumerate(values) if not _is_number(value))
    raise ValueError(
        f"'{name}' must hold numbers "
        f'(got {shorten(values[row])} in {locate(start + row)})'
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return '_' not in text


def _line_of(path: Path, row: int) -> str:
    # Fields may hold line breaks, so that only another reading can tell. It costs
    # nothing where nothing is wrong.
    with _open_text(path) as file:
        reader = csv.reader(file, delimiter=_delimiter(path), strict=True)
        left = row + 1
        line = 1
        for record in reader:
            if record and left == 0:
                break
            left -= bool(record)
            line = reader.line_num + 1
    return f'line {line} of {str(path)!r}'


def _first_undecodable(path: Path) -> str:
    with _open_bytes(path) as file:
        # Lone surrogates stand for the bytes that are no part of a character.
        text = file.read().decode(errors='surrogateescape')
    odd = next(re.finditer('[\udc80-\udcff]', text))
    line = text.count('\n', 0, odd.start()) + 1
    return f'{odd.group().encode(errors="surrogateescape")!r} in line {line}'


# Writing #####################################################################


def write_incidence(
    data: AnchorData, path: str | PathLike[str] | None = None
) -> dict[str, Any]:
    r"""Writes a long table with one row per member of a group: the inverse of
    :func:`read_incidence`.

    The columns are :obj:`group`, :obj:`member`, :obj:`is_anchor` (:obj:`None` in a
    group whose anchor is unknown), :obj:`role` (by name where :obj:`data.role_names`
    has them) and the attributes, named after :obj:`data.feature_names` where it
    fits them, and numbered otherwise. Without :obj:`data.node_id` or
    :obj:`data.hyperedge_id`, positions serve as ids.

    .. note::

        Nodes without a group, groups without a member, masks and further attributes
        have no place in a table: a warning says what is left out, and
        :func:`write_hif` keeps all but the last.
        A column of strings that all look like integers, such as :obj:`"1"` and
        :obj:`"2"`, comes back from a text file as integers; Parquet keeps the types.

    Args:
        data (AnchorData): The hypergraph.
        path (str or os.PathLike, optional): A file to write as well, in the format
            that its end names: :obj:`.csv`, :obj:`.csv.gz`, :obj:`.tsv`,
            :obj:`.tsv.gz` or :obj:`.parquet`. (default: :obj:`None`)
    """
    if path is not None:
        _suffix(Path(path))
    node, hyperedge = incidences_of(data)
    node_id = ids_of(data, 'node_id', int(data.num_nodes or 0))
    hyperedge_id = ids_of(data, 'hyperedge_id', data.num_hyperedges)
    columns: dict[str, list[Any]] = {
        'group': [hyperedge_id[i] for i in hyperedge],
        'member': [node_id[i] for i in node],
        'is_anchor': flags_of(data),
    }
    role = roles_of(data)
    if role is not None:
        columns['role'] = list(role)
    rows = {'x': node, 'hyperedge_attr': hyperedge, 'incidence_attr': slice(None)}
    for key, prefix in PREFIXES.items():
        matrix = matrix_of(data, key)
        if matrix is None:
            continue
        width = matrix.shape[1]
        names = names_of(data, key, width) or [str(i) for i in range(width)]
        for name, column in zip(names, matrix.T, strict=True):
            columns[prefix + name] = column[rows[key]].tolist()
    _warn_alone(len(node_id) - len(np.unique(node)), 'nodes without a group')
    _warn_alone(
        len(hyperedge_id) - len(np.unique(hyperedge)), 'groups without a member'
    )
    warn_left_out(
        data,
        ('node_id', 'hyperedge_id', 'y', 'role', *PREFIXES),
        'a table of incidences',
    )
    if path is not None:
        _write(Path(path), columns)
    return columns


def _warn_alone(count: int, what: str) -> None:
    if count:
        warnings.warn(
            f"a table of incidences leaves out {count} {what}; 'to_hif' keeps them",
            stacklevel=3,
        )


def _write(path: Path, columns: dict[str, list[Any]]) -> None:
    try:
        if _suffix(path) == '.parquet':
            _write_parquet(path, columns)
        else:
            _write_text(path, columns)
    except UnicodeEncodeError as error:
        raise ValueError(
            f"'data' must hold names that can be encoded in UTF-8 "
            f'(got {shorten(error.object)})'
        ) from error


def _write_parquet(path: Path, columns: dict[str, list[Any]]) -> None:
    pyarrow, parquet = _import_pyarrow('writing')
    kinds = {'is_anchor': pyarrow.bool_()}
    table = pyarrow.table(
        {
            name: pyarrow.array(column, kinds.get(name) if column else pyarrow.int64())
            for name, column in columns.items()
        }
    )
    with replace_file(path) as part:
        parquet.write_table(table, part)


def _write_text(path: Path, columns: dict[str, list[Any]]) -> None:
    spelled = {True: 'true', False: 'false', None: ''}
    columns = {**columns, 'is_anchor': [spelled[flag] for flag in columns['is_anchor']]}
    for name, column in columns.items():
        odd = next(
            (v for v in [name, *column] if isinstance(v, str) and '\0' in v), None
        )
        if odd is not None:
            raise ValueError(
                f"'{name}' must not hold NUL characters in a text file "
                f"(got {shorten(odd)}; Parquet and 'to_hif' keep them)"
            )
    with replace_file(path) as part, part.open('wb') as file:
        zipped = _suffix(path).endswith('.gz')
        # Without name and time, equal tables make equal files.
        binary = gzip.GzipFile('', 'wb', fileobj=file, mtime=0) if zipped else file
        text = io.TextIOWrapper(binary, encoding='utf-8', newline='')
        writer = csv.writer(text, delimiter=_delimiter(path))
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        text.flush()
        text.detach()
        if zipped:
            binary.close()
