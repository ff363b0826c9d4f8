"""Hypergraphs with attributes of all levels, and their contents."""

from typing import Any

import torch
from torch import Tensor

from tests.strategies import to_data
from tgx_anchor.data import AnchorData

# Groups and number of nodes.
SHAPES: dict[str, tuple[list[list[int]], int]] = {
    'as many nodes as hyperedges': ([[0, 1], [1, 2, 0], [2]], 3),
    'trailing isolated nodes': ([[2, 0], [1]], 6),
    'leading empty hyperedges': ([[], [], [0, 1]], 2),
    'middle empty hyperedge': ([[1], [], [0, 1]], 3),
    'trailing empty hyperedges': ([[0, 3, 1], [], []], 4),
    'one hyperedge': ([[1, 0]], 2),
    'only empty hyperedges': ([[], []], 3),
    'zero hyperedges': ([], 2),
    'zero nodes': ([[], []], 0),
    'nothing at all': ([], 0),
}


def decorate(data: AnchorData, strings: bool, offset: int = 0) -> AnchorData:
    """Adds attributes of all levels, no two of whose rows are the same, with names
    that PyG would shift.
    """
    node = torch.arange(int(data.num_nodes or 0)) + offset
    hyperedge = torch.arange(data.num_hyperedges) + offset
    incidence = torch.arange(data.num_incidences) + offset
    data.x = torch.stack([node / 7, -node / 3], dim=1)
    data.node_index = node * 2
    data.node_batch_size = node * 3
    data.hyperedge_attr = hyperedge[:, None] / torch.tensor([3.0, 5.0, 9.0])
    data.hyperedge_index_of_day = hyperedge * 5
    data.hyperedge_batches = hyperedge.double() + 0.5
    data.incidence_attr = incidence[:, None] / torch.tensor([7.0, 11.0])
    data.incidence_index = incidence * 7
    data.incidence_batch_no = incidence * 11
    data.role = incidence % 3
    if 'y' not in data:
        data.y = incidence % 2 == 0
    data.train_mask = hyperedge % 3 == 0
    data.split_mask = (hyperedge[:, None] + torch.arange(4)) % 3 == 1
    data.graph_attr = torch.tensor([[offset, 1]])
    data.title = f'hypergraph {offset}'
    if strings:
        data.node_id = [f'n{i}' for i in node.tolist()]
        data.hyperedge_id = [f'e {i}' for i in hyperedge.tolist()]
        data.incidence_note = [f'p{i}' for i in incidence.tolist()]
    else:
        data.node_id = node * 13
        data.hyperedge_id = hyperedge * 17
    return data


def build(shape: str, strings: bool, offset: int = 0) -> AnchorData:
    groups, num_nodes = SHAPES[shape]
    return decorate(to_data(groups, num_nodes), strings, offset)


def all_shapes(strings: bool) -> list[AnchorData]:
    return [build(shape, strings, 10 * i) for i, shape in enumerate(SHAPES)]


def contents(data: Any) -> dict[str, Any]:
    """Everything in a hypergraph, as what `==` compares exactly."""
    out = {
        key: (value.dtype, list(value.size()), value.tolist())
        if isinstance(value, Tensor)
        else value
        for key, value in data.to_dict().items()
    }
    return out | {'num_nodes': data.num_nodes, 'num_hyperedges': data.num_hyperedges}
