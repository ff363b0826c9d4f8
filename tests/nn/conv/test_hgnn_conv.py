from typing import Any

import torch
from torch import Tensor

from tests.nn.conv.checks import (
    check_by_definition,
    check_finite_gradients,
    check_reset,
    check_shapes,
)
from tests.nn.conv.hypergraph import Hypergraph, total
from tgx_anchor.nn.conv import HGNNConv


def slow_hgnn(conv: Any, x: Tensor, graph: Hypergraph) -> tuple[Tensor, Tensor]:
    width = conv.out_channels
    d, size = graph.degree.tolist(), graph.size.tolist()
    hyperedge = [
        total([d[v] ** -0.5 * conv.lin(x[v]) for v in graph.members(e)], width)
        for e in range(graph.num_hyperedges)
    ]
    node = [
        max(d[v], 1) ** -0.5
        * total([hyperedge[e] / size[e] for e in graph.hyperedges(v)], width)
        for v in range(graph.num_nodes)
    ]
    return torch.stack(node).clamp(min=0), torch.stack(hyperedge)


def test_by_definition() -> None:
    check_by_definition(HGNNConv(3, 4), slow_hgnn, 3)


def test_shapes(device: torch.device) -> None:
    check_shapes(HGNNConv(3, 4), 3, 4, device)
    check_finite_gradients(HGNNConv(3, 4), 3)


def test_parameters() -> None:
    conv = HGNNConv(3, 4)
    assert repr(conv) == 'HGNNConv(3, 4)'
    assert sum(p.numel() for p in conv.parameters()) == 4 * 4
    check_reset(conv)
