"""Sources of tables: what is read, and where the rows are."""

import csv
import gzip
import io
import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.io.strategies import NAMES, examples, outcome
from tests.strategies import one_line_error
from tgx_anchor.io.table import (
    SUFFIXES,
    Choice,
    Table,
    get_suffix,
    list_files,
    read_table,
    write_table,
)


def choose(names: Sequence[Any], metadata: Mapping[bytes, bytes]) -> Choice:
    for name in ('a', 'b'):
        if name not in names:
            raise ValueError(f'no {name} among {list(names)}')
    return Choice(['a', 'b'], [name for name in ('n',) if name in names])


def rows(table: Table) -> list[tuple[Any, ...]]:
    columns = [
        column if isinstance(column, list) else column.to_pylist()
        for column in table.columns.values()
    ]
    return list(zip(*columns, strict=True))


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith('.gz') else data)
    return path


# Memory ##########################################################################


class Capsules:
    """A data frame that only speaks Arrow's protocol."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Interchange:
    """A data frame that only speaks the interchange protocol."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __dataframe__(self, **kwargs: Any) -> object:
        return self.table.__dataframe__(**kwargs)


COLUMNS = {'a': ['x', 'y'], 'b': [1, 2], 'n': [0.5, 1.5]}
TABLE = pa.table(COLUMNS)


@pytest.mark.parametrize(
    'source',
    [
        COLUMNS,
        TABLE,
        TABLE.to_reader(),
        TABLE.to_batches()[0],
        Capsules(TABLE),
        Interchange(TABLE),
        pd.DataFrame(COLUMNS, index=[5, 5]),
        pd.DataFrame(COLUMNS).astype({'a': 'category', 'b': 'Int8'}),
    ],
    ids=lambda source: type(source).__name__,
)
def test_read_table_from_memory(source: Any) -> None:
    table = read_table(source, choose)
    assert rows(table) == [('x', 1, 0.5), ('y', 2, 1.5)]
    assert table.locate(1) == 'row 2'
    assert not table.is_text


def test_read_table_takes_the_types_of_polars() -> None:
    view = pa.array(['x', 'y'], pa.string_view())
    indices = pa.array([1, 0], pa.uint32())
    coded = pa.DictionaryArray.from_arrays(indices, view)
    lists = pa.array([['x'], ['y', 'x']], pa.list_(pa.string_view()))
    assert rows(read_table(pa.table({'a': coded, 'b': lists}), choose)) == [
        *(('y', ['x']), ('x', ['y', 'x']))
    ]


def test_read_table_passes_metadata(tmp_path: Path) -> None:
    seen = []

    def note(names: Sequence[Any], metadata: Mapping[bytes, bytes]) -> Choice:
        seen.append(metadata.get(b'key'))
        return choose(names, metadata)

    table = TABLE.replace_schema_metadata({'key': 'value'})
    write_table(table, tmp_path / 'a.parquet')
    read_table(table, note)
    read_table(tmp_path / 'a.parquet', note)
    read_table(COLUMNS, note)
    assert seen == [b'value', b'value', None]


@pytest.mark.parametrize('source', [None, 3, b'a.csv', [], [3], ['a.csv', 3], object()])
def test_read_table_refuses_other_sources(source: Any) -> None:
    with one_line_error("'table'", 'mapping'):
        read_table(source, choose)


def test_read_table_refuses_columns_that_do_not_fit() -> None:
    with one_line_error("'b'", '2 rows', 'got 1'):
        read_table({'a': [1, 2], 'b': [1]}, choose)
    with one_line_error('distinct', "'a'"):
        read_table(pa.table([[1], [2], [3]], names=['a', 'b', 'a']), choose)


# Text ############################################################################


@pytest.mark.parametrize('separator', [',', ';', '\t', '|'])
@pytest.mark.parametrize('name', ['t.csv', 't.TSV', 't.txt', 't.csv.gz'])
def test_read_table_finds_the_separator(
    separator: str, name: str, tmp_path: Path
) -> None:
    records = [('a', '"1,;\t"', 'b', 'n'), ('y', '";;;,,,"', '4', '5')]
    text = '\n'.join(separator.join(record) for record in records)
    table = read_table(write(tmp_path, name, text), choose)
    assert rows(table) == [('y', '4', '5')]
    assert table.is_text
    assert not table.notes


