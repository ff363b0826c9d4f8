import pytest
from torch import Tensor

from tests.nn.conv.hypergraph import Hypergraph
from tests.nn.conv.test_hgnn_conv import slow_hgnn
from tests.nn.models.encoders import (
    Drop,
    check_by_definition,
    check_gradients,
    count_parameters,
)
from tgx_anchor.nn.models.hgnn import HGNN


def slow_encoder(
    model: HGNN, x: Tensor, graph: Hypergraph, drop: Drop
) -> tuple[Tensor, Tensor]:
    for i, conv in enumerate(model.convs):
        x, hyperedge = slow_hgnn(conv, x, graph)
        x = drop(x) if i > 0 else x
    return x, hyperedge @ model.lin.weight.t() + model.lin.bias


def test_by_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    check_by_definition(lambda n: HGNN(3, 4, n, 5), slow_encoder, monkeypatch)


def test_parameters() -> None:
    assert count_parameters(HGNN(48, 64, 1, 128)) == 22784
    assert count_parameters(HGNN(48, 64, 2, 128)) == 27968
    assert count_parameters(HGNN(3, 4, 3, 5)) == 4 * 4 + 5 * 4 + 5 * 5 + 6 * 5
    for num_layers in (1, 2):
        check_gradients(HGNN(3, 8, num_layers, 16))
