"""People in the headers of e-mails, by their addresses."""

import re

_ADDRESS = re.compile(r'[^\s<>,;:"\'()\[\]]+@[^\s<>,;:"\'()\[\]]+')


def to_address(person: str) -> str:
    r"""Returns the e-mail address of a person in lower case, or the name if there is
    none: :obj:`"ann@x.org"` for :obj:`"Ann Lee <Ann@x.org>"`.

    Args:
        person (str): The person as in the header of an e-mail.
    """
    found = _ADDRESS.search(person)
    return person.strip('"\' ') if found is None else found[0].lower().strip('.')


def split_people(cell: str, separator: str | None = None) -> list[str]:
    r"""Splits a list of people, but not within quotes: :obj:`"Lee, Ann"` is one person.

    Args:
        cell (str): The list.
        separator (str, optional): The separator. If :obj:`None`, comma and semicolon.
            (default: :obj:`None`)
    """
    marks = re.escape(',;' if separator is None else separator)
    return re.findall(rf'(?:"[^"]*"|[^{marks}"]|")+', cell)
