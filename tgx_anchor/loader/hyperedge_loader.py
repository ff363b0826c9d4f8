"""Mini-batches of hyperedges with their sampled neighbourhoods."""

import copy
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, cast

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler
from torch_geometric.utils import cumsum

from tgx_anchor.data import AnchorData
from tgx_anchor.loader.target_part import TargetPart
from tgx_anchor.utils import arange_by_ptr, index_ptr, is_sorted

# A place in the list of targets, and the seed of its batch.
Key = tuple[int, int]
# Tells the seeds of the parts of a batch apart, also by their last 32 bits, which are
# all that PyTorch uses on the CPU.
_PART_STEP = 2_654_435_761


class HyperedgeLoader(DataLoader[Key]):
    r"""Loads mini-batches of target hyperedges, each with the sub-hypergraph that a
    model of :math:`L` layers needs to represent them and their members.

    A batch holds the targets with all their members. Each of these nodes draws at most
    :math:`s_1` of its incidences, uniformly without replacement, and the batch also
    holds the hyperedges of these incidences with all their members. Each node that is
    new among them draws at most :math:`s_2` incidences, and so on, :math:`L` times.
    So hyperedges are always complete, and it is known which incidences each node drew.
    With :math:`s_l = -1` nodes draw all, and the targets are represented exactly as in
    the whole hypergraph.

    A batch is an :class:`~tgx_anchor.data.AnchorData` with every attribute of
    :obj:`data` cut to its nodes, hyperedges and incidences, and with

    * :obj:`num_targets`: the number of targets, which are the hyperedges
      :math:`0, 1, \ldots` of the batch; nodes and hyperedges are numbered in the order
      in which they are reached
    * :obj:`node_origin`, :obj:`hyperedge_origin`, :obj:`incidence_origin`: the number
      of each node, hyperedge and incidence in :obj:`data`
    * :obj:`node_degree`, :obj:`hyperedge_degree`: the number of incidences of each
      node and each hyperedge in :obj:`data` (or the values of :obj:`data` under these
      names)
    * :obj:`incidence_drawn`: whether its node drew this incidence. Nodes receive from
      hyperedges through these incidences only, and hyperedges receive from nodes
      through all. A node draws once for all layers, and its draws need not include the
      target that it belongs to; nodes that are reached last draw none.

    :meth:`HyperedgeIndex.from_data` passes all of this to the encoders of this package:

    .. code-block:: python

        from tgx_anchor.data import HyperedgeIndex
        from tgx_anchor.nn import HGNN

        model = HGNN(data.x.size(1), 64, num_layers=2)
        for batch in HyperedgeLoader(data, num_neighbors=[10, 10], batch_size=64):
            node, hyperedge = model(batch.x, HyperedgeIndex.from_data(batch))

    If all neighbours are drawn, any model that takes incidences can be used:

    .. code-block:: python

        from torch_geometric.nn import HypergraphConv

        conv = HypergraphConv(data.x.size(1), 64)
        loader = HyperedgeLoader(
            data,
            num_neighbors=[-1],
            input_hyperedges=data.train_mask,
            batch_size=64,
            shuffle=True,
        )
        for batch in loader:
            x = conv(batch.x, batch.hyperedge_index)
            node, hyperedge = batch.hyperedge_index
            target = hyperedge < batch.num_targets
            loss = criterion(x[node[target]], batch.y[target])

    If only some are drawn, a layer has two steps:

    .. code-block:: python

        from torch_geometric.utils import scatter

        node, hyperedge = batch.hyperedge_index
        e = scatter(x[node], hyperedge, 0, batch.num_hyperedges, 'mean')
        node, hyperedge = batch.hyperedge_index[:, batch.incidence_drawn]
        x = scatter(e[hyperedge], node, 0, batch.num_nodes, 'mean')

    Batches do not depend on :obj:`num_workers`, and no global random state is touched.

    Several processes share the batches of one loader if each makes it with the same
    seed, its own number :obj:`part` and their number :obj:`num_parts`: every process
    then loads a part of the targets of every batch. Such a part also has

    * :obj:`share_of_targets`, :obj:`share_of_members`: the number of its targets, and
      of their members, divided by those of the whole batch. A mean over the part times
      its share, summed over all parts, is the mean over the batch. If a batch has fewer
      targets than there are parts, the parts that are left over hold its first target
      with a share of zero.

    .. code-block:: python

        loader = HyperedgeLoader(
            data,
            num_neighbors=[-1],
            batch_size=64,
            shuffle=True,
            num_parts=torch.distributed.get_world_size(),
            part=torch.distributed.get_rank(),
        )

    Args:
        data (AnchorData): The hypergraph, whose incidences are sorted by hyperedge.
        num_neighbors (int or list[int]): The number of incidences that each node draws
            at most, in each hop from the targets; :obj:`-1` for all. An integer stands
            for all hops.
        num_layers (int, optional): The number of hops; required if
            :obj:`num_neighbors` is an integer. (default: :obj:`None`)
        input_hyperedges (torch.Tensor, optional): The targets, as booleans over all
            hyperedges or as numbers. If :obj:`None`, all. (default: :obj:`None`)
        batch_size (int, optional): The number of targets in a batch; a target that
            occurs several times in one is taken once. (default: :obj:`1`)
        shuffle (bool, optional): If set to :obj:`True`, will reshuffle the targets in
            every epoch. (default: :obj:`False`)
        seed (int, optional): The seed of the orders and draws of all epochs.
            (default: :obj:`0`)
        generator (torch.Generator, optional): The generator of orders and draws, used
            instead of :obj:`seed`. Its state at the start of an epoch determines all
            random numbers of the epoch. (default: :obj:`None`)
        num_parts (int, optional): The number of parts that each batch is split into.
            (default: :obj:`1`)
        part (int, optional): The number of the part to load. (default: :obj:`0`)
        **kwargs: Further arguments of :class:`torch.utils.data.DataLoader`, such as
            :obj:`num_workers` or :obj:`drop_last`.

    Shapes:
        - **input_hyperedges:** :math:`(M)` or :math:`(T)`
    """

    def __init__(
        self,
        data: AnchorData,
        num_neighbors: int | Sequence[int],
        num_layers: int | None = None,
        input_hyperedges: Tensor | None = None,
        batch_size: int = 1,
        shuffle: bool = False,
        seed: int = 0,
        generator: torch.Generator | None = None,
        num_parts: int = 1,
        part: int = 0,
        **kwargs: Any,
    ) -> None:
        if not 0 <= part < num_parts:
            raise ValueError(
                f"'part' must lie in [0, num_parts) (got {part} of {num_parts} parts)"
            )
        # PyTorch Lightning passes them when it makes a copy of the loader.
        kwargs.pop('dataset', None)
        kwargs.pop('collate_fn', None)
        self.num_neighbors = _hops(num_neighbors, num_layers)
        self.data = data
        self.input_hyperedges = input_hyperedges
        self.seed = seed
        self.num_parts = num_parts
        self.part = part
        targets = _targets(data, input_hyperedges)
        if generator is None:
            generator = torch.Generator().manual_seed(seed)

        dataset = _Places(targets.numel())
        batches: Iterable[Any] | None = kwargs.pop('batch_sampler', None)
        places: Iterable[Any] | None = kwargs.pop('sampler', None)
        if batches is not None:
            given: dict[str, Any] = {'batch_sampler': _seeded(batches, generator)}
        else:
            if places is not None and shuffle:
                raise ValueError("'shuffle' must be False with a 'sampler' (got True)")
            if places is None:
                places = _Order(targets.numel(), shuffle, generator)
            given = {'sampler': _seeded(places, generator), 'batch_size': batch_size}
        super().__init__(
            dataset,
            collate_fn=_Neighbours(data, targets, self.num_neighbors, part, num_parts),
            # Its own, since PyTorch draws from it for worker processes.
            generator=torch.Generator().manual_seed(seed),
            **given,
            **kwargs,
        )

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}({self.data}, '
            f'num_neighbors={self.num_neighbors}, batch_size={self.batch_size})'
        )


