"""Tables of any source in one form, Arrow, with the place of each row."""

import csv
import gzip
import io
import json
import re
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from glob import glob, has_magic
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

from tgx_anchor.data.building import Locate
from tgx_anchor.io.bad_row import BadRow
from tgx_anchor.io.columns import Column, row_number, to_column
from tgx_anchor.io.files import replace_file
from tgx_anchor.utils.messages import listed, one_line, shorten

SEPARATORS = {'.csv': ',', '.tsv': '\t', '.txt': '\t'}
LINES = ('.jsonl', '.ndjson')
SUFFIXES = (
    *(f'{suffix}{gz}' for suffix in (*SEPARATORS, *LINES) for gz in ('', '.gz')),
    '.parquet',
)
MARKS = {
    b'\xef\xbb\xbf': 'utf-8-sig',
    b'\xff\xfe\0\0': 'utf-32',
    b'\xff\xfe': 'utf-16',
    b'\xfe\xff': 'utf-16',
}
# Repeated values are read as dictionaries, which numbers them on the way.
REPEATED = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class Choice:
    r"""Names the columns to read.

    Args:
        labels (list[str]): Columns of ids and flags, whose values repeat.
        numbers (list[str]): Columns of numbers.
        has_header (bool, optional): If set to :obj:`False`, the names are the values
            of the first row of a text file. (default: :obj:`True`)
    """

    labels: list[str]
    numbers: list[str] = field(default_factory=list)
    has_header: bool = True


# Given the names of all columns, and the metadata of a Parquet file or Arrow table.
Choose = Callable[[Sequence[Any], Mapping[bytes, bytes]], Choice]


# Returns file, line and text of rows, given their numbers in ascending order.
Places = Callable[[Sequence[int]], list[tuple[str, int, str]]]


def number_rows(rows: Sequence[int]) -> list[tuple[str, int, str]]:
    r"""Returns the places of rows of a table in memory, counted from one."""
    return [('', row + 1, '') for row in rows]


@dataclass(frozen=True)
class Table:
    r"""Holds the columns that were read from a table.

    Args:
        columns (dict[str, Column]): The columns by name, all of the same length.
        locate (Callable[[int], str], optional): Returns the place of a row in the
            source, such as :obj:`"line 7 of 'mails.csv'"`.
            (default: :obj:`row_number`)
        is_text (bool, optional): Whether the columns come from a text file, in which
            numbers are strings. (default: :obj:`False`)
        notes (list[str], optional): Guesses that the user should know of.
            (default: :obj:`[]`)
        form (str, optional): The format of the source in words.
            (default: :obj:`"table in memory"`)
        places (Callable, optional): Returns file, line and text of rows, given their
            numbers in ascending order, with one reading of the source.
        bad_rows (list[BadRow], optional): Lines that are not rows, where they were
            asked for. (default: :obj:`[]`)
    """

    columns: dict[str, Column]
    locate: Locate = row_number
    is_text: bool = False
    notes: list[str] = field(default_factory=list)
    form: str = 'table in memory'
    places: Places = number_rows
    bad_rows: list[BadRow] = field(default_factory=list)


# Reading #####################################################################


def read_table(
    source: Any,
    choose: Choose,
    *,
    sep: str | None = None,
    encoding: str | None = None,
    keep_bad: bool = False,
) -> Table:
    r"""Reads columns of a table from memory or from files.

    Text files have a header line. Their separator (comma, semicolon, tab or bar) is
    the one that makes :obj:`choose` find its columns. Their encoding is UTF-8, or
    UTF-16 with a byte order mark; any other text is read as Windows-1252, which
    includes Latin-1, with a note.

    Args:
        source (Any): A mapping from names to columns; a data frame of pandas, polars
            or any other library with Arrow's or the data frame interchange protocol;
            or the path of a file that ends in one of :obj:`SUFFIXES`, of a folder of
            such files, a glob pattern, or a list of paths. Several files are read in
            sorted order, a list in its own order.
        choose (Callable): Returns the :class:`Choice` of columns, given the names of
            all and the metadata of a Parquet file or Arrow table. Raises a
            :class:`ValueError` if a column is missing.
        sep (str, optional): The separator of text files. (default: :obj:`None`)
        encoding (str, optional): The encoding of text files. (default: :obj:`None`)
        keep_bad (bool, optional): If set to :obj:`True`, lines of a text file that
            are not rows are returned in :obj:`bad_rows` instead of raising an error.
            (default: :obj:`False`)
    """
    if isinstance(source, str | PathLike):
        paths = list_files(source)
    elif (
        isinstance(source, list | tuple)
        and source
        and all(isinstance(path, str | PathLike) for path in source)
    ):
        paths = [file for path in source for file in list_files(path)]
    else:
        return _read_memory(source, choose)
    tables = [_read_file(path, choose, sep, encoding, keep_bad) for path in paths]
    return tables[0] if len(tables) == 1 else _join(paths, tables)


