from typing import Any

import torch
from torch import Tensor

from tests.nn.conv.checks import (
    check_by_definition,
    check_finite_gradients,
    check_reset,
    check_shapes,
)
from tests.nn.conv.hypergraph import Hypergraph, features, whole
from tgx_anchor.nn.conv import HATConv


def slow_hat(
    conv: Any, x: Tensor, graph: Hypergraph, hyperedge_attr: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    state = hyperedge_attr
    if state is None:
        state = x.new_zeros(graph.num_hyperedges, conv.hyperedge_channels)

    def attend(key: Tensor, query: Tensor, value: Tensor) -> Tensor:
        if key.size(0) == 0:
            return value.new_zeros(conv.out_channels)
        score = (
            torch.nn.functional.leaky_relu(key @ query, 0.01) / conv.query_channels**0.5
        )
        return (torch.softmax(score, 0) @ value).clamp(min=0)

    z = conv.lin(x)
    rows = []
    for e in range(graph.num_hyperedges):
        own = z[graph.members(e)]
        query = conv.query_hyperedge(state[e])
        rows.append(attend(conv.key_node(own), query, conv.value_node(own)))
    hyperedge = torch.stack(rows)
    rows = []
    for v in range(graph.num_nodes):
        own = hyperedge[graph.hyperedges(v)]
        query = conv.query_node(z[v])
        rows.append(attend(conv.key_hyperedge(own), query, conv.value_hyperedge(own)))
    return torch.stack(rows), hyperedge


def test_by_definition() -> None:
    state = features(whole().num_hyperedges, 5, 7)
    conv = HATConv(3, 4, 5, query_channels=2)
    with torch.no_grad():
        # Far from uniform.
        for parameter in conv.parameters():
            parameter.mul_(3)
    check_by_definition(conv, slow_hat, 3)
    check_by_definition(conv, slow_hat, 3, hyperedge_attr=state)


def test_no_state_is_zeros() -> None:
    conv, graph = HATConv(3, 4, 5).double(), whole()
    x, zeros = features(10, 3), features(10, 5) * 0
    out = conv(x, graph.index, num_hyperedges=10)
    for left, right in zip(
        out, conv(x, graph.index, hyperedge_attr=zeros, num_hyperedges=10), strict=True
    ):
        torch.testing.assert_close(left, right)


def test_shapes(device: torch.device) -> None:
    check_shapes(HATConv(3, 4, 5), 3, 4, device)
    check_finite_gradients(HATConv(3, 4, 5), 3)


def test_parameters() -> None:
    a, b, w, q = 3, 5, 4, 2
    conv = HATConv(a, w, b, q)
    assert repr(conv) == 'HATConv(3, 4)'
    assert HATConv(a, w, b).query_channels == 64
    count = (a + 1) * w + (b + 1) * q + 3 * (w + 1) * q + 2 * (w + 1) * w
    assert sum(p.numel() for p in conv.parameters()) == count
    check_reset(conv)
