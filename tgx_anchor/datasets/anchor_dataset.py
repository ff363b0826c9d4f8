"""Loads the thirteen real datasets of the paper by name."""

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
from tgx_anchor.datasets.archive import extract_raw_files
from tgx_anchor.datasets.catalog import CatalogEntry, resolve_setting
from tgx_anchor.datasets.download import RemoteFile, copy_file, download_file
from tgx_anchor.datasets.location import (
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
from tgx_anchor.utils.messages import one_line

_NODE_SEED = 0


class AnchorDataset(InMemoryDataset):
    r"""Real-world group interactions from the `"Identifying Group Anchors in
    Real-World Group Interactions Under Label Scarcity"
    <https://arxiv.org/abs/2509.20762>`_ paper.

    Each dataset is one :class:`~tgx_anchor.data.AnchorData` with :obj:`y`,
    :obj:`role` (named by :obj:`roles`), :obj:`node_id` and :obj:`hyperedge_id`, and
    the name of the dataset as :obj:`source`.
    A hyperedge is a set: a member listed twice counts once, with the role of the
    anchor if any of its listings has it. Repeated groups are kept.

    The raw files give the anchor away by the order of the members in a line, and often
    by the numbers of the nodes. Here, members are sorted by node, and nodes are
    numbered in a fixed random order.

    Raw files are taken from :obj:`root`, else from the folder that the environment
    variable :obj:`TGX_ANCHOR_MIRROR` names, else from their published address.

    .. code-block:: python

        dataset = AnchorDataset('coDB', anchor='last')   # or AnchorDataset('coDB_last')
        data = dataset[0]

    Args:
        name (str): The name of the dataset (:obj:`"coAA"`, :obj:`"coDB"`,
            :obj:`"coSM"`, :obj:`"qaBI"`, :obj:`"qaPH"`, :obj:`"qaMA"`,
            :obj:`"qaST"`, :obj:`"emEN"`, :obj:`"emEU"`, :obj:`"emER"`,
            :obj:`"soME"`, :obj:`"soRE"`, :obj:`"moML"`); :obj:`"coDB_last"` is short
            for :obj:`anchor="last"`.
        root (str, optional): The folder to keep datasets in. If :obj:`None`, the cache
            folder of PyG. (default: :obj:`None`)
        anchor (str, optional): The author who is the anchor of a publication:
            :obj:`"first"`, :obj:`"last"`, or :obj:`"first_second"` for two anchors.
            Only the co-authorship datasets need it. (default: :obj:`None`)
        transform (callable, optional): A function that takes the data on every
            access and returns a transformed version. (default: :obj:`None`)
        pre_transform (callable, optional): As :obj:`transform`, but applied once,
            before the data is saved. (default: :obj:`None`)
        pre_filter (callable, optional): A function that takes the data and returns
            whether to keep it, before :obj:`pre_transform`. As a dataset has one data
            object, an error is raised if it is not kept. (default: :obj:`None`)
        force_reload (bool, optional): Whether to process the raw files again.
            (default: :obj:`False`)
        progress (bool, optional): Whether downloads show a progress bar.
            (default: :obj:`True`)

    **STATS:**

    .. list-table::
        :header-rows: 1

        * - Name
          - #nodes
          - #hyperedges
          - #distinct
          - sizes
          - mean size
        * - coAA
          - 1,712,433
          - 2,037,605
          - 1,454,250
          - 1-115
          - 2.55
        * - coDB
          - 108,476
          - 91,260
          - 81,601
          - 2-36
          - 3.52
        * - coSM
          - 1,673
          - 937
          - 842
          - 1-27
          - 3.09
        * - qaBI
          - 15,418
          - 26,290
          - 23,242
          - 1-12
          - 2.08
        * - qaPH
          - 80,434
          - 194,575
          - 169,274
          - 1-40
          - 2.38
        * - qaMA
          - 410
          - 154
          - 154
          - 2-57
          - 4.27
        * - qaST
          - 22,131
          - 4,716
          - 4,713
          - 1-59
          - 5.79
        * - emEN
          - 21,251
          - 101,124
          - 34,916
          - 2-883
          - 11.53
        * - emEU
          - 986
          - 209,508
          - 24,520
          - 2-40
          - 2.56
        * - emER
          - 110
          - 9,603
          - 1,169
          - 2-29
          - 2.47
        * - soME
          - 26,059
          - 34,577
          - 22,700
          - 2-14
          - 2.58
        * - soRE
          - 30,073
          - 88,148
          - 49,828
          - 2-2
          - 2.00
        * - moML
          - 73,155
          - 43,058
          - 42,497
          - 1-5
          - 4.70
    """

    def __init__(
        self,
        name: str,
        root: str | Path | None = None,
        anchor: str | None = None,
        transform: Callable[[AnchorData], AnchorData] | None = None,
        pre_transform: Callable[[AnchorData], AnchorData] | None = None,
        pre_filter: Callable[[AnchorData], bool] | None = None,
        force_reload: bool = False,
        progress: bool = True,
    ) -> None:
        self.entry, self.anchor = resolve_setting(name, anchor)
        self.name = self.entry.name
        self.progress = progress
        folder = dataset_root(root) / self.name
        processed = folder / 'processed' / self.anchor / self.processed_file_names[0]
        ready = processed.exists() and not force_reload
        if not ready:
            folder.mkdir(parents=True, exist_ok=True)
        # A second process waits for the first instead of reading half a file.
        with nullcontext() if ready else FileLock(folder / '.lock'):
            super().__init__(
                str(folder),
                transform,
                pre_transform,
                pre_filter,
                force_reload=force_reload,
            )
        try:
            self.load(str(processed), data_cls=AnchorData)
        except Exception as error:  # a cut or foreign file raises errors of all kinds
            raise ValueError(
                f"'{processed}' cannot be read ({one_line(error)}): delete it, or pass "
                'force_reload=True, to make it again from the raw files'
            ) from error
        # Also where an older version, or a 'pre_transform', left it out.
        if isinstance(self._data, AnchorData):
            self._data.source = self.name

    @property
    def roles(self) -> list[str]:
        r"""The names of the roles, in the order of their numbers."""
        return list(self.entry.roles)

    @property
    def raw_file_names(self) -> list[str]:
        r"""The raw files, in :obj:`raw_dir`."""
        return raw_names(self.entry, Path(self.raw_dir))

    @property
    def processed_dir(self) -> str:
        r"""The folder of the processed file, one for each kind of anchor, since PyG
        records one :obj:`pre_transform` per folder.
        """
        return str(Path(self.root) / 'processed' / self.anchor)

    @property
    def processed_file_names(self) -> list[str]:
        r"""The processed file, in :obj:`processed_dir`."""
        return ['data.pt']

    @property
    def has_download(self) -> bool:
        r"""Whether raw files are needed, as long as there is no processed file."""
        return self.force_reload or not Path(self.processed_paths[0]).exists()

    def download(self) -> None:
        r"""Copies the raw files from the mirror, or downloads them."""
        raw_dir = Path(self.raw_dir)
        if self._copy_from_mirror(raw_dir):
            return
        archive = raw_dir / Path(self.entry.files[0].path).name
        is_own = archive.exists()
        try:
            for file in self.entry.files:
                target = raw_dir / Path(file.path).name
                download_file(file, target, progress=self.progress)
        except (ConnectionError, ValueError) as error:
            names = ', '.join(raw_names(self.entry, raw_dir))
            raise type(error)(
                f"{error}: put {names} into '{raw_dir}', or into '{self.entry.folder}' "
                f'below a folder that the environment variable {MIRROR_VARIABLE} names'
            ) from error
        if self.entry.is_archive:
            try:
                extract_raw_files(archive, raw_dir)
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

    def process(self) -> None:
        r"""Turns the raw files into one data object and checks its counts."""
        entry, paths = self.entry, [Path(path) for path in self.raw_paths]
        if entry.layout == 'lines':
            table = read_labelled_lines(paths[0], paths[1], len(entry.roles))
        elif len(paths) == 1:
            table = read_annotated_json(paths[0], entry.roles)
        else:
            table = read_annotated_csv(paths[0], paths[1], paths[2], entry.roles)
        data = build_anchor_data(table, entry, self.anchor)
        check_counts(data, entry)
        if self.pre_filter is not None and not self.pre_filter(data):
            raise ValueError(
                f"'pre_filter' must keep the only data object of {self.name!r}"
            )
        if self.pre_transform is not None:
            data = self.pre_transform(data)
        with replace_file(Path(self.processed_paths[0])) as part:
            self.save([data], str(part))

    def __repr__(self) -> str:
        anchor = f', anchor={self.anchor!r}' if len(self.entry.anchors) > 1 else ''
        return f'{self.__class__.__name__}({self.name!r}{anchor})'


def build_anchor_data(table: RoleTable, entry: CatalogEntry, anchor: str) -> AnchorData:
    r"""Builds a hypergraph from a table of roles; each hyperedge becomes a set.

    Args:
        table (RoleTable): The raw members and their roles.
        entry (CatalogEntry): The row of the catalogue, with the groups to keep.
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
    if table.hyperedge_time is not None:
        data.hyperedge_time = torch.from_numpy(table.hyperedge_time)
    return data.sort(sort_by_row=True).hyperedge_subgraph(kept, relabel_nodes=True)


def _vocabulary(ids: NDArray[np.generic]) -> Tensor | list[str]:
    return torch.from_numpy(ids) if ids.dtype.kind == 'i' else ids.tolist()


def check_counts(data: AnchorData, entry: CatalogEntry) -> None:
    r"""Compares a hypergraph with the published counts of its dataset.

    Raises a :class:`ValueError` that names the differences, or only warns if the
    reader of these raw files was never checked (:obj:`entry.checked`).
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
    warnings.warn(
        f'{message}; its raw files were not at hand when their reader was written',
        UserWarning,
        stacklevel=2,
    )
