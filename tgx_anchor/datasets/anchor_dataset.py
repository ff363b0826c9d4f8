"""The thirteen real datasets of the paper, by name."""

import tempfile
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import InMemoryDataset
from torch_geometric.utils import scatter

from tgx_anchor.data import AnchorData
from tgx_anchor.datasets.catalog import CatalogEntry, resolve_setting
from tgx_anchor.datasets.download import (
    RemoteFile,
    copy_file,
    download_file,
    extract_archive,
)
from tgx_anchor.datasets.location import (
    CSV_NAMES,
    JSON_NAME,
    MIRROR_VARIABLE,
    canonical_name,
    dataset_root,
    mirrored_files,
    raw_names,
)
from tgx_anchor.io import (
    RoleTable,
    read_annotated_csv,
    read_annotated_json,
    read_labelled_lines,
)
from tgx_anchor.io.files import replace_file
from tgx_anchor.utils import collapse_incidences, distinct_hyperedges, group_rank

_NODE_SEED = 0


class AnchorDataset(InMemoryDataset):
    r"""The real-world group interactions of the `"Identifying Group Anchors in
    Real-World Group Interactions Under Label Scarcity"
    <https://arxiv.org/abs/2509.20762>`_ paper.

    Each dataset is one :class:`~tgx_anchor.data.AnchorData` with :obj:`y`,
    :obj:`role` (named by :obj:`roles`), :obj:`node_id` and :obj:`hyperedge_id`, and
    the name of the dataset as :obj:`source`.
    A hyperedge is a set: a member listed twice counts once, with the role of the
    anchor if any of its listings has it. Repeated groups are kept.

    Raw files reveal the anchor by the order inside a line, and often by the order in
    which members are numbered: members are sorted by node here, and nodes are
    numbered in a fixed random order.

    Raw files are looked for in :obj:`root`, then below the folder that the
    environment variable :obj:`TGX_ANCHOR_MIRROR` names, and at last at their
    published address.

    .. code-block:: python

        dataset = AnchorDataset('coDB', anchor='last')   # or AnchorDataset('coDB_last')
        data = dataset[0]

    Args:
        name (str): The name of the dataset (:obj:`"coAA"`, :obj:`"coDB"`,
            :obj:`"coSM"`, :obj:`"qaBI"`, :obj:`"qaPH"`, :obj:`"qaMA"`,
            :obj:`"qaST"`, :obj:`"emEN"`, :obj:`"emEU"`, :obj:`"emER"`,
            :obj:`"soME"`, :obj:`"soRE"`, :obj:`"moML"`); :obj:`"coDB_last"` is short
            for :obj:`anchor="last"`.
        root (str, optional): Where the dataset is kept, the cache folder of PyG if
            :obj:`None`. (default: :obj:`None`)
        anchor (str, optional): Who the anchor of a publication is, :obj:`"first"`,
            :obj:`"last"`, or both of :obj:`"first_second"`; required for the
            co-authorship datasets only. (default: :obj:`None`)
        transform (callable, optional): A function that takes the data on every
            access and returns a transformed version. (default: :obj:`None`)
        pre_transform (callable, optional): As :obj:`transform`, but applied once,
            before the data is saved. (default: :obj:`None`)
        force_reload (bool, optional): Whether to process the raw files again.
            (default: :obj:`False`)
        progress (bool, optional): Whether downloads show a progress bar.
            (default: :obj:`True`)
    """

    def __init__(
        self,
        name: str,
        root: str | Path | None = None,
        anchor: str | None = None,
        transform: Callable[[AnchorData], AnchorData] | None = None,
        pre_transform: Callable[[AnchorData], AnchorData] | None = None,
        force_reload: bool = False,
        progress: bool = True,
    ) -> None:
        self.entry, self.anchor = resolve_setting(name, anchor)
        self.name = self.entry.name
        self.progress = progress
        folder = dataset_root(root) / self.name
        processed = folder / 'processed' / self.anchor / self.processed_file_names[0]
        ready = processed.exists()
        if not ready or force_reload:
            folder.mkdir(parents=True, exist_ok=True)
        # A second process waits for the first instead of reading half a file.
        with nullcontext() if ready else FileLock(folder / '.lock'):
            super().__init__(
                str(folder), transform, pre_transform, force_reload=force_reload
            )
        self.load(self.processed_paths[0], data_cls=AnchorData)
        # Also where an older version, or a 'pre_transform', left it out.
        if isinstance(self._data, AnchorData):
            self._data.source = self.name

    @property
    def roles(self) -> tuple[str, ...]:
        r"""The names of the roles, in the order of their numbers."""
        return self.entry.roles

    @property
    def raw_file_names(self) -> list[str]:
        r"""The raw files, in :obj:`raw_dir`."""
        return raw_names(self.entry, Path(self.raw_dir))

    @property
    def processed_dir(self) -> str:
        r"""The folder of the processed file: one for each kind of anchor, as PyG notes
        one :obj:`pre_transform` per folder.
        """
        return str(Path(self.root) / 'processed' / self.anchor)

    @property
    def processed_file_names(self) -> list[str]:
        r"""The processed file, in :obj:`processed_dir`."""
        return ['data.pt']

    @property
    def has_download(self) -> bool:
        r"""Whether raw files are needed, which they are only to be processed."""
        return self.force_reload or not Path(self.processed_paths[0]).exists()

    def download(self) -> None:
        r"""Brings the raw files to :obj:`raw_dir`, from the mirror or the web."""
        raw_dir = Path(self.raw_dir)
        if self._copy_from_mirror(raw_dir):
            return
        archive = raw_dir / Path(self.entry.files[0].path).name
        is_own = archive.exists()
        try:
            for file in self.entry.files:
                target = raw_dir / Path(file.path).name
                download_file(file, target, progress=self.progress)
        except ConnectionError as error:
            raise ConnectionError(
                f'{error}; without internet, put the raw files of {self.name!r} into '
                f"'{raw_dir}', or set {MIRROR_VARIABLE} to a folder that holds "
                f"'{self.entry.folder}'"
            ) from error
        if self.entry.is_archive:
            try:
                self._unpack(archive, raw_dir)
            finally:
                # Without a checksum, a later call could not tell a bad archive.
                if not is_own:
                    archive.unlink()

    def _copy_from_mirror(self, raw_dir: Path) -> bool:
        source = mirrored_files(self.entry)
        published = {Path(file.path).name: file for file in self.entry.files}
        for path in source:
            target = raw_dir / canonical_name(path)
            file = published.get(path.name, RemoteFile(path.name, path.as_uri()))
            copy_file(file, path, target)
        return bool(source)

    def _unpack(self, archive: Path, raw_dir: Path) -> None:
        with tempfile.TemporaryDirectory(dir=raw_dir) as scratch:
            members = {
                canonical_name(path): path
                for path in extract_archive(archive, Path(scratch) / 'content')
                if not path.name.startswith('.')
            }
            names = next(
                (
                    names
                    for names in (CSV_NAMES, [JSON_NAME])
                    if all(name in members for name in names)
                ),
                None,
            )
            if names is None:
                raise ValueError(
                    f"'{archive.name}' must hold {', '.join(CSV_NAMES)} or a file "
                    f"'*{JSON_NAME}' (got {', '.join(sorted(members)) or 'none'})"
                )
            for name in names:
                members[name].replace(raw_dir / name)

    def process(self) -> None:
        r"""Turns the raw files into one data object, and checks its counts."""
        entry, paths = self.entry, [Path(path) for path in self.raw_paths]
        if entry.layout == 'lines':
            table = read_labelled_lines(paths[0], paths[1], len(entry.roles))
        elif len(paths) == 1:
            table = read_annotated_json(paths[0], entry.roles)
        else:
            table = read_annotated_csv(paths[0], paths[1], paths[2], entry.roles)
        data = build_anchor_data(table, entry, self.anchor)
        check_counts(data, entry)
        if self.pre_transform is not None:
            data = self.pre_transform(data)
        with replace_file(Path(self.processed_paths[0])) as part:
            self.save([data], str(part))

    def __repr__(self) -> str:
        anchor = f', anchor={self.anchor!r}' if len(self.entry.anchors) > 1 else ''
        return f'{self.__class__.__name__}({self.name!r}{anchor})'


