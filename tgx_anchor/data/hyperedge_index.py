"""Incidences with the sizes, orders and counts that layers need."""

import copy
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch_geometric.utils import cumsum, scatter
from typing_extensions import Self

from tgx_anchor.data.anchor_data import AnchorData
from tgx_anchor.utils import (
    distinct_hyperedges,
    index_ptr,
    is_sorted,
)

# With fewer copies, reading their results costs more time than it saves.
_MOST_KEPT = 0.95


class Segments(NamedTuple):
    r"""Incidences in the order of their nodes, or of their hyperedges.

    Args:
        ptr (torch.Tensor): The first incidence of each node (hyperedge) in this order.
        source (torch.Tensor): The other end of each incidence: its hyperedge (node).
        perm (torch.Tensor, optional): The place of each incidence in the order given,
            :obj:`None` if the two orders are the same.

    Shapes:
        - **ptr:** :math:`(N + 1)` or :math:`(M + 1)`
        - **source, perm:** :math:`(P)`
    """

    ptr: Tensor
    source: Tensor
    perm: Tensor | None


class Copies(NamedTuple):
    r"""Holds the incidences of one hyperedge for each set of members. Values that
    depend only on the members are computed for these incidences, and read for all
    others by :obj:`row`.

    Args:
        incidence (torch.Tensor): The incidences of the first hyperedge of each set.
        hyperedge (torch.Tensor): The sets that they belong to, numbered from zero.
        row (torch.Tensor): For each incidence of the index, the place in the other two
            of the same node in the first hyperedge with the same members.

    Shapes:
        - **incidence, hyperedge:** :math:`(R)`
        - **row:** :math:`(P)`
    """

    incidence: Tensor
    hyperedge: Tensor
    row: Tensor


