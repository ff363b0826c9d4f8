import copy
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.nn.conv.hypergraph import (
    GROUPS,
    NUM_NODES,
    Hypergraph,
    features,
    part,
    whole,
)
from tests.nn.models.encoders import check_targets, count_parameters
from tests.strategies import SETTINGS, one_line_error, renamings, to_data, to_index
from tgx_anchor.data import HyperedgeIndex
from tgx_anchor.nn.models.all_set_transformer import AllSetTransformer
from tgx_anchor.nn.models.conhd import CoNHD
from tgx_anchor.nn.models.hat import HAT
from tgx_anchor.nn.models.hcha import HCHA
from tgx_anchor.nn.models.hgnn import HGNN
from tgx_anchor.nn.models.hnhn import HNHN
from tgx_anchor.nn.models.hnn import HNN
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder
from tgx_anchor.nn.models.hypergraph_set_transformer import HypergraphSetTransformer
from tgx_anchor.nn.models.unigcn import UniGCN
from tgx_anchor.nn.models.whatsnet import WHATsNet

Make = Callable[..., HypergraphEncoder]


plain_unigcn = partial(UniGCN, variant='unigcn')
ENCODERS: list[Make] = [HAT, HCHA, HGNN, HNHN, HNN, UniGCN, plain_unigcn]
every_encoder = pytest.mark.parametrize('make', ENCODERS)


def run(
    model: HypergraphEncoder, x: Tensor, graph: Hypergraph
) -> tuple[Tensor, Tensor]:
    node, hyperedge = model(x, graph.tell())
    return node, hyperedge


@every_encoder
def test_shape_and_repr(make: Make, device: torch.device) -> None:
    model = make(3, 4, 2, 5).to(device)
    assert repr(model).split('\n') == [f'{type(model).__name__}(3, 5, num_layers=2)']
    assert (model.in_channels, model.hidden_channels) == (3, 4)
    assert (model.num_layers, model.out_channels) == (2, 5)
    assert model.dropout == 0.0
    assert make(3, 4, 1).out_channels == 4
    assert make(3, 4, 1).channel_list == [3, 4]
    assert make(3, 4, 3, 5).channel_list == [3, 4, 4, 5]
    x = features(NUM_NODES, 3).float().to(device)
    # The last hyperedge is empty, which the incidences do not show.
    node, hyperedge = model(x, to_index(GROUPS).to(device))
    assert node.size() == (NUM_NODES, 5)
    assert hyperedge.size() == (len(GROUPS) - 1, 5)
    for out in (node, hyperedge):
        assert out.device.type == device.type
        assert torch.isfinite(out).all()


@every_encoder
def test_bad_arguments(make: Make) -> None:
    for index, name in enumerate(
        ['in_channels', 'hidden_channels', 'num_layers', 'out_channels']
    ):
        arguments = [3, 4, 2, 5]
        arguments[index] = 0
        with one_line_error(f"'{name}'", '0'):
            make(*arguments)
    for dropout in (-0.1, 1.0):
        with one_line_error("'dropout'", str(dropout)):
            make(3, 4, 2, dropout=dropout)


@every_encoder
def test_reset_parameters(make: Make) -> None:
    model = make(3, 4, 2, 5)
    torch.manual_seed(5)
    model.reset_parameters()
    first = [p.clone() for p in model.parameters()]
    model.reset_parameters()
    assert not any(map(torch.equal, first, model.parameters()))
    torch.manual_seed(5)
    model.reset_parameters()
    assert all(map(torch.equal, first, model.parameters()))


@every_encoder
def test_parameter_groups_hold_everything(make: Make) -> None:
    model = make(3, 4, 2, 5)
    listed = [p for group in model.parameter_groups() for p in group['params']]
    assert len(listed) == len({id(p) for p in listed}) == len(list(model.parameters()))
    assert sum(p.numel() for p in listed) == count_parameters(model)


def test_settings_are_up_to_the_user() -> None:
    assert [set(group) for group in HGNN(3, 4, 1).parameter_groups()] == [{'params'}]


