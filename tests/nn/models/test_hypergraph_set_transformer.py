from collections.abc import Callable
from functools import partial

import pytest
import torch

from tests.nn.conv.slow_sets import (
    BAND,
    BAND_NODES,
    DRAWN,
    GROUPS,
    NUM_NODES,
    neighbourhood,
    num_parameters,
    random,
    ranks,
    slow_whatsnet_conv,
)
from tests.strategies import Renaming, one_line_error, to_data, to_index
from tgx_anchor.data import HyperedgeIndex
from tgx_anchor.nn import AllSetTransformer, HypergraphSetTransformer
from tgx_anchor.nn.conv.whatsnet_conv import WHATsNetConv

INDEX = to_index(GROUPS)
SIZE = len(GROUPS)


Make = Callable[..., HypergraphSetTransformer]


# AllSetTransformer is this one without attention among members.
@pytest.fixture(params=[HypergraphSetTransformer, AllSetTransformer])
def make(request: pytest.FixtureRequest) -> Make:
    return partial(_make, request.param)


def _make(
    cls: type[HypergraphSetTransformer], num_layers: int, dropout: float = 0.7
) -> HypergraphSetTransformer:
    torch.manual_seed(0)
    model = cls(5, 6, num_layers, 3, dropout, attention_channels=8, heads=2)
    return model.double().eval()


@pytest.mark.parametrize('drawn', [None, DRAWN])
@pytest.mark.parametrize('num_layers', [1, 2])
def test_by_definition(make: Make, num_layers: int, drawn: torch.Tensor | None) -> None:
    model, x = make(num_layers), random(NUM_NODES, 5)
    index = HyperedgeIndex(INDEX, NUM_NODES, SIZE, drawn_mask=drawn)
    node, hyperedge = model(x, index)
    state = torch.zeros(SIZE, 0, dtype=torch.double)
    for conv in model.convs:
        assert isinstance(conv, WHATsNetConv)
        x, state = slow_whatsnet_conv(conv, x, GROUPS, state, ranks(GROUPS), drawn)
    torch.testing.assert_close(node, x)
    torch.testing.assert_close(hyperedge, state)


def test_number_of_parameters() -> None:
    assert num_parameters(HypergraphSetTransformer(48, 64, 1, 128)) == 665_088
    assert num_parameters(HypergraphSetTransformer(48, 64, 2, 128)) == 1_295_232


def test_names_do_not_matter(make: Make) -> None:
    data = to_data(GROUPS, NUM_NODES)
    generator = torch.Generator().manual_seed(3)
    sizes = (NUM_NODES, SIZE, INDEX.size(1))
    orders = [torch.randperm(n, generator=generator).tolist() for n in sizes]
    other = Renaming(data, *orders)
    model, x = make(2), random(NUM_NODES, 5)
    node, hyperedge = model(x, INDEX, num_hyperedges=SIZE)
    new_node, new_hyperedge = model(
        other.nodes(x), other.data.hyperedge_index, num_hyperedges=SIZE
    )
    torch.testing.assert_close(new_node, other.nodes(node), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(
        new_hyperedge, other.hyperedges(hyperedge), rtol=1e-9, atol=1e-12
    )


def test_a_complete_neighbourhood_is_enough(make: Make) -> None:
    hyperedges, nodes = neighbourhood(BAND, [4], 2)
    model, x, index = make(2), random(BAND_NODES, 5), to_index(BAND)
    node, hyperedge = model(x, index)
    part = [[nodes.index(v) for v in BAND[e]] for e in hyperedges]
    part_node, part_hyperedge = model(x[nodes], to_index(part))
    torch.testing.assert_close(part_hyperedge[hyperedges.index(4)], hyperedge[4])
    for v in BAND[4]:
        torch.testing.assert_close(part_node[nodes.index(v)], node[v])


def test_dropout(make: Make) -> None:
    x, model = random(NUM_NODES, 5), make(1)
    first = model(x, INDEX)
    torch.testing.assert_close(model(x, INDEX), first, rtol=0, atol=0)
    for kept, dropped in zip(first, model.train()(x, INDEX), strict=True):
        assert not torch.allclose(kept, dropped)
    torch.testing.assert_close(make(1, dropout=0.0).train()(x, INDEX), first)


def test_gradients_reach_all_but_the_dead(make: Make) -> None:
    model, x = make(2), random(NUM_NODES, 5).requires_grad_()
    node, hyperedge = model(x, INDEX)
    ((node * random(*node.size())).sum() + hyperedge.square().sum()).backward()
    for name, p in model.named_parameters():
        assert p.grad is not None
        dead = name.endswith('lin_key.bias')
        assert (float(p.grad.abs().max()) < 1e-12) == dead, name


def test_runs_where_the_data_is(make: Make, device: torch.device) -> None:
    model, x = make(2).to(device), random(NUM_NODES, 5)
    node, hyperedge = model(x.to(device), INDEX.to(device))
    assert node.device.type == hyperedge.device.type == device.type


def test_bad_arguments_and_repr() -> None:
    with one_line_error("'heads'", '3'):
        HypergraphSetTransformer(5, 6, 1, heads=3)
    model = HypergraphSetTransformer(5, 6, 2, 3)
    assert repr(model) == 'HypergraphSetTransformer(5, 3, num_layers=2)'
