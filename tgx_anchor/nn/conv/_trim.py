"""What the layers of a model need, to represent some hyperedges and their members."""

from typing import NamedTuple, overload

import torch
from torch import Tensor

from tgx_anchor.utils.incidence import is_sorted


class Scope(NamedTuple):
    r"""What a layer works on: the first nodes and hyperedges, and the incidences
    between them.

    Args:
        num_nodes (int): The number of nodes that the layer gets.
        num_hyperedges (int): The number of hyperedges that it gets and returns.
        num_out_nodes (int): The number of nodes that it returns.
        rows (slice or torch.Tensor): The incidences.
        hyperedge_index (torch.Tensor): Their nodes and hyperedges.
        drawn_mask (torch.Tensor, optional): Those of them that the returned nodes
            receive from, all if :obj:`None`.

    Shapes:
        - **rows, drawn_mask:** :math:`(P)`
        - **hyperedge_index:** :math:`(2, P)`
    """

    num_nodes: int
    num_hyperedges: int
    num_out_nodes: int
    rows: slice | Tensor
    hyperedge_index: Tensor
    drawn_mask: Tensor | None

    @overload
    def nodes(self, value: Tensor) -> Tensor: ...

    @overload
    def nodes(self, value: None) -> None: ...

    def nodes(self, value: Tensor | None) -> Tensor | None:
        r"""What a table of nodes holds of the nodes that the layer gets."""
        return None if value is None else value[: self.num_nodes]

    @overload
    def hyperedges(self, value: Tensor) -> Tensor: ...

    @overload
    def hyperedges(self, value: None) -> None: ...

    def hyperedges(self, value: Tensor | None) -> Tensor | None:
        r"""What a table of hyperedges holds of those that the layer gets."""
        return None if value is None else value[: self.num_hyperedges]

    def incidences(self, value: Tensor | None) -> Tensor | None:
        r"""What a table of incidences holds of those that the layer gets."""
        return None if value is None else value[self.rows]


def trim_to_targets(
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    num_targets: int | None,
    num_layers: int,
    drawn_mask: Tensor | None = None,
) -> list[Scope]:
    r"""What each layer needs, if only the first hyperedges and their members are asked
    for at the end, or everything if :obj:`num_targets` is :obj:`None`.

    A layer takes nodes to hyperedges, then hyperedges to nodes. It works on all nodes
    and hyperedges up to the last one that is needed: on nothing else, where they are
    numbered in the order in which they are reached from the targets, as
    :class:`~tgx_anchor.loader.HyperedgeLoader` does.

    Returns:
        The scope of each layer.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **drawn_mask:** :math:`(P)`
    """
    whole = Scope(
        num_nodes,
        num_hyperedges,
        num_nodes,
        slice(None),
        hyperedge_index,
        drawn_mask,
    )
    if num_targets is None:
        return [whole] * num_layers
    node, hyperedge = hyperedge_index
    in_order = is_sorted(hyperedge)
    drawn = (
        torch.ones_like(node, dtype=torch.bool) if drawn_mask is None else drawn_mask
    )
    num_hyperedges = min(num_targets, num_hyperedges)
    num_nodes = _end(node[hyperedge < num_hyperedges])
    scopes: list[Scope] = []
    for _ in range(num_layers):
        received = drawn & (node < num_nodes)
        num_hyperedges = max(num_hyperedges, _end(hyperedge[received]))
        kept = hyperedge < num_hyperedges
        rows = slice(int(kept.sum())) if in_order else kept.nonzero().view(-1)
        index, num_out_nodes = hyperedge_index[:, rows], num_nodes
        num_nodes = max(num_nodes, _end(index[0]))
        scopes.append(
            Scope(num_nodes, num_hyperedges, num_out_nodes, rows, index, received[rows])
        )
    return scopes[::-1]


def _end(number: Tensor) -> int:
    return int(number.max()) + 1 if number.numel() > 0 else 0


def trim_incidences(
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    num_targets: int,
    num_layers: int,
    drawn_mask: Tensor | None = None,
) -> list[tuple[Tensor, Tensor]]:
    r"""As :func:`trim_to_targets`, for layers that take the incidences of a hyperedge,
    and at the same time those of a node, to each other.

    Returns:
        For each layer the incidences it needs, and those of them that are seen through
        their nodes.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **drawn_mask:** :math:`(P)`
        - **output:** pairs of :math:`(P)`, booleans
    """
    node, hyperedge = hyperedge_index
    kept = hyperedge < num_targets
    drawn = torch.ones_like(kept) if drawn_mask is None else drawn_mask
    layers = []
    for _ in range(num_layers):
        seen = drawn & _touched(node, kept, num_nodes)[node]
        kept = _touched(hyperedge, kept, num_hyperedges)[hyperedge] | seen
        layers.append((kept, seen))
    return layers[::-1]


def _touched(index: Tensor, rows: Tensor, size: int) -> Tensor:
    out = torch.zeros(size, dtype=torch.bool, device=index.device)
    out[index[rows]] = True
    return out
