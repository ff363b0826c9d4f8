from tgx_anchor.io import BadRow, BadRowError


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
