from pathlib import Path

from tests.benchmark.test_comparison_row import row
from tests.strategies import one_line_error
from tgx_anchor.benchmark.comparison_file import ComparisonFile


def test_file(tmp_path: Path) -> None:
    path = tmp_path / 'new' / 'rows.csv'
    rows = [row(), row(split=1, accuracy=0.25), row(method='Degree')]
    file = ComparisonFile(path)
    for each in rows:
        file.add(each)
    assert ComparisonFile(path).rows == rows
    content = path.read_bytes()
    last = content.rindex(b'emER')
    for cut in (last, last + 9, len(content) - 8, len(content) - 1):
        path.write_bytes(content[:cut])
        again = ComparisonFile(path)
        whole = cut == len(content) - 1
        assert again.rows == (rows if whole else rows[:2]), cut
        again.add(rows[2])
        assert ComparisonFile(path).rows[-1] == rows[2]
    # Nothing but a last line is given up, and what was measured twice counts once.
    path.write_bytes(content.replace(b',0,0,0.5,', b',0,0.0,0.5,'))
    with one_line_error(str(path), 'line 2'):
        ComparisonFile(path)
    path.write_bytes(content)
    twice = row(accuracy=0.75)
    ComparisonFile(path).add(twice)
    assert ComparisonFile(path).rows == [twice, *rows[1:]]
    path.write_text('other,columns\n1,2\n', encoding='utf-8')
    with one_line_error(str(path), 'setting,method'):
        ComparisonFile(path)
    assert path.read_text(encoding='utf-8') == 'other,columns\n1,2\n'
