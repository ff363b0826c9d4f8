"""Tables of any source in one form, Arrow, with the place of each row."""

import codecs
import csv
import gzip
import io
import json
import re
import sys
import zlib
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from glob import glob, has_magic
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from pyarrow.interchange import from_dataframe

from tgx_anchor.io.bad_row import BadRow, BadRowError
from tgx_anchor.io.columns import FALSE, TRUE, UNKNOWN, Column, to_column
from tgx_anchor.io.files import replace_file
from tgx_anchor.utils.messages import listed, one_line, shorten

SEPARATORS = {'.csv': ',', '.tsv': '\t', '.txt': '\t'}
WORDS = {',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'bars'}
LINES = ('.jsonl', '.ndjson')
SUFFIXES = (
    *(f'{suffix}{gz}' for suffix in (*SEPARATORS, *LINES) for gz in ('', '.gz')),
    '.parquet',
)
STDIN = '-'
MARKS = {
    b'\xef\xbb\xbf': 'utf-8-sig',
    b'\xff\xfe\0\0': 'utf-32',
    b'\xff\xfe': 'utf-16',
    b'\xfe\xff': 'utf-16',
}
# The metadata of a text file whose columns have numbers for names.
NO_HEADER = {b'header': b'none'}
# Repeated values are read as dictionaries, which numbers them on the way.
REPEATED = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class Choice:
    r"""Names the columns to read.

    Args:
        labels (list[str]): Columns of ids and flags, whose values repeat.
        numbers (list[str]): Columns of numbers.
    """

    labels: list[str]
    numbers: list[str] = field(default_factory=list)


# Given the names of all columns, and the metadata of a Parquet file or Arrow table, or
# NO_HEADER.
Choose = Callable[[Sequence[Any], Mapping[bytes, bytes]], Choice]


@dataclass(frozen=True)
class Table:
    r"""Holds the columns that were read from a table.

    Args:
        columns (dict[str, Column]): The columns by name, all of the same length.
        describe (Callable): Returns a :class:`BadRow` without a reason for each of the
            given rows, whose numbers ascend, with one reading of the source.
        is_text (bool, optional): Whether the columns come from a text file, in which
            numbers are strings. (default: :obj:`False`)
        form (str, optional): The format of the source in words.
            (default: :obj:`"a table in memory"`)
        notes (list[str], optional): Guesses that the user should know of.
            (default: :obj:`[]`)
        bad_rows (list[BadRow], optional): Lines of the source that are not among the
            rows, since they cannot be split into columns. (default: :obj:`[]`)
    """

    columns: dict[str, Column]
    describe: Callable[[Sequence[int]], list[BadRow]]
    is_text: bool = False
    form: str = 'a table in memory'
    notes: list[str] = field(default_factory=list)
    bad_rows: list[BadRow] = field(default_factory=list)

    def locate(self, row: int) -> str:
        r"""Returns the place of a row, such as :obj:`"line 7 of 'mails.csv'"`.

        Args:
            row (int): The number of the row, from zero.
        """
        return self.describe([row])[0].place


# Reading #####################################################################


def read_table(
    source: Any,
    choose: Choose,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    keep_bad: bool = False,
) -> Table:
    r"""Reads columns of a table from memory or from files.

    The delimiter of a text file (comma, semicolon, tab or bar) is the one that makes
    :obj:`choose` find its columns. Its encoding is UTF-8, or UTF-16 with a byte order
    mark; any other text is read as Windows-1252, which includes Latin-1, with a note.
    The columns of a file without a header are named :obj:`"1"`, :obj:`"2"`, ...

    Args:
        source (Any): A mapping from names to columns; a data frame of pandas, polars
            or any other library with Arrow's or the data frame interchange protocol;
            a list of records (mappings); or the path of a file that ends in one of
            :obj:`SUFFIXES`, of a folder of such files, a glob pattern, :obj:`"-"` for
            standard input, or a list of paths. Several files are read in sorted
            order, a list in its own order. If only some of them are text, all are
            read as text.
        choose (Callable): Returns the :class:`Choice` of columns, given the names of
            all and the metadata of a Parquet file or Arrow table. Raises a
            :class:`ValueError` if a column is missing.
        delimiter (str, optional): The delimiter of text files. (default: :obj:`None`)
        encoding (str, optional): The encoding of text files. (default: :obj:`None`)
        header (bool, optional): Whether text files begin with the names of the
            columns. If :obj:`None`, they do unless :obj:`choose` refuses the first
            line and that looks like data. (default: :obj:`None`)
        keep_bad (bool, optional): If set to :obj:`True`, lines that cannot be split
            into columns are returned in :obj:`bad_rows` instead of raising a
            :class:`BadRowError`. (default: :obj:`False`)
    """
    if isinstance(source, str | PathLike):
        paths = list_files(source)
    elif _is_list_of(source, (str, PathLike)):
        paths = [file for path in source for file in list_files(path)]
    else:
        return _read_memory(source, choose)
    options = ReadOptions(choose, delimiter, encoding, header)
    tables = [_read_file(path, options) for path in paths]
    table = tables[0] if len(tables) == 1 else join_tables(paths, tables)
    if table.bad_rows and not keep_bad:
        raise BadRowError(table.bad_rows)
    return table


@dataclass(frozen=True)
class ReadOptions:
    r"""The arguments of :func:`read_table` about files.

    Args:
        choose (Callable): Returns the :class:`Choice` of columns.
        delimiter (str, optional): The delimiter of text files. (default: :obj:`None`)
        encoding (str, optional): The encoding of text files. (default: :obj:`None`)
        header (bool, optional): Whether text files begin with the names of the
            columns. (default: :obj:`None`)
    """

    choose: Choose
    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None


def _is_list_of(source: Any, kinds: tuple[type, ...]) -> bool:
    is_list = isinstance(source, list | tuple) and len(source) > 0
    return is_list and all(isinstance(entry, kinds) for entry in source)


def list_files(path: str | PathLike[str]) -> list[Path]:
    r"""Returns the files of tables at a path: the file itself, all tables in a folder,
    or all matches of a glob pattern, sorted by name.

    Args:
        path (str or os.PathLike): The path or pattern.
    """
    place = Path(path)
    if place.is_dir():
        found = sorted(file for file in place.iterdir() if find_suffix(file))
        if not found:
            raise ValueError(
                f"'table' must be a file, or a folder of files that end in one of "
                f'{", ".join(SUFFIXES)} (got the folder {str(path)!r})'
            )
        return found
    if has_magic(str(path)) and not place.exists():
        found = sorted(map(Path, glob(str(path), recursive=True)))  # noqa: PTH207
        if not found:
            raise ValueError(
                f"'table' must match at least one file (got the pattern {str(path)!r})"
            )
        return found
    return [place]


def get_suffix(path: Path) -> str:
    r"""Returns the ending that tells the format of a file, in lower case.

    Args:
        path (Path): The path of a table.
    """
    suffix = find_suffix(path)
    if suffix is None:
        raise ValueError(
            f'the file of a table must end in one of {", ".join(SUFFIXES)} '
            f'(got {str(path)!r})'
        )
    return suffix


def find_suffix(path: Path) -> str | None:
    r"""Returns the ending that tells the format of a file, or :obj:`None`.

    Args:
        path (Path): The path.
    """
    return next((s for s in SUFFIXES if path.name.lower().endswith(s)), None)


def _read_memory(source: Any, choose: Choose) -> Table:
    metadata: dict[bytes, bytes] = {}
    if _is_list_of(source, (Mapping,)):
        source = _to_columns(source)
    if isinstance(source, Mapping) or _is_pandas(source):
        # Columns of pandas one by one, since Arrow refuses mixed ones.
        items = list(source.items())
    else:
        try:
            if isinstance(source, pa.RecordBatchReader):
                source = source.read_all()
            if hasattr(source, '__arrow_c_stream__'):
                source = pa.table(source)
            elif hasattr(source, '__dataframe__'):
                source = from_dataframe(source)
        except (pa.ArrowException, RuntimeError, TypeError, ValueError) as error:
            raise ValueError(
                f"'table' must be readable as Arrow (got {one_line(error)})"
            ) from error
        if not isinstance(source, pa.Table):
            raise ValueError(
                f"'table' must be a mapping of columns, a data frame or a path "
                f'(got {shorten(source)})'
            )
        items = list(zip(source.column_names, source.columns, strict=True))
        metadata = source.schema.metadata or {}
    choice = check_choice([name for name, _ in items], choose, metadata)
    chosen = {*choice.labels, *choice.numbers}
    columns = {name: to_column(name, value) for name, value in items if name in chosen}
    first = choice.labels[0]
    size = len(columns[first])
    for name, column in columns.items():
        if len(column) != size:
            raise ValueError(
                f"'{name}' must be as long as '{first}', that is {size} rows "
                f'(got {len(column)})'
            )
    return Table(columns, number_rows('', columns))


def _to_columns(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}


def _is_pandas(source: Any) -> bool:
    return hasattr(source, 'items') and hasattr(source, 'iloc')


def number_rows(
    file: str, columns: dict[str, Column], start: int = 0
) -> Callable[[Sequence[int]], list[BadRow]]:
    r"""Returns the function :obj:`describe` of a table whose rows have no lines.

    Args:
        file (str): The file, empty for a table in memory.
        columns (dict[str, Column]): The columns.
        start (int, optional): The number of rows that come before.
            (default: :obj:`0`)
    """

    def describe(rows: Sequence[int]) -> list[BadRow]:
        return [BadRow(file, start + row + 1, '', show(row), 'row') for row in rows]

    def show(row: int) -> str:
        values = (column[row] for column in columns.values())
        plain = (v.as_py() if isinstance(v, pa.Scalar) else v for v in values)
        return ', '.join(
            v if isinstance(v, str) else '' if v is None else shorten(v) for v in plain
        )

    return describe


def check_choice(
    names: Sequence[Any], choose: Choose, metadata: Mapping[bytes, bytes] | None = None
) -> Choice:
    r"""Chooses the columns of a table, whose names must differ.

    Args:
        names (list[Any]): The names of all columns.
        choose (Callable): Returns the :class:`Choice` of columns.
        metadata (Mapping[bytes, bytes], optional): The metadata of the table.
            (default: :obj:`None`)
    """
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"'table' must have distinct column names (got {listed(repeated)} again)"
        )
    return choose(names, metadata or {})


