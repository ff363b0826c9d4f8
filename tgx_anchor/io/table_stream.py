"""Tables of many files, read part by part."""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tgx_anchor.io.bad_row import BadRow
from tgx_anchor.io.columns import Column
from tgx_anchor.io.table import (
    LINES,
    MARKS,
    SEPARATORS,
    STDIN,
    WORDS,
    Choice,
    Choose,
    DelimitedText,
    ReadOptions,
    Table,
    check_choice,
    find_columns,
    find_suffix,
    is_plainly_quoted,
    join_tables,
    line_at,
    list_files,
    number_rows,
    parse_text,
    records_to_arrow,
    text_types,
    to_text,
)
from tgx_anchor.utils.messages import listed, one_line, shorten

# The bytes of text, and the rows, that are held at a time.
BLOCK = 2**23
ROWS = 2**17


@dataclass(frozen=True)
class TableFile:
    r"""A file of a table, of which only the beginning has been read.

    Args:
        path (Path): The file.
        choice (Choice): The columns to read.
        types (dict[str, pyarrow.DataType]): Their types in this file.
        form (str): The format in words.
        text (DelimitedText, optional): The layout of a text file, :obj:`None` for
            Parquet. (default: :obj:`None`)
        encoding (str, optional): The encoding of a text file.
            (default: :obj:`"utf-8"`)
        skip (int, optional): The number of bytes at its beginning that are not part
            of the table. (default: :obj:`0`)
        notes (list[str], optional): Guesses that the user should know of.
            (default: :obj:`[]`)
    """

    path: Path
    choice: Choice
    types: dict[str, Any]
    form: str
    text: DelimitedText | None = None
    encoding: str = 'utf-8'
    skip: int = 0
    notes: list[str] = field(default_factory=list)

    def parts(self) -> Iterator[Table]:
        r"""Yields the rows of the file, part by part."""
        if self.text is None:
            return self._parquet_parts()
        return self._text_parts(self.text)

    def head(self) -> Table:
        r"""Returns the columns without rows."""
        columns: dict[str, Column] = {
            name: pa.chunked_array([], kind) for name, kind in self.types.items()
        }
        is_text = self.text is not None
        describe = number_rows(str(self.path), columns)
        return Table(columns, describe, is_text, self.form, self.notes)

    def _parquet_parts(self) -> Iterator[Table]:
        start = 0
        with pa.OSFile(str(self.path)) as stream, _as_parquet(self.path):
            content = pyarrow.parquet.ParquetFile(stream, buffer_size=2**20)
            for batch in content.iter_batches(ROWS, columns=list(self.types)):
                table = pa.Table.from_batches([batch])
                columns = dict(zip(table.column_names, table.columns, strict=True))
                describe = number_rows(str(self.path), columns, start)
                yield Table(columns, describe, form=self.form)
                start += len(batch)

    def _text_parts(self, layout: DelimitedText) -> Iterator[Table]:
        start = 0
        with _open(self.path) as file:
            blocks = _decode(file, self.encoding)
            rest = next(blocks, b'')[self.skip :]
            for block in chain([b''], blocks):
                rest += block
                cut = _find_cut(rest)
                source = replace(layout, text=rest[:cut], start=start)
                if not is_plainly_quoted(source.text or rest, source.delimiter):
                    # Only a reading from here to the end can tell the records.
                    lines = _split_lines(rest, blocks)
                    yield from self._record_parts(replace(layout, start=start), lines)
                    return
                if cut:
                    yield parse_text(source, self.choice)
                    start += line_at(source.text, cut) - 1
                    rest = rest[cut:]
        if rest or not start:
            yield parse_text(replace(layout, text=rest, start=start), self.choice)

    def _record_parts(
        self, source: DelimitedText, lines: Iterator[str]
    ) -> Iterator[Table]:
        records = source.records(lines)
        while rows := list(islice(records, ROWS)):
            good = [(row, record) for row, record in rows if not row.reason]
            fields = [record for _, record in good]
            table = records_to_arrow(source.names, fields, self.choice)

            def describe(
                numbers: Sequence[int], good: list[Any] = good
            ) -> list[BadRow]:
                found = (good[number] for number in numbers)
                return [replace(row, text=source.show(record)) for row, record in found]

            yield Table(
                dict(zip(table.column_names, table.columns, strict=True)),
                describe,
                True,
                self.form,
                [],
                [
                    replace(row, text=row.text or source.show(record))
                    for row, record in rows
                    if row.reason
                ],
            )


