"""Columns of the files of shards, checked as they are read."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from tgx_anchor.utils.messages import listed, shorten

# The kinds of numbers of NumPy.
_WORDS = {'b': 'booleans', 'iu': 'integers', 'iuf': 'numbers'}


def check_range(name: str, value: NDArray[Any], low: int, high: int) -> None:
    r"""Raises a :class:`ValueError` if a column does not hold integers of a range.

    Args:
        name (str): The name of the column in messages.
        value (numpy.ndarray): The column.
        low (int): The smallest integer.
        high (int): The end of the range, exclusive.
    """
    if value.dtype.kind not in 'iu' or (
        len(value) and not low <= int(value.min()) <= int(value.max()) < high
    ):
        got: Any = value.dtype
        if value.dtype.kind in 'iu':
            got = (int(value.min()), int(value.max()))
        raise ValueError(f'{name} must be integers in [{low}, {high}) (got {got})')


def check_types(number: int, columns: dict[str, NDArray[Any]]) -> None:
    r"""Raises a :class:`ValueError` if anchors, roles or attributes of incidences have
    a wrong type.

    Args:
        number (int): The number of the shard.
        columns (dict[str, numpy.ndarray]): The columns of its incidences.
    """
    for name, value in columns.items():
        kinds = {'y': 'b', 'role': 'iu'}.get(name, 'iuf')
        if name not in ('node', 'hyperedge') and value.dtype.kind not in kinds:
            raise ValueError(
                f'{shorten(name)} of shard {number} must be {_WORDS[kinds]} '
                f'(got {value.dtype})'
            )


def check_rows(number: int, num_known: int, columns: dict[str, NDArray[Any]]) -> None:
    r"""Raises a :class:`ValueError` if the incidences of a shard are not in order, are
    repeated, or do not have as many groups with an anchor as the manifest says.

    Args:
        number (int): The number of the shard.
        num_known (int): The number of its groups with an anchor in the manifest.
        columns (dict[str, numpy.ndarray]): The columns of its incidences.
    """
    node, hyperedge = columns['node'], columns['hyperedge']
    known = len(np.unique(hyperedge[columns['y']]))
    if known != num_known:
        raise ValueError(
            f'shard {number} must have {num_known:,} groups with an anchor, as the '
            f'manifest says (got {known:,})'
        )
    if (hyperedge[1:] < hyperedge[:-1]).any():
        raise ValueError(
            f'shard {number} must list its members group by group, in the order of the '
            f'numbers of groups (got a lower number after a higher one)'
        )
    order = np.lexsort((node, hyperedge))
    node, hyperedge = node[order], hyperedge[order]
    same = (node[1:] == node[:-1]) & (hyperedge[1:] == hyperedge[:-1])
    if same.any():
        place = int(np.flatnonzero(same)[0])
        raise ValueError(
            f'shard {number} must list each member of a group once (got node '
            f'{node[place]} again in hyperedge {hyperedge[place]})'
        )


def check_order(path: Path, name: str, first: int) -> None:
    r"""Raises a :class:`ValueError` if the numbers of nodes or groups in a file are not
    consecutive.

    Args:
        path (Path): The file.
        name (str): The column, :obj:`"node"` or :obj:`"hyperedge"`.
        first (int): The first number.
    """
    value = read_columns(path, [name]).column(name).to_numpy()
    end = first + len(value)
    if value.dtype.kind not in 'iu' or not np.array_equal(value, np.arange(first, end)):
        raise ValueError(
            f'{name!r} of {shown_file(path)} must be the integers in [{first}, {end}) '
            f'in order (got {shorten(value.tolist())})'
        )


def check_distinct(path: Path, ids: pa.ChunkedArray) -> None:
    r"""Raises a :class:`ValueError` if ids repeat.

    Args:
        path (Path): Their file.
        ids (pyarrow.ChunkedArray): The ids.
    """
    count = pc.count_distinct(ids).as_py()
    if count < len(ids):
        raise ValueError(
            f"'id' of {shown_file(path)} must be distinct (got {count:,} distinct ids "
            f'in {len(ids):,} rows)'
        )


def check_numeric(path: Path, name: str, kind: pa.DataType) -> None:
    r"""Raises a :class:`ValueError` if the type of a column is not numeric.

    Args:
        path (Path): The file.
        name (str): The name of the column.
        kind (pyarrow.DataType): Its type.
    """
    # A column without a value may have no type.
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not is_number and not pa.types.is_null(kind):
        raise ValueError(
            f'{shorten(name)} of {shown_file(path)} must hold numbers (got {kind})'
        )


def read_columns(path: Path, names: list[str]) -> pa.Table:
    r"""Reads columns of a file of nodes or groups, and raises a :class:`ValueError` if
    one is missing, has nulls, or holds ids of a wrong type.

    Args:
        path (Path): The file.
        names (list[str]): The names of the columns.
    """
    found = pa.parquet.read_schema(path).names
    lost = [name for name in names if name not in found]
    if lost:
        raise ValueError(
            f'{shown_file(path)} must have the column {shorten(lost[0])} (got the '
            f'columns {listed(found)})'
        )
    table = pa.parquet.read_table(path, columns=names, partitioning=None)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name != 'time' and column.null_count:
            raise ValueError(
                f'{shorten(name)} must not be null in any row of {shown_file(path)} '
                f'(got {column.null_count:,} nulls)'
            )
        if name == 'id':
            _check_id_type(path, column.type)
    return table


def _check_id_type(path: Path, kind: pa.DataType) -> None:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_text = str(kind) in ('string', 'large_string', 'string_view')
    if not is_text and not pa.types.is_integer(kind):
        raise ValueError(
            f"'id' of {shown_file(path)} must hold integers or strings (got {kind})"
        )


def to_numbers(path: Path, name: str, table: pa.Table) -> NDArray[Any]:
    r"""Returns a column of numbers, or raises a :class:`ValueError`.

    Args:
        path (Path): The file.
        name (str): The name of the column.
        table (pyarrow.Table): The table of the file.
    """
    column = table.column(name)
    check_numeric(path, name, column.type)
    return np.asarray(column.to_numpy())


def shown_file(path: Path) -> str:
    r"""Returns the name of a file for messages, with its folder, since files of groups
    have the same names as those of incidences.

    Args:
        path (Path): The file.
    """
    return repr(f'{path.parent.name}/{path.name}')