def join_tables(paths: list[Path], tables: list[Table]) -> Table:
    r"""Joins the tables of several files, which must have the same columns. If only
    some of them are text, all are read as if they were.

    Args:
        paths (list[Path]): The files, named in messages.
        tables (list[Table]): The table of each.
    """
    names = list(tables[0].columns)
    for path, table in zip(paths, tables, strict=True):
        if set(table.columns) != set(names):
            raise ValueError(
                f"'table' must have the same columns in all files (got "
                f'{listed(names)} in {str(paths[0])!r} and {listed(table.columns)} in '
                f'{str(path)!r})'
            )
    is_text = any(table.is_text for table in tables)
    is_mixed = is_text and not all(table.is_text for table in tables)
    try:
        parts = [pa.table({n: table.columns[n] for n in names}) for table in tables]
        if is_mixed:
            parts = [
                pa.table([to_text(c) for c in part.columns], names) for part in parts
            ]
        joined = pa.concat_tables(parts, promote_options='permissive')
    except (pa.ArrowException, TypeError) as error:
        raise ValueError(
            f"'table' must have columns of the same types in all files "
            f'(got {one_line(error)})'
        ) from error
    start = np.cumsum([0, *(part.num_rows for part in parts)]).tolist()

    def describe(rows: Sequence[int]) -> list[BadRow]:
        out = []
        for i, table in enumerate(tables):
            low, high = (bisect_right(rows, end - 1) for end in start[i : i + 2])
            out += table.describe([row - start[i] for row in rows[low:high]])
        return out

    forms = dict.fromkeys(table.form for table in tables)
    return Table(
        dict(zip(names, joined.columns, strict=True)),
        describe,
        is_text,
        f'{len(tables)} files of {" and ".join(forms)}',
        [note for table in tables for note in table.notes],
        [bad for table in tables for bad in table.bad_rows],
    )