@dataclass(frozen=True)
class TableStream:
    r"""A table of any size in one or more files, Parquet or text, of which a part is
    held at a time.

    The parts hold what :func:`~tgx_anchor.io.table.read_table` reads from all files
    at once, in the same types.

    Args:
        files (list[TableFile]): The files.
        types (dict[str, pyarrow.DataType]): The columns, and their types in all files.
        is_text (bool): Whether numbers are strings.
        form (str): The format in words.
        notes (list[str]): Guesses that the user should know of.
    """

    files: list[TableFile]
    types: dict[str, Any]
    is_text: bool
    form: str
    notes: list[str]

    @classmethod
    def open(
        cls,
        source: str | PathLike[str] | Sequence[str | PathLike[str]],
        choose: Choose,
        encoding: str | None = None,
    ) -> 'TableStream':
        r"""Opens the files of a table.

        Args:
            source (str or list[str]): A file that ends in :obj:`.parquet`,
                :obj:`.csv`, :obj:`.tsv` or :obj:`.txt` (or one of the last three and
                :obj:`.gz`), a folder of such files, a glob pattern, or a list of these.
            choose (Callable): Returns the :class:`Choice` of columns.
            encoding (str, optional): The encoding of text files. If :obj:`None`, it
                is found by reading them once. (default: :obj:`None`)
        """
        given = [source] if isinstance(source, str | PathLike) else list(source)
        paths = [file for path in given for file in list_files(path)]
        if not paths:
            raise ValueError("'table' must be at least one file (got none)")
        options = ReadOptions(choose, encoding=encoding)
        files = [_open_file(path, options) for path in paths]
        heads = [file.head() for file in files]
        joined = heads[0] if len(files) == 1 else join_tables(paths, heads)
        types = {
            name: pa.table([c], [name]).field(0).type
            for name, c in joined.columns.items()
        }
        return cls(files, types, joined.is_text, joined.form, joined.notes)

    def parts(self, number: int) -> Iterator[Table]:
        r"""Yields the rows of a file, part by part.

        Args:
            number (int): The number of the file.
        """
        file = self.files[number]
        for part in file.parts():
            try:
                columns = {n: self._convert(n, part.columns[n]) for n in self.types}
            except pa.ArrowException as error:
                raise ValueError(
                    f"'table' must have columns of the same types in all files (got "
                    f'{one_line(error)} in {str(file.path)!r})'
                ) from error
            yield replace(part, columns=columns, is_text=self.is_text)

    def describe(self, number: int, rows: Sequence[int]) -> list[BadRow]:
        r"""Returns a :class:`BadRow` without a reason for each of the given rows of a
        file, with one reading of the file.

        Args:
            number (int): The number of the file.
            rows (list[int]): The numbers of the rows, ascending; those that cannot be
                split into columns are not counted.
        """
        out: list[BadRow] = []
        start = 0
        for part in self.files[number].parts():
            if len(out) == len(rows):
                break
            size = len(next(iter(part.columns.values())))
            wanted = rows[len(out) : int(np.searchsorted(rows, start + size))]
            out += part.describe([row - start for row in wanted])
            start += size
        return out

    def _convert(self, name: str, column: Column) -> Column:
        kind = self.types[name]
        if isinstance(column, list):
            return column
        if self.is_text and not pa.types.is_dictionary(kind):
            return to_text(column)
        if column.type == kind:
            return column
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        return column.cast(kind)


def _open_file(path: Path, options: ReadOptions) -> TableFile:
    suffix = None if str(path) == STDIN else find_suffix(path)
    if suffix is None or suffix.startswith(LINES):
        raise ValueError(
            f'a table that is read in parts must be of files that end in .parquet, '
            f'{", ".join(SEPARATORS)} (or one of the last and .gz) (got {str(path)!r})'
        )
    if suffix == '.parquet':
        with pa.OSFile(str(path)) as stream, _as_parquet(path):
            schema = pyarrow.parquet.ParquetFile(stream).schema_arrow
        choice = check_choice(schema.names, options.choose, schema.metadata)
        chosen = [*choice.labels, *choice.numbers]
        types = {name: schema.field(name).type for name in chosen}
        return TableFile(path, choice, types, 'Parquet')
    notes: list[str] = []
    encoding = _find_encoding(path, options.encoding, notes)
    with _open(path) as file:
        start = next(_decode(file, encoding), b'')
    own = SEPARATORS[suffix.removesuffix('.gz')]
    text, choice = find_columns(str(path), start, own, options)
    if not text.has_header:
        notes.append(
            f'{str(path)!r} has no header: its columns are numbered '
            f'{listed(text.names)}'
        )
    shown = {'cp1252': 'Windows-1252', 'utf-8-sig': 'UTF-8'}
    form = (
        f'text with {WORDS.get(text.delimiter, shorten(text.delimiter))} in '
        f'{shown.get(encoding, encoding.upper())}'
    )
    types = text_types(choice)
    skip = len(start) - len(text.text)
    text = replace(text, text=b'')
    return TableFile(path, choice, types, form, text, encoding, skip, notes)


