from tgx_anchor.io.bad_row import BadRow, BadRowError


def test_row_in_one_line() -> None:
    row = BadRow('a.csv', 7, 'the group is empty', ',ann\n,bob')
    assert row.summary == 'a.csv:7: the group is empty | ,ann ,bob'
    assert BadRow('', 3, 'no', '', 'row').summary == 'row 3: no'


def test_error_lists_ten_rows() -> None:
    rows = [BadRow('a.csv', i, f'reason {i}', '') for i in range(1, 1013)]
    error = BadRowError(rows)
    assert len(error.lines) == 11
    assert error.lines[9:] == ['a.csv:10: reason 10', 'and 1,002 more']
    assert BadRowError(rows[:1]).lines == ['a.csv:1: reason 1']