def _hops(num_neighbors: int | Sequence[int], num_layers: int | None) -> list[int]:
    if not isinstance(num_neighbors, Iterable):
        if num_layers is None:
            raise ValueError(
                f"'num_layers' is missing: give it with 'num_neighbors' as one number, "
                f'or pass one number per layer (got num_neighbors={num_neighbors})'
            )
        if num_layers < 1:
            raise ValueError(f"'num_layers' must be positive (got {num_layers})")
        num_neighbors = [num_neighbors] * num_layers
    hops = [int(count) for count in num_neighbors]
    if len(hops) == 0 or num_layers not in (None, len(hops)):
        raise ValueError(
            f"'num_neighbors' must hold one number for each of 'num_layers' layers "
            f'(got {hops} for {num_layers})'
        )
    bad = [count for count in hops if count < 1 and count != -1]
    if bad:
        raise ValueError(f"'num_neighbors' must be positive or -1 (got {bad[0]})")
    return hops


def _targets(data: AnchorData, chosen: Tensor | None) -> Tensor:
    index, size = data.hyperedge_index, data.num_hyperedges
    if not is_sorted(index[1]):
        raise ValueError(
            "'data.hyperedge_index[1]' must not decrease (got an unsorted row; "
            "'data.sort()' sorts it)"
        )
    if chosen is None:
        return torch.arange(size, device=index.device)
    if chosen.dim() != 1 or chosen.is_floating_point():
        raise ValueError(
            f"'input_hyperedges' must be one row of booleans or integers "
            f'(got {chosen.dtype} of shape {list(chosen.size())})'
        )
    chosen = chosen.to(index.device)
    if chosen.dtype == torch.bool:
        if chosen.numel() != size:
            raise ValueError(
                f"'input_hyperedges' must hold {size} booleans, one per hyperedge "
                f'(got {chosen.numel()})'
            )
        return chosen.nonzero().view(-1)
    bad = chosen[(chosen < 0) | (chosen >= size)]
    if bad.numel() > 0:
        raise ValueError(
            f"'input_hyperedges' must lie in [0, {size}) (got {int(bad[0])})"
        )
    return chosen.long()