def test_read_table_by_a_given_separator(tmp_path: Path) -> None:
    path = write(tmp_path, 't.csv', 'a~b\nx~y\n')
    assert rows(read_table(path, choose, delimiter='~')) == [('x', 'y')]
    with one_line_error("['a~b']"):
        read_table(path, choose)
    for odd in ('||', '', '§', '"', '\n', 3):
        with one_line_error("'delimiter'", f'got {odd!r}'):
            read_table(path, choose, delimiter=odd)  # type: ignore[arg-type]


@pytest.mark.parametrize('end', ['\n', '\r\n'])
def test_read_table_takes_the_separator_of_excel(end: str, tmp_path: Path) -> None:
    path = write(tmp_path, 't.csv', f'sep=~{end}a~b{end}x~y,;{end}x{end}')
    table = read_table(path, choose, keep_bad=True)
    assert rows(table) == [('x', 'y,;')]
    assert table.locate(0).startswith('line 3 of')
    assert [bad.line for bad in table.bad_rows] == [4]


def test_read_table_keeps_bad_lines_apart(tmp_path: Path) -> None:
    text = 'a,b\n1,x\n2\n\n3,"y\nz"\n4,u"v\n5,"w"w\n6,7,8\n9,t\n'
    for name, quoted in (('t.csv', text), ('u.csv', text.replace('"', "'"))):
        path = write(tmp_path, name, quoted)
        table = read_table(path, choose, keep_bad=True)
        good = [row[0] for row in rows(table)]
        bad = [row.line for row in table.bad_rows]
        assert (good, bad) == (
            (['1', '3', '4', '9'], [3, 8, 9])
            if name == 't.csv'
            else (['1', '3', '4', '5', '9'], [3, 6, 9])
        )
        assert table.describe([len(good) - 1])[0].line == 10
        with one_line_error('2 fields', 'in line 3', '2 more bad rows'):
            read_table(path, choose)


@pytest.mark.parametrize(
    ('encoding', 'given'),
    [
        ('utf-8', None),
        ('utf-8-sig', None),
        ('utf-8-sig', 'utf-8'),
        ('utf-16', None),
        ('utf-32', None),
        ('cp1252', 'cp1252'),
        ('latin-1', 'latin-1'),
        ('utf-16-le', 'utf-16-le'),
        ('cp850', 'cp850'),
    ],
)
@pytest.mark.parametrize('name', ['t.csv', 't.tsv.gz', 't.jsonl'])
def test_read_table_of_encodings(
    encoding: str, given: str | None, name: str, tmp_path: Path
) -> None:
    text = 'a,b\nMüller,é\n'
    if 'jsonl' in name:
        text = '{"a": "Müller", "b": "é"}\n'
    path = write(tmp_path, name, text.encode(encoding))
    table = read_table(path, choose, encoding=given)
    assert rows(table) == [('Müller', 'é')]
    assert table.notes == []


def test_read_table_guesses_latin_1_and_says_so(tmp_path: Path) -> None:
    path = write(tmp_path, 't.csv', 'a,b\n\nx,y\nMüller,€\n'.encode('cp1252'))
    table = read_table(path, choose)
    assert rows(table) == [('x', 'y'), ('Müller', '€')]
    assert len(table.notes) == 1
    assert re.search(r"not .* UTF-8 \(b'\\xfc' in line 4\).*Latin-1", table.notes[0])
    with one_line_error('utf-8', r"b'\xfc' in line 4"):
        read_table(path, choose, encoding='utf-8')
    with one_line_error("'encoding'", "'klingon'"):
        read_table(path, choose, encoding='klingon')


CELLS = NAMES | st.text('",;\t\r\n \'a', max_size=4)


@given(
    st.lists(st.tuples(CELLS, CELLS), max_size=5),
    st.sampled_from([',', ';', '\t']),
    st.sampled_from(['\n', '\r\n', '\r']),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
)
@examples(200)
def test_read_table_reads_what_python_writes(
    tmp_path: Path, cells: list[tuple[str, str]], sep: str, end: str, quoting: Any
) -> None:
    # Python quotes only the line breaks that end its lines.
    end = '\r\n' if quoting == csv.QUOTE_MINIMAL else end
    out = io.StringIO()
    writer = csv.writer(out, delimiter=sep, lineterminator=end, quoting=quoting)
    writer.writerows([('a', 'b'), *cells])
    path = write(tmp_path, 't.csv', out.getvalue())
    assert rows(read_table(path, choose)) == cells


