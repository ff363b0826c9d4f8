"""Where the raw files of a dataset are, or could be had."""

import os
from pathlib import Path

from torch_geometric import get_home_dir

from tgx_anchor.datasets.catalog import CatalogEntry

MIRROR_VARIABLE = 'TGX_ANCHOR_MIRROR'
LINE_NAMES = ['hypergraph.txt', 'hypergraph_pos.txt']
CSV_NAMES = ['incidence.csv', 'roles.csv', 'edges.csv']
JSON_NAME = 'hypergraph_annotated.json'


def raw_names(entry: CatalogEntry, folder: Path) -> list[str]:
    r"""The names of the raw files of a dataset. An annotated hypergraph has the one
    JSON file if that is in :obj:`folder`, else the three tables.
    """
    if entry.layout == 'lines':
        return LINE_NAMES
    return [JSON_NAME] if (folder / JSON_NAME).exists() else CSV_NAMES


def dataset_root(root: str | Path | None = None) -> Path:
    r"""The folder below which all datasets are kept."""
    if root is None:
        return Path(get_home_dir()) / 'tgx_anchor'
    return Path(root).expanduser()


def mirrored_files(entry: CatalogEntry) -> list[Path]:
    r"""The raw files of a dataset in the mirror, or none if it lacks any of them."""
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
    r"""Where the dataset can be had from: :obj:`"present"`, :obj:`"in mirror"`,
    :obj:`"downloadable"`, or :obj:`"shared drive"` if the published address is one,
    which may refuse and has no checksums, so that a mirror may be needed.
    """
    folder = dataset_root(root) / entry.name / 'raw'
    if all((folder / name).exists() for name in raw_names(entry, folder)):
        return 'present'
    if mirrored_files(entry):
        return 'in mirror'
    return 'shared drive' if entry.is_archive else 'downloadable'


def canonical_name(path: Path) -> str:
    r"""The name of a raw file in :obj:`raw_dir`, whatever it was called before."""
    return JSON_NAME if path.name.endswith(JSON_NAME) else path.name
