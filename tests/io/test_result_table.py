from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tgx_anchor.io import ResultTable


@dataclass(frozen=True)
class Result:
    setting: str
    split: int
    accuracy: float
    w: float | None = None


ROWS = [Result('emER', 0, 0.675, 3.0), Result('a,"b"', 1, 0.5)]
KEY = ('setting', 'split')


def table(path: Path) -> ResultTable[Result]:
    return ResultTable(Result, path, KEY)


def test_rows_come_back(tmp_path: Path) -> None:
    path = tmp_path / 'new' / 'results.csv'
    written = table(path)
    written.add(ROWS[0])
    written.add(ROWS[1])
    assert path.read_text() == (
        'setting,split,accuracy,w\nemER,0,0.675,3.0\n"a,""b""",1,0.5,\n'
    )
    read = table(path)
    assert read.rows == ROWS
    assert ('emER', 0) in read
    assert ('emER', 1) not in read
    assert read.get(('emER', 0)) == ROWS[0]
    assert read.get(('emER', 1)) is None
    assert str(read) == 'ResultTable(Result, 2 rows)'


@given(st.integers(0, 58))
def test_a_cut_file_keeps_its_whole_lines(size: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / 'results.csv'
        table(path).add(*ROWS)
        text = path.read_text()
        path.write_text(text[:size])
        again = table(path)
        assert again.rows == ROWS[: max(0, text[:size].count('\n') - 1)]
        again.add(*ROWS)
        assert path.read_text().endswith('emER,0,0.675,3.0\n"a,""b""",1,0.5,\n')
        assert table(path).rows == ROWS


def test_the_last_of_equal_keys_counts(tmp_path: Path) -> None:
    path = tmp_path / 'results.csv'
    table(path).add(*ROWS, Result('emER', 0, 0.7))
    assert table(path).rows == [Result('emER', 0, 0.7), ROWS[1]]
    whole_row = ResultTable(Result, path)
    assert len(whole_row) == 3


def test_damage_is_told(tmp_path: Path) -> None:
    path = tmp_path / 'results.csv'
    table(path).add(*ROWS)
    good = path.read_text()
    path.write_text(good.replace(',0,', ',zero,'))
    with pytest.raises(ValueError, match=r'one result per line .* line 2'):
        table(path)
    path.write_text('other,columns\n1,2\n')
    with pytest.raises(ValueError, match=r'columns setting, split.*other,columns'):
        table(path)
    assert path.read_text() == 'other,columns\n1,2\n'
    with pytest.raises(ValueError, match=r"'\.csv' \(got '\.txt'\)"):
        table(tmp_path / 'results.txt')


def test_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / 'results.csv'
    path.write_bytes(b'setting,split,accuracy,w\r\nemER,0,0.675,3.0\r\n')
    assert table(path).rows == ROWS[:1]


def test_without_a_file() -> None:
    kept = ResultTable(Result, key=KEY)
    kept.add(ROWS[0])
    assert kept.rows == ROWS[:1]
