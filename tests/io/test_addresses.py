import pytest

from tgx_anchor.io.addresses import split_people, to_address


@pytest.mark.parametrize(
    ('person', 'expected'),
    [
        ('Ann Lee <Ann@x.org>', 'ann@x.org'),
        ('ann@x.org.', 'ann@x.org'),
        ('"Lee, Ann"', 'Lee, Ann'),
    ],
)
def test_address(person: str, expected: str) -> None:
    assert to_address(person) == expected


def test_quotes_are_not_split() -> None:
    people = split_people('"Lee, Ann" <a@x.org>, b@x.org;c')
    assert people == ['"Lee, Ann" <a@x.org>', ' b@x.org', 'c']
    assert split_people('a,b|c', '|') == ['a,b', 'c']
