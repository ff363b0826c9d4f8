from pathlib import Path

import pytest

from tgx_anchor.benchmark import PaperFigures

TABLE = 'method,emER,coDB_last\nHGNN,61.2±1.0,44\nDegree,,45.5\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    out = tmp_path / 'reference'
    out.mkdir()
    (out / 'accuracy.csv').write_text(TABLE, encoding='utf-8')
    return out


def test_cells(folder: Path) -> None:
    paper = PaperFigures(folder)
    assert paper.cell('accuracy', 'HGNN', 'emER') == '61.2±1.0'
    assert paper.cell('accuracy', 'Degree', 'coDB_last') == '45.5'
    for table, method, setting in (
        ('mrr', 'HGNN', 'emER'),
        ('accuracy', 'HNN', 'emER'),
        ('accuracy', 'HGNN', 'qaBI'),
        ('accuracy', 'Degree', 'emER'),
    ):
        assert paper.cell(table, method, setting) == ''


def test_beside_the_mirror(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TGX_ANCHOR_MIRROR', str(folder.parent / 'data'))
    assert PaperFigures().cell('accuracy', 'HGNN', 'coDB_last') == '44'
    monkeypatch.delenv('TGX_ANCHOR_MIRROR')
    assert PaperFigures().cell('accuracy', 'HGNN', 'coDB_last') == ''
