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
from tests.nn.models.encoders import check_targets
from tests.strategies import Renaming, one_line_error, to_data, to_index
from tgx_anchor.data import HyperedgeIndex
from tgx_anchor.nn.conv.whatsnet_conv import WHATsNetConv
from tgx_anchor.nn.models.whatsnet import WHATsNet

INDEX = to_index(GROUPS)
SIZE = len(GROUPS)


def make(num_layers: int, dropout: float = 0.7, **options: bool) -> WHATsNet:
    torch.manual_seed(0)
    model = WHATsNet(
        5, 6, num_layers, 3, dropout, attention_channels=8, num_inducing=3, **options
    )
    return model.double().eval()


@pytest.mark.parametrize('drawn', [None, DRAWN])
@pytest.mark.parametrize('num_layers', [1, 2, 3])
def test_by_definition(num_layers: int, drawn: torch.Tensor | None) -> None:
    model, x, rank = make(num_layers), random(NUM_NODES, 5), ranks(GROUPS)
    index = HyperedgeIndex(INDEX, NUM_NODES, SIZE, drawn_mask=drawn)
    node, hyperedge = model(x, index, incidence_rank=rank)
    assert node.size() == (NUM_NODES, 3)
    assert hyperedge.size() == (SIZE, 3)
    state = torch.zeros(SIZE, 8, dtype=torch.double)
    for conv in model.convs:
        assert isinstance(conv, WHATsNetConv)
        x, state = slow_whatsnet_conv(conv, x, GROUPS, state, rank, drawn)
    torch.testing.assert_close(node, x)
    torch.testing.assert_close(hyperedge, state)


def test_number_of_parameters() -> None:
    assert num_parameters(WHATsNet(44, 64, 1, 128)) == 653_404
    assert num_parameters(WHATsNet(44, 64, 2, 128)) == 1_267_548
    # Without ranks, and without attention among members.
    assert num_parameters(WHATsNet(44, 64, 1, 128, use_rank=False)) == 653_404 - 5 * 172
    plain = WHATsNet(48, 64, 1, 128, within_attention=False)
    mabs = (129 + 2 * 49 + 129) * 128 + (49 + 2 * 129 + 129) * 128
    assert num_parameters(plain) == mabs + 2 * 129 * 128
    assert WHATsNet(44, 64, 2).out_channels == 64