def to_text(column: Column) -> pa.ChunkedArray:
    r"""Returns a column as a text file would hold it: strings, empty for null.

    Args:
        column (pyarrow.ChunkedArray or list): The column.
    """
    if isinstance(column, list):
        raise TypeError('values of several types')
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return pc.fill_null(column.cast(pa.string()), '')


# Files


def _read_file(path: Path, options: ReadOptions) -> Table:
    if str(path) == STDIN:
        file, content = 'standard input', sys.stdin.buffer.read()
        suffix = _guess_suffix(content)
    else:
        file, suffix = str(path), get_suffix(path)
        content = path.read_bytes() if suffix != '.parquet' else b''
    if suffix == '.parquet':
        source = pa.BufferReader(content) if content else path
        return _read_parquet(file, source, options.choose)
    notes: list[str] = []
    text, encoding = _decode(file, suffix, content, options.encoding, notes)
    if suffix.startswith(LINES):
        return replace(_read_lines(file, text, options.choose), notes=notes)
    if b'\0' in text:
        raise ValueError(
            f"'table' must not hold NUL characters (got one in line "
            f'{line_at(text, text.index(0))} of {file!r})'
        )
    own = SEPARATORS[suffix.removesuffix('.gz')]
    table = _read_csv(file, text, own, options)
    shown = {'cp1252': 'Windows-1252', 'utf-8-sig': 'UTF-8'}
    return replace(
        table,
        form=f'{table.form} in {shown.get(encoding, encoding.upper())}',
        notes=[*notes, *table.notes],
    )


