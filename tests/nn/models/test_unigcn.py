import math

import pytest
import torch
from torch import Tensor

from tests.nn.conv.hypergraph import Hypergraph
from tests.nn.conv.test_unigcn_conv import slow_unigcn
from tests.nn.models.encoders import (
    Drop,
    check_by_definition,
    check_gradients,
    count_parameters,
)
from tests.strategies import one_line_error
from tgx_anchor.nn.models.unigcn import UniGCN


def slow_unigcnii(
    model: UniGCN, x: Tensor, graph: Hypergraph, drop: Drop
) -> tuple[Tensor, Tensor]:
    assert model.lin is not None
    assert model.lin_node is not None
    assert model.lin_hyperedge is not None
    first = x = model.lin(drop(x)).clamp(min=0)
    for i, conv in enumerate(model.convs):
        assert conv.alpha == 0.1
        assert conv.beta == pytest.approx(math.log(0.5 / (i + 1) + 1))
        x, hyperedge = slow_unigcn(conv, drop(x), graph, first)
    return model.lin_node(drop(x)), model.lin_hyperedge(drop(hyperedge))


def slow_plain(
    model: UniGCN, x: Tensor, graph: Hypergraph, drop: Drop
) -> tuple[Tensor, Tensor]:
    for conv in model.convs:
        x, hyperedge = slow_unigcn(conv, drop(x), graph)
    return x, hyperedge


def test_unigcnii_by_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    check_by_definition(lambda n: UniGCN(3, 4, n, 5), slow_unigcnii, monkeypatch)


def test_unigcn_by_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    check_by_definition(
        lambda n: UniGCN(3, 4, n, 5, variant='unigcn'), slow_plain, monkeypatch
    )


def test_other_shares() -> None:
    model = UniGCN(3, 4, 2, alpha=0.3, theta=0.8)
    assert [conv.alpha for conv in model.convs] == [0.3, 0.3]
    expected = [math.log(1.8), math.log(1.4)]
    assert [conv.beta for conv in model.convs] == pytest.approx(expected)


def test_parameters() -> None:
    assert UniGCN(3, 4, 1).variant == 'unigcnii'
    assert count_parameters(UniGCN(48, 64, 1, 128)) == 23872
    assert count_parameters(UniGCN(48, 64, 2, 128)) == 27968
    assert count_parameters(UniGCN(3, 4, 3, 5)) == 4 * 4 + 3 * 16 + 2 * 5 * 5
    plain = UniGCN(3, 4, 3, 5, variant='unigcn')
    assert count_parameters(plain) == 3 * 4 + 4 * 4 + 4 * 5
    for num_layers in (1, 2):
        check_gradients(UniGCN(3, 8, num_layers, 16))
        check_gradients(UniGCN(3, 8, num_layers, 16, variant='unigcn'))


def test_parameter_groups() -> None:
    model = UniGCN(48, 64, 2, 128)
    inner, outer = torch.optim.Adam(model.parameter_groups(), lr=1e-3).param_groups
    assert (inner['lr'], inner['weight_decay']) == (0.01, 0.01)
    assert (outer['lr'], outer['weight_decay']) == (0.01, 5e-4)
    assert sum(p.numel() for p in inner['params']) == 2 * 64 * 64
    assert sum(p.numel() for p in outer['params']) == 49 * 64 + 2 * 65 * 128
    plain = UniGCN(48, 64, 2, 128, variant='unigcn')
    (group,) = torch.optim.Adam(plain.parameter_groups(), lr=1e-3).param_groups
    assert (group['lr'], group['weight_decay']) == (0.01, 5e-4)
    assert sum(p.numel() for p in group['params']) == count_parameters(plain)


def test_unknown_variant() -> None:
    with one_line_error("'variant'", 'unigcnii', "'gcn'"):
        UniGCN(3, 4, 1, variant='gcn')  # type: ignore[arg-type]
