"""The places in which raw files are looked for."""

from pathlib import Path

import pytest
import torch_geometric.home

from tgx_anchor.datasets import CATALOG, dataset_status
from tgx_anchor.datasets.location import (
    CSV_NAMES,
    JSON_NAME,
    LINE_NAMES,
    MIRROR_VARIABLE,
    canonical_name,
    dataset_root,
    mirrored_files,
    raw_names,
)


@pytest.fixture(autouse=True)
def no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)


def touch(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()


def test_default_root_is_in_the_home_of_pyg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_geometric.home, '_home_dir', None)
    monkeypatch.setenv('PYG_HOME', str(tmp_path / 'env'))
    assert dataset_root() == tmp_path / 'env' / 'tgx_anchor'
    torch_geometric.home.set_home_dir(str(tmp_path / 'set'))
    assert dataset_root() == tmp_path / 'set' / 'tgx_anchor'
    assert dataset_root(tmp_path) == dataset_root(str(tmp_path)) == tmp_path


def test_root_may_start_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('HOME', str(tmp_path))
    assert dataset_root('~/data') == tmp_path / 'data'


def test_raw_names(tmp_path: Path) -> None:
    assert raw_names(CATALOG['coDB'], tmp_path) == LINE_NAMES
    assert raw_names(CATALOG['emER'], tmp_path) == CSV_NAMES
    touch(tmp_path, JSON_NAME)
    assert raw_names(CATALOG['coDB'], tmp_path) == LINE_NAMES
    assert raw_names(CATALOG['emER'], tmp_path) == [JSON_NAME]


@pytest.mark.parametrize(
    ('path', 'name'),
    [
        ('a/enron_hypergraph_annotated.json', JSON_NAME),
        ('hypergraph_annotated.json', JSON_NAME),
        ('a/incidence.csv', 'incidence.csv'),
        ('a/hypergraph_annotated.json.bak', 'hypergraph_annotated.json.bak'),
    ],
)
def test_canonical_name(path: str, name: str) -> None:
    assert canonical_name(Path(path)) == name


def test_mirror_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = CATALOG['qaBI']
    assert mirrored_files(entry) == []
    monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path))
    assert mirrored_files(entry) == []
    folder = tmp_path / 'edge_dependent_node_classification/StackOverflowBiology'
    touch(folder, 'hypergraph.txt')
    assert mirrored_files(entry) == []
    touch(folder, 'hypergraph_pos.txt')
    assert mirrored_files(entry) == [
        folder / 'hypergraph.txt',
        folder / 'hypergraph_pos.txt',
    ]
    assert mirrored_files(CATALOG['qaPH']) == []


def test_mirror_of_annotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = CATALOG['soME']
    monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path))
    folder = tmp_path / 'annotated_hypergraphs'
    touch(folder / 'twitter', 'incidence.csv', 'roles.csv')
    assert mirrored_files(entry) == []
    records = folder / 'twitter_hypergraph_annotated.json'
    touch(folder, records.name)
    assert mirrored_files(entry) == mirrored_files(CATALOG['soRE']) == [records]
    touch(folder / 'twitter', 'edges.csv')
    assert mirrored_files(entry) == [folder / 'twitter' / name for name in CSV_NAMES]
    # A folder of that name is not the file.
    records.unlink()
    (folder / 'twitter' / 'edges.csv').unlink()
    (folder / 'twitter' / 'edges.csv').mkdir()
    assert mirrored_files(entry) == []


@pytest.mark.parametrize('name', ['nowhere', 'file'])
def test_mirror_must_be_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    touch(tmp_path, 'file')
    monkeypatch.setenv(MIRROR_VARIABLE, str(tmp_path / name))
    with pytest.raises(ValueError, match='must name a folder') as caught:
        mirrored_files(CATALOG['emEU'])
    assert str(caught.value) == (
        f"'TGX_ANCHOR_MIRROR' must name a folder (got '{tmp_path / name}')"
    )


def test_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, mirror = tmp_path / 'root', tmp_path / 'mirror'
    archives = [name for name, entry in CATALOG.items() if entry.is_archive]
    assert archives == ['coSM', 'qaMA', 'qaST', 'soME', 'soRE', 'moML']
    for name, entry in CATALOG.items():
        expected = 'shared drive' if name in archives else 'downloadable'
        assert dataset_status(entry, root) == expected

    monkeypatch.setenv(MIRROR_VARIABLE, str(mirror))
    touch(mirror / CATALOG['qaMA'].folder, *CSV_NAMES)
    touch(mirror / CATALOG['emEU'].folder, *LINE_NAMES)
    assert dataset_status(CATALOG['qaMA'], root) == 'in mirror'
    assert dataset_status(CATALOG['emEU'], root) == 'in mirror'
    assert dataset_status(CATALOG['qaST'], root) == 'shared drive'

    touch(root / 'emEU' / 'raw', LINE_NAMES[0])
    assert dataset_status(CATALOG['emEU'], root) == 'in mirror'
    touch(root / 'emEU' / 'raw', LINE_NAMES[1])
    assert dataset_status(CATALOG['emEU'], root) == 'present'
    touch(root / 'moML' / 'raw', JSON_NAME)
    assert dataset_status(CATALOG['moML'], str(root)) == 'present'


def test_status_in_the_default_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_geometric.home, '_home_dir', str(tmp_path))
    assert dataset_status(CATALOG['emEU']) == 'downloadable'
    touch(tmp_path / 'tgx_anchor' / 'emEU' / 'raw', *LINE_NAMES)
    assert dataset_status(CATALOG['emEU']) == 'present'
