from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.benchmarks.scripts import load_script


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    with load_script('fill_readme') as module:
        yield module


def test_fills_the_first_table_of_a_section(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / 'benchmarks'
    folder.mkdir()
    (folder / 'a.md').write_text(
        '# A\n\n## One\n\n| x |\n\n## Two\n\ntext\n\n| y |\n| --- |\n| 1 |\n\n| z |\n'
    )
    monkeypatch.setattr(script, 'ROOT', tmp_path)
    text = 'before\n<!-- benchmarks/a.md: Two -->\nold\n<!-- end -->\nafter\n'
    filled = script.fill(text)
    assert filled == (
        'before\n<!-- benchmarks/a.md: Two -->\n| y |\n| --- |\n| 1 |\n<!-- end -->\n'
        'after\n'
    )
    assert script.fill(filled) == filled


def test_missing_section(script: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / 'a.md'
    path.write_text('## One\n')
    with pytest.raises(ValueError, match=r"'a\.md' must have a section 'Two'"):
        script.first_table(path, 'Two')


def test_the_readme_is_filled(script: ModuleType) -> None:
    text = script.README.read_text(encoding='utf-8')
    assert len(script.PART.findall(text)) == 2
    assert script.fill(text) == text