def build_anchor_data(table: RoleTable, entry: CatalogEntry, anchor: str) -> AnchorData:
    r"""The hypergraph of sets that a table of roles describes.

    Args:
        table (RoleTable): The raw members and their roles.
        entry (CatalogEntry): The row of the catalogue, which says what to keep.
        anchor (str): The kind of anchor, a key of :obj:`entry.anchors`.
    """
    anchor_role = entry.roles.index(entry.anchors[anchor])
    node_id, number = np.unique(table.node, return_inverse=True)
    num_hyperedges = len(table.hyperedge_id)
    raw = torch.stack([torch.from_numpy(number), torch.from_numpy(table.hyperedge)])
    role = torch.from_numpy(table.role)
    is_anchor = role == anchor_role
    index, place = collapse_incidences(raw, len(node_id))
    num_incidences = index.size(1)

    # The anchor role wins over all others, then the one of the lowest number.
    merged = scatter(torch.where(is_anchor, -1, role), place, 0, num_incidences, 'min')
    merged = torch.where(merged < 0, anchor_role, merged)
    y = merged == anchor_role
    if anchor == 'first_second':
        order = torch.arange(raw.size(1))
        first = scatter(-order, place, 0, num_incidences, 'max')
        y = group_rank(first, index[1], num_hyperedges) < 2

    size = torch.bincount(index[1], minlength=num_hyperedges)
    kept = size >= entry.min_size
    if entry.keep == 'distinct':
        kept &= size == torch.bincount(raw[1], minlength=num_hyperedges)
    elif entry.keep == 'anchored':
        kept &= torch.bincount(raw[1][is_anchor], minlength=num_hyperedges) == 1

    generator = torch.Generator().manual_seed(_NODE_SEED)
    shuffle = torch.randperm(len(node_id), generator=generator)
    data = AnchorData(
        hyperedge_index=torch.stack([shuffle[index[0]], index[1]]),
        num_nodes=len(node_id),
        num_hyperedges=num_hyperedges,
        y=y,
        role=merged,
        node_id=_vocabulary(node_id[np.argsort(shuffle.numpy())]),
        hyperedge_id=_vocabulary(table.hyperedge_id),
        role_names=entry.roles,
        source=entry.name,
    )
    return data.sort(sort_by_row=True).hyperedge_subgraph(kept, relabel_nodes=True)