# Targets and seeds ##############################################################


class _Places(Dataset[Key]):
    # Returns the place it is asked for: '_Neighbours' makes a batch of many at once.
    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, key: Key) -> Key:
        return key


class _Order(Sampler[int]):
    def __init__(self, size: int, shuffle: bool, generator: torch.Generator) -> None:
        self.size = size
        self.shuffle = shuffle
        self.generator = generator

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[int]:
        if not self.shuffle:
            return iter(range(self.size))
        device = self.generator.device
        order = torch.randperm(self.size, generator=self.generator, device=device)
        return iter(order.tolist())


class _Seeded(Sampler[Any]):
    # Adds a seed to each place, so that a batch does not depend on the process.
    def __init__(self, sampler: Iterable[Any], generator: torch.Generator) -> None:
        self.sampler = sampler
        self.generator = generator

    def __len__(self) -> int:
        return len(cast(Sized, self.sampler))

    def __iter__(self) -> Iterator[Any]:
        device = self.generator.device
        first = torch.randint(2**62, (1,), generator=self.generator, device=device)
        seed = int(first)
        for number, item in enumerate(self.sampler):
            if isinstance(item, Iterable):
                yield [(int(place), seed + number) for place in item]
            else:
                yield int(item), seed + number


def _seeded(sampler: Iterable[Any], generator: torch.Generator) -> _Seeded:
    # The sampler of another loader adds seeds already.
    if isinstance(sampler, _Seeded):
        sampler = sampler.sampler
    return _Seeded(sampler, generator)


# One batch #######################################################################


