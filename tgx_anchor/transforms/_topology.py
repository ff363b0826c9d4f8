"""Topological features of incidences, computed from vectors over nodes."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from tgx_anchor.transforms._round import round_centrality
from tgx_anchor.utils import (
    coreness,
    degree,
    eigenvector_centrality,
    group_order,
    hyperedge_blocks,
    pagerank,
)
from tgx_anchor.utils.exact_sum import add_terms_, sum_base_
from tgx_anchor.utils.mapped import mapped
from tgx_anchor.utils.ranks import ALONE, Ranks

CENTRALITIES: dict[str, Callable[..., Tensor]] = {
    'degree': degree,
    'eigenvector': eigenvector_centrality,
    'pagerank': pagerank,
    'coreness': coreness,
}


def check_centralities(chosen: Sequence[str], known: Collection[str]) -> None:
    r"""Raises a :class:`ValueError` if a centrality is unknown or chosen twice.

    Args:
        chosen (list[str]): The names that were chosen.
        known (list[str]): The names that there are.
    """
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise ValueError(
            f"'centralities' must be among {', '.join(known)} (got {unknown[0]!r})"
        )
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"'centralities' must not repeat a name (got {list(chosen)})")


class NodeVectors(NamedTuple):
    r"""Holds what the features of a centrality need of each node.

    Shapes:
        - **level:** :math:`(N)`, the number of its value among the :math:`L` distinct
          values, from zero for the smallest
        - **value:** :math:`(L)`, the distinct values
        - **minmax:** :math:`(L)`, the values between zero and one
        - **rank:** :math:`(L)`, the share of nodes with a larger value
        - **moments:** :math:`(N, 4)`, mean and standard deviation of the two local
          columns over the incidences of the node; :math:`(N, 0)` if not needed
    """

    level: Tensor
    value: Tensor
    minmax: Tensor
    rank: Tensor
    moments: Tensor

    @classmethod
    def of(cls, centrality: Tensor) -> 'NodeVectors':
        r"""Makes the vectors of a centrality, without moments.

        Args:
            centrality (torch.Tensor): The value of each node.

        Shapes:
            - **centrality:** :math:`(N)`
        """
        value, level = round_centrality(centrality)
        dtype = torch.get_default_dtype()
        num_nodes = level.numel()
        larger = num_nodes - torch.bincount(level, minlength=value.numel()).cumsum(0)
        low, high = (value[0], value[-1]) if num_nodes > 0 else (0.0, 0.0)
        return cls(
            # Half the memory, as long as there are not billions of nodes.
            level.int() if num_nodes < torch.iinfo(torch.int32).max else level,
            value,
            _ratio(value - low, torch.as_tensor(high - low)).to(dtype),
            (larger.double() / max(num_nodes - 1, 1)).to(dtype),
            torch.empty((num_nodes, 0), device=level.device),
        )

    def global_columns(self, node: Tensor) -> Tensor:
        r"""Computes the six global columns of some incidences.

        Args:
            node (torch.Tensor): The node of each incidence.

        Shapes:
            - **node:** :math:`(R)`
            - **output:** :math:`(R, 6)`
        """
        num_nodes = self.level.numel()
        if node.numel() > num_nodes:
            everyone = torch.arange(num_nodes, device=node.device)
            return self.global_columns(everyone).index_select(0, node)
        level = self.level.index_select(0, node)
        return torch.cat(
            [
                self.minmax.index_select(0, level).unsqueeze(1),
                self.rank.index_select(0, level).unsqueeze(1),
                self.moments.index_select(0, node),
            ],
            dim=1,
        )

    def local_columns(
        self, hyperedge_index: Tensor, num_hyperedges: int
    ) -> tuple[Tensor, Tensor]:
        r"""Computes the two local columns of some hyperedges.

        Args:
            hyperedge_index (torch.Tensor): All incidences of these hyperedges.
            num_hyperedges (int): The number of these hyperedges.

        Shapes:
            - **hyperedge_index:** :math:`(2, R)`
            - **output:** :math:`(R)` and :math:`(R)`
        """
        node, hyperedge = hyperedge_index
        level = self.level.index_select(0, node)
        order = group_order(level, hyperedge, num_hyperedges)
        ranked = self.value.index_select(0, level.index_select(0, order.perm))
        # Empty hyperedges may point past the end; their values are not used.
        padded = torch.cat([ranked, ranked.new_zeros(1)])
        size = torch.diff(order.ptr)
        low = padded[(order.ptr[1:] - 1).clamp(min=0)]
        span = padded[order.ptr[:-1]] - low
        minmax = _ratio(
            ranked - low.index_select(0, hyperedge), span.index_select(0, hyperedge)
        )
        rank = _ratio(
            (order.first - order.ptr.index_select(0, hyperedge)).double(),
            (size - 1.0).index_select(0, hyperedge),
        )
        return order.by_incidence(minmax), order.by_incidence(rank)

    def mapped(self) -> 'NodeVectors':
        r"""Returns the same vectors in temporary files."""
        return NodeVectors(*map(mapped, self))

    def with_moments(
        self, local: Sequence[Tensor], node: Tensor, count: Tensor, ranks: Ranks
    ) -> 'NodeVectors':
        r"""Returns the vectors with the moments of the local columns.

        Args:
            local (list[torch.Tensor]): The local columns of all incidences.
            node (torch.Tensor): The node of each incidence.
            count (torch.Tensor): The number of incidences of each node, at least one.
            ranks (Ranks): The processes that hold the other incidences.

        Shapes:
            - **local:** :math:`(P)` and :math:`(P)`
            - **node:** :math:`(P)`
            - **count:** :math:`(N)`
        """
        moments = []
        # Columns lie between zero and one, and so do the squares of deviations.
        base = sum_base_(count.double())
        for column in local:
            total = add_terms_(base.clone(), node, column).sub_(base)
            mean = ranks.sum_(total) / count
            deviation = mean.index_select(0, node).sub_(column)
            total = add_terms_(base.clone(), node, deviation.square_()).sub_(base)
            std = (ranks.sum_(total) / count).sqrt_()
            moments += [value.to(self.moments.dtype) for value in (mean, std)]
        return self._replace(moments=torch.stack(moments, dim=1))


class Topology:
    r"""Computes the topological features of any hyperedges from a few vectors over
    nodes, so that the features of all incidences are never held at once.

    Args:
        hyperedge_index (torch.Tensor): The incidences, sorted by hyperedge.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        centralities (list[str], optional): The centralities to use.
            (default: :obj:`("degree", "eigenvector", "pagerank", "coreness")`)
        local (bool, optional): If set to :obj:`False`, will leave out the local
            columns. (default: :obj:`True`)
        global_ (bool, optional): If set to :obj:`False`, will leave out the global
            columns. (default: :obj:`True`)
        ranks (Ranks, optional): The processes that hold the other hyperedges.
            (default: this process alone)
        out (torch.Tensor, optional): If given, the features of all incidences are
            written to it on the way. (default: :obj:`None`)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **out:** :math:`(P, F)`
    """

    def __init__(
        self,
        hyperedge_index: Tensor,
        num_nodes: int,
        num_hyperedges: int,
        centralities: Sequence[str] = tuple(CENTRALITIES),
        local: bool = True,
        global_: bool = True,
        ranks: Ranks = ALONE,
        out: Tensor | None = None,
    ) -> None:
        self.num_centralities = len(centralities)
        self.local = local
        self.global_ = global_
        self.vectors: list[NodeVectors] = []
        size = num_nodes, num_hyperedges
        node, hyperedge = hyperedge_index
        count = degree(hyperedge_index, *size, ranks=ranks).clamp(min=1)
        for place, name in enumerate(centralities):
            centrality = CENTRALITIES[name](hyperedge_index, *size, ranks=ranks)
            vectors = NodeVectors.of(centrality)
            columns: list[Tensor] = []
            if global_ or out is not None:
                columns = _all_local_columns(vectors, hyperedge_index, num_hyperedges)
            if global_:
                vectors = vectors.with_moments(columns, node, count, ranks)
            # They are kept for long, and should not take up memory.
            self.vectors.append(vectors.mapped() if out is None else vectors)
            if out is not None:
                self._write(out, place, node, columns)
        if out is not None and local:
            out[:, -1] = _member_count(hyperedge, num_hyperedges)

    @property
    def num_columns(self) -> int:
        r"""The number of columns :math:`F`."""
        local = 2 * self.num_centralities + 1
        return 6 * self.num_centralities * self.global_ + local * self.local

    def rows(self, hyperedge_index: Tensor, num_hyperedges: int) -> Tensor:
        r"""Computes the features of some hyperedges.

        Args:
            hyperedge_index (torch.Tensor): All incidences of these hyperedges, which
                are numbered from zero.
            num_hyperedges (int): The number of these hyperedges.

        Shapes:
            - **hyperedge_index:** :math:`(2, R)`
            - **output:** :math:`(R, F)`
        """
        node, hyperedge = hyperedge_index
        out = torch.empty((node.numel(), self.num_columns), device=node.device)
        for place, vectors in enumerate(self.vectors):
            columns: Sequence[Tensor] = []
            if self.local:
                columns = vectors.local_columns(hyperedge_index, num_hyperedges)
            self._write(out, place, node, columns)
        if self.local:
            out[:, -1] = _member_count(hyperedge, num_hyperedges)
        return out

    def _write(
        self, out: Tensor, place: int, node: Tensor, local: Sequence[Tensor]
    ) -> None:
        # The global columns of all centralities come first.
        start = 0
        if self.global_:
            out[:, 6 * place : 6 * place + 6] = self.vectors[place].global_columns(node)
            start = 6 * self.num_centralities
        if self.local:
            for i, column in enumerate(local):
                out[:, start + 2 * place + i] = column


def _all_local_columns(
    vectors: NodeVectors, hyperedge_index: Tensor, num_hyperedges: int
) -> list[Tensor]:
    size = hyperedge_index.size(1)
    out = [vectors.value.new_empty(size) for _ in range(2)]
    for block in hyperedge_blocks(hyperedge_index[1], num_hyperedges):
        index = block.incidences(hyperedge_index)
        found = vectors.local_columns(index, block.last - block.first)
        for column, part in zip(out, found, strict=True):
            column[block.rows] = part
    return out


def _ratio(part: Tensor, whole: Tensor) -> Tensor:
    return torch.where(whole > 0, part / whole, 0.0)


def _member_count(hyperedge: Tensor, num_hyperedges: int) -> Tensor:
    size = torch.bincount(hyperedge, minlength=num_hyperedges)
    return size.to(torch.get_default_dtype()).index_select(0, hyperedge)
