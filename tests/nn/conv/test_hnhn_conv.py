from typing import Any

import torch
from torch import Tensor

from tests.nn.conv.checks import (
    check_by_definition,
    check_finite_gradients,
    check_reset,
    check_shapes,
    check_std,
)
from tests.nn.conv.hypergraph import Hypergraph, total
from tgx_anchor.nn.conv import HNHNConv


def slow_hnhn(conv: Any, x: Tensor, graph: Hypergraph) -> tuple[Tensor, Tensor]:
    d, size = graph.degree.tolist(), graph.size.tolist()
    hyperedge = []
    for e in range(graph.num_hyperedges):
        rows = [x[v] / size[e] for v in graph.members(e)]
        hyperedge.append(conv.lin_hyperedge(total(rows, x.size(1))).clamp(min=0))
    node = []
    for v in range(graph.num_nodes):
        rows = [hyperedge[e] / d[v] for e in graph.hyperedges(v)]
        node.append(conv.lin_node(total(rows, conv.out_channels)).clamp(min=0))
    return torch.stack(node), torch.stack(hyperedge)


def test_by_definition() -> None:
    names = 'node_degree', 'hyperedge_size', 'drawn_mask'
    check_by_definition(HNHNConv(3, 4), slow_hnhn, 3, *names)


def test_shapes(device: torch.device) -> None:
    check_shapes(HNHNConv(3, 4), 3, 4, device)
    check_finite_gradients(HNHNConv(3, 4), 3)


def test_parameters() -> None:
    conv = HNHNConv(100, 80)
    assert repr(conv) == 'HNHNConv(100, 80)'
    assert sum(p.numel() for p in conv.parameters()) == 101 * 80 + 81 * 80
    check_reset(conv)
    check_std(conv.lin_hyperedge.weight, 2 / 180**0.5)
    check_std(conv.lin_node.weight, 2 / 160**0.5)
    assert float(conv.lin_hyperedge.bias.detach().abs().max()) <= 0.1
