import pytest
from torch import Tensor

from tests.nn.conv.hypergraph import Hypergraph
from tests.nn.conv.test_hcha_conv import slow_hcha
from tests.nn.models.encoders import (
    Drop,
    check_by_definition,
    check_gradients,
    count_parameters,
)
from tests.strategies import one_line_error
from tgx_anchor.nn.models.hcha import HCHA


def slow_encoder(
    model: HCHA, x: Tensor, graph: Hypergraph, drop: Drop
) -> tuple[Tensor, Tensor]:
    state = None
    for i, conv in enumerate(model.convs):
        x = drop(x) if i > 0 else x
        state = None if state is None else drop(state)
        x, state = slow_hcha(conv, x, graph, state)
        x = x.clamp(min=0) if i < model.num_layers - 1 else x
    assert state is not None
    return x, state


def test_by_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    check_by_definition(lambda n: HCHA(3, 4, n, 5, heads=2), slow_encoder, monkeypatch)


def test_parameters() -> None:
    assert count_parameters(HCHA(48, 64, 1, 128)) == 12544
    assert count_parameters(HCHA(48, 64, 2, 128)) == 41728
    expected = 2 * 2 * 4 * 4 + 2 * 2 * 4 * 5 + 2 * 5 * 5
    assert count_parameters(HCHA(3, 4, 3, 5, heads=2)) == expected
    assert [conv.heads for conv in HCHA(3, 4, 3).convs] == [4, 4, 1]
    # The attention of the first layer is uniform.
    for num_layers in (1, 2):
        check_gradients(
            HCHA(3, 8, num_layers, 16),
            lambda name: 'convs.0' in name and 'convs.0.weight' not in name,
        )


def test_no_heads() -> None:
    with one_line_error("'heads'", '0'):
        HCHA(3, 4, 1, heads=0)
