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
    slow_conhd_conv,
)
from tests.strategies import Renaming, one_line_error, to_data, to_index
from tgx_anchor.data import HyperedgeIndex
from tgx_anchor.nn.conv.conhd_conv import CoNHDConv, Operator
from tgx_anchor.nn.models.conhd import CoNHD

INDEX = to_index(GROUPS)
OPERATORS: tuple[Operator, ...] = ('unb', 'isab')


def make(
    operator: Operator,
    num_layers: int,
    dropout: float = 0.7,
    input_dropout: float = 0.7,
    use_rank: bool = True,
) -> CoNHD:
    torch.manual_seed(0)
    model = CoNHD(
        5,
        8,
        num_layers,
        dropout=dropout,
        input_dropout=input_dropout,
        operator=operator,
        use_rank=use_rank,
    )
    return model.double().eval()


@pytest.mark.parametrize('drawn', [None, DRAWN])
@pytest.mark.parametrize('operator', OPERATORS)
@pytest.mark.parametrize('num_layers', [1, 3])
def test_by_definition(
    num_layers: int, operator: Operator, drawn: torch.Tensor | None
) -> None:
    model, x = make(operator, num_layers), random(NUM_NODES, 5)
    rank = ranks(GROUPS)
    index = HyperedgeIndex(INDEX, NUM_NODES, drawn_mask=drawn)
    out = model(x, index, incidence_rank=rank)
    h = h_0 = torch.relu(model.lin(x[INDEX[0]]))
    for _ in range(num_layers):
        # The same layer every time.
        (conv,) = model.convs
        assert isinstance(conv, CoNHDConv)
        h = slow_conhd_conv(conv, h, h_0, GROUPS, rank, drawn)
    torch.testing.assert_close(out, h)


def test_number_of_parameters() -> None:
    for num_layers in (1, 2):
        assert num_parameters(CoNHD(44, 128, num_layers)) == 402_432
        assert num_parameters(CoNHD(44, 128, num_layers, operator='isab')) == 603_136
    d = 24
    unb = 3 * (d + 1) * d + (2 * d + 1) * d
    expected = 8 * d + 4 * unb + 2 * 5 * d + (4 * d + 1) * d
    assert num_parameters(CoNHD(7, d)) == expected
    assert num_parameters(CoNHD(7, d, use_rank=False)) == expected - 2 * 5 * d