class HyperedgeIndex:
    r"""The incidences of a hypergraph, together with its sizes and with cached orders
    and counts, as :class:`torch_geometric.EdgeIndex` is for graphs.

    Layers and encoders take a plain tensor or this object. The object sorts and counts
    incidences once, the first time a layer asks for it, while each layer does so again
    for a tensor. It also describes a mini-batch: degrees and sizes in the whole
    hypergraph, the incidences that nodes drew, and the number of targets.

    .. code-block:: python

        index = HyperedgeIndex(hyperedge_index, num_nodes=100, num_hyperedges=40)
        node, hyperedge = model(x, index)

        for batch in HyperedgeLoader(data, num_neighbors=[10, 10], batch_size=64):
            index = HyperedgeIndex.from_data(batch)
            node, hyperedge = model(batch.x, index)

    Args:
        hyperedge_index (torch.Tensor): The incidences: nodes in row 0, hyperedges in
            row 1; fastest if sorted by row 1.
        num_nodes (int, optional): The number of nodes :math:`N`; the largest node plus
            one if :obj:`None`. (default: :obj:`None`)
        num_hyperedges (int, optional): The number of hyperedges :math:`M`; the largest
            hyperedge plus one if :obj:`None`. (default: :obj:`None`)
        node_degree (torch.Tensor, optional): The degree of each node in the whole
            hypergraph; counted here if :obj:`None`. (default: :obj:`None`)
        hyperedge_size (torch.Tensor, optional): The size of each hyperedge in the
            whole hypergraph; counted here if :obj:`None`. (default: :obj:`None`)
        drawn_mask (torch.Tensor, optional): The incidences through which nodes receive
            from hyperedges; all if :obj:`None`. Hyperedges always receive from all
            their members. (default: :obj:`None`)
        num_targets (int, optional): If given, encoders return only what belongs to the
            first :obj:`num_targets` hyperedges. (default: :obj:`None`)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **node_degree:** :math:`(N)`
        - **hyperedge_size:** :math:`(M)`
        - **drawn_mask:** :math:`(P)`
    """

    def __init__(
        self,
        hyperedge_index: Tensor,
        num_nodes: int | None = None,
        num_hyperedges: int | None = None,
        node_degree: Tensor | None = None,
        hyperedge_size: Tensor | None = None,
        drawn_mask: Tensor | None = None,
        num_targets: int | None = None,
    ) -> None:
        if hyperedge_index.dim() != 2 or hyperedge_index.size(0) != 2:
            raise ValueError(
                f"'hyperedge_index' must have the shape [2, num_incidences] "
                f'(got {list(hyperedge_index.size())})'
            )
        if hyperedge_index.dtype != torch.long:
            raise ValueError(
                f"'hyperedge_index' must hold 64-bit integers "
                f'(got {hyperedge_index.dtype})'
            )
        self.node, self.hyperedge = hyperedge_index.unbind()
        self.num_nodes = _end(self.node) if num_nodes is None else num_nodes
        self.num_hyperedges = (
            _end(self.hyperedge) if num_hyperedges is None else num_hyperedges
        )
        for name, value, size in (
            ('node_degree', node_degree, self.num_nodes),
            ('hyperedge_size', hyperedge_size, self.num_hyperedges),
            ('drawn_mask', drawn_mask, self.num_incidences),
        ):
            if value is not None and list(value.size()) != [size]:
                raise ValueError(
                    f"'{name}' must have the shape [{size}] (got {list(value.size())})"
                )
        if drawn_mask is not None and drawn_mask.dtype != torch.bool:
            raise ValueError(
                f"'drawn_mask' must hold booleans (got {drawn_mask.dtype})"
            )
        if num_targets is not None and num_targets < 0:
            raise ValueError(f"'num_targets' must not be negative (got {num_targets})")
        self.drawn_mask = drawn_mask
        self.num_targets = num_targets
        self._node_degree = node_degree
        self._hyperedge_size = hyperedge_size
        # The places of the incidences in the index that this one is a part of.
        self.rows: slice | Tensor | None = None
        self._by_node: Segments | None = None
        self._by_hyperedge: Segments | None = None
        self._received: HyperedgeIndex | None = None
        self._copies: Copies | None = None
        self._has_copies: bool | None = None

    @classmethod
    def from_data(cls, data: AnchorData) -> Self:
        r"""Creates the index of a hypergraph, or of a mini-batch of
        :class:`~tgx_anchor.loader.HyperedgeLoader`.

        Args:
            data (AnchorData): The hypergraph or mini-batch.
        """
        num_targets = data.get('num_targets')
        return cls(
            data.hyperedge_index,
            int(data.num_nodes or 0),
            data.num_hyperedges,
            node_degree=data.get('node_degree'),
            hyperedge_size=data.get('hyperedge_degree'),
            drawn_mask=data.get('incidence_drawn'),
            num_targets=None if num_targets is None else int(num_targets),
        )

    # Sizes and counts ########################################################

    @property
    def num_incidences(self) -> int:
        r"""The number of incidences :math:`P`."""
        return self.node.numel()

    @property
    def device(self) -> torch.device:
        r"""The device of the incidences."""
        return self.node.device

    @property
    def node_degree(self) -> Tensor:
        r"""The number of incidences of each node, as given or counted, :math:`(N)`."""
        if self._node_degree is None:
            self._node_degree = self.count('node')
        return self._node_degree

    @property
    def hyperedge_size(self) -> Tensor:
        r"""The number of incidences of each hyperedge, as given or counted,
        :math:`(M)`.
        """
        if self._hyperedge_size is None:
            self._hyperedge_size = self.count('hyperedge')
        return self._hyperedge_size

    def count(self, level: Literal['node', 'hyperedge']) -> Tensor:
        r"""Counts the incidences of each node, or of each hyperedge, in this index,
        whatever degrees and sizes it was given.

        Args:
            level (str): :obj:`"node"` or :obj:`"hyperedge"`.

        Shapes:
            - **output:** :math:`(N)` or :math:`(M)`
        """
        if torch.compiler.is_compiling():
            # Orders and 'bincount' depend on values, which a traced graph lacks.
            index, size = self.hyperedge, self.num_hyperedges
            if level == 'node':
                index, size = self.node, self.num_nodes
            return index.new_zeros(size).scatter_add(0, index, torch.ones_like(index))
        order = self.by_node if level == 'node' else self.by_hyperedge
        return torch.diff(order.ptr)

    # Orders ##################################################################

    @property
    def by_node(self) -> Segments:
        r"""The incidences in the order of their nodes."""
        if self._by_node is None:
            self._by_node = _order(self.hyperedge, self.node, self.num_nodes, 0)
        return self._by_node

    @property
    def by_hyperedge(self) -> Segments:
        r"""The incidences in the order of their hyperedges."""
        if self._by_hyperedge is None:
            size = self.num_hyperedges
            self._by_hyperedge = _order(self.node, self.hyperedge, size, 1)
        return self._by_hyperedge

    # Copies ##################################################################

    @property
    def copies(self) -> Copies | None:
        r"""The incidences of one hyperedge for each set of members, or :obj:`None` if
        there are nearly as many as hyperedges, or in a compiled graph. Members that are
        repeated in a hyperedge stay separate.
        """
        if torch.compiler.is_compiling():
            # Their number depends on values, which a traced graph does not have.
            return None
        if self._has_copies is None:
            self._copies = self._find_copies()
            self._has_copies = self._copies is not None
        return self._copies

    def _find_copies(self) -> Copies | None:
        size = self.num_hyperedges
        # Sorted by node within hyperedges, members of copies have the same offset.
        perm = torch.argsort(self.hyperedge * self.num_nodes + self.node, stable=True)
        node, hyperedge = index = self.as_tensor().index_select(1, perm)
        number = distinct_hyperedges(index, self.num_nodes, size)
        place = torch.arange(max(size, perm.numel()), device=self.device)
        order, place = place[:size], place[: perm.numel()]
        first = scatter(order, number, 0, reduce='min')
        if first.numel() > _MOST_KEPT * size or perm.numel() == 0:
            return None
        first = first.index_select(0, number)
        # So far, repeated members count once.
        ptr = index_ptr(hyperedge, size)
        count = torch.diff(ptr)
        first = torch.where(count.index_select(0, first) == count, first, order)
        twin = place + (ptr.index_select(0, first) - ptr[:-1])[hyperedge]
        differs = hyperedge[node != node.index_select(0, twin)]
        first[differs] = differs
        twin = place + (ptr.index_select(0, first) - ptr[:-1])[hyperedge]

        kept = first == order
        new = cumsum(kept.long())
        kept = kept.index_select(0, hyperedge)
        row = torch.empty_like(perm)
        row[perm] = cumsum(kept.long()).index_select(0, twin)
        return Copies(perm[kept], new.index_select(0, hyperedge[kept]), row)

    # Parts ###################################################################

    @property
    def received(self) -> 'HyperedgeIndex':
        r"""The incidences through which nodes receive from hyperedges, the drawn ones,
        or this index itself if nothing is left out. In a part that :meth:`trim`
        returns, it holds only the nodes that the layer returns.
        """
        if self._received is not None:
            return self._received
        if self.drawn_mask is None:
            return self
        size = self.num_nodes, self.num_hyperedges
        self._received = self._receive(self._drawn_by_node(), *size)
        return self._received

    def trim(self, num_layers: int) -> list['HyperedgeIndex']:
        r"""Returns the part of this index that each layer of an encoder needs, if only
        the targets and their members are asked for at the end; without
        :obj:`num_targets`, that is the whole index.

        A layer passes messages from nodes to hyperedges and back. Its part goes up to
        the last node and the last hyperedge that it needs. If they are numbered in the
        order in which they are reached from the targets, as in
        :class:`~tgx_anchor.loader.HyperedgeLoader`, it holds nothing else. Parts take
        over degrees, sizes and orders; nothing is counted or sorted again.

        Args:
            num_layers (int): The number of layers.
        """
        if self.num_targets is None:
            return [self] * num_layers
        perm = self.by_hyperedge.perm
        if perm is not None:
            parts = self._select(perm).trim(num_layers)
            for part in parts:
                part.rows = perm[part.rows]
            return parts
        drawn, ptr = self._drawn_by_node(), self.by_hyperedge.ptr
        num_hyperedges = min(self.num_targets, self.num_hyperedges)
        num_nodes = _end(self.node[: int(ptr[num_hyperedges])])
        parts = []
        for _ in range(num_layers):
            reached = _end(drawn.source[: int(drawn.ptr[num_nodes])])
            num_hyperedges = max(num_hyperedges, reached)
            received = self._receive(drawn, num_nodes, num_hyperedges)
            seen = self.node[: int(ptr[num_hyperedges])]
            num_nodes = max(num_nodes, _end(seen))
            parts.append(self._prefix(num_nodes, num_hyperedges, received))
        return parts[::-1]

    def take(self, value: Tensor) -> Tensor:
        r"""Selects the rows of this part from a tensor with one row for each incidence
        of the index that this part comes from.

        Args:
            value (torch.Tensor): The tensor.
        """
        if isinstance(self.rows, Tensor):
            return value.index_select(0, self.rows)
        return value if self.rows is None else value[self.rows]

    def _drawn_by_node(self) -> Segments:
        if self.drawn_mask is None:
            return self.by_node
        perm = self.by_node.perm
        drawn = self.drawn_mask if perm is None else self.drawn_mask[perm]
        return _keep(self.by_node, drawn, self.num_nodes)

    def _receive(
        self, drawn: Segments, num_nodes: int, num_hyperedges: int
    ) -> 'HyperedgeIndex':
        # The drawn incidences of the first nodes, whose hyperedges are the first ones.
        drawn = _first(drawn, num_nodes)
        kept = torch.zeros_like(self.node, dtype=torch.bool)
        kept[slice(drawn.source.numel()) if drawn.perm is None else drawn.perm] = True
        number = cumsum(kept.long())
        out = self._part(num_nodes, num_hyperedges, kept.nonzero().view(-1))
        perm = None if drawn.perm is None else number[drawn.perm]
        out._by_node = Segments(drawn.ptr, drawn.source, perm)
        order = self.by_hyperedge
        if order.perm is None:
            ptr = number[order.ptr[: num_hyperedges + 1]]
            out._by_hyperedge = Segments(ptr, out.node, None)
        else:
            order = _keep(order, kept[order.perm], num_hyperedges)
            out._by_hyperedge = Segments(order.ptr, order.source, number[order.perm])
        return out

    def _prefix(
        self, num_nodes: int, num_hyperedges: int, received: 'HyperedgeIndex'
    ) -> 'HyperedgeIndex':
        # The first hyperedges of a sorted index, with all their incidences.
        ptr = self.by_hyperedge.ptr[: num_hyperedges + 1]
        out = self._part(num_nodes, num_hyperedges, slice(int(ptr[-1])))
        out._by_hyperedge = Segments(ptr, out.node, None)
        if num_hyperedges == self.num_hyperedges:
            out._by_node = _first(self.by_node, num_nodes)
        else:
            inside = self.by_node.source < num_hyperedges
            out._by_node = _keep(self.by_node, inside, num_nodes)
        out._received = received
        return out

    def _select(self, rows: Tensor) -> 'HyperedgeIndex':
        return HyperedgeIndex(
            torch.stack([self.node[rows], self.hyperedge[rows]]),
            self.num_nodes,
            self.num_hyperedges,
            self.node_degree,
            self.hyperedge_size,
            None if self.drawn_mask is None else self.drawn_mask[rows],
            self.num_targets,
        )

    def _part(
        self, num_nodes: int, num_hyperedges: int, rows: slice | Tensor
    ) -> 'HyperedgeIndex':
        out = copy.copy(self)
        out.rows = rows
        out.node, out.hyperedge = self.node[rows], self.hyperedge[rows]
        out.num_nodes, out.num_hyperedges = num_nodes, num_hyperedges
        out._node_degree = self.node_degree[:num_nodes]
        out._hyperedge_size = self.hyperedge_size[:num_hyperedges]
        out.drawn_mask = out.num_targets = out._received = None
        out._copies = out._has_copies = None
        return out

    # Conversions #############################################################

    def as_tensor(self) -> Tensor:
        r"""Returns the incidences as a plain tensor, :math:`(2, P)`."""
        return torch.stack([self.node, self.hyperedge])

    def to(self, *args: Any, **kwargs: Any) -> Self:
        r"""Returns a copy on another device, with everything that is cached.

        Args:
            *args: The device, as in :meth:`torch.Tensor.to`.
            **kwargs: Further arguments of :meth:`torch.Tensor.to`.
        """
        return self._apply(lambda value: value.to(*args, **kwargs))

    def cpu(self) -> Self:
        r"""Returns a copy on the CPU."""
        return self._apply(lambda value: value.cpu())

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        r"""Returns a copy on a GPU."""
        return self._apply(lambda value: value.cuda(*args, **kwargs))

    def _apply(self, function: Callable[[Tensor], Tensor]) -> Self:
        out = copy.copy(self)
        for name, value in vars(out).items():
            if isinstance(value, Tensor):
                setattr(out, name, function(value))
            elif isinstance(value, Segments):
                ptr, source, perm = value
                perm = None if perm is None else function(perm)
                setattr(out, name, Segments(function(ptr), function(source), perm))
            elif isinstance(value, Copies):
                setattr(out, name, Copies(*map(function, value)))
            elif isinstance(value, HyperedgeIndex):
                setattr(out, name, value._apply(function))
        return out

    def __repr__(self) -> str:
        text = (
            f'num_nodes={self.num_nodes}, num_hyperedges={self.num_hyperedges}, '
            f'num_incidences={self.num_incidences}'
        )
        if self.drawn_mask is not None:
            text += f', num_drawn={int(self.drawn_mask.sum())}'
        if self.num_targets is not None:
            text += f', num_targets={self.num_targets}'
        return f'{self.__class__.__name__}({text})'


