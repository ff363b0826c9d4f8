import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from tests.strategies import one_line_error
from tgx_anchor.cli.anchor_table import check_folder, check_output, write_output

TABLE = pa.table({'group': ['a', 'b, c'], 'anchor': ['x', None], 'margin': [0.5, None]})
TEXT = 'group,anchor,margin\n"a","x",0.5\n"b, c",,\n'


def test_formats(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    write_output(TABLE, str(tmp_path / 'a.csv'))
    assert (tmp_path / 'a.csv').read_text(encoding='utf-8') == TEXT
    write_output(TABLE, str(tmp_path / 'a.csv.gz'))
    assert gzip.decompress((tmp_path / 'a.csv.gz').read_bytes()).decode() == TEXT
    write_output(TABLE, '-')
    assert capsysbinary.readouterr().out.decode() == TEXT


def test_checks_before_any_work(tmp_path: Path) -> None:
    check_output('-')
    check_output(str(tmp_path / 'a.parquet'))
    with one_line_error('must end in', 'a.xls'):
        check_output(str(tmp_path / 'a.xls'))
    with one_line_error('a folder that exists'):
        check_output(str(tmp_path / 'nowhere' / 'a.csv'))
    with one_line_error('must be a file'):
        check_folder(tmp_path)