def _guess_suffix(content: bytes) -> str:
    if content.startswith(b'PAR1'):
        return '.parquet'
    zipped = content.startswith(b'\x1f\x8b')
    start = content
    if zipped:
        with suppress(zlib.error):
            start = zlib.decompressobj(31).decompress(content, 1000)
    suffix = '.jsonl' if start[:1000].lstrip().startswith(b'{') else '.csv'
    return f'{suffix}.gz' if zipped else suffix


def _read_parquet(file: str, source: Any, choose: Choose) -> Table:
    with pa.OSFile(file) if isinstance(source, Path) else source as stream:
        try:
            content = pyarrow.parquet.ParquetFile(stream)
            schema = content.schema_arrow
            choice = check_choice(schema.names, choose, schema.metadata)
            table = content.read([*choice.labels, *choice.numbers])
        except (pa.ArrowException, OSError) as error:
            raise ValueError(
                f"'table' must be a Parquet file (got {file!r}: {one_line(error)})"
            ) from error
    columns = dict(zip(table.column_names, table.columns, strict=True))
    return Table(columns, number_rows(file, columns), form='Parquet')


def _decode(
    file: str, suffix: str, text: bytes, encoding: str | None, notes: list[str]
) -> tuple[bytes, str]:
    # The text in UTF-8, and the encoding that it had.
    if suffix.endswith('.gz'):
        try:
            text = gzip.decompress(text)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(
                f"'table' must be compressed with gzip (got {file!r}: "
                f'{one_line(error)})'
            ) from error
    if encoding is None:
        encoding = next((MARKS[m] for m in MARKS if text.startswith(m)), 'utf-8')
        if encoding == 'utf-8' and not _is_utf8(text):
            encoding = 'cp1252'
            notes.append(
                f'{file!r} is not encoded in UTF-8 '
                f'({_first_bad_byte(text, "utf-8")}) and is read as Windows-1252, '
                f"which includes Latin-1; choose another with 'encoding'"
            )
    if encoding.lower() in ('utf-8', 'utf8') and _is_utf8(text):
        return text, encoding
    try:
        return text.decode(encoding).encode(), encoding
    except LookupError:
        raise ValueError(
            f"'encoding' must be one that Python knows, such as 'utf-8', 'utf-16' or "
            f"'latin-1' (got {shorten(encoding)})"
        ) from None
    except UnicodeError:
        raise ValueError(
            f"'table' must be encoded in {encoding} "
            f'(got {_first_bad_byte(text, encoding)} of {file!r})'
        ) from None


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _first_bad_byte(text: bytes, encoding: str) -> str:
    try:
        text.decode(encoding)
    except UnicodeDecodeError as error:
        start = error.start
        return f'{text[start : start + 1]!r} in line {line_at(text, start)}'
    except UnicodeError as error:
        return one_line(error)
    return 'no bad byte'