def _vocabulary(ids: NDArray[np.generic]) -> Tensor | list[str]:
    return torch.from_numpy(ids) if ids.dtype.kind == 'i' else ids.tolist()


def check_counts(data: AnchorData, entry: CatalogEntry) -> None:
    r"""Compares a hypergraph with the published counts of its dataset: raises a
    :class:`ValueError` that names the differences, or only warns if our reading of the
    raw files could never be checked.
    """
    size = data.hyperedge_size
    number = distinct_hyperedges(
        data.hyperedge_index, int(data.num_nodes or 0), data.num_hyperedges
    )
    found = {
        'num_nodes': data.num_nodes,
        'num_hyperedges': data.num_hyperedges,
        'num_distinct': int(number.max()) + 1 if number.numel() > 0 else 0,
        'min_size': int(size.min()) if size.numel() > 0 else 0,
        'max_size': int(size.max()) if size.numel() > 0 else 0,
        'mean_size': round(data.num_incidences / max(data.num_hyperedges, 1), 2),
    }
    wrong = [
        f'{key} {getattr(entry, key)} (got {value})'
        for key, value in found.items()
        if value != getattr(entry, key)
    ]
    if not wrong:
        return
    message = f'{entry.name!r} must have the published {", ".join(wrong)}'
    if entry.checked:
        raise ValueError(message)
    warnings.warn(f'{message}; the paper leaves open how', UserWarning, stacklevel=2)
