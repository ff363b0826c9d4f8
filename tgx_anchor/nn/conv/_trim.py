"""What the layers of a model need, to represent some hyperedges and their members."""

import torch
from torch import Tensor


def _touched(index: Tensor, rows: Tensor, size: int) -> Tensor:
    out = torch.zeros(size, dtype=torch.bool, device=index.device)
    out[index[rows]] = True
    return out


def trim_to_targets(
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    num_targets: int,
    num_layers: int,
    drawn_mask: Tensor | None = None,
) -> list[tuple[Tensor, Tensor]]:
    r"""The incidences that each layer needs, if only the first hyperedges and their
    members are asked for at the end.

    A layer takes nodes to hyperedges, then hyperedges to nodes.

    Returns:
        For each layer the incidences of the hyperedges it needs, and those of them
        that the nodes it needs receive from.

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
        received = drawn & _touched(node, kept, num_nodes)[node]
        kept = _touched(hyperedge, kept | received, num_hyperedges)[hyperedge]
        layers.append((kept, received))
    return layers[::-1]


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