def line_at(text: bytes, place: int) -> int:
    r"""Returns the line of a byte of a text, counted from one."""
    return len((text[:place] + b'.').splitlines())


# CSV


@dataclass
class DelimitedText:
    r"""A text file with delimiters, or a part of one that begins with a record.

    Fields may hold line breaks, so that only another reading can tell the lines.

    Args:
        file (str): The file, named in messages.
        text (bytes): The text in UTF-8.
        delimiter (str): The delimiter.
        names (list[str]): The names of the columns.
        has_header (bool): Whether the file begins with these names.
        start (int, optional): The number of lines that come before.
            (default: :obj:`0`)
    """

    file: str
    text: bytes
    delimiter: str
    names: list[str]
    has_header: bool
    start: int = 0

    @property
    def skipped(self) -> int:
        r"""The number of records at the beginning that are no rows."""
        return int(self.has_header and not self.start)

    def records(
        self, lines: Iterable[str] | None = None
    ) -> Iterator[tuple[BadRow, list[str]]]:
        r"""Yields each row, with the reason if it is bad, and its fields.

        Args:
            lines (Iterable[str], optional): The lines, with their ends. If
                :obj:`None`, those of the text. (default: :obj:`None`)
        """
        width = len(self.names)
        rows = split_records(self.lines() if lines is None else lines, self.delimiter)
        for number, record, fault in islice(rows, self.skipped, None):
            line = self.start + number
            text = record[0] if fault else ''
            if not fault and len(record) != width:
                fault = (
                    f"'table' must have {width} fields in every line, as in its "
                    f'{"header" if self.has_header else "first line"} '
                    f'(got {len(record)})'
                )
            yield BadRow(self.file, line, fault, text), record

    def lines(self) -> Iterator[str]:
        r"""Yields the lines of the text, with their ends."""
        yield from io.TextIOWrapper(io.BytesIO(self.text), encoding='utf-8', newline='')

    def describe(self, rows: Sequence[int]) -> list[BadRow]:
        r"""Returns a :class:`BadRow` without a reason for each of the given rows."""
        good = (row for row in self.records() if not row[0].reason)
        at, out = 0, []
        for number in rows:
            place, record = next(islice(good, number - at, None))
            out.append(replace(place, text=self.show(record)))
            at = number + 1
        return out

    def list_bad(self) -> list[BadRow]:
        r"""Returns the rows that cannot be split into columns."""
        return [
            replace(row, text=row.text or self.show(record))
            for row, record in self.records()
            if row.reason
        ]

    def show(self, record: list[str]) -> str:
        r"""Returns a record as a line of the file."""
        line = io.StringIO()
        csv.writer(line, delimiter=self.delimiter, lineterminator='').writerow(record)
        return line.getvalue()