@pytest.mark.parametrize(
    'text',
    [
        'a,b\nx"y,z\n',
        'a,b\nx"y",z\n',
        'a,b\n "x",z\n',
        '"a",b\nx"",z\n',
        'a,b\n"x""y",z',
        'a,b\n"",""\n',
    ],
)
def test_read_table_takes_quotes_as_python_does(text: str, tmp_path: Path) -> None:
    expected = [tuple(record) for record in csv.reader(io.StringIO(text))][1:]
    assert rows(read_table(write(tmp_path, 't.csv', text), choose)) == expected


@pytest.mark.parametrize('text', ['a,b\nx,y\n"x"y,z\n', 'a,b\nx,y\nx,"z\n'])
def test_read_table_refuses_damaged_quotes(text: str, tmp_path: Path) -> None:
    with one_line_error('well-formed', 'in line 3'):
        read_table(write(tmp_path, 't.csv', text), choose)


def test_read_table_of_many_blocks(tmp_path: Path) -> None:
    # Several megabytes, which threads read in parts.
    cells = [(f'name {i % 977}', f'"{i % 31}"', str(i)) for i in range(200_000)]
    out = io.StringIO()
    csv.writer(out).writerows([('a', 'b', 'n'), *cells])
    path = write(tmp_path, 't.csv', out.getvalue() + 'x,y\n')
    with one_line_error('3 fields', 'got 2 in line 200002'):
        read_table(path, choose)
    path = write(tmp_path, 't.csv', out.getvalue())
    table = read_table(path, choose)
    assert rows(table) == cells
    assert table.locate(150_000) == f'line 150002 of {str(path)!r}'


def test_locate_counts_lines_inside_quotes(tmp_path: Path) -> None:
    text = '\n"a\n",b,a\n\n"1\r\n2",x,\r\n\r\ny,z,\rv,"\n\n\n",\nw,w,w'
    path = write(tmp_path, 't.csv', text)
    table = read_table(path, choose)
    lines = text.replace('\r\n', '\n').replace('\r', '\n').split('\n')
    assert [table.locate(row).split(' of ')[0] for row in range(4)] == [
        *('line 5', 'line 8', 'line 9', 'line 13')
    ]
    assert [lines[i - 1][0] for i in (5, 8, 9, 13)] == ['"', 'y', 'v', 'w']


# JSON lines ######################################################################


def test_read_table_of_json_lines(tmp_path: Path) -> None:
    lines = [
        {'a': '2020-01-01', 'b': 3, 'n': 1.5},
        {'b': 4, 'a': '7', 'more': [1]},
        {'a': 'x\ny', 'b': None, 'n': 2},
    ]
    text = '\n' + '\n\n'.join(map(json.dumps, lines))
    table = read_table(write(tmp_path, 't.ndjson', text), choose)
    assert rows(table) == [('2020-01-01', 3, 1.5), ('7', 4, None), ('x\ny', None, 2.0)]
    assert not table.is_text
    assert table.locate(2).startswith('line 6 of ')


@pytest.mark.parametrize(
    ('text', 'names'),
    [
        ('{"a": 1, "b": 2}\n{"a": 1\n', ['JSON']),
        ('{"a": 1, "b": 2}\nx\n', ['JSON', 'line 2']),
        ('[1]\n', ['JSON']),
        ('{"a": 1, "b": 2}{"a": 1, "b": 2}\n', ['one JSON object per line', 'line 1']),
        ('{"a": 1,\n"b": 2}\n', ['one JSON object per line', 'line 1', '1 more']),
        ('{"a": 1, "b": 2}{"a": 1, "b": 2}x\n', ['JSON']),
        ('', ['no a']),
        ('{"a": 1}\n', ['no b']),
    ],
)
def test_read_table_refuses_json_lines(
    text: str, names: list[str], tmp_path: Path
) -> None:
    with one_line_error(*names):
        read_table(write(tmp_path, 't.jsonl', text), choose)


@given(st.binary() | st.text('{}[]":,a1\n').map(str.encode))
@examples(100)
def test_read_table_refuses_random_lines(tmp_path: Path, text: bytes) -> None:
    path = write(tmp_path, 't.jsonl', text)
    assert outcome(lambda: read_table(path, choose)) is None


# Several files ###################################################################


