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


def test_bad_row_names_its_place() -> None:
    row = BadRow('a.csv', 7, "'n' must hold numbers (got 'x')", '1,x')
    assert row.place == "line 7 of 'a.csv'"
    assert str(row) == "'n' must hold numbers (got 'x' in line 7 of 'a.csv')"
    assert BadRow('', 7, '', '', 'row').place == 'row 7'


def test_bad_row_error_counts_the_others() -> None:
    row = BadRow('a.csv', 7, "'n' must hold numbers (got 'x')", '1,x')
    for count, others in ((1, ''), (2, '; 1 more bad row'), (1235, '; 1,234 more bad')):
        error = BadRowError([row] * count)
        assert str(error).startswith(f'{row}{others}')
        assert "'skip_bad'" in str(error)
        assert len(error.rows) == count
    assert isinstance(error, ValueError)
    assert 'no row is good' in str(BadRowError([row], skip_bad=True))
    assert "'skip_bad'" not in str(BadRowError([row], skip_bad=True))