def split_records(
    lines: Iterable[str], delimiter: str
) -> Iterator[tuple[int, list[str], str]]:
    r"""Yields each record with the line that it begins in, and its fault. A blank line
    is no record. Where quotes are damaged, one line is left out, and reading goes on
    with the next.

    Args:
        lines (Iterable[str]): The lines, with their ends.
        delimiter (str): The delimiter.
    """
    lines = iter(lines)
    again: deque[str] = deque()
    taken: list[str] = []

    def feed() -> Iterator[str]:
        while again:
            taken.append(again.popleft())
            yield taken[-1]
        for line in lines:
            taken.append(line)
            yield line

    number = 1
    while True:
        reader = csv.reader(feed(), delimiter=delimiter, strict=True)
        try:
            for record in reader:
                if record:
                    yield number, record, ''
                number += len(taken)
                taken.clear()
        except csv.Error as error:
            fault = f"'table' must be well-formed text (got {one_line(error)})"
            yield number, [taken[0].rstrip('\r\n')], fault
            number += 1
            again.extendleft(reversed(taken[1:]))
            taken.clear()
        else:
            return


def _read_csv(file: str, text: bytes, own: str, options: ReadOptions) -> Table:
    source, choice = find_columns(file, text, own, options)
    notes = []
    if not source.has_header:
        notes.append(
            f'{file!r} has no header: its columns are numbered {listed(source.names)}'
        )
    return replace(parse_text(source, choice), notes=notes)


def parse_text(source: DelimitedText, choice: Choice) -> Table:
    r"""Reads the chosen columns of a text.

    Args:
        source (DelimitedText): The text.
        choice (Choice): The columns.
    """
    text, types = source.text, text_types(choice)
    table, bad_rows = None, []
    if is_plainly_quoted(text, source.delimiter):
        skipped: list[Any] = []

        def skip(row: Any) -> str:
            skipped.append(row)
            return 'skip'

        try:
            table = pyarrow.csv.read_csv(
                pa.BufferReader(text),
                read_options=pyarrow.csv.ReadOptions(
                    column_names=None if source.skipped else source.names
                ),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=source.delimiter,
                    newlines_in_values=b'"' in text,
                    invalid_row_handler=skip,
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    check_utf8=False,
                    column_types=types,
                    include_columns=list(types),
                    strings_can_be_null=False,
                ),
            )
            bad_rows = source.list_bad() if skipped else []
        except pa.ArrowInvalid:
            pass  # such as a field longer than Arrow's blocks
    if table is None:
        fields = [record for row, record in source.records() if not row.reason]
        table = records_to_arrow(source.names, fields, choice)
        bad_rows = source.list_bad()
    return Table(
        dict(zip(table.column_names, table.columns, strict=True)),
        source.describe,
        True,
        f'text with {WORDS.get(source.delimiter, shorten(source.delimiter))}',
        [],
        bad_rows,
    )


def text_types(choice: Choice) -> dict[str, pa.DataType]:
    r"""Returns the types of the chosen columns of a text.

    Args:
        choice (Choice): The columns.
    """
    return {
        **dict.fromkeys(choice.labels, REPEATED),
        **dict.fromkeys(choice.numbers, pa.string()),
    }


def records_to_arrow(
    names: Sequence[str], records: Sequence[Sequence[str]], choice: Choice
) -> pa.Table:
    r"""Converts records of a text to the chosen columns.

    Args:
        names (list[str]): The names of all columns.
        records (list[list[str]]): The fields of each record.
        choice (Choice): The columns.
    """
    columns = dict(zip(names, zip(*records, strict=True), strict=False))
    return pa.table(
        {
            name: pa.array(columns.get(name, ()), kind)
            for name, kind in text_types(choice).items()
        }
    )


