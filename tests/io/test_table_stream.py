"""Tables in parts: the same rows, places and faults as in one piece."""

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.io.strategies import examples
from tests.strategies import one_line_error
from tgx_anchor.io import table_stream
from tgx_anchor.io.bad_row import BadRow
from tgx_anchor.io.table import Choice, Table, read_table
from tgx_anchor.io.table_stream import TableStream


def choose(names: Sequence[Any], metadata: Mapping[bytes, bytes]) -> Choice:
    for name in ('a', 'b'):
        if name not in names:
            raise ValueError(f'no {name} among {list(names)}')
    return Choice(['a', 'b'], [name for name in ('n',) if name in names])


def list_rows(table: Table) -> list[tuple[Any, ...]]:
    columns = [
        column if isinstance(column, list) else column.to_pylist()
        for column in table.columns.values()
    ]
    return list(zip(*columns, strict=True))


def read_parts(
    source: Any, encoding: str | None = None
) -> tuple[list[Any], list[BadRow], TableStream]:
    stream = TableStream.open(source, choose, encoding)
    rows: list[Any] = []
    bad: list[BadRow] = []
    for number in range(len(stream.files)):
        for part in stream.parts(number):
            rows += list_rows(part)
            bad += part.bad_rows
    return rows, bad, stream


def check_same(source: Any, encoding: str | None = None) -> TableStream:
    table = read_table(source, choose, keep_bad=True, encoding=encoding)
    rows, bad, stream = read_parts(source, encoding)
    assert rows == list_rows(table)
    assert bad == table.bad_rows
    assert stream.is_text == table.is_text
    assert stream.form == table.form
    assert stream.notes == table.notes
    if len(stream.files) == 1:
        numbers = list(range(0, len(rows), 2))
        assert stream.describe(0, numbers) == table.describe(numbers)
    return stream


@given(
    st.lists(
        st.sampled_from(
            ['x,y,1', 'x,y', '', '"q,r",y,2', '"line\nbreak",y,3', 'da"maged,y,4', '"']
        ),
        max_size=12,
    ),
    st.sampled_from(['\n', '\r\n', '\r']),
    st.integers(1, 40),
)
@examples(150)
def test_blocks_of_text_are_the_text(
    tmp_path: Path, lines: list[str], end: str, block: int
) -> None:
    path = tmp_path / 'a.csv'
    path.write_bytes((end.join(['a,b,n', *lines]) + end).encode())
    with pytest.MonkeyPatch.context() as patch:
        # The header has to be in the first block.
        patch.setattr(table_stream, 'BLOCK', 8 + block)
        patch.setattr(table_stream, 'ROWS', 3)
        check_same(path)


def test_encodings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_stream, 'BLOCK', 13)
    text = 'a,b\nÄnne,1\nzoë,2\n家,3\n'
    for name in ('utf-8', 'utf-8-sig', 'utf-16'):
        path = tmp_path / f'{name}.csv'
        path.write_bytes(text.encode(name))
        check_same(path)
    # The mark at the beginning is none of the text, whatever the encoding is called.
    marked = tmp_path / 'utf-8-sig.csv'
    assert [*check_same(marked, 'utf-8').types] == ['a', 'b']
    latin = tmp_path / 'latin.csv'
    latin.write_bytes(text[:-4].encode('latin-1'))
    stream = check_same(latin)
    assert "b'\\xc4' in line 2" in stream.notes[0]
    check_same(latin, 'latin-1')
    with one_line_error("'table' must be encoded in utf-8", 'line 2', 'latin.csv'):
        TableStream.open(latin, choose, 'utf-8')
    with one_line_error("'encoding'", "'klingon'"):
        TableStream.open(latin, choose, 'klingon')
    (tmp_path / 'nul.csv').write_bytes(b'a,b\nx,1\ny\0,2\n')
    with one_line_error('NUL', 'line 3', 'nul.csv'):
        TableStream.open(tmp_path / 'nul.csv', choose)


def test_gzip_and_the_line_of_excel(tmp_path: Path) -> None:
    path = tmp_path / 'a.csv.gz'
    path.write_bytes(gzip.compress(b'sep=;\na;b\nx;1\ny\n'))
    stream = check_same(path)
    assert stream.form == 'text with semicolons in UTF-8'
    path.write_bytes(b'a,b\n')
    with one_line_error('compressed with gzip', 'a.csv.gz'):
        TableStream.open(path, choose)


def test_parquet_and_several_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_stream, 'ROWS', 2)
    for i, kind in enumerate((pa.int32(), pa.int64())):
        columns = {'a': ['x', 'y', None], 'b': pa.array([1, None, 3], kind)}
        pa.parquet.write_table(pa.table(columns), tmp_path / f'{i}.parquet')
    stream = check_same(tmp_path)
    assert stream.types == {'a': pa.string(), 'b': pa.int64()}
    assert [len(list(stream.parts(i))) for i in range(2)] == [2, 2]
    assert stream.describe(1, [0, 2])[1] == BadRow(
        str(tmp_path / '1.parquet'), 3, '', ', 3', 'row'
    )
    (tmp_path / 't.csv').write_text('a,b\nz,9\n', encoding='utf-8')
    assert check_same(tmp_path).is_text


def test_other_files_are_refused(tmp_path: Path) -> None:
    lines = tmp_path / 'a.jsonl'
    lines.write_text('{"a": 1, "b": 2}\n', encoding='utf-8')
    for path in (str(lines), '-', str(tmp_path / 'a.json')):
        with one_line_error('read in parts', repr(path)):
            TableStream.open(path, choose)
    broken = tmp_path / 'a.parquet'
    broken.write_bytes(b'PAR1')
    with one_line_error('Parquet', 'a.parquet'):
        TableStream.open(broken, choose)
    with one_line_error('at least one file'):
        TableStream.open([], choose)
