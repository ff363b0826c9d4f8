from tgx_anchor.reproduce.cell import CellKey
from tgx_anchor.reproduce.paper_table import Entry, PaperTable

ENTRY = Entry('qaPH', 'from qaBI', 'variants', 'from qaBI', 'accuracy', 'percent', '87')


def test_one_measurement_per_split() -> None:
    assert ENTRY.keys(2, 5) == [
        CellKey('variants', 'qaPH', 'from qaBI', 0, 5),
        CellKey('variants', 'qaPH', 'from qaBI', 1, 5),
    ]
    assert len(ENTRY._replace(is_split=False).keys(5, 0)) == 1


def test_epochs_where_there_are_any() -> None:
    (key,) = ENTRY._replace(has_epochs=False).keys(1, 5)
    assert key.num_epochs == 0


def test_needed_settings() -> None:
    assert ENTRY.settings == ('qaPH',)
    assert ENTRY._replace(source='qaBI').settings == ('qaPH', 'qaBI')


def test_entries_of_some_settings() -> None:
    table = PaperTable(
        'a',
        'A',
        'here',
        '',
        lambda settings: [ENTRY._replace(setting=name) for name in settings],
        ('emER', 'qaBI'),
    )
    assert [entry.setting for entry in table.entries()] == ['emER', 'qaBI']
    assert [entry.setting for entry in table.entries(['qaPH'])] == ['qaPH']
