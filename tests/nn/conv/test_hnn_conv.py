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
from tests.nn.conv.hypergraph import Hypergraph, features, total, whole
from tgx_anchor.nn.conv import HNNConv


def slow_hnn(
    conv: Any, x: Tensor, graph: Hypergraph, hyperedge_attr: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    y = hyperedge_attr
    if y is None:
        y = x.new_zeros(graph.num_hyperedges, x.size(1))
    nodes, hyperedges = range(graph.num_nodes), range(graph.num_hyperedges)
    width = x.size(1)
    d = graph.degree.clamp(min=1).double()
    size = graph.size.clamp(min=1).double()
    # H of what hyperedges receive, and of what nodes receive.
    all_of_them = torch.zeros(graph.num_nodes, graph.num_hyperedges).double()
    drawn = all_of_them.clone()
    for e in hyperedges:
        for v in graph.members(e):
            all_of_them[v, e] += 1
    for v in nodes:
        for e in graph.hyperedges(v):
            drawn[v, e] += 1

    rows = []
    for e in hyperedges:
        psi = [conv.psi_1(torch.cat([x[v], y[e]])) / d[v] for v in graph.members(e)]
        rows.append(total(psi, width) / size[e])
    between = all_of_them.t() @ torch.diag(1 / d) @ drawn @ torch.diag(size**-2)
    a = between @ torch.stack(rows)
    node = []
    for v in nodes:
        own = total([a[e] + y[e] for e in graph.hyperedges(v)], width) / d[v]
        node.append((conv.lin_node.weight @ own).clamp(min=0))

    rows = []
    for v in nodes:
        sent = [y[e] / size[e] for e in graph.hyperedges(v)]
        rows.append(total(sent, width) / d[v])
    between = drawn @ torch.diag(1 / size) @ all_of_them.t() @ torch.diag(d**-2)
    t = between @ torch.stack(rows)
    hyperedge = []
    for e in hyperedges:
        psi = [conv.psi_2(torch.cat([node[v], y[e]])) for v in graph.members(e)]
        own = total([t[v] for v in graph.members(e)], width) + total(psi, width)
        hyperedge.append((conv.lin_hyperedge.weight @ (own / size[e])).clamp(min=0))
    return torch.stack(node), torch.stack(hyperedge)


def test_by_definition() -> None:
    state = features(whole().num_hyperedges, 3, 7)
    conv = HNNConv(3, 4)
    check_by_definition(conv, slow_hnn, 3)
    check_by_definition(conv, slow_hnn, 3, hyperedge_attr=state)


def test_shapes(device: torch.device) -> None:
    check_shapes(HNNConv(3, 4), 3, 4, device)
    check_finite_gradients(HNNConv(3, 4), 3)


def test_parameters() -> None:
    a, w = 70, 90
    conv = HNNConv(a, w)
    assert repr(conv) == 'HNNConv(70, 90)'
    count = 2 * a * w + (2 * a + 1) * a + (w + a + 1) * a
    assert sum(p.numel() for p in conv.parameters()) == count
    check_reset(conv)
    check_std(conv.lin_node.weight, 2 / 160**0.5)
    check_std(conv.lin_hyperedge.weight, 2 / 160**0.5)
    check_std(conv.psi_1.weight, 2 / 210**0.5)
    check_std(conv.psi_2.weight, 2 / 230**0.5)
    assert float(conv.psi_1.bias.detach().abs().max()) <= 140**-0.5
    assert float(conv.psi_2.bias.detach().abs().max()) <= 160**-0.5
