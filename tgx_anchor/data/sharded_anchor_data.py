"""Hypergraph in a folder of shards, read on demand."""

from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import torch
from numpy.typing import NDArray
from torch import Tensor

from tgx_anchor.data.anchor_data import AnchorData
from tgx_anchor.data.building import Ids
from tgx_anchor.data.plain_parquet import map_parquet
from tgx_anchor.data.rank_part import RankPart
from tgx_anchor.data.shard_columns import (
    check_distinct,
    check_numeric,
    check_order,
    check_range,
    check_rows,
    check_types,
    read_columns,
    shown_file,
    to_numbers,
)
from tgx_anchor.data.shard_manifest import Shard, ShardManifest
from tgx_anchor.utils import Ranks
from tgx_anchor.utils.mapped import mapped_empty
from tgx_anchor.utils.messages import listed, shorten


class ShardedAnchorData:
    r"""A hypergraph in a folder of shards, as :obj:`tgx-anchor shard` writes it. It
    may be larger than the memory: only the parts that are asked for are read.

    A shard holds whole groups. Nodes and groups are numbered across all shards, in
    the order of their first appearance in the table, whatever the number of shards:
    shard 0 has the first groups, shard 1 those that follow, and so on.

    On opening, the manifest is read, and files that are missing or truncated are
    reported. The checksums of a shard are verified before it is first read;
    :meth:`verify` does this for many at once. The format is described in
    :obj:`docs/shards.md`.

    .. code-block:: python

        shards = ShardedAnchorData('shards/')
        for i in range(shards.num_shards):
            data = shards.shard(i)

    Args:
        root (str or os.PathLike): The folder.
    """

    def __init__(self, root: str | PathLike[str]) -> None:
        self.root = Path(root)
        self.manifest = ShardManifest.read(self.root)
        self._verified: set[str] = set()
        self._parts: dict[tuple[int, int], AnchorData] = {}
        for i, shard in enumerate(self.manifest.shards):
            shard.incidences.check_size(self.root, f'shard {i}')
            shard.hyperedges.check_size(self.root, f'the file of groups of shard {i}')
        for i, file in enumerate(self.manifest.nodes):
            file.check_size(self.root, f'part {i} of the nodes')

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}({str(self.root)!r}, '
            f'num_nodes={self.num_nodes}, num_hyperedges={self.num_hyperedges}, '
            f'num_incidences={self.num_incidences}, num_shards={self.num_shards})'
        )

    @property
    def num_nodes(self) -> int:
        r"""The number of nodes :math:`N` of all shards."""
        return self.manifest.num_nodes

    @property
    def num_hyperedges(self) -> int:
        r"""The number of hyperedges :math:`M` of all shards."""
        return self.manifest.num_hyperedges

    @property
    def num_incidences(self) -> int:
        r"""The number of incidences :math:`P` of all shards."""
        return self.manifest.num_incidences

    @property
    def num_shards(self) -> int:
        r"""The number of shards."""
        return len(self.manifest.shards)

    # Checks ##################################################################

    @property
    def _is_foreign(self) -> bool:
        # Whether another program has written the shards, whose content may break the
        # rules of the format.
        return not self.manifest.settings

    def verify(self, shards: 'list[int] | range | None' = None) -> None:
        r"""Verifies the checksums of shards and of the nodes, and raises a
        :class:`ValueError` that names the first that is missing, truncated or changed.
        Files that passed once are not read again.

        Args:
            shards (list[int], optional): The shards, all if :obj:`None`.
                (default: :obj:`None`)
        """
        for i in range(self.num_shards) if shards is None else shards:
            self._verify_shard(i)
        self._verify_nodes()

    def _verify_shard(self, number: int) -> Shard:
        shard = self._get(number)
        for file, name in (
            (shard.incidences, f'shard {number}'),
            (shard.hyperedges, f'the file of groups of shard {number}'),
        ):
            if file.file not in self._verified:
                file.check_content(self.root, name)
                self._verified.add(file.file)
        return shard

    def _verify_nodes(self) -> None:
        for i, file in enumerate(self.manifest.nodes):
            if file.file not in self._verified:
                file.check_content(self.root, f'part {i} of the nodes')
                self._verified.add(file.file)

    def _get(self, number: int) -> Shard:
        is_number = isinstance(number, int) and not isinstance(number, bool)
        if not is_number or not 0 <= number < self.num_shards:
            raise ValueError(
                f'the number of a shard must lie in [0, {self.num_shards}) '
                f'(got {shorten(number)})'
            )
        return self.manifest.shards[number]

    # Shards ##################################################################

    def first_hyperedge(self, number: int) -> int:
        r"""Returns the number of the first hyperedge of a shard.

        Args:
            number (int): The number of the shard.
        """
        return self._get(number).first_hyperedge

    def incidences(self, number: int) -> dict[str, NDArray[Any]]:
        r"""Returns the columns of the incidences of a shard: :obj:`node` and
        :obj:`hyperedge`, in 32 bits where they fit, :obj:`y`, and :obj:`role` and
        attributes if there are any. Numbers are memory-mapped and read when they are
        used, so that the system can free their memory for other processes.

        Args:
            number (int): The number of the shard.
        """
        shard = self._verify_shard(number)
        names = self.manifest.columns['incidences']
        out = map_parquet(self.root / shard.incidences.file, names)
        check_range(f'node of shard {number}', out['node'], 0, self.num_nodes)
        first = shard.first_hyperedge
        end = first + shard.num_hyperedges
        check_range(f'hyperedge of shard {number}', out['hyperedge'], first, end)
        check_types(number, out)
        if self._is_foreign:
            check_rows(number, shard.num_known, out)
        return out

    def shard(self, number: int, ids: bool = True) -> AnchorData:
        r"""Returns the groups of a shard as a hypergraph with all nodes: nodes keep
        their numbers, hyperedges are numbered from zero. Attributes and ids of nodes
        are left out; :obj:`x` and :obj:`node_id` read them for all shards.

        Args:
            number (int): The number of the shard.
            ids (bool, optional): If set to :obj:`False`, the ids of the hyperedges are
                left out. (default: :obj:`True`)
        """
        shard = self._verify_shard(number)
        columns = self.incidences(number)
        index = np.empty((2, len(columns['node'])), dtype=np.int64)
        index[0] = columns['node']
        np.subtract(columns['hyperedge'], shard.first_hyperedge, out=index[1])
        levels: dict[str, Any] = {'y': _to_tensor(columns['y']).bool()}
        if 'role' in columns:
            levels['role'] = _to_tensor(columns['role']).long()
        levels |= self._features('incidence_attr', columns)
        levels |= self._hyperedges(shard, ids)
        return self._build(index, shard.num_hyperedges, levels)

    def _hyperedges(self, shard: Shard, ids: bool) -> dict[str, Any]:
        unread = ('hyperedge',) if ids else ('hyperedge', 'id')
        names = [n for n in self.manifest.columns['hyperedges'] if n not in unread]
        path = self.root / shard.hyperedges.file
        if self._is_foreign:
            check_order(path, 'hyperedge', shard.first_hyperedge)
        table = read_columns(path, names)
        out: dict[str, Any] = {}
        if ids:
            out['hyperedge_id'] = _to_ids(self._ids(table, path))
        if 'time' in names:
            time = table.column('time')
            check_numeric(path, 'time', time.type)
            out['hyperedge_time'] = _to_tensor(time.cast(pa.float64()).to_numpy())
        stored = self.manifest.attributes.get('hyperedge_attr', {})
        columns = {name: to_numbers(path, name, table) for name in stored}
        return out | self._features('hyperedge_attr', columns)

    def _ids(self, table: pa.Table, path: Path) -> pa.ChunkedArray:
        column = table.column('id')
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if self._is_foreign:
            check_distinct(path, column)
        return column

    def _features(
        self, key: str, columns: dict[str, NDArray[Any]]
    ) -> dict[str, Tensor]:
        stored = self.manifest.attributes.get(key)
        if not stored:
            return {}
        values = [np.asarray(columns[name], dtype=np.float32) for name in stored]
        return {key: torch.from_numpy(np.stack(values, axis=1))}

    def _build(
        self, index: NDArray[np.int64], num_hyperedges: int, levels: dict[str, Any]
    ) -> AnchorData:
        if self.manifest.role_names is not None:
            levels['role_names'] = list(self.manifest.role_names)
        names = {
            key: list(stored.values())
            for key, stored in self.manifest.attributes.items()
            if key in levels
        }
        data = AnchorData(
            hyperedge_index=torch.from_numpy(index),
            num_nodes=self.num_nodes,
            num_hyperedges=num_hyperedges,
            **levels,
        )
        if names:
            data.column_names = names
        data.validate()
        return data

    # Parts ###################################################################

    def part(self, ranks: Ranks | None = None) -> AnchorData:
        r"""Returns the part of the hypergraph that this process works on: all nodes,
        and the hyperedges of some consecutive shards, without ids. Shards are divided
        by their numbers of incidences; a process may get none.

        The part knows the processes that hold the others (:obj:`data.part`), and is
        made once. Its features are computed when they are needed.

        .. code-block:: python

            # With torchrun --nproc-per-node 2
            torch.distributed.init_process_group('gloo')
            shards = ShardedAnchorData('shards/')
            model = AnchorRadar().fit(shards)
            model.predict(shards)   # the anchors of shards.part()

        Args:
            ranks (Ranks, optional): The processes. If :obj:`None`, all processes of
                :obj:`torch.distributed` if it is initialised, else this one alone.
                (default: :obj:`None`)
        """
        ranks = Ranks.current() if ranks is None else ranks
        key = (ranks.rank, ranks.size)
        if key not in self._parts:
            self._parts[key] = ranks.together(lambda: self._make_part(ranks))
        return self._parts[key]

    def shards_of(self, rank: int, size: int) -> range:
        r"""Returns the shards of one of several processes.

        Args:
            rank (int): The number of the process.
            size (int): The number of processes.
        """
        counts = [shard.incidences.num_rows for shard in self.manifest.shards]
        total = sum(counts)
        # A shard belongs to the process in whose share of all incidences its middle
        # lies.
        begins = accumulate(counts, initial=0)
        middle = [begin + n / 2 for begin, n in zip(begins, counts, strict=False)]
        owner = [min(int(m * size / max(total, 1)), size - 1) for m in middle]
        return range(bisect_left(owner, rank), bisect_right(owner, rank))

    def _make_part(self, ranks: Ranks) -> AnchorData:
        chosen = self.shards_of(ranks.rank, ranks.size)
        self.verify(chosen)
        if self._is_foreign:
            # Now, and not when the ids are needed, after everything has been computed.
            self._check_id_types()
            self._read_node_ids()
            for i in chosen:
                self._hyperedges(self._get(i), True)
        counts = [shard.incidences.num_rows for shard in self.manifest.shards]
        before = self.manifest.shards[: chosen.start]
        first = sum(shard.num_hyperedges for shard in before)
        index, levels = self._read(chosen, is_mapped=True)
        index[1] -= first
        if self.x is not None:
            levels['x'] = self.x
        size = sum(self.manifest.shards[i].num_hyperedges for i in chosen)
        data = self._build(index, size, levels)
        data.part = RankPart(ranks, chosen, first, sum(counts[: chosen.start]))
        return data

    # Nodes ###################################################################

    @cached_property
    def node_id(self) -> Ids:
        r"""The ids of all nodes, integers as a tensor or strings as a list."""
        return _to_ids(self._read_node_ids())

    @cached_property
    def node_ids(self) -> pa.Array:
        r"""The ids of all nodes, as an Arrow array."""
        column = self._read_node_ids()
        if not pa.types.is_integer(column.type):
            # Arrays of other strings end at two gigabytes.
            column = column.cast(pa.large_string())
        return column.combine_chunks()

    @cached_property
    def x(self) -> Tensor | None:
        r"""The attributes of all nodes, or :obj:`None`, :math:`(N, F)`."""
        stored = list(self.manifest.attributes.get('x', ()))
        if not stored:
            return None
        table = self._read_nodes(stored)
        path = self.root / self.manifest.nodes[0].file
        columns = {name: to_numbers(path, name, table) for name in stored}
        return self._features('x', columns)['x']

    def _read_node_ids(self) -> pa.ChunkedArray:
        path = self.root / self.manifest.nodes[0].file
        return self._ids(self._read_nodes(['id']), path)

    def _read_nodes(self, names: list[str]) -> pa.Table:
        self._verify_nodes()
        tables = []
        first = 0
        for file in self.manifest.nodes:
            path = self.root / file.file
            if self._is_foreign:
                check_order(path, 'node', first)
            tables.append(read_columns(path, names))
            first += file.num_rows
            if tables[-1].schema != tables[0].schema:
                raise ValueError(
                    f'{shown_file(path)} must have the types of the other files of '
                    f'nodes (got {listed(map(str, tables[-1].schema.types))})'
                )
        return pa.concat_tables(tables)

    # All #####################################################################

    def to_data(self) -> AnchorData:
        r"""Returns the hypergraph of all shards, in memory. It is the same as that of
        :meth:`AnchorData.from_incidence` on the table.
        """
        self.verify()
        if self._is_foreign:
            self._check_id_types()
        index, levels = self._read(range(self.num_shards), ids=True)
        levels['node_id'] = self.node_id
        if self.x is not None:
            levels['x'] = self.x
        return self._build(index, self.num_hyperedges, levels)

    def _check_id_types(self) -> None:
        # Those of a shard without groups may have any type.
        kinds: dict[bool, int] = {}
        for i, shard in enumerate(self.manifest.shards):
            if shard.num_hyperedges:
                schema = pa.parquet.read_schema(self.root / shard.hyperedges.file)
                at = schema.get_field_index('id')
                is_integer = at >= 0 and pa.types.is_integer(schema.types[at])
                kinds.setdefault(is_integer, i)
        if len(kinds) > 1:
            raise ValueError(
                f'the ids of groups must be integers in all shards, or in none (got '
                f'integers in shard {kinds[True]}, and none in shard {kinds[False]})'
            )

    def _read(
        self, chosen: range, ids: bool = False, is_mapped: bool = False
    ) -> tuple[NDArray[np.int64], dict[str, Any]]:
        # The incidences of some shards, and the attributes of all levels but nodes.
        counts = [self.manifest.shards[i].incidences.num_rows for i in chosen]
        size = (2, sum(counts))
        if is_mapped:
            index = mapped_empty(size, torch.long).numpy()
        else:
            index = np.empty(size, dtype=np.int64)
        parts: list[dict[str, Any]] = []
        start = 0
        for i in chosen:
            data = self.shard(i, ids)
            end = start + data.num_incidences
            index[:, start:end] = data.hyperedge_index.numpy()
            index[1, start:end] += self.first_hyperedge(i)
            keys = (k for k in data.keys() if AnchorData.level(k))  # noqa: SIM118
            parts.append({key: data[key] for key in keys if key != 'hyperedge_index'})
            start = end
        if not parts:
            return index, self._no_rows()
        return index, {key: _concat([p[key] for p in parts]) for key in parts[0]}

    def _no_rows(self) -> dict[str, Any]:
        # The attributes of a process without shards.
        columns = self.manifest.columns
        widths = {key: len(v) for key, v in self.manifest.attributes.items() if v}
        out: dict[str, Any] = {
            key: torch.empty((0, width))
            for key, width in widths.items()
            if key in ('incidence_attr', 'hyperedge_attr')
        }
        out['y'] = torch.empty(0, dtype=torch.bool)
        if 'role' in columns['incidences']:
            out['role'] = torch.empty(0, dtype=torch.long)
        if 'time' in columns['hyperedges']:
            out['hyperedge_time'] = torch.empty(0, dtype=torch.double)
        return out


def _to_tensor(value: NDArray[Any]) -> Tensor:
    # PyTorch has no tensors that cannot be written to.
    return torch.from_numpy(np.array(value))


def _to_ids(column: pa.ChunkedArray) -> Ids:
    if pa.types.is_integer(column.type):
        return _to_tensor(column.cast(pa.int64()).to_numpy())
    return list(column.cast(pa.string()).to_pylist())


def _concat(parts: list[Any]) -> Any:
    if isinstance(parts[0], Tensor):
        return torch.cat(parts)
    return [value for part in parts for value in part]