class _Neighbours:
    # Makes a batch from the places of its targets, in time that does not depend on the
    # size of the hypergraph.

    def __init__(
        self,
        data: AnchorData,
        targets: Tensor,
        hops: list[int],
        part: int,
        num_parts: int,
    ) -> None:
        self.data = data
        self.part = part
        self.num_parts = num_parts
        self.node, self.hyperedge = node, hyperedge = data.hyperedge_index.contiguous()
        self.targets = targets
        self.hops = hops
        self.hyperedge_ptr = index_ptr(hyperedge, data.num_hyperedges)
        self.hyperedge_size = torch.diff(self.hyperedge_ptr)
        self.incidence = torch.argsort(node, stable=True)
        self.node_ptr = index_ptr(node[self.incidence], int(data.num_nodes or 0))
        self.node_degree = torch.diff(self.node_ptr)
        self.number: tuple[_Numbering, _Numbering] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Tensors are shared between processes, and each needs its own numbering.
        return {**self.__dict__, 'number': None}

    def __call__(self, keys: list[Key]) -> AnchorData:
        place = torch.tensor([place for place, _ in keys], dtype=torch.long)
        target = self.targets[place.to(self.targets.device)]
        if self.num_parts > 1:
            # A target counts once, in one of the parts.
            target = target.unique()
        part = TargetPart.of(target, self.hyperedge_size, self.part, self.num_parts)
        seed = (keys[0][1] if keys else 0) + self.part * _PART_STEP
        generator = torch.Generator().manual_seed(seed)
        if self.number is None:
            like = self.hyperedge_ptr
            self.number = (
                _Numbering(self.node_degree.numel(), like),
                _Numbering(self.hyperedge_size.numel(), like),
            )
        nodes, hyperedges = self.number
        try:
            out = self._batch(part.target, nodes, hyperedges, generator)
        finally:
            nodes.clear()
            hyperedges.clear()
        if self.num_parts > 1:
            out.share_of_targets = part.share_of_targets
            out.share_of_members = part.share_of_members
        return out

    def _batch(
        self,
        target: Tensor,
        nodes: '_Numbering',
        hyperedges: '_Numbering',
        generator: torch.Generator,
    ) -> AnchorData:
        reached, owners, drawn = [], [], []
        new = hyperedges.add(target)
        num_targets = new.numel()
        for hop in [*self.hops, None]:
            incidence, owner = arange_by_ptr(
                _take(self.hyperedge_ptr, new), _take(self.hyperedge_size, new)
            )
            reached.append(incidence)
            owners.append(owner.add_(hyperedges.size - new.numel()))
            frontier = nodes.add(_take(self.node, incidence))
            if hop is not None:
                incidence = self._draw(frontier, hop, generator)
                drawn.append(incidence)
                new = hyperedges.add(_take(self.hyperedge, incidence))

        origin = {
            'node': nodes.origin,
            'hyperedge': hyperedges.origin,
            'incidence': torch.cat(reached),
        }
        out = copy.copy(self.data)
        for key, value in self.data._store.items():
            level = self.data.level(key)
            if level is not None:
                out[key] = _slice(value, origin[level])
        for key, size in (
            ('node_degree', self.node_degree),
            ('hyperedge_degree', self.hyperedge_size),
        ):
            if key not in self.data:
                out[key] = _take(size, origin[key.removesuffix('_degree')])
        for name, index in origin.items():
            out[f'{name}_origin'] = index
        node = _take(nodes.local, _take(self.node, origin['incidence']))
        out.hyperedge_index = torch.stack([node, torch.cat(owners)])
        out.num_nodes = nodes.size
        out.num_hyperedges = hyperedges.size
        out.num_targets = num_targets

        # An incidence has the same distance from the first one of its hyperedge in the
        # batch as in the whole hypergraph.
        begin = cumsum(_take(self.hyperedge_size, origin['hyperedge']))[:-1]
        shift = begin - _take(self.hyperedge_ptr, origin['hyperedge'])
        mine = torch.cat(drawn)
        owner = _take(hyperedges.local, _take(self.hyperedge, mine))
        flag = torch.zeros_like(origin['incidence'], dtype=torch.bool)
        out.incidence_drawn = flag.index_fill_(0, mine + _take(shift, owner), True)
        return out

    def _draw(self, node: Tensor, count: int, generator: torch.Generator) -> Tensor:
        # At most 'count' incidences of each node, uniformly without replacement.
        begin, degree = _take(self.node_ptr, node), _take(self.node_degree, node)
        if count == -1:
            return _take(self.incidence, arange_by_ptr(begin, degree)[0])
        few = degree <= count
        places = [arange_by_ptr(begin[few], degree[few])[0]]
        many = degree > 4 * count
        for rows, draw in ((~few & ~many, _draw_sorted), (many, _draw_distinct)):
            if rows.any():
                offset = draw(degree[rows], count, generator)
                places.append((begin[rows].view(-1, 1) + offset).view(-1))
        return _take(self.incidence, torch.cat(places))


