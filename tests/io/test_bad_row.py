from tgx_anchor.io.bad_row import BadRow, BadRowError


def test_row_in_one_line() -> None:
    row = BadRow('a.csv', 7, 'the group is empty', ',ann\n,bob')
    assert str(row) == 'a.csv:7: the group is empty | ,ann ,bob'
    assert str(BadRow('', 3, 'the group is empty', '')) == 'row 3: the group is empty'


def test_error_shows_ten_rows() -> None:
    rows = [BadRow('a.csv', i, f'reason {i}', '') for i in range(1, 1013)]
    error = BadRowError(rows)
    assert str(error).startswith(
        "1,012 bad rows, the first in line 1 of 'a.csv': reason 1 ('--skip-bad'"
    )
    assert len(error.lines) == 11
    assert error.lines[9:] == ['a.csv:10: reason 10', 'and 1,002 more']
    assert str(BadRowError(rows[:1])).startswith('1 bad row, the first')
