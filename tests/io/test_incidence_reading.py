from tgx_anchor.io import BadRow, IncidenceReading, read_incidence


def test_incidence_reading_lists_rejected_rows() -> None:
    data = read_incidence({'group': [1], 'member': [2]})
    reading = IncidenceReading(data, 'a table in memory', {}, [])
    assert reading.rejected.num_rows == 0
    rows = [BadRow('a.csv', 7, 'why', '1,x'), BadRow('b.csv', 8, 'how', '')]
    reading = IncidenceReading(data, 'two files', {}, [], rows)
    assert reading.rejected.to_pylist() == [
        {'file': 'a.csv', 'line': 7, 'reason': 'why', 'text': '1,x'},
        {'file': 'b.csv', 'line': 8, 'reason': 'how', 'text': ''},
    ]