class _Numbering:
    # Numbers elements in the order in which they are first added.

    def __init__(self, size: int, like: Tensor) -> None:
        self.local = like.new_full((size,), -1)
        self.first = like.new_full((size,), torch.iinfo(like.dtype).max)
        self.parts: list[Tensor] = []
        self.size = 0

    @property
    def origin(self) -> Tensor:
        return torch.cat(self.parts)

    def add(self, index: Tensor) -> Tensor:
        index = index[_take(self.local, index) < 0]
        place = torch.arange(index.numel(), device=index.device)
        # The minimum is the same on every device, unlike the last one written.
        self.first.scatter_reduce_(0, index, place, 'amin')
        new = index[_take(self.first, index) == place]
        number = torch.arange(self.size, self.size + new.numel(), device=new.device)
        self.local.index_copy_(0, new, number)
        self.parts.append(new)
        self.size += new.numel()
        return new

    def clear(self) -> None:
        for part in self.parts:
            self.local.index_fill_(0, part, -1)
            self.first.index_fill_(0, part, torch.iinfo(self.first.dtype).max)
        self.parts, self.size = [], 0


def _take(value: Tensor, index: Tensor) -> Tensor:
    # Several times faster than 'value[index]'.
    return value.index_select(0, index)


def _slice(value: Any, index: Tensor) -> Any:
    if isinstance(value, Tensor):
        return _take(value, index)
    return [value[i] for i in index.tolist()]


def _draw_sorted(degree: Tensor, count: int, generator: torch.Generator) -> Tensor:
    # The places of the smallest random keys, for nodes with few incidences.
    width = int(degree.max())
    key = torch.rand((degree.numel(), width), generator=generator, dtype=torch.double)
    key = key.to(degree.device)
    outside = torch.arange(width, device=degree.device) >= degree.view(-1, 1)
    return key.masked_fill_(outside, 2.0).topk(count, dim=1, largest=False).indices


def _draw_distinct(degree: Tensor, count: int, generator: torch.Generator) -> Tensor:
    # The first 'count' distinct of independent draws, for nodes with enough incidences
    # that '2 * count' draws nearly always suffice. Whether they do is independent of
    # which places are drawn, so that a row may be drawn again without bias.
    out = degree.new_empty((degree.numel(), count))
    todo = torch.arange(degree.numel(), device=degree.device)
    while todo.numel() > 0:
        size = (todo.numel(), 2 * count)
        draw = torch.rand(size, generator=generator, dtype=torch.double)
        place = (draw.to(degree.device) * degree[todo].view(-1, 1)).long()
        place = torch.minimum(place, degree[todo].view(-1, 1) - 1)
        ranked, order = place.sort(dim=1, stable=True)
        fresh = torch.ones_like(ranked, dtype=torch.bool)
        fresh[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
        fresh = torch.empty_like(fresh).scatter_(1, order, fresh)
        number = fresh.cumsum(dim=1)
        done = number[:, -1] >= count
        kept = fresh & (number <= count) & done.view(-1, 1)
        out[todo[done]] = place[kept].view(-1, count)
        todo = todo[~done]
    return out
