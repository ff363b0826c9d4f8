"""The list of datasets."""

from pathlib import Path

import pytest

from tests.cli.command import Run
from tgx_anchor.datasets import CATALOG, catalog_table


def test_lists_all_thirteen_with_their_place(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('PYG_HOME', str(tmp_path / 'home'))
    monkeypatch.setattr('tgx_anchor.datasets.location.get_home_dir', lambda: tmp_path)
    raw = tmp_path / 'tgx_anchor' / 'qaBI' / 'raw'
    raw.mkdir(parents=True)
    for name in ('hypergraph.txt', 'hypergraph_pos.txt'):
        (raw / name).touch()
    mirror = tmp_path / 'mirror'
    enron = mirror / CATALOG['emER'].folder
    enron.mkdir(parents=True)
    for name in ('incidence.csv', 'roles.csv', 'edges.csv'):
        (enron / name).touch()
    monkeypatch.setenv('TGX_ANCHOR_MIRROR', str(mirror))
    code, out, _ = run('datasets')
    assert code == 0
    status = {
        line.split()[0]: ' '.join(line.split()[-2:])
        for line in out.splitlines()
        if line.split() and line.split()[0] in CATALOG
    }
    assert list(status) == list(CATALOG)
    assert status['qaBI'].endswith('present')
    assert status['emER'] == 'in mirror'
    assert status['coAA'].endswith('downloadable')
    assert status['moML'] == 'shared drive'
    assert '1,712,433 2,037,605 1,454,250 1-115 2.55' in out


def test_bad_mirror_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('TGX_ANCHOR_MIRROR', str(tmp_path / 'nowhere'))
    code, _, err = run('datasets')
    assert code == 2
    assert 'TGX_ANCHOR_MIRROR' in err
    assert err.count('\n') == 1


def test_markdown_is_the_catalogue(run: Run) -> None:
    code, out, _ = run('datasets', '--markdown')
    assert code == 0
    lines = [line.strip('| ').split(' | ') for line in out.splitlines()]
    assert [lines[0], *lines[2:]] == catalog_table()