def list_files(path: str | PathLike[str]) -> list[Path]:
    r"""Returns the files of tables at a path: the file itself, all tables in a folder,
    or all matches of a glob pattern, sorted by name.

    Args:
        path (str or os.PathLike): The path or pattern.
    """
    place = Path(path)
    if place.is_dir():
        found = sorted(file for file in place.iterdir() if _find_suffix(file))
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
    suffix = _find_suffix(path)
    if suffix is None:
        raise ValueError(
            f'the file of a table must end in one of {", ".join(SUFFIXES)} '
            f'(got {str(path)!r})'
        )
    return suffix


def _find_suffix(path: Path) -> str | None:
    return next((s for s in SUFFIXES if path.name.lower().endswith(s)), None)


def _read_memory(source: Any, choose: Choose) -> Table:
    metadata: dict[bytes, bytes] = {}
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
    choice = _check_choice([name for name, _ in items], choose, metadata)
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
    return Table(columns)


def _is_pandas(source: Any) -> bool:
    return hasattr(source, 'items') and hasattr(source, 'iloc')


def _check_choice(
    names: Sequence[Any], choose: Choose, metadata: Mapping[bytes, bytes] | None = None
) -> Choice:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"'table' must have distinct column names (got {listed(repeated)} again)"
        )
    return choose(names, metadata or {})


def _join(paths: list[Path], tables: list[Table]) -> Table:
    names = list(tables[0].columns)
    for path, table in zip(paths, tables, strict=True):
        if set(table.columns) != set(names):
            raise ValueError(
                f"'table' must have the same columns in all files (got "
                f'{listed(names)} in {str(paths[0])!r} and {listed(table.columns)} in '
                f'{str(path)!r})'
            )
    parts = [pa.table({n: table.columns[n] for n in names}) for table in tables]
    try:
        joined = pa.concat_tables(parts, promote_options='permissive')
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(
            f"'table' must have columns of the same types in all files "
            f'(got {one_line(error)})'
        ) from error
    start = np.cumsum([0, *(part.num_rows for part in parts)]).tolist()

    def locate(row: int) -> str:
        number = bisect_right(start, row) - 1
        return tables[number].locate(row - start[number])

    def places(rows: Sequence[int]) -> list[tuple[str, int, str]]:
        found = []
        for table, low, high in zip(tables, start, start[1:], strict=False):
            found += table.places([row - low for row in rows if low <= row < high])
        return found

    return Table(
        dict(zip(names, joined.columns, strict=True)),
        locate,
        all(table.is_text for table in tables),
        [note for table in tables for note in table.notes],
        f'{len(tables)} files of {" and ".join(dict.fromkeys(t.form for t in tables))}',
        places,
        [bad for table in tables for bad in table.bad_rows],
    )


# Files


def _read_file(
    path: Path, choose: Choose, sep: str | None, encoding: str | None, keep_bad: bool
) -> Table:
    suffix = get_suffix(path)
    if suffix == '.parquet':
        return _read_parquet(path, choose)
    notes: list[str] = []
    text, encoding = _read_text(path, encoding, notes)
    if suffix.startswith(LINES):
        return _read_lines(path, text, choose, notes, keep_bad)
    if b'\0' in text:
        raise ValueError(
            f"'table' must not hold NUL characters (got one in line "
            f'{_line_at(text, text.index(0))} of {str(path)!r})'
        )
    return _read_csv(path, text, choose, sep, encoding, notes, keep_bad)