@every_encoder
@settings(SETTINGS, max_examples=15)
@given(st.data())
def test_names_do_not_matter(make: Make, draw: st.DataObject) -> None:
    torch.manual_seed(0)
    model = make(3, 4, 2, 5).double().eval()
    data = to_data(GROUPS, NUM_NODES)
    new = draw.draw(renamings(data))
    x = features(NUM_NODES, 3)
    size = data.num_hyperedges
    node, hyperedge = model(x, data.hyperedge_index, num_hyperedges=size)
    out = model(new.nodes(x), new.data.hyperedge_index, num_hyperedges=size)
    for value, expected in zip(
        out, (new.nodes(node), new.hyperedges(hyperedge)), strict=True
    ):
        torch.testing.assert_close(value, expected, rtol=1e-9, atol=1e-12)


def path_groups(num_nodes: int) -> list[list[int]]:
    # A long path with side branches, so that few steps do not reach everything.
    return [
        [v, v + 1, *([v + 2] if v % 3 == 0 else []), *([v] if v % 4 == 0 else [])]
        for v in range(num_nodes - 2)
    ]


def neighbourhood(
    groups: list[list[int]], targets: list[int], num_hops: int
) -> tuple[Hypergraph, list[int], list[int]]:
    """The hyperedges that these steps reach, with degrees and sizes of the whole."""
    degree: dict[int, int] = {}
    for group in groups:
        for v in group:
            degree[v] = degree.get(v, 0) + 1
    chosen = set(targets)
    nodes = {v for e in chosen for v in groups[e]}
    receiving: set[int] = set()
    for _ in range(num_hops):
        receiving = set(nodes)
        chosen |= {e for e, group in enumerate(groups) if nodes & set(group)}
        nodes |= {v for e in chosen for v in groups[e]}
    hyperedges, members = sorted(chosen), sorted(nodes)
    local = {v: i for i, v in enumerate(members)}
    index = to_index([[local[v] for v in groups[e]] for e in hyperedges])
    complete = torch.tensor([v in receiving for v in members])
    return (
        Hypergraph(
            index,
            len(members),
            len(hyperedges),
            torch.tensor([degree[v] for v in members]),
            torch.tensor([len(groups[e]) for e in hyperedges]),
            complete[index[0]],
        ),
        members,
        hyperedges,
    )


@every_encoder
@pytest.mark.parametrize('num_layers', [1, 2])
def test_neighbourhood_is_enough(make: Make, num_layers: int) -> None:
    torch.manual_seed(0)
    model = make(3, 4, num_layers, 5).double().eval()
    groups, targets = path_groups(40), [18, 20]
    x = features(40, 3)
    node, hyperedge = model(x, to_index(groups), num_hyperedges=len(groups))
    part, members, hyperedges = neighbourhood(groups, targets, model.num_hops)
    assert part.num_hyperedges < len(groups)
    out_node, out_hyperedge = run(model, x[members], part)
    for e in targets:
        torch.testing.assert_close(
            out_hyperedge[hyperedges.index(e)], hyperedge[e], rtol=1e-9, atol=1e-12
        )
        for v in groups[e]:
            torch.testing.assert_close(
                out_node[members.index(v)], node[v], rtol=1e-9, atol=1e-12
            )
    # One step less is not.
    part, members, hyperedges = neighbourhood(groups, targets, model.num_hops - 1)
    out_node, _ = run(model, x[members], part)
    rows = sorted({v for e in targets for v in groups[e]})
    less = out_node[[members.index(v) for v in rows]]
    assert not torch.allclose(less, node[rows])


