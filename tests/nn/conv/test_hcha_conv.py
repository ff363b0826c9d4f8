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
from tests.nn.conv.hypergraph import NUM_NODES, Hypergraph, features, total, whole
from tests.strategies import one_line_error
from tgx_anchor.nn.conv import HCHAConv


def slow_hcha(
    conv: Any, x: Tensor, graph: Hypergraph, hyperedge_attr: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    state = hyperedge_attr
    if state is None:
        state = x.new_zeros(graph.num_hyperedges, x.size(1))
    d, size = graph.degree.tolist(), graph.size.tolist()
    heads, width = conv.heads, conv.out_channels
    a, b = conv.att_node[0], conv.att_hyperedge[0]

    def score(k: int, v: int, e: int) -> Tensor:
        left = a[k] @ (conv.projection[k] @ x[v])
        both: Tensor = left + b[k] @ (conv.projection[k] @ state[e])
        return both.clamp(min=0)

    def attention(k: int, v: int, e: int, drawn: bool) -> Tensor:
        others = [score(k, v, f).exp() for f in graph.hyperedges(v, drawn)]
        return score(k, v, e).exp() / torch.stack(others).sum()

    hyperedge = [
        total(
            [
                attention(k, v, e, False) * d[v] ** -0.5 * (conv.weight[k] @ x[v])
                for v in graph.members(e)
                for k in range(heads)
            ],
            width,
        )
        / heads
        for e in range(graph.num_hyperedges)
    ]
    node = [
        max(d[v], 1) ** -0.5
        * total(
            [
                attention(k, v, e, True) * hyperedge[e] / size[e]
                for e in graph.hyperedges(v)
                for k in range(heads)
            ],
            width,
        )
        / heads
        for v in range(graph.num_nodes)
    ]
    return torch.stack(node), torch.stack(hyperedge)


def test_by_definition() -> None:
    state = features(whole().num_hyperedges, 3, 7)
    for heads in (1, 3):
        conv = HCHAConv(3, 4, heads)
        check_by_definition(conv, slow_hcha, 3)
        check_by_definition(conv, slow_hcha, 3, hyperedge_attr=state)


def test_uniform_without_states() -> None:
    conv, graph = HCHAConv(3, 4).double(), whole()
    x = features(NUM_NODES, 3)
    _, hyperedge = conv(x, graph.index, num_hyperedges=graph.num_hyperedges)
    d = graph.degree.clamp(min=1).double()
    expected = [
        total([d[v] ** -1.5 * (conv.weight[0] @ x[v]) for v in graph.members(e)], 4)
        for e in range(graph.num_hyperedges)
    ]
    torch.testing.assert_close(hyperedge, torch.stack(expected))


def test_shapes(device: torch.device) -> None:
    check_shapes(HCHAConv(3, 4, 2), 3, 4, device)
    check_finite_gradients(HCHAConv(3, 4, 2), 3)


def test_parameters() -> None:
    conv = HCHAConv(100, 80, heads=4)
    assert repr(conv) == 'HCHAConv(100, 80, heads=4)'
    assert sum(p.numel() for p in conv.parameters()) == 4 * (2 * 100 * 80 + 2 * 80)
    check_reset(conv)
    check_std(conv.projection, 2 / 180**0.5)
    check_std(conv.weight, 0.1 / 3**0.5)
    assert float(conv.weight.detach().abs().max()) <= 0.1
    check_std(conv.att_node, 2 / (80 * 5) ** 0.5)
    check_std(conv.att_hyperedge, 2 / (80 * 5) ** 0.5)


def test_no_heads() -> None:
    with one_line_error("'heads'", '0'):
        HCHAConv(3, 4, 0)