def _read_parquet(path: Path, choose: Choose) -> Table:
    with path.open('rb') as file:
        try:
            source = pyarrow.parquet.ParquetFile(file)
            schema = source.schema_arrow
            choice = _check_choice(schema.names, choose, schema.metadata)
            table = source.read([*choice.labels, *choice.numbers])
        except (pa.ArrowException, OSError) as error:
            raise ValueError(
                f"'table' must be a Parquet file (got {str(path)!r}: {one_line(error)})"
            ) from error
    return Table(
        dict(zip(table.column_names, table.columns, strict=True)),
        lambda row: f'row {row + 1} of {str(path)!r}',
        form='Parquet',
        places=lambda rows: [(str(path), row + 1, '') for row in rows],
    )


def _read_text(path: Path, encoding: str | None, notes: list[str]) -> tuple[bytes, str]:
    # The text in UTF-8, whatever its encoding, and the name of the latter.
    text = path.read_bytes()
    if path.name.lower().endswith('.gz'):
        try:
            text = gzip.decompress(text)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(
                f"'table' must be compressed by gzip "
                f'(got {str(path)!r}: {one_line(error)})'
            ) from error
    if encoding is None:
        encoding = next((MARKS[m] for m in MARKS if text.startswith(m)), 'utf-8')
        if encoding == 'utf-8' and not _is_utf8(text):
            encoding = 'cp1252'
            notes.append(
                f'{str(path)!r} is not encoded in UTF-8 '
                f'({_first_bad_byte(text, "utf-8")}) and is read as Windows-1252, '
                f"which includes Latin-1; choose another by 'encoding'"
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
            f'(got {_first_bad_byte(text, encoding)} of {str(path)!r})'
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
        return f'{text[start : start + 1]!r} in line {_line_at(text, start)}'
    except UnicodeError as error:
        return one_line(error)
    return 'no bad byte'


def _line_at(text: bytes, place: int) -> int:
    return len((text[:place] + b'.').splitlines())


# CSV


def _read_csv(
    path: Path,
    text: bytes,
    choose: Choose,
    sep: str | None,
    encoding: str,
    notes: list[str],
    keep_bad: bool,
) -> Table:
    separator, names, choice = _find_separator(path, text, choose, sep)
    scan = _Scan(path, text, separator, len(names), choice.has_header, keep_bad)
    columns: dict[str, Column] | None = None
    if _is_plainly_quoted(text, separator):
        types = _csv_types(choice)
        try:
            table = pyarrow.csv.read_csv(
                pa.BufferReader(text),
                read_options=pyarrow.csv.ReadOptions(
                    column_names=None if choice.has_header else names
                ),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=separator,
                    newlines_in_values=b'"' in text,
                    invalid_row_handler=scan.skip if keep_bad else None,
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    check_utf8=False,
                    column_types=types,
                    include_columns=list(types),
                    strings_can_be_null=False,
                ),
            )
            columns = dict(zip(table.column_names, table.columns, strict=True))
        except pa.ArrowInvalid:
            # Read again below, on one thread, to name the line.
            pass
    if columns is None:
        columns = _read_slowly(path, scan, names, choice)
    word = {',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'bars'}
    shown = {'cp1252': 'Windows-1252', 'utf-8-sig': 'UTF-8'}.get(
        encoding, encoding.upper()
    )
    return Table(
        columns,
        scan.locate,
        True,
        notes,
        f'text with {word.get(separator, shorten(separator))} in {shown}'
        f'{"" if choice.has_header else ", without a header"}',
        scan.places,
        scan.bad_rows() if scan.num_skipped else [],
    )


@dataclass
class _Scan:
    # Finds lines by reading a text again, since fields may hold line breaks.
    path: Path
    text: bytes
    separator: str
    num_fields: int
    has_header: bool
    keep_bad: bool
    num_skipped: int = 0

    def skip(self, _: Any) -> str:
        self.num_skipped += 1
        return 'skip'

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        records = _records(self.text, self.separator)
        for i, (line, record) in enumerate(records):
            is_row = len(record) == self.num_fields or not self.keep_bad
            if is_row and (i > 0 or not self.has_header):
                yield line, record

    def bad_rows(self) -> list[BadRow]:
        return [
            BadRow(str(self.path), line, self.reason(record), self.show(record))
            for line, record in _records(self.text, self.separator)
            if len(record) != self.num_fields
        ]

    def reason(self, record: list[str]) -> str:
        return (
            f'{len(record)} field{"" if len(record) == 1 else "s"} where the '
            f'{"header" if self.has_header else "first row"} has {self.num_fields}'
        )

    def show(self, record: list[str]) -> str:
        line = io.StringIO()
        csv.writer(line, delimiter=self.separator).writerow(record)
        return line.getvalue().rstrip('\r\n')

    def places(self, rows: Sequence[int]) -> list[tuple[str, int, str]]:
        found: list[tuple[str, int, str]] = []
        wanted = iter(rows)
        row = next(wanted, None)
        for i, (line, record) in enumerate(self.rows()):
            if row is None:
                break
            if i == row:
                found.append((str(self.path), line, self.show(record)))
                row = next(wanted, None)
        return found

    def locate(self, row: int) -> str:
        try:
            found = self.places([row])
        except csv.Error:
            found = []
        if found:
            return f'line {found[0][1]} of {str(self.path)!r}'
        return f'row {row + 1} of {str(self.path)!r}'


def _csv_types(choice: Choice) -> dict[str, pa.DataType]:
    return {
        **dict.fromkeys(choice.labels, REPEATED),
        **dict.fromkeys(choice.numbers, pa.string()),
    }


def _records(text: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    # Each record with the line that it begins in; a blank line is no record.
    lines = io.TextIOWrapper(io.BytesIO(text), encoding='utf-8', newline='')
    reader = csv.reader(lines, delimiter=separator, strict=True)
    line = 1
    try:
        for record in reader:
            if record:
                yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        raise csv.Error(f'{error} in line {reader.line_num}') from error


def _find_separator(
    path: Path, text: bytes, choose: Choose, sep: str | None
) -> tuple[str, list[str], Choice]:
    if sep is not None and (
        not isinstance(sep, str) or len(sep) != 1 or not sep.isascii() or sep in '"\r\n'
    ):
        raise ValueError(
            f"'sep' must be one ASCII character, and neither a quote nor a line break "
            f'(got {shorten(sep)})'
        )
    own = SEPARATORS[get_suffix(path).removesuffix('.gz')]
    candidates = dict.fromkeys((own, *',;\t|') if sep is None else sep)
    headers = {separator: _read_header(text, separator) for separator in candidates}
    if not any(headers.values()):
        got = 'a damaged one' if text.strip() else 'none'
        raise ValueError(
            f"'table' must be well-formed text with a header line "
            f'({str(path)!r} has {got})'
        )
    # If none fits, the error is that of the separator that splits the header most.
    order = sorted(headers, key=lambda separator: -len(headers[separator]))
    errors = []
    for separator in order:
        try:
            names = headers[separator]
            return separator, names, _check_choice(names, choose)
        except ValueError as error:  # noqa: PERF203
            errors.append(error)
    raise errors[0]


def _read_header(text: bytes, separator: str) -> list[str]:
    try:
        return next(_records(text, separator), (0, []))[1]
    except csv.Error:
        return []


def _is_plainly_quoted(text: bytes, separator: str) -> bool:
    # Whether quotes only enclose fields. Arrow also takes others, in its own way.
    if b'"' not in text:
        return True
    byte = np.frombuffer(text, dtype=np.uint8)
    quote = np.flatnonzero(byte == ord('"'))
    edge = np.zeros(256, dtype=np.bool_)
    edge[list(f'{separator}\r\n"'.encode())] = True
    before = edge[byte[quote[::2] - 1]] | (quote[::2] == 0)
    after = edge[byte[np.minimum(quote[1::2] + 1, len(byte) - 1)]]
    return len(quote) % 2 == 0 and bool(before.all() and after.all())


def _read_slowly(
    path: Path, scan: _Scan, names: list[str], choice: Choice
) -> dict[str, Column]:
    rows: list[list[str]] = []
    scan.num_skipped = 0
    try:
        for line, record in _records(scan.text, scan.separator):
            if len(record) == len(names):
                rows.append(record)
            elif scan.keep_bad:
                scan.num_skipped += 1
            else:
                raise ValueError(
                    f"'table' must have {len(names)} fields in every line, as in its "
                    f'header (got {len(record)} in line {line} of {str(path)!r})'
                )
    except csv.Error as error:
        raise ValueError(
            f"'table' must be well-formed text (got {one_line(error)} of {str(path)!r})"
        ) from error
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    first = 1 if choice.has_header else 0
    return {
        name: pa.chunked_array([pa.array(columns[name][first:], kind)])
        for name, kind in _csv_types(choice).items()
    }


# JSON lines


def _read_lines(
    path: Path, text: bytes, choose: Choose, notes: list[str], keep_bad: bool
) -> Table:
    content = text.split(b'\n')
    bad_rows: list[BadRow] = []
    if keep_bad and not _is_plain_json(text, content):
        content = _drop_bad_lines(path, content, bad_rows)
        text = b'\n'.join(content)
    lines = [i for i, line in enumerate(content, 1) if line.strip()]

    def locate(row: int) -> str:
        place = f'line {lines[row]}' if row < len(lines) else f'row {row + 1}'
        return f'{place} of {str(path)!r}'

    def places(rows: Sequence[int]) -> list[tuple[str, int, str]]:
        return [
            (str(path), lines[i], content[lines[i] - 1].decode().strip()) for i in rows
        ]

    try:
        table = _parse_json(text)
        dates = [f.name for f in table.schema if pa.types.is_timestamp(f.type)]
        if dates:
            # Ids that look like dates stay strings.
            table = _parse_json(text, pa.schema([(n, pa.string()) for n in dates]))
    except pa.ArrowException as error:
        row = re.search(r' in row (\d+)$', str(error))
        place = locate(int(row[1])) if row else repr(str(path))
        reason = one_line(error).removeprefix('JSON parse error: ')
        raise ValueError(
            f"'table' must hold one JSON object per line, with values of one type in "
            f'each column (got {re.sub(" in row [0-9]+$", "", reason)} in {place})'
        ) from error
    if table.num_rows != len(lines):
        raise ValueError(
            f"'table' must hold one JSON object per line (got {table.num_rows} objects "
            f'in {len(lines)} lines of {str(path)!r})'
        )
    choice = _check_choice(table.column_names, choose)
    columns = {name: table[name] for name in (*choice.labels, *choice.numbers)}
    return Table(
        columns,
        locate,
        notes=notes,
        form='JSON lines',
        places=places,
        bad_rows=bad_rows,
    )


def _is_plain_json(text: bytes, content: list[bytes]) -> bool:
    # Whether each line is an object, which Arrow tells many times faster than Python.
    try:
        return bool(
            _parse_json(text).num_rows == sum(map(bool, map(bytes.strip, content)))
        )
    except pa.ArrowException:
        return False


def _drop_bad_lines(
    path: Path, content: list[bytes], bad_rows: list[BadRow]
) -> list[bytes]:
    # Empties the lines that are not JSON objects, so that all others keep their place.
    kept = []
    for number, line in enumerate(content, 1):
        reason = ''
        try:
            if line.strip() and not isinstance(json.loads(line), dict):
                reason = 'not a JSON object'
        except ValueError as error:
            reason = f'not a JSON object: {one_line(error)}'
        if reason:
            shown = line.decode(errors='replace').strip()
            bad_rows.append(BadRow(str(path), number, reason, shown))
        kept.append(b'' if reason else line)
    return kept


def _parse_json(text: bytes, schema: pa.Schema | None = None) -> pa.Table:
    return pyarrow.json.read_json(
        pa.BufferReader(text),
        # Rows in messages are counted from the beginning of a block.
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
                _write_text(table, suffix, file)
                return
            # Without name and time, equal tables make equal files.
            with gzip.GzipFile('', 'wb', fileobj=file, mtime=0) as zipped:
                _write_text(table, suffix, zipped)


def _write_text(table: pa.Table, suffix: str, file: Any) -> None:
    if suffix.startswith(LINES):
        for record in table.to_pylist():
            file.write(json.dumps(record, ensure_ascii=False).encode() + b'\n')
        return
    write_csv(table, file, SEPARATORS[suffix.removesuffix('.gz')])


def write_csv(table: pa.Table, file: Any, separator: str = ',') -> None:
    r"""Writes a table as text in UTF-8.

    Args:
        table (pyarrow.Table): The table.
        file (typing.BinaryIO): The open file.
        separator (str, optional): The separator of fields. (default: :obj:`","`)
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        odd = [name] if '\0' in name else []
        if pa.types.is_string(column.type):
            odd += column.filter(pc.match_substring(column, '\0'))[:1].to_pylist()
        if odd:
            raise ValueError(
                f'{shorten(name)} must not hold NUL characters in a text file '
                f"(got {shorten(odd[0])}; Parquet and 'to_hif' keep them)"
            )
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