@pytest.mark.parametrize(
    'make', [HAT, HGNN, HNHN, UniGCN, plain_unigcn, HypergraphSetTransformer]
)
@pytest.mark.parametrize('drawn', [False, True])
@pytest.mark.parametrize('num_layers', [1, 2, 3])
def test_what_targets_do_not_need_is_left_out(
    make: Make, num_layers: int, drawn: bool
) -> None:
    torch.manual_seed(0)
    model = make(3, 8, num_layers, 4).double().eval()
    groups, num_targets = path_groups(40), 2
    index = to_index(groups)
    mask = torch.arange(index.size(1)) % 3 != 1 if drawn else None
    x = features(40, 3)

    def index_of(number: int | None, perm: Tensor | None = None) -> HyperedgeIndex:
        chosen = mask if mask is None or perm is None else mask[perm]
        tensor = index if perm is None else index[:, perm]
        size = 40, len(groups)
        return HyperedgeIndex(tensor, *size, drawn_mask=chosen, num_targets=number)

    expected = model(x, index_of(None))
    out = check_targets(model, x, index, num_targets, drawn_mask=mask)
    # Neither the order of incidences nor that of members counts.
    other = model(x, index_of(num_targets, torch.randperm(index.size(1))))
    for value, same in zip(other, out, strict=True):
        torch.testing.assert_close(value, same)
    # None, and more than there are.
    assert [part.size(0) for part in model(x, index_of(0))] == [0, 0]
    many = model(x, index_of(len(groups) + 3))
    last = int(index[0].max()) + 1
    torch.testing.assert_close(many[0], expected[0][:last])
    torch.testing.assert_close(many[1], expected[1])


@pytest.mark.parametrize('make', [HGNN, HNHN, UniGCN, plain_unigcn])
def test_rescaled_draws_are_right_on_average(make: Make) -> None:
    torch.manual_seed(0)
    # One node in four alike groups, of which it draws two: as if it drew all.
    index = to_index([[0, 1], [0, 1], [0, 1], [0, 1], [2]])
    drawn = torch.tensor([True, False, False, True, False, False, True, True, True])
    x = features(3, 3)
    model = make(3, 8, 1, 4, rescale=True).double().eval()
    plain = make(3, 8, 1, 4).double().eval()
    plain.load_state_dict(model.state_dict())
    whole, _ = plain(x, index)
    degree = torch.tensor([4, 4, 1])
    given = HyperedgeIndex(index, 3, 5, node_degree=degree, drawn_mask=drawn)
    torch.testing.assert_close(model(x, given)[0], whole)
    assert not torch.allclose(plain(x, given)[0][:2], whole[:2])
    torch.testing.assert_close(model(x, index)[0], whole)
    given.num_targets = 1
    part, _ = model(x, given)
    torch.testing.assert_close(part, whole[:2])
    nothing = HyperedgeIndex(index, 3, 5, drawn_mask=torch.zeros_like(drawn))
    assert torch.isfinite(model(x, nothing)[0]).all()


@every_encoder
def test_dropout_in_training_only(make: Make) -> None:
    torch.manual_seed(0)
    graph, x = whole(), features(NUM_NODES, 3)
    model = make(3, 16, 2, 5, dropout=0.7).double().eval()
    first = torch.cat(run(model, x, graph))
    assert torch.equal(first, torch.cat(run(model, x, graph)))
    model.train()
    assert not torch.allclose(first, torch.cat(run(model, x, graph)))
    torch.manual_seed(1)
    drawn = torch.cat(run(model, x, graph))
    torch.manual_seed(1)
    assert torch.equal(drawn, torch.cat(run(model, x, graph)))
    without = make(3, 16, 2, 5, dropout=0.0).double()
    without.load_state_dict(model.state_dict())
    torch.testing.assert_close(torch.cat(run(without.train(), x, graph)), first)


@every_encoder
def test_one_layer_and_dropout(make: Make) -> None:
    graph, x = whole(), features(NUM_NODES, 3)
    model = make(3, 16, 1, 5, dropout=0.7).double()
    train = torch.cat(run(model.train(), x, graph))
    same = torch.equal(train, torch.cat(run(model.eval(), x, graph)))
    assert same == (not isinstance(model, UniGCN))


# All encoders, where PyTorch runs them ###########################################