@contextmanager
def _as_parquet(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise ValueError(
            f"'table' must be a Parquet file (got {str(path)!r}: {one_line(error)})"
        ) from error


# Text


@contextmanager
def _open(path: Path) -> Iterator[io.BufferedIOBase]:
    is_zipped = path.name.lower().endswith('.gz')
    try:
        with gzip.open(path) if is_zipped else path.open('rb') as file:
            yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"'table' must be compressed with gzip (got {str(path)!r}: "
            f'{one_line(error)})'
        ) from error


def _decode(file: io.BufferedIOBase, encoding: str) -> Iterator[bytes]:
    # Blocks of the text in UTF-8.
    decoder = codecs.getincrementaldecoder(encoding)()
    while True:
        block = file.read(BLOCK)
        text = decoder.decode(block, final=not block)
        if text:
            yield text.encode()
        if not block:
            return


def _find_encoding(path: Path, asked: str | None, notes: list[str]) -> str:
    with _open(path) as file:
        start = file.read(4)
    found = next((MARKS[m] for m in MARKS if start.startswith(m)), 'utf-8')
    fault = _find_fault(path, asked or found)
    if fault and asked is None and found == 'utf-8':
        notes.append(
            f'{str(path)!r} is not encoded in UTF-8 ({fault}) and is read as '
            f"Windows-1252, which includes Latin-1; choose another with 'encoding'"
        )
        found = 'cp1252'
        fault = _find_fault(path, found)
    if fault:
        raise ValueError(
            f"'table' must be encoded in {asked or found} (got {fault} of "
            f'{str(path)!r})'
        )
    return asked or found


def _find_fault(path: Path, encoding: str) -> str:
    # The first byte that is not in this encoding, and the line that it is in.
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise ValueError(
            f"'encoding' must be one that Python knows, such as 'utf-8', 'utf-16' or "
            f"'latin-1' (got {shorten(encoding)})"
        ) from None
    lines = 0
    with _open(path) as file:
        while True:
            block = file.read(BLOCK)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                whole, place = error.object, error.start
                line = lines + line_at(whole, place)
                return f'{whole[place : place + 1]!r} in line {line}'
            except UnicodeError as error:
                return one_line(error)
            plain = text.encode()
            if b'\0' in plain:
                line = lines + line_at(plain, plain.index(0))
                raise ValueError(
                    f"'table' must not hold NUL characters (got one in line {line} of "
                    f'{str(path)!r})'
                )
            if not block:
                return ''
            lines += line_at(plain, len(plain)) - 1


def _find_cut(text: bytes) -> int:
    # The end of the last line outside of quotes, zero if there is none.
    end = b'\n' if b'\n' in text else b'\r'
    # The other half of this line break may be in the next block.
    text = text[:-1] if text.endswith(b'\r') else text
    if b'"' not in text:
        return text.rfind(end) + 1
    byte = np.frombuffer(text, dtype=np.uint8)
    line = np.flatnonzero(byte == end[0])
    quote = np.flatnonzero(byte == ord('"'))
    outside = line[np.searchsorted(quote, line) % 2 == 0]
    return int(outside[-1]) + 1 if len(outside) else 0


def _split_lines(rest: bytes, blocks: Iterator[bytes]) -> Iterator[str]:
    # The lines of the text, with their ends.
    for block in blocks:
        rest += block
        cut = max(rest.rfind(b'\n'), rest[:-1].rfind(b'\r')) + 1
        yield from io.TextIOWrapper(io.BytesIO(rest[:cut]), 'utf-8', newline='')
        rest = rest[cut:]
    yield from io.TextIOWrapper(io.BytesIO(rest), 'utf-8', newline='')