def test_read_table_of_several_files(tmp_path: Path) -> None:
    first = write(tmp_path, '2.csv', 'a,b\nx,1\n')
    second = write(tmp_path, '10.tsv.gz', 'b\ta\n\n2\ty\n3\tz\n')
    write(tmp_path, 'notes.md', 'a,b\n')
    write(tmp_path, 'z0.csv', 'a,b')
    sources: list[Any] = [tmp_path, str(tmp_path / '*[0-2].*v*'), [second, str(first)]]
    for source in sources:
        table = read_table(source, choose)
        assert rows(table) == [('y', '2'), ('z', '3'), ('x', '1')]
        assert table.locate(1) == f'line 4 of {str(second)!r}'
        assert table.locate(2) == f'line 2 of {str(first)!r}'
        assert table.is_text
    assert list_files(tmp_path)[:2] == [second, first]


def test_read_table_refuses_files_that_do_not_fit(tmp_path: Path) -> None:
    write(tmp_path, '1.csv', 'a,b\nx,1\n')
    path = write(tmp_path, '2.csv', 'a,b,n\nx,1,1\n')
    with one_line_error('same columns', "'n'", '2.csv'):
        read_table(tmp_path, choose)
    path.unlink()
    pyarrow.parquet.write_table(
        pa.table({'a': ['x'], 'b': [1]}), tmp_path / '3.parquet'
    )
    pyarrow.parquet.write_table(
        pa.table({'a': ['x'], 'b': [date(2020, 1, 1)]}), tmp_path / '4.parquet'
    )
    with one_line_error('same types', 'all files'):
        read_table(tmp_path / '*.parquet', choose)
    (tmp_path / 'empty.csv').mkdir()
    with one_line_error("'table'", 'folder', 'empty.csv'):
        read_table(tmp_path / 'empty.csv', choose)
    with one_line_error("'table'", 'pattern', '*.txt'):
        read_table(tmp_path / '*.txt', choose)
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / 'none.csv', choose)


def test_read_table_takes_all_files_for_text_if_one_is(tmp_path: Path) -> None:
    text = write(tmp_path, '1.csv', 'a,b,n\nx,7,0.5\n')
    columns = {'a': ['y', None], 'b': [8, None], 'n': [1.5, None]}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / '2.parquet')
    table = read_table(tmp_path, choose)
    assert rows(table) == [('x', '7', '0.5'), ('y', '8', '1.5'), ('', '', '')]
    assert table.is_text
    assert table.form == '2 files of text with commas in UTF-8 and Parquet'
    text.unlink()
    assert not read_table(tmp_path, choose).is_text


def test_get_suffix() -> None:
    assert get_suffix(Path('a.b.CSV.gz')) == '.csv.gz'
    assert get_suffix(Path('x.Parquet')) == '.parquet'
    with one_line_error('.csv.gz', '.parquet', "'a.xlsx'"):
        get_suffix(Path('a.xlsx'))


# Writing #########################################################################


@given(
    st.lists(st.tuples(CELLS.filter(bool), st.booleans() | st.none()), min_size=1),
    st.sampled_from(SUFFIXES),
)
@examples(150)
def test_write_table_round_trip(
    tmp_path: Path, cells: list[tuple[str, bool | None]], suffix: str
) -> None:
    a, b = (list(column) for column in zip(*cells, strict=True))
    path = tmp_path / f't{suffix}'
    number = [0.1 * i for i in range(len(a))]
    write_table(pa.table({'a': a, 'b': pa.array(b, pa.bool_()), 'n': number}), path)
    table = read_table(path, choose)
    if table.is_text:
        words = {True: 'true', False: 'false', None: ''}
        assert [row[:2] for row in rows(table)] == [(s, words[f]) for s, f in cells]
    elif any(flag is not None for flag in b):
        assert [row[:2] for row in rows(table)] == cells
    assert [float(row[2]) for row in rows(table)] == number
    assert list(tmp_path.iterdir()) == [path]
    path.unlink()


def test_write_table_quotes_where_it_must(tmp_path: Path) -> None:
    path = tmp_path / 't.csv'
    write_table(pa.table({'a': ['x'], 'b,c': [1], 'd\re': [2]}), path)
    assert path.read_bytes() == b'a,"b,c","d\re"\nx,1,2\n'
    write_table(pa.table({'a': ['x', 'y,z'], 'b': [1, None]}), path)
    assert path.read_text() == 'a,b\n"x",1\n"y,z",\n'
    before = path.read_bytes()
    for odd in ({'a': ['\0']}, {'\0': ['a']}):
        with one_line_error('NUL', 'Parquet'):
            write_table(pa.table(odd), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