def as_hyperedge_index(
    hyperedge_index: Tensor | HyperedgeIndex,
    num_nodes: int | None = None,
    num_hyperedges: int | None = None,
) -> HyperedgeIndex:
    r"""Converts the incidences that a layer is given to a :class:`HyperedgeIndex`.

    Args:
        hyperedge_index (torch.Tensor or HyperedgeIndex): The incidences.
        num_nodes (int, optional): The number of nodes :math:`N` that the layer is
            given features of. (default: :obj:`None`)
        num_hyperedges (int, optional): The number of hyperedges :math:`M` of a tensor;
            the largest hyperedge plus one if :obj:`None`. (default: :obj:`None`)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
    """
    if not isinstance(hyperedge_index, HyperedgeIndex):
        return HyperedgeIndex(hyperedge_index, num_nodes, num_hyperedges)
    if num_nodes not in (None, hyperedge_index.num_nodes):
        raise ValueError(
            f"'x' must have one row per node of 'hyperedge_index', that is "
            f'{hyperedge_index.num_nodes} (got {num_nodes})'
        )
    if num_hyperedges not in (None, hyperedge_index.num_hyperedges):
        raise ValueError(
            f"'num_hyperedges' must be that of 'hyperedge_index', "
            f'{hyperedge_index.num_hyperedges} (got {num_hyperedges})'
        )
    return hyperedge_index