@pytest.mark.parametrize('operator', OPERATORS)
def test_names_do_not_matter(operator: Operator) -> None:
    data = to_data(GROUPS, NUM_NODES)
    generator = torch.Generator().manual_seed(3)
    sizes = (NUM_NODES, len(GROUPS), INDEX.size(1))
    orders = [torch.randperm(n, generator=generator).tolist() for n in sizes]
    other = Renaming(data, *orders)
    model, x, rank = make(operator, 2), random(NUM_NODES, 5), ranks(GROUPS)
    index = HyperedgeIndex(INDEX, NUM_NODES, drawn_mask=DRAWN)
    out = model(x, index, incidence_rank=rank)
    index = HyperedgeIndex(
        other.data.hyperedge_index, NUM_NODES, drawn_mask=other.incidences(DRAWN)
    )
    new = model(other.nodes(x), index, incidence_rank=other.incidences(rank))
    torch.testing.assert_close(new, other.incidences(out), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize('operator', OPERATORS)
@pytest.mark.parametrize('num_layers', [1, 2])
def test_a_complete_neighbourhood_is_enough(
    operator: Operator, num_layers: int
) -> None:
    targets = [4, 20]
    hyperedges, nodes = neighbourhood(BAND, targets, num_layers)
    assert len(nodes) < BAND_NODES // 2
    model = make(operator, num_layers)
    x, rank, index = random(BAND_NODES, 5), ranks(BAND), to_index(BAND)
    out = model(x, index, incidence_rank=rank)
    kept = torch.isin(index[1], torch.tensor(hyperedges))
    part = [[nodes.index(v) for v in BAND[e]] for e in hyperedges]
    part_out = model(x[nodes], to_index(part), incidence_rank=rank[kept])
    for e in targets:
        torch.testing.assert_close(part_out[index[1][kept] == e], out[index[1] == e])


@pytest.mark.parametrize('drawn', [False, True])
@pytest.mark.parametrize('num_layers', [1, 2, 3])
@pytest.mark.parametrize('operator', OPERATORS)
def test_what_targets_do_not_need_is_left_out(
    operator: Operator, num_layers: int, drawn: bool
) -> None:
    model, x = make(operator, num_layers), random(BAND_NODES, 5).requires_grad_()
    index, rank, num_targets = to_index(BAND), ranks(BAND), 2
    mask = torch.arange(index.size(1)) % 3 != 1 if drawn else None
    row = index[1] < num_targets
    # The members of targets see these, too, drawn or not.
    seen = None if mask is None else mask | row
    everything = HyperedgeIndex(index, BAND_NODES, drawn_mask=seen)
    expected = model(x, everything, incidence_rank=rank)
    part = HyperedgeIndex(index, BAND_NODES, drawn_mask=mask, num_targets=num_targets)
    out = model(x, part, incidence_rank=rank)
    # Others were not computed.
    torch.testing.assert_close(out, expected[row])
    trimmed, whole = (
        torch.autograd.grad(o.square().sum(), x)[0] for o in (out, expected[row])
    )
    torch.testing.assert_close(trimmed, whole)


def test_targets_alone_are_dropped_as_often() -> None:
    x, rank, num_targets = random(BAND_NODES, 5), ranks(BAND), 2
    model, index, times = make('unb', 1, 0.5, 0.5).train(), to_index(BAND), 1000
    row = index[1] < num_targets
    everything = HyperedgeIndex(index, BAND_NODES)
    part = HyperedgeIndex(index, BAND_NODES, num_targets=num_targets)
    torch.manual_seed(1)
    with torch.no_grad():
        some, full = (
            torch.stack([model(x, each, incidence_rank=rank) for _ in range(times)])
            for each in (part, everything)
        )
    full = full[:, row]
    error = (2 * full.var(dim=0) / times).sqrt()
    assert ((some.mean(dim=0) - full.mean(dim=0)).abs() < 5 * error).all()
    assert (some.std(dim=0) / full.std(dim=0) - 1).abs().max() < 0.2


@pytest.mark.parametrize('operator', OPERATORS)
def test_dropout(operator: Operator) -> None:
    x, rank = random(NUM_NODES, 5), ranks(GROUPS)
    model = make(operator, 2)
    first = model(x, INDEX, incidence_rank=rank)
    assert torch.equal(model(x, INDEX, incidence_rank=rank), first)
    model.train()
    assert not torch.allclose(model(x, INDEX, incidence_rank=rank), first)
    for dropout, input_dropout in ((0.7, 0.0), (0.0, 0.7), (0.0, 0.0)):
        model = make(operator, 2, dropout, input_dropout).train()
        same = torch.allclose(model(x, INDEX, incidence_rank=rank), first)
        assert same == (dropout == input_dropout == 0)


def test_input_dropout_tells_incidences_of_a_node_apart() -> None:
    model = make('unb', 1, 0.0, 0.5, use_rank=False).train()
    seen = []
    model.convs[0].register_forward_pre_hook(lambda _, args: seen.append(args))
    model(random(NUM_NODES, 5), INDEX)
    h, h_0, *_ = seen[0]
    assert torch.equal(h, h_0)
    of_node = h[INDEX[0] == 0]
    assert not torch.equal(of_node[0], of_node[1])
    expected = 2 * torch.relu(model.lin(random(NUM_NODES, 5)[0]))
    for row in of_node:
        torch.testing.assert_close(row[row != 0], expected[row != 0])


@pytest.mark.parametrize('operator', OPERATORS)
def test_gradients_reach_all_but_the_dead(operator: Operator) -> None:
    model = make(operator, 2)
    x, rank = random(NUM_NODES, 5).requires_grad_(), ranks(GROUPS)
    out = model(x, INDEX, incidence_rank=rank)
    (out * random(*out.size())).sum().backward()
    assert x.grad is not None
    # Node 7 is in no hyperedge.
    assert (x.grad.abs().sum(dim=1) > 0).tolist() == [True] * 7 + [False]
    for name, p in model.named_parameters():
        assert p.grad is not None
        dead = name.endswith('lin_key.bias')
        assert (float(p.grad.abs().max()) < 1e-12) == dead, name


def test_reset_parameters() -> None:
    for operator in OPERATORS:
        model = make(operator, 2)
        before = {name: p.clone() for name, p in model.named_parameters()}
        model.reset_parameters()
        for name, p in model.named_parameters():
            assert not torch.equal(p, before[name])


def test_ranks_are_for_those_who_want_them() -> None:
    x, rank = random(NUM_NODES, 5), ranks(GROUPS)
    with one_line_error("'incidence_rank'", 'AddWithinOrderRank'):
        make('unb', 1)(x, INDEX)
    model = make('unb', 2, use_rank=False)
    assert torch.equal(model(x, INDEX, incidence_rank=rank), model(x, INDEX))


def test_runs_where_the_data_is(device: torch.device) -> None:
    for operator in OPERATORS:
        model, x, rank = make(operator, 2), random(NUM_NODES, 5), ranks(GROUPS)
        expected = model(x, INDEX, incidence_rank=rank)
        model = model.to(device)
        out = model(x.to(device), INDEX.to(device), incidence_rank=rank.to(device))
        assert out.device.type == device.type
        torch.testing.assert_close(out.cpu(), expected)


def test_bad_arguments() -> None:
    with one_line_error("'out_channels'", '128', '64'):
        CoNHD(44, 128, 1, 64)
    with one_line_error("'input_dropout'", '1.0'):
        CoNHD(44, input_dropout=1.0)
    with one_line_error("'operator'", "'sab'"):
        CoNHD(44, operator='sab')  # type: ignore[arg-type]
    with one_line_error("'num_layers'", '0'):
        CoNHD(44, num_layers=0)
    with one_line_error("'heads'", '3'):
        CoNHD(44, operator='isab', heads=3)


def test_repr() -> None:
    assert repr(make('isab', 2)) == "CoNHD(5, 8, num_layers=2, operator='isab')"
