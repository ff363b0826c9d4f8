import re
from pathlib import Path

import jinja2
import pytest

from tgx_site import exports, pages

FOLDER = Path(__file__).parents[2] / 'docs'
SOURCES = [
    path
    for path in FOLDER.rglob('*')
    if path.suffix in ('.md', '.rst') and '_build' not in path.parts
]


def test_calls_are_replaced() -> None:
    text = pages.fill("{{ dataset_table() }}\n{{ '{' }}\n")
    assert '| emEU |' in text
    assert text.endswith('\n{\n')
    with pytest.raises(jinja2.UndefinedError):
        pages.fill('{{ bogus() }}')


@pytest.mark.parametrize('room', exports.rooms())
def test_every_room_has_a_page(room: str) -> None:
    call = f"{{{{ reference('{room}') }}}}"
    found = [path for path in SOURCES if call in path.read_text(encoding='utf-8')]
    assert len(found) == 1


def test_all_functions_are_used() -> None:
    text = '\n'.join(path.read_text(encoding='utf-8') for path in SOURCES)
    used = set(re.findall(r'\{\{ (\w+)\(', text))
    assert used == set(pages.FUNCTIONS)