def _end(index: Tensor) -> int:
    return int(index.max()) + 1 if index.numel() > 0 else 0


def _order(source: Tensor, target: Tensor, size: int, row: int) -> Segments:
    perm = None
    if not is_sorted(target):
        target, perm = torch.sort(target, stable=True)
        source = source.index_select(0, perm)
    for place in (0, -1) if target.numel() > 0 else ():
        if not 0 <= int(target[place]) < size:
            raise ValueError(
                f"'hyperedge_index[{row}]' must lie in [0, {size}) "
                f'(got {int(target[place])})'
            )
    return Segments(index_ptr(target, size), source, perm)


def _first(order: Segments, size: int) -> Segments:
    # The incidences of the first nodes or hyperedges of an order.
    ptr = order.ptr[: size + 1]
    count = int(ptr[-1])
    perm = None if order.perm is None else order.perm[:count]
    return Segments(ptr, order.source[:count], perm)


def _keep(order: Segments, kept: Tensor, size: int) -> Segments:
    # Those incidences of the first nodes or hyperedges of an order that are kept.
    ptr = cumsum(kept.long()).index_select(0, order.ptr[: size + 1])
    place = kept.nonzero().view(-1)
    perm = place if order.perm is None else order.perm.index_select(0, place)
    return Segments(ptr, order.source.index_select(0, place), perm)
