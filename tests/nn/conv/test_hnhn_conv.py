from typing import Any

import pytest
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
from tests.strategies import one_line_error
from tgx_anchor.nn.conv import HNHNConv


def share(counts: list[float], exponent: float) -> float:
    # The mean weight of those that are there.
    return sum(n**exponent for n in counts) / max(len(counts), 1) or 1.0


def slow_hnhn(conv: Any, x: Tensor, graph: Hypergraph) -> tuple[Tensor, Tensor]:
    d, size = graph.degree.tolist(), graph.size.tolist()
    a, b = conv.node_exponent, conv.hyperedge_exponent
    hyperedge = []
    for e in range(graph.num_hyperedges):
        counts = [d[v] for v in graph.members(e)]
        rows = [x[v] * d[v] ** a / size[e] for v in graph.members(e)]
        mean = total(rows, x.size(1)) / share(counts, a)
        hyperedge.append(conv.lin_hyperedge(mean).clamp(min=0))
    node = []
    for v in range(graph.num_nodes):
        counts = [size[e] for e in graph.hyperedges(v)]
        rows = [hyperedge[e] * size[e] ** b / d[v] for e in graph.hyperedges(v)]
        mean = total(rows, conv.out_channels) / share(counts, b)
        node.append(conv.lin_node(mean).clamp(min=0))
    return torch.stack(node), torch.stack(hyperedge)


@pytest.mark.parametrize('exponents', [(0.0, 0.0), (1.5, 0.0), (0.0, -0.5), (-1, 2)])
def test_by_definition(exponents: tuple[float, float]) -> None:
    conv = HNHNConv(3, 4, False, *exponents)
    check_by_definition(conv, slow_hnhn, 3)
    check_finite_gradients(conv, 3)


def test_exponents_by_hand() -> None:
    # Node 0 is in three hyperedges, node 1 in one, and both in a hyperedge of two.
    index = torch.tensor([[0, 0, 1, 0], [0, 1, 1, 2]])
    conv = HNHNConv(1, 1, node_exponent=1.0, hyperedge_exponent=1.0)
    with torch.no_grad():
        for lin in (conv.lin_hyperedge, conv.lin_node):
            lin.weight.fill_(1.0)
            lin.bias.zero_()
    node, hyperedge = conv(torch.tensor([[1.0], [5.0]]), index)
    assert hyperedge.view(-1).tolist() == [1.0, (3 * 1 + 1 * 5) / 4, 1.0]
    assert node.view(-1).tolist() == [(1 * 1 + 2 * 2 + 1 * 1) / 4, 2.0]


def test_bad_exponent() -> None:
    with one_line_error("'node_exponent'", 'inf'):
        HNHNConv(3, 4, node_exponent=float('inf'))


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
