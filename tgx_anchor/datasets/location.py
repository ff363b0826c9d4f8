"""Finds the raw files of a dataset: in its folder, in a mirror, or on the web."""

import os
from pathlib import Path, PurePath

from torch_geometric import get_home_dir

from tgx_anchor.datasets.catalog import CatalogEntry

MIRROR_VARIABLE = 'TGX_ANCHOR_MIRROR'
LINE_NAMES = ['hypergraph.txt', 'hypergraph_pos.txt']
CSV_NAMES = ['incidence.csv', 'roles.csv', 'edges.csv']
JSON_NAME = 'hypergraph_annotated.json'


def raw_names(entry: CatalogEntry, folder: Path) -> list[str]:
    r"""Returns the names of the raw files of a dataset. An annotated hypergraph has
    one JSON file if that is in :obj:`folder`, and three tables otherwise.
    """
    if entry.layout == 'lines':
        return LINE_NAMES
    return [JSON_NAME] if (folder / JSON_NAME).exists() else CSV_NAMES


def dataset_root(root: str | Path | None = None) -> Path:
    r"""Returns the folder that holds one folder per dataset."""
    if root is None:
        return Path(get_home_dir()) / 'tgx_anchor'
    return Path(root).expanduser()


def mirrored_files(entry: CatalogEntry) -> list[Path]:
    r"""Lists the raw files of a dataset in the mirror: all of them, or none."""
    if MIRROR_VARIABLE not in os.environ:
        return []
    mirror = Path(os.environ[MIRROR_VARIABLE])
    if not mirror.is_dir():
        raise ValueError(f"'{MIRROR_VARIABLE}' must name a folder (got '{mirror}')")
    folder = mirror / entry.folder
    names = LINE_NAMES if entry.layout == 'lines' else CSV_NAMES
    candidates = [[folder / name for name in names]]
    if entry.layout == 'annotated':
        candidates.append([folder.with_name(f'{entry.source}_{JSON_NAME}')])
    return next((c for c in candidates if all(path.is_file() for path in c)), [])


def dataset_status(entry: CatalogEntry, root: str | Path | None = None) -> str:
    r"""Returns the nearest place of the raw files: :obj:`"present"`,
    :obj:`"in mirror"`, :obj:`"downloadable"`, or :obj:`"shared drive"` if they are
    published on such a drive, which may refuse the download and has no checksums.
    """
    folder = dataset_root(root) / entry.name / 'raw'
    if all((folder / name).exists() for name in raw_names(entry, folder)):
        return 'present'
    if mirrored_files(entry):
        return 'in mirror'
    return 'shared drive' if entry.is_archive else 'downloadable'


def canonical_name(path: PurePath) -> str:
    r"""Returns the name that a published or mirrored file gets in :obj:`raw_dir`."""
    return JSON_NAME if path.name.endswith(JSON_NAME) else path.name
