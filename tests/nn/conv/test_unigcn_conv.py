from typing import Any

import torch
from torch import Tensor

from tests.nn.conv.checks import (
    check_by_definition,
    check_finite_gradients,
    check_reset,
    check_shapes,
)
from tests.nn.conv.hypergraph import NUM_NODES, Hypergraph, features, total, whole
from tests.strategies import one_line_error
from tgx_anchor.nn.conv import UniGCNConv


def slow_unigcn(
    conv: Any, x: Tensor, graph: Hypergraph, x_0: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    d, size = graph.degree.tolist(), graph.size.tolist()
    sent = x if conv.beta is not None else conv.lin(x)
    hyperedge, degree = [], []
    for e in range(graph.num_hyperedges):
        rows = [sent[v] / size[e] for v in graph.members(e)]
        hyperedge.append(total(rows, sent.size(1)))
        degree.append(sum(d[v] / size[e] for v in graph.members(e)))
    node = []
    for v in range(graph.num_nodes):
        rows = [hyperedge[e] * degree[e] ** -0.5 for e in graph.hyperedges(v)]
        out = max(d[v], 1) ** -0.5 * total(rows, sent.size(1))
        if conv.beta is not None:
            first = x if x_0 is None else x_0
            out = (1 - conv.alpha) * out + conv.alpha * first[v]
            out = (1 - conv.beta) * out + conv.beta * (conv.lin.weight @ out)
        node.append(out.clamp(min=0))
    return torch.stack(node), torch.stack(hyperedge)


def test_unigcnii_by_definition() -> None:
    conv = UniGCNConv(3, 3, alpha=0.2, beta=0.4)
    check_by_definition(conv, slow_unigcn, 3)
    check_by_definition(conv, slow_unigcn, 3, x_0=features(NUM_NODES, 3, 7))


def test_unigcn_by_definition() -> None:
    check_by_definition(UniGCNConv(3, 4, beta=None), slow_unigcn, 3)


def test_without_weights_nothing_is_learned() -> None:
    # No share of the weights, and none of the first features: the plain operator.
    conv, graph = UniGCNConv(3, 3, alpha=0.0, beta=0.0).double(), whole()
    x = features(NUM_NODES, 3).abs()
    plain = UniGCNConv(3, 3, beta=None).double()
    with torch.no_grad():
        plain.lin.weight.copy_(torch.eye(3))
    for left, right in zip(conv(x, graph.index), plain(x, graph.index), strict=True):
        torch.testing.assert_close(left, right)


def test_shapes(device: torch.device) -> None:
    check_shapes(UniGCNConv(3, 4, beta=None), 3, 4, device)
    check_finite_gradients(UniGCNConv(3, 4, beta=None), 3)
    check_shapes(UniGCNConv(3, 3, beta=0.4), 3, 3, device)
    check_finite_gradients(UniGCNConv(3, 3, beta=0.4), 3)


def test_parameters() -> None:
    conv = UniGCNConv(3, 4, beta=None)
    assert repr(conv) == 'UniGCNConv(3, 4)'
    assert sum(p.numel() for p in conv.parameters()) == 12
    check_reset(conv)


def test_other_width() -> None:
    with one_line_error("'out_channels'", '4', '3'):
        UniGCNConv(3, 4)