ANY_ENCODER: list[Make] = [
    *(HAT, HCHA, HGNN, HNHN, HNN, UniGCN),
    *(WHATsNet, HypergraphSetTransformer, AllSetTransformer),
    *(CoNHD, partial(CoNHD, operator='isab')),
]
any_encoder = pytest.mark.parametrize('make', ANY_ENCODER)


def given_to(make: Make) -> tuple[HypergraphEncoder, Tensor, dict[str, Any]]:
    torch.manual_seed(0)
    model = make(3, 8, 2)
    rank = features(whole().index.size(1), 4, 1).float()
    takes_rank = 'incidence_rank' in inspect.signature(model.forward).parameters
    kwargs = {'incidence_rank': rank} if takes_rank else {}
    return model, features(NUM_NODES, 3).float(), kwargs


def joined(out: Any) -> Tensor:
    return torch.cat([out] if isinstance(out, Tensor) else list(out))


def gradients(model: HypergraphEncoder, out: Any) -> Tensor:
    loss = joined(out).float().square().sum()
    grads = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return torch.cat([g.float().flatten() for g in grads if g is not None])


@any_encoder
def test_on_a_second_device(make: Make) -> None:
    model, x, kwargs = given_to(make)
    graph = part()
    for num_targets in (None, 2):
        index = graph.tell()
        index.num_targets = num_targets
        expected = joined(model(x, index, **kwargs))
        with second_device() as device:
            there = copy.deepcopy(model).to(device)
            moved = {key: value.to(device) for key, value in kwargs.items()}
            out = joined(there(x.to(device), graph.tell().to(device), **moved))
            index = index.to(device)
            out = joined(there(x.to(device), index, **moved))
            assert out.device == device
            assert gradients(there, out).device == device
            out = out.cpu()
        assert torch.equal(out, expected)


@any_encoder
@pytest.mark.parametrize('dtype', [torch.double, torch.bfloat16])
def test_other_precisions(make: Make, dtype: torch.dtype) -> None:
    model, x, kwargs = given_to(make)
    index = part().tell()
    expected = joined(model(x, index, **kwargs))
    outs = [copy.deepcopy(model).to(dtype)(x.to(dtype), index, **kwargs)]
    assert joined(outs[0]).dtype == dtype
    if dtype == torch.bfloat16:
        with torch.autocast('cpu', dtype=dtype):
            outs.append(model(x, index, **kwargs))
        assert torch.isfinite(gradients(model, outs[1])).all()
    for out in outs:
        error = (joined(out).detach().float() - expected.detach()).abs().max()
        assert float(error) < (1e-5 if dtype == torch.double else 0.05)


@any_encoder
def test_export(make: Make) -> None:
    model, x, kwargs = given_to(make)
    index, size = whole().index, {'num_hyperedges': len(GROUPS)}
    program = torch.export.export(model.eval(), (x, index), {**size, **kwargs})
    # Other incidences of the same number.
    other = torch.stack([index[0].flip(0), index[1]])
    out = program.module()(x, other, **size, **kwargs)
    torch.testing.assert_close(joined(out), joined(model(x, other, **size, **kwargs)))


def check_compiled(make: Make) -> None:
    model, x, kwargs = given_to(make)
    index, size = whole().index, len(GROUPS)
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend='aot_eager')
    out = compiled(x, index, num_hyperedges=size, **kwargs)
    expected = model(x, index, num_hyperedges=size, **kwargs)
    torch.testing.assert_close(joined(out), joined(expected))
    torch.testing.assert_close(
        gradients(model, out), gradients(model, expected), rtol=1e-4, atol=1e-5
    )
    out = compiled(x, HyperedgeIndex(index, NUM_NODES, size), **kwargs)
    torch.testing.assert_close(joined(out), joined(expected))


def test_compile() -> None:
    check_compiled(HGNN)


@pytest.mark.slow
@any_encoder
def test_compile_all(make: Make) -> None:
    check_compiled(make)
