import pytest
from torch import Tensor

from tests.nn.conv.hypergraph import Hypergraph
from tests.nn.conv.test_hnhn_conv import slow_hnhn
from tests.nn.models.encoders import (
    Drop,
    check_by_definition,
    check_gradients,
    count_parameters,
)
from tgx_anchor.nn.models.hnhn import HNHN


def slow_encoder(
    model: HNHN, x: Tensor, graph: Hypergraph, drop: Drop
) -> tuple[Tensor, Tensor]:
    for i, conv in enumerate(model.convs):
        x, hyperedge = slow_hnhn(conv, x, graph)
        x = drop(x) if i > 0 else x
    return x, hyperedge


@pytest.mark.parametrize('exponents', [(0.0, 0.0), (0.5, -1.0)])
def test_by_definition(
    exponents: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    check_by_definition(
        lambda n: HNHN(3, 4, n, 5, 0.7, False, *exponents), slow_encoder, monkeypatch
    )


def test_parameters() -> None:
    assert count_parameters(HNHN(48, 64, 1, 128)) == 22784
    assert count_parameters(HNHN(48, 64, 2, 128)) == 32128
    expected = 4 * 4 + 5 * 4 + 2 * 5 * 4 + 5 * 5 + 6 * 5
    assert count_parameters(HNHN(3, 4, 3, 5)) == expected
    for num_layers in (1, 2):
        check_gradients(HNHN(3, 8, num_layers, 16))
