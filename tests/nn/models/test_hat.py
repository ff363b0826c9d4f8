import pytest
from torch import Tensor

from tests.nn.conv.hypergraph import Hypergraph
from tests.nn.conv.test_hat_conv import slow_hat
from tests.nn.models.encoders import (
    Drop,
    check_by_definition,
    check_gradients,
    count_parameters,
)
from tests.strategies import one_line_error
from tgx_anchor.nn.models.hat import HAT


def slow_encoder(
    model: HAT, x: Tensor, graph: Hypergraph, drop: Drop
) -> tuple[Tensor, Tensor]:
    state = None
    for i, conv in enumerate(model.convs):
        x, state = slow_hat(conv, x, graph, state)
        x = drop(x) if i > 0 else x
    assert state is not None
    return x, state


def test_by_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    check_by_definition(
        lambda n: HAT(3, 4, n, 5, query_channels=2, hyperedge_channels=6),
        slow_encoder,
        monkeypatch,
    )


def test_parameters() -> None:
    assert count_parameters(HAT(48, 64, 1, 128)) == 72320
    assert count_parameters(HAT(48, 64, 2, 128)) == 102464
    expected, b, q = 0, 6, 2
    for a, w in ((3, 4), (4, 4), (4, 5)):
        expected += (a + 1) * w + (b + 1) * q + 3 * (w + 1) * q + 2 * (w + 1) * w
        b = w
    model = HAT(3, 4, 3, 5, query_channels=2, hyperedge_channels=6)
    assert count_parameters(model) == expected
    # Softmax sees the bias of a key only where scores of both signs meet in a group,
    # which few weights bring about.
    for num_layers in (1, 2):
        check_gradients(
            HAT(3, 8, num_layers, 16),
            lambda name: name == 'convs.0.query_hyperedge.weight',
            num_seeds=25,
        )


def test_bad_widths() -> None:
    with one_line_error("'query_channels'", '0'):
        HAT(3, 4, 1, query_channels=0)
    with one_line_error("'hyperedge_channels'", '-1'):
        HAT(3, 4, 1, hyperedge_channels=-1)
