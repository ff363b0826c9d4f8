import pytest

from tgx_anchor.cli.measuring_options import measuring_options, names_in


@pytest.mark.parametrize(
    ('text', 'shown'),
    [
        ("'num_splits' must be positive", "'--splits' must be positive"),
        ("'folder' must hold 'cells.csv'", "'--out' must hold 'cells.csv'"),
        ("'tables' must be among a, b", "'table' must be among a, b"),
        (
            "'anchor' of 'coDB' must be one of 'first', 'last' (none was passed)",
            "'--datasets' must name the anchor of 'coDB', as in 'coDB_first': "
            "'first', 'last' (none was passed)",
        ),
        # Names elsewhere stay, since they may be those of files and methods.
        ("2 failed: 'method' must be x", "2 failed: 'method' must be x"),
        ("'jobs.csv' must end", "'jobs.csv' must end"),
    ],
)
def test_names_of_options(text: str, shown: str) -> None:
    with pytest.raises(ValueError, match='must') as found, measuring_options():
        raise ValueError(text)
    assert str(found.value) == shown


def test_names_in() -> None:
    assert names_in(' emER, qaBI ,,', '--datasets') == ['emER', 'qaBI']
    with pytest.raises(ValueError, match=r"^'--methods' must have names.*\(got ' '\)"):
        names_in(' ', '--methods')
