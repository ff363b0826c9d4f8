from pathlib import Path

import pytest

from tgx_site import pictures


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pictures, 'DOCS', tmp_path)
    monkeypatch.setattr(pictures, 'FOLDER', tmp_path / 'drawn')
    return tmp_path / 'drawn'


@pytest.mark.parametrize('name', pictures.PICTURES)
def test_light_and_dark(name: str, folder: Path) -> None:
    text = pictures.picture(name, 'words')
    drawn = {theme: folder / f'{name}-{theme}.svg' for theme in ('light', 'dark')}
    for theme, path in drawn.items():
        assert f'/drawn/{path.name}' in text
        assert f':class: picture only-{theme}' in text
        assert '<svg' in path.read_text(encoding='utf-8')
    assert text.count(':alt: words') == 2
    light, dark = (path.read_text(encoding='utf-8') for path in drawn.values())
    words = [theme.text for theme in pictures.THEMES]
    assert words[0] in light
    assert words[1] in dark
    assert words[0] not in dark


def test_wide_and_narrow() -> None:
    text = pictures.picture(['walk', 'walk_narrow'], 'words')
    assert text.count('only-wide') == text.count('only-narrow') == 2


def test_card(folder: Path) -> None:
    text = pictures.card('plot', 'words', lambda path: path.write_text('<svg/>'))
    assert (folder / 'plot.svg').exists()
    assert ':class: card' in text


def test_measured_figures() -> None:
    found = pictures.measured('methods', 'Degree', 'accuracy', 100)
    assert 70 < found['qaBI'] < 80
    assert pictures.measured('methods', 'bogus', 'accuracy') == {}


def test_groups_have_their_anchor_among_their_members() -> None:
    for group in pictures.GROUPS:
        assert len(set(group)) == len(group)
        assert max(group) < len(pictures.PEOPLE)