def test_names_do_not_matter() -> None:
    data = to_data(GROUPS, NUM_NODES)
    generator = torch.Generator().manual_seed(3)
    sizes = (NUM_NODES, SIZE, INDEX.size(1))
    orders = [torch.randperm(n, generator=generator).tolist() for n in sizes]
    other = Renaming(data, *orders)
    model, x, rank = make(2), random(NUM_NODES, 5), ranks(GROUPS)
    size = NUM_NODES, SIZE
    index = HyperedgeIndex(INDEX, *size, drawn_mask=DRAWN)
    node, hyperedge = model(x, index, incidence_rank=rank)
    index = HyperedgeIndex(
        other.data.hyperedge_index, *size, drawn_mask=other.incidences(DRAWN)
    )
    new_node, new_hyperedge = model(
        other.nodes(x), index, incidence_rank=other.incidences(rank)
    )
    torch.testing.assert_close(new_node, other.nodes(node), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(
        new_hyperedge, other.hyperedges(hyperedge), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize('num_layers', [1, 2])
def test_a_complete_neighbourhood_is_enough(num_layers: int) -> None:
    targets = [4, 20]
    hyperedges, nodes = neighbourhood(BAND, targets, num_layers)
    assert len(nodes) < BAND_NODES // 2
    model, x, rank = make(num_layers), random(BAND_NODES, 5), ranks(BAND)
    index = to_index(BAND)
    node, hyperedge = model(x, index, incidence_rank=rank)
    kept = torch.isin(index[1], torch.tensor(hyperedges))
    part = [[nodes.index(v) for v in BAND[e]] for e in hyperedges]
    part_node, part_hyperedge = model(
        x[nodes], to_index(part), incidence_rank=rank[kept]
    )
    for e in targets:
        torch.testing.assert_close(part_hyperedge[hyperedges.index(e)], hyperedge[e])
        for v in BAND[e]:
            torch.testing.assert_close(part_node[nodes.index(v)], node[v])


@pytest.mark.parametrize('drawn', [False, True])
@pytest.mark.parametrize('num_layers', [1, 2, 3])
def test_what_targets_do_not_need_is_left_out(num_layers: int, drawn: bool) -> None:
    model, x, rank = make(num_layers), random(BAND_NODES, 5), ranks(BAND)
    index = to_index(BAND)
    mask = torch.arange(index.size(1)) % 3 != 1 if drawn else None
    check_targets(model, x, index, 2, drawn_mask=mask, incidence_rank=rank)


def test_dropout() -> None:
    x, rank = random(NUM_NODES, 5), ranks(GROUPS)
    for num_layers in (1, 2):
        model = make(num_layers)
        first = model(x, INDEX, incidence_rank=rank)
        torch.testing.assert_close(
            model(x, INDEX, incidence_rank=rank), first, rtol=0, atol=0
        )
        model.train()
        for kept, dropped in zip(
            first, model(x, INDEX, incidence_rank=rank), strict=True
        ):
            assert not torch.allclose(kept, dropped)
        without = make(num_layers, dropout=0.0)
        torch.testing.assert_close(
            without.train()(x, INDEX, incidence_rank=rank), first
        )


def test_gradients_reach_all_but_the_dead() -> None:
    model, x, rank = make(2), random(NUM_NODES, 5).requires_grad_(), ranks(GROUPS)
    node, hyperedge = model(x, INDEX, incidence_rank=rank)
    ((node * random(*node.size())).sum() + hyperedge.square().sum()).backward()
    assert x.grad is not None
    assert (x.grad.abs().sum(dim=1) > 0).all()
    for name, p in model.named_parameters():
        assert p.grad is not None
        dead = name.endswith('lin_key.bias')
        dead |= name == 'convs.0.to_hyperedge.block.lin_query.weight'
        assert (float(p.grad.abs().max()) < 1e-12) == dead, name


def test_reset_parameters() -> None:
    model = make(2)
    before = {name: p.clone() for name, p in model.named_parameters()}
    model.reset_parameters()
    for name, p in model.named_parameters():
        assert not torch.equal(p, before[name])


def test_ranks_are_for_those_who_want_them() -> None:
    x, rank = random(NUM_NODES, 5), ranks(GROUPS)
    with one_line_error("'incidence_rank'", 'AddWithinOrderRank'):
        make(1)(x, INDEX)
    for options in ({'use_rank': False}, {'within_attention': False}):
        model = make(2, **options)
        torch.testing.assert_close(
            model(x, INDEX, incidence_rank=rank), model(x, INDEX), rtol=0, atol=0
        )


def test_runs_where_the_data_is(device: torch.device) -> None:
    model, x, rank = make(2).to(device), random(NUM_NODES, 5), ranks(GROUPS)
    node, hyperedge = model(
        x.to(device), INDEX.to(device), incidence_rank=rank.to(device)
    )
    assert node.device.type == hyperedge.device.type == device.type


def test_bad_arguments() -> None:
    with one_line_error("'heads'", '3'):
        WHATsNet(5, 6, 1, heads=3)
    with one_line_error("'num_inducing'", '0'):
        WHATsNet(5, 6, 1, num_inducing=0)
    with one_line_error("'num_isabs'", '-1'):
        WHATsNet(5, 6, 1, num_isabs=-1)
    with one_line_error("'num_layers'", '0'):
        WHATsNet(5, 6, 0)
    with one_line_error("'dropout'", '1.0'):
        WHATsNet(5, 6, 1, dropout=1.0)


def test_repr() -> None:
    assert repr(make(2)) == 'WHATsNet(5, 3, num_layers=2)'