def find_columns(
    file: str, text: bytes, own: str, options: ReadOptions
) -> tuple[DelimitedText, Choice]:
    r"""Finds the delimiter, the header and the chosen columns of a text.

    Args:
        file (str): The file, named in messages.
        text (bytes): The text in UTF-8, or its beginning.
        own (str): The usual delimiter of such a file.
        options (ReadOptions): The options.
    """
    # A mark that the encoding, as it was given, takes for a letter.
    text = text.removeprefix(codecs.BOM_UTF8)
    mark = re.match(rb'sep=(.)(?=\r?\n)', text)
    if mark:
        # Excel's own first line; blank, so that all other lines keep their numbers.
        own, text = mark[1].decode(errors='replace'), text[mark.end() :]
    given = options.delimiter
    if given is not None and (
        not isinstance(given, str)
        or len(given) != 1
        or not given.isascii()
        or given in '"\r\n'
    ):
        raise ValueError(
            f"'delimiter' must be one ASCII character, and neither a quote nor a line "
            f'break (got {shorten(given)})'
        )
    candidates = dict.fromkeys((own, *WORDS) if given is None else given)
    lines = list(islice(DelimitedText(file, text, own, [], False).lines(), 10_000))
    heads = {sep: list(islice(split_records(lines, sep), 100)) for sep in candidates}
    if all(not head or head[0][2] for head in heads.values()):
        got = 'a damaged one' if text.strip() else 'none'
        raise ValueError(
            f"'table' must be well-formed text with a header line ({file!r} has {got})"
        )
    # If none fits, the error is that of the delimiter that splits the header most.
    order = sorted(
        (sep for sep in heads if heads[sep] and not heads[sep][0][2]),
        key=lambda sep: -len(heads[sep][0][1]),
    )
    errors = []
    tries = [(sep, True) for sep in order] + [(sep, False) for sep in order]
    for sep, has_header in tries:
        first, *rest = (record for _, record, _ in heads[sep])
        if options.header is None:
            alike = _count_data(first, rest)
            possible = alike < len(first) if has_header else alike > 0 and first[1:]
        else:
            possible = has_header == options.header
        if not possible:
            continue
        names = first if has_header else [str(i + 1) for i in range(len(first))]
        try:
            metadata = {} if has_header else NO_HEADER
            choice = check_choice(names, options.choose, metadata)
            return DelimitedText(file, text, sep, names, has_header), choice
        except ValueError as error:
            errors.append(error)
    raise errors[0]


def _count_data(first: list[str], rest: list[list[str]]) -> int:
    # Names of columns are no numbers, flags or addresses, and do not recur below.
    below = {(i, value) for record in rest for i, value in enumerate(record)}
    return sum(
        bool(value.strip() and value.strip().lower() in (*TRUE, *FALSE, *UNKNOWN))
        or '@' in value
        or value.strip().lstrip('-').replace('.', '', 1).isdecimal()
        or (i, value) in below
        for i, value in enumerate(first)
    )


def is_plainly_quoted(text: bytes, separator: str) -> bool:
    r"""Returns :obj:`True` if quotes only enclose fields. Arrow also takes others, in
    its own way.

    Args:
        text (bytes): The text.
        separator (str): The delimiter.
    """
    if b'"' not in text:
        return True
    byte = np.frombuffer(text, dtype=np.uint8)
    quote = np.flatnonzero(byte == ord('"'))
    edge = np.zeros(256, dtype=np.bool_)
    edge[list(f'{separator}\r\n"'.encode())] = True
    before = edge[byte[quote[::2] - 1]] | (quote[::2] == 0)
    after = edge[byte[np.minimum(quote[1::2] + 1, len(byte) - 1)]]
    return len(quote) % 2 == 0 and bool(before.all() and after.all())


# JSON lines


