"""Parquet files whose columns can be mapped into memory."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from tgx_anchor.utils.messages import listed, shorten

# The physical types whose values are contiguous in a page.
WIDTHS = {'INT32': '<i4', 'INT64': '<i8', 'FLOAT': '<f4', 'DOUBLE': '<f8'}
# The greatest size of a page, whose header has 32 bits for it.
MAX_PAGE = 2**31 - 2**20


def write_plain_parquet(columns: Mapping[str, pa.ChunkedArray], path: Path) -> None:
    r"""Writes a Parquet file without compression, with the values of each column
    contiguous (one row group, one page, plain encoding, no nulls), so that
    :func:`map_parquet` maps its numbers instead of copying them.

    Args:
        columns (dict[str, pyarrow.ChunkedArray]): The columns, of the same length and
            without nulls.
        path (Path): The file.
    """
    schema = pa.schema(
        [
            pa.field(name, column.type, nullable=False)
            for name, column in columns.items()
        ]
    )
    table = pa.Table.from_arrays(list(columns.values()), schema=schema)
    size = max(table.num_rows, 1)
    options: dict[str, Any] = {}
    if 'max_rows_per_page' in inspect.signature(pa.parquet.ParquetWriter).parameters:
        options['max_rows_per_page'] = size  # other versions have no such limit
    pa.parquet.write_table(
        table,
        path,
        row_group_size=size,
        compression='none',
        use_dictionary=False,
        write_statistics=False,
        data_page_size=MAX_PAGE,
        store_schema=False,
        **options,
    )


def map_parquet(path: Path, names: list[str]) -> dict[str, NDArray[Any]]:
    r"""Returns columns of a Parquet file as arrays, memory-mapped where the file allows
    it, and read otherwise.

    Args:
        path (Path): A Parquet file; those of :func:`write_plain_parquet` can be mapped.
        names (list[str]): The names of columns of numbers or booleans, without nulls.
    """
    out: dict[str, NDArray[Any]] = {}
    with pa.memory_map(str(path)) as file:
        content = pa.parquet.ParquetFile(file)
        found = content.metadata.row_group(0) if content.num_row_groups == 1 else None
        columns = {} if found is None else _columns(found)
        for name in names:
            if name not in content.schema.names:
                raise ValueError(
                    f'{path.name!r} must have the column {shorten(name)} (got the '
                    f'columns {listed(content.schema.names)})'
                )
            place = None
            level = content.schema.column(content.schema.names.index(name))
            if name in columns and level.max_definition_level == 0:
                place = _find_values(file, columns[name])
            if place is not None:
                kind = np.dtype(WIDTHS[columns[name].physical_type])
                size = columns[name].num_values
                out[name] = np.memmap(path, kind, 'r', place, (size,))
                continue
            values = content.read([name]).column(0)
            if values.null_count:
                raise ValueError(
                    f"'{name}' must not be null in any row of {path.name!r} "
                    f'(got {values.null_count:,} nulls)'
                )
            out[name] = values.to_numpy()
    return out


def _columns(row_group: Any) -> dict[str, Any]:
    chunks = (row_group.column(i) for i in range(row_group.num_columns))
    return {chunk.path_in_schema: chunk for chunk in chunks}


def _find_values(file: Any, chunk: Any) -> int | None:
    # The place of the values, if they are all in one page and just as in memory.
    width = WIDTHS.get(chunk.physical_type)
    if (
        width is None
        or chunk.num_values == 0
        or chunk.compression != 'UNCOMPRESSED'
        or chunk.has_dictionary_page
        or not {'PLAIN', 'RLE'}.issuperset(chunk.encodings)
    ):
        return None
    size = chunk.num_values * np.dtype(width).itemsize
    header = chunk.total_compressed_size - size
    if header <= 0:
        return None
    file.seek(chunk.data_page_offset)
    # The header of a page begins with its type and its sizes with and without
    # compression, three integers in the compact protocol of Thrift.
    fields = _read_fields(file.read(header), 3)
    return chunk.data_page_offset + header if fields[1:] == [size, size] else None


def _read_fields(text: bytes, count: int) -> list[int]:
    out: list[int] = []
    place = 0
    while len(out) < count and place < len(text) and text[place] == 0x15:
        value = shift = 0
        while True:
            place += 1
            if place >= len(text):
                return out
            value |= (text[place] & 0x7F) << shift
            shift += 7
            if text[place] < 0x80:
                break
        out.append((value >> 1) ^ -(value & 1))
        place += 1
    return out
