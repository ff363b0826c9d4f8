import pytest
import torch
from torch import Tensor

from tests.nn.conv.hypergraph import Hypergraph, total
from tests.nn.conv.test_hnn_conv import slow_hnn
from tests.nn.models.encoders import (
    Drop,
    check_by_definition,
    check_gradients,
    count_parameters,
)
from tgx_anchor.nn.models.hnn import HNN


def slow_encoder(
    model: HNN, x: Tensor, graph: Hypergraph, drop: Drop
) -> tuple[Tensor, Tensor]:
    d = graph.degree.tolist()
    y = torch.stack(
        [
            total([x[v] / d[v] for v in graph.members(e)], x.size(1))
            for e in range(graph.num_hyperedges)
        ]
    )
    for i, conv in enumerate(model.convs):
        if i > 0:
            x, y = drop(x), drop(y)
        x, y = slow_hnn(conv, x, graph, y)
    return x, y


def test_by_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    check_by_definition(lambda n: HNN(3, 4, n, 5), slow_encoder, monkeypatch)


def test_parameters() -> None:
    assert count_parameters(HNN(48, 64, 1, 128)) == 25440
    assert count_parameters(HNN(48, 64, 2, 128)) == 53216
    expected = 0
    for a, w in ((3, 4), (4, 4), (4, 5)):
        expected += 2 * a * w + (2 * a + 1) * a + (w + a + 1) * a
    assert count_parameters(HNN(3, 4, 3, 5)) == expected
    for num_layers in (1, 2):
        check_gradients(HNN(3, 8, num_layers, 16))
