"""The Python code on the pages of the documentation runs, page by page."""

import re
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / 'docs'
PAGES = sorted(
    path for part in ('start', 'how_to') for path in (FOLDER / part).glob('*.md')
)
# Code that needs real data is marked by a word after the language.
BLOCK = re.compile(r'^```python(?: (mirror))?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r'^print\(.*\) +# (.+)$', re.MULTILINE)


def blocks(path: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(path.read_text(encoding='utf-8'))


def run(path: Path, mark: str, capsys: pytest.CaptureFixture[str]) -> None:
    scope: dict[str, Any] = {'__name__': 'page'}
    for word, code in blocks(path):
        if word == mark:
            exec(compile(code, str(path), 'exec'), scope)  # noqa: S102
            said = capsys.readouterr().out
            for expected in PRINTED.findall(code):
                assert expected in said


@pytest.mark.parametrize('path', PAGES, ids=lambda path: path.stem)
def test_code_runs(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    run(path, '', capsys)


@pytest.mark.mirror
def test_code_on_real_data_runs(
    mirror: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    run(FOLDER / 'start' / 'datasets.md', 'mirror', capsys)


def test_there_is_code() -> None:
    assert sum(len(blocks(path)) for path in PAGES) > 10
    printed = [
        line
        for path in PAGES
        for _, code in blocks(path)
        for line in PRINTED.findall(code)
    ]
    assert len(printed) >= 2


def test_every_extra_is_named() -> None:
    setup = (FOLDER.parent / 'setup.py').read_text(encoding='utf-8')
    extras = re.findall(r"EXTRAS\['(\w+)'\] = |^    '(\w+)': ", setup, re.MULTILINE)
    page = (FOLDER / 'start' / 'get_started.md').read_text(encoding='utf-8')
    for names in extras:
        assert f'`[{"".join(names)}]`' in page