def _read_lines(file: str, text: bytes, choose: Choose) -> Table:
    def lines() -> Iterator[tuple[int, bytes]]:
        numbered = enumerate(io.BytesIO(text), 1)
        return ((number, line.strip()) for number, line in numbered if line.strip())

    bad: dict[int, BadRow] = {}
    columns: dict[str, Column] = {}
    try:
        table = _parse_json(text)
        dates = [f.name for f in table.schema if pa.types.is_timestamp(f.type)]
        if dates:
            # Ids that look like dates stay strings.
            table = _parse_json(text, pa.schema([(n, pa.string()) for n in dates]))
        if table.num_rows == sum(1 for _ in lines()):
            columns = dict(zip(table.column_names, table.columns, strict=True))
    except pa.ArrowException:
        pass  # read below, line by line
    if not columns:
        records = []
        for number, line in lines():
            try:
                record = json.loads(line)
                fault = '' if isinstance(record, dict) else 'other JSON'
            except (ValueError, RecursionError) as error:
                record, fault = {}, one_line(error)
            if fault:
                reason = f"'table' must hold one JSON object per line (got {fault})"
                shown = line.decode(errors='replace')
                bad[number] = BadRow(file, number, reason, shown)
            else:
                records.append(record)
        if not records and bad:
            raise BadRowError(list(bad.values()))
        columns = {n: to_column(n, v) for n, v in _to_columns(records).items()}

    def describe(rows: Sequence[int]) -> list[BadRow]:
        wanted = set(rows)
        good = ((number, line) for number, line in lines() if number not in bad)
        return [
            BadRow(file, number, '', line.decode())
            for row, (number, line) in enumerate(good)
            if row in wanted
        ]

    choice = check_choice(list(columns), choose)
    chosen = {name: columns[name] for name in (*choice.labels, *choice.numbers)}
    return Table(chosen, describe, form='JSON lines', bad_rows=list(bad.values()))


def _parse_json(text: bytes, schema: pa.Schema | None = None) -> pa.Table:
    return pyarrow.json.read_json(
        pa.BufferReader(text),
        # One block, so that types are those of the whole column.
        read_options=pyarrow.json.ReadOptions(block_size=min(len(text) + 1, 2**30)),
        parse_options=pyarrow.json.ParseOptions(explicit_schema=schema),
    )


# Writing #####################################################################


def write_table(table: pa.Table, path: Path) -> None:
    r"""Writes a table in the format that the ending of the path tells.

    Args:
        table (pyarrow.Table): The table.
        path (Path): A path that ends in one of :obj:`SUFFIXES`.
    """
    suffix = get_suffix(path)
    with replace_file(path) as part:
        if suffix == '.parquet':
            pyarrow.parquet.write_table(table, part)
            return
        with part.open('wb') as file:
            if not suffix.endswith('.gz'):
                write_text(table, suffix, file)
                return
            # Without name and time, equal tables make equal files.
            with gzip.GzipFile('', 'wb', fileobj=file, mtime=0) as zipped:
                write_text(table, suffix, zipped)


def write_text(table: pa.Table, suffix: str, file: Any) -> None:
    r"""Writes a table to a file that is open.

    Args:
        table (pyarrow.Table): The table.
        suffix (str): One of :obj:`SUFFIXES`, not that of Parquet.
        file (Any): The file, which takes bytes.
    """
    if suffix.startswith(LINES):
        for record in table.to_pylist():
            file.write(json.dumps(record, ensure_ascii=False).encode() + b'\n')
        return
    for name, column in zip(table.column_names, table.columns, strict=True):
        odd = [name] if '\0' in name else []
        if pa.types.is_string(column.type):
            odd += column.filter(pc.match_substring(column, '\0'))[:1].to_pylist()
        if odd:
            raise ValueError(
                f'{shorten(name)} must not hold NUL characters in a text file '
                f"(got {shorten(odd[0])}; Parquet and 'to_hif' keep them)"
            )
    separator = SEPARATORS[suffix.removesuffix('.gz')]
    header = io.StringIO()
    # Python quotes only the line breaks that end its lines.
    csv.writer(header, delimiter=separator).writerow(table.column_names)
    file.write(header.getvalue().removesuffix('\r\n').encode() + b'\n')
    try:
        body = _format_csv(table, separator, 'none')
    except pa.ArrowInvalid:
        # Some value needs quotes, and Arrow quotes all strings or none.
        body = _format_csv(table, separator, 'needed')
    file.write(body.getbuffer())


def _format_csv(table: pa.Table, separator: str, quoting: str) -> io.BytesIO:
    out = io.BytesIO()
    options = pyarrow.csv.WriteOptions(
        include_header=False, delimiter=separator, quoting_style=quoting
    )
    pyarrow.csv.write_csv(table, out, options)
    return out
