import inspect
import pickle
from collections import Counter
from collections.abc import Sized
from functools import partial
from itertools import chain
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler
from torch_geometric.nn import HypergraphConv
from torch_geometric.utils import scatter

from tests.strategies import SETTINGS, hypergraphs, one_line_error, to_data, to_groups
from tgx_anchor import nn
from tgx_anchor.data import AnchorData
from tgx_anchor.loader import HyperedgeLoader
from tgx_anchor.nn.predictors.represent import represent


def random_data(num_nodes: int = 30, num_hyperedges: int = 60) -> AnchorData:
    # Groups of zero to four, some of them repeated, with a hub, a member listed twice
    # and isolated nodes.
    generator = torch.Generator().manual_seed(0)
    groups = [
        torch.randint(1, num_nodes - 2, (e % 5,), generator=generator).tolist()
        for e in range(num_hyperedges)
    ]
    groups = [group + [0] * (e % 3 == 0) for e, group in enumerate(groups)]
    groups[7] = groups[8]
    data = to_data(groups, num_nodes)
    data.x = torch.randn(num_nodes, 4, generator=generator, dtype=torch.double)
    return data


def propagate(batch: AnchorData, num_layers: int) -> tuple[Tensor, Tensor]:
    # A model in two halves, with the degrees of the whole.
    node, hyperedge = batch.hyperedge_index
    drawn, degree = batch.get('incidence_drawn'), batch.get('node_degree')
    if drawn is None:
        drawn = torch.ones_like(node, dtype=torch.bool)
    if degree is None:
        degree = torch.bincount(node, minlength=int(batch.num_nodes or 0))
    x: Tensor = batch['x']
    for layer in range(num_layers):
        e = scatter(x[node], hyperedge, 0, batch.num_hyperedges, 'sum').cos()
        x = x + (layer + 1) * scatter(
            e[hyperedge[drawn]], node[drawn], 0, batch.num_nodes, 'sum'
        ) / degree.clamp(min=1).view(-1, 1)
    return x, e


def members_of_targets(batch: AnchorData) -> Tensor:
    node, hyperedge = batch.hyperedge_index
    is_target = hyperedge < int(batch['num_targets'])
    members: Tensor = node[is_target].unique()
    return members


def slow_reach(
    data: AnchorData, targets: list[int], hops: int
) -> tuple[set[int], set[int], set[int]]:
    # Nodes, hyperedges, and the nodes that draw, with complete neighbourhoods.
    groups = to_groups(data)
    hyperedges, inside = set(targets), set[int]()
    nodes = {v for e in hyperedges for v in groups[e]}
    for _ in range(hops):
        inside = set(nodes)
        hyperedges |= {e for e, g in enumerate(groups) if nodes & set(g)}
        nodes = {v for e in hyperedges for v in groups[e]}
    return nodes, hyperedges, inside


@SETTINGS
@given(hypergraphs(1), st.integers(1, 3), st.integers(1, 4), st.integers(-1, 3))
def test_a_batch_is_a_part_of_the_whole(
    data: AnchorData, num_layers: int, batch_size: int, count: int
) -> None:
    count = count or -1
    loader = HyperedgeLoader(data, count, num_layers, batch_size=batch_size)
    groups = to_groups(data)
    degree = Counter(v for group in groups for v in group)
    targets = []
    for batch in loader:
        batch.validate()
        origin = batch.hyperedge_origin.tolist()
        names = batch.node_origin.tolist()
        assert len(set(origin)) == len(origin)
        assert len(set(names)) == len(names)
        chosen = origin[: batch.num_targets]
        targets += chosen
        # Hyperedges are complete, in their order, and attributes follow.
        for e, group in zip(origin, to_groups(batch), strict=True):
            assert [names[v] for v in group] == groups[e]
        whole = data.hyperedge_index[:, batch.incidence_origin]
        assert torch.equal(whole[0], batch.node_origin[batch.hyperedge_index[0]])
        assert torch.equal(whole[1], batch.hyperedge_origin[batch.hyperedge_index[1]])
        assert torch.equal(batch.y, data['y'][batch.incidence_origin])
        assert batch.node_degree.tolist() == [degree[v] for v in names]
        assert torch.equal(batch.hyperedge_degree, batch.hyperedge_size)
        # What is within the last hop draws, and nothing else.
        node = batch.hyperedge_index[0][batch.incidence_drawn]
        drawn = Counter(batch.node_origin[node].tolist())
        nodes, hyperedges, inside = slow_reach(data, chosen, num_layers)
        assert set(names) <= nodes
        assert set(origin) <= hyperedges
        assert set(drawn) <= inside
        if count == -1:
            assert set(names) == nodes
            assert set(origin) == hyperedges
            assert set(drawn) == inside
        for v, number in drawn.items():
            assert number == (degree[v] if count == -1 else min(count, degree[v]))
        assert {names[int(v)] for v in members_of_targets(batch)} <= set(drawn)
    assert targets == list(range(data.num_hyperedges))


@pytest.mark.parametrize('num_layers', [1, 2, 3])
def test_complete_neighbourhoods_give_what_the_whole_gives(
    num_layers: int, device: torch.device
) -> None:
    data = random_data().to(device)
    x, e = propagate(data, num_layers)
    sizes = set()
    for batch in HyperedgeLoader(data, [-1] * num_layers, batch_size=4, shuffle=True):
        sizes.add(batch.num_hyperedges)
        assert batch.incidence_drawn.device.type == device.type
        own_x, own_e = propagate(batch, num_layers)
        row = members_of_targets(batch)
        torch.testing.assert_close(own_x[row], x[batch.node_origin[row]])
        target = batch.hyperedge_origin[: batch.num_targets]
        torch.testing.assert_close(own_e[: batch.num_targets], e[target])
    # Some batches are smaller than the whole.
    assert min(sizes) < data.num_hyperedges


def test_fewer_hops_or_neighbours_do_not_suffice() -> None:
    data = random_data()
    x, _ = propagate(data, 2)
    for hops in ([-1], [1, 1]):
        worst = 0.0
        for batch in HyperedgeLoader(data, hops, batch_size=4):
            row = members_of_targets(batch)
            error = propagate(batch, 2)[0][row] - x[batch.node_origin[row]]
            worst = max([worst, *error.abs().view(-1).tolist()])
        assert worst > 1e-3


def test_example_with_a_layer_of_pyg() -> None:
    data = random_data(12, 20)
    torch.manual_seed(0)
    layer: Any = HypergraphConv  # PyG does not say which methods are optional.
    conv = layer(4, 3).double()
    whole = conv(data.x, data.hyperedge_index)
    for batch in HyperedgeLoader(data, num_neighbors=[-1], batch_size=3):
        x = conv(batch.x, batch.hyperedge_index)
        row = members_of_targets(batch)
        torch.testing.assert_close(x[row], whole[batch.node_origin[row]])


def stars(degree: int, count: int = 1) -> AnchorData:
    # Each of the first nodes is in so many hyperedges, with another node in each.
    groups = [[v, count + v * degree + e] for v in range(count) for e in range(degree)]
    return to_data(groups, count * (degree + 1))


# All are taken; the smallest random keys are; distinct draws are.
@pytest.mark.parametrize('degree', [3, 6, 11, 12, 13, 20, 40])
def test_draws_are_uniform_without_replacement(degree: int) -> None:
    rounds, count = 4000, 3
    data = stars(degree, rounds)
    target = torch.arange(rounds) * degree
    (batch,) = HyperedgeLoader(
        data, [count], input_hyperedges=target, batch_size=rounds
    )
    node, hyperedge = batch.hyperedge_index[:, batch.incidence_drawn]
    centre = batch.node_origin[node] < rounds
    star = batch.node_origin[node[centre]]
    place = batch.hyperedge_origin[hyperedge[centre]] % degree
    drawn = torch.zeros(rounds, degree)
    drawn[star, place] = 1
    size = min(count, degree)
    assert bool((drawn.sum(dim=1) == size).all())
    # How often each one, and each two, are among the drawn.
    together = drawn.t() @ drawn
    for seen, chance in (
        (together.diagonal(), size / degree),
        (
            together[~torch.eye(degree, dtype=torch.bool)],
            size * (size - 1) / degree / (degree - 1),
        ),
    ):
        spread = (rounds * chance * (1 - chance)) ** 0.5
        assert float((seen - rounds * chance).abs().max()) <= 4.5 * spread + 1e-3


def test_batches_of_an_epoch_draw_independently() -> None:
    loader = HyperedgeLoader(
        stars(40, 8), [3], input_hyperedges=torch.arange(8) * 40, batch_size=1
    )
    drawn = set()
    for batch in loader:
        node, hyperedge = batch.hyperedge_index[:, batch.incidence_drawn]
        places = batch.hyperedge_origin[hyperedge[batch.node_origin[node] < 8]] % 40
        drawn.add(tuple(sorted(places.tolist())))
    assert len(drawn) == 8


def test_every_attribute_is_cut_to_its_level() -> None:
    groups = [[0, 1], [1, 2, 3], [3, 4], [5]]
    data = to_data(groups, 6, [[0], [2], [3], [5]])
    data.x = torch.arange(6.0).view(-1, 1)
    data.node_id = list('abcdef')
    data.hyperedge_id = ['A', 'B', 'C', 'D']
    data.hyperedge_attr = torch.arange(4.0)
    data.incidence_attr = torch.arange(8.0)
    data.role = torch.arange(8)
    data.train_mask = torch.tensor([[True, False]] * 4)
    data.title = 'kept'
    before = dict(data._store)
    batch = next(iter(HyperedgeLoader(data, [-1], input_hyperedges=torch.tensor([2]))))
    assert batch.num_targets == 1
    assert batch.hyperedge_origin.tolist() == [2, 1]
    assert batch.node_origin.tolist() == [3, 4, 1, 2]
    assert batch.hyperedge_index.tolist() == [[0, 1, 2, 3, 0], [0, 0, 1, 1, 1]]
    assert batch.incidence_origin.tolist() == [5, 6, 2, 3, 4]
    assert batch.incidence_drawn.tolist() == [True, True, False, False, True]
    assert batch.x.view(-1).tolist() == [3, 4, 1, 2]
    assert batch.node_id == ['d', 'e', 'b', 'c']
    assert batch.hyperedge_id == ['C', 'B']
    assert batch.hyperedge_attr.tolist() == [2, 1]
    assert batch.incidence_attr.tolist() == [5, 6, 2, 3, 4]
    assert batch.role.tolist() == [5, 6, 2, 3, 4]
    assert batch.y.tolist() == [True, False, False, True, False]
    assert batch.train_mask.size() == (2, 2)
    assert batch.title == 'kept'
    assert batch.node_degree.tolist() == [2, 1, 2, 1]
    assert batch.hyperedge_degree.tolist() == [2, 3]
    assert dict(data._store) == before


def test_given_degrees_are_kept() -> None:
    data = stars(3)
    data.node_degree = torch.tensor([30, 10, 10, 10])
    data.hyperedge_degree = torch.tensor([20, 21, 22])
    batch = next(iter(HyperedgeLoader(data, 1, 1)))
    assert batch.node_degree[0] == 30
    assert torch.equal(batch.hyperedge_degree, 20 + batch.hyperedge_origin)


def origins(loader: HyperedgeLoader) -> list[list[list[int]]]:
    # What a loader gives, in an order that does not depend on its kind.
    return [
        [
            batch.hyperedge_origin[: batch.num_targets].tolist(),
            batch.incidence_origin[batch.incidence_drawn].tolist(),
        ]
        for batch in loader
    ]


def make_loader(seed: int = 0, **kwargs: Any) -> HyperedgeLoader:
    options = {'batch_size': 7, 'shuffle': True, **kwargs}
    return HyperedgeLoader(random_data(), [2, 2], seed=seed, **options)


def test_seeds_repeat_and_epochs_differ() -> None:
    state = torch.get_rng_state()
    loader, twin = make_loader(), make_loader()
    first, second = origins(loader), origins(loader)
    assert [first, second] == [origins(twin), origins(twin)]
    assert first != second
    assert first != origins(make_loader(seed=1))
    for epoch in (first, second):
        assert sorted(e for batch in epoch for e in batch[0]) == list(range(60))
        assert len(epoch) == len(loader) == 9
    generator = torch.Generator().manual_seed(0)
    assert origins(make_loader(seed=5, generator=generator)) == first
    generator.manual_seed(0)
    # What an epoch takes from the generator does not depend on where it is left.
    given = make_loader(generator=generator)
    next(iter(given))
    assert origins(given) == second
    assert torch.equal(torch.get_rng_state(), state)


def test_without_shuffling_draws_still_differ() -> None:
    loader = make_loader(shuffle=False)
    first, second = origins(loader), origins(loader)
    assert [batch[0] for batch in first] == [batch[0] for batch in second]
    assert first[0][0] == list(range(7))
    assert [batch[1] for batch in first] != [batch[1] for batch in second]


@pytest.mark.parametrize('persistent', [False, True])
def test_workers_do_not_change_batches(persistent: bool) -> None:
    here = make_loader()
    there = make_loader(num_workers=2, persistent_workers=persistent)
    assert [origins(here), origins(here)] == [origins(there), origins(there)]


def test_a_copy_in_another_process_has_numbers_of_its_own() -> None:
    collate: Any = make_loader().collate_fn
    batch = collate([(3, 0)])
    assert collate.number is not None
    twin = pickle.loads(pickle.dumps(collate))  # noqa: S301
    assert twin.number is None
    assert torch.equal(twin([(3, 0)]).node_origin, batch.node_origin)


def test_a_failed_batch_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    collate: Any = make_loader().collate_fn
    good = collate([(3, 0), (8, 0)])

    def fail(*args: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr('tgx_anchor.loader.hyperedge_loader._slice', fail)
        with pytest.raises(KeyboardInterrupt):
            collate([(5, 0)])
    again = collate([(3, 0), (8, 0)])
    assert torch.equal(again.node_origin, good.node_origin)


def test_which_hyperedges_are_targets(device: torch.device) -> None:
    data = random_data().to(device)
    mask = torch.zeros(60, dtype=torch.bool, device=device)
    mask[[4, 9, 30]] = True
    for chosen, expected in (
        (mask, [4, 9, 30]),
        (torch.tensor([30, 4]), [30, 4]),
        (torch.tensor([30, 4, 30]), [30, 4]),
        (None, list(range(60))),
    ):
        loader = HyperedgeLoader(data, 2, 1, input_hyperedges=chosen, batch_size=60)
        (batch,) = loader
        assert batch.hyperedge_origin[: batch.num_targets].tolist() == expected
        assert batch.hyperedge_index.device.type == device.type


def test_arguments_of_pytorch_are_passed_on() -> None:
    data = random_data()
    loader = HyperedgeLoader(data, 2, 1, batch_size=7, drop_last=True)
    assert loader.batch_size == 7
    assert [batch.num_targets for batch in loader] == [7] * 8
    sampler = SequentialSampler(range(5))
    loader = HyperedgeLoader(data, 2, 1, batch_size=2, sampler=sampler)
    assert [t for t, _ in origins(loader)] == [[0, 1], [2, 3], [4]]
    batches = BatchSampler(sampler, 3, drop_last=False)
    loader = HyperedgeLoader(data, 2, 1, batch_sampler=batches)
    assert [t for t, _ in origins(loader)] == [[0, 1, 2], [3, 4]]
    assert len(loader) == 2


def remake(loader: HyperedgeLoader, **changed: Any) -> HyperedgeLoader:
    # As PyTorch Lightning does: every argument that is also an attribute.
    attributes = {k: v for k, v in vars(loader).items() if not k.startswith('_')}
    names = {
        **inspect.signature(type(loader).__init__).parameters,
        **inspect.signature(DataLoader.__init__).parameters,
    }
    kwargs = {name: attributes[name] for name in names if name in attributes}
    assert {'data', 'num_neighbors', 'dataset', 'collate_fn'} <= set(kwargs)
    return type(loader)(**{**kwargs, **changed})


def test_made_anew_by_lightning() -> None:
    data, chosen = random_data(), torch.tensor([3, 8, 21, 40, 55])
    loader = HyperedgeLoader(
        data, 2, 2, chosen, batch_size=2, shuffle=True, seed=7, drop_last=True
    )
    # With 'overfit_batches', the same targets come in the same order.
    sampler = SequentialSampler(cast(Sized, loader.dataset))
    twin = remake(loader, sampler=sampler, shuffle=False, batch_sampler=None)
    for _ in range(2):
        assert [targets for targets, _ in origins(twin)] == [[3, 8], [21, 40]]
    assert twin.num_neighbors == [2, 2]
    assert twin.seed == 7
    # With its own sampler, nothing is left out.
    twin = remake(loader, batch_sampler=None, drop_last=False)
    assert sorted(e for targets, _ in origins(twin) for e in targets) == chosen.tolist()


def test_nothing_to_load() -> None:
    empty = to_data([], 3)
    assert list(HyperedgeLoader(empty, 2, 1)) == []
    (batch,) = HyperedgeLoader(to_data([[]], 0), 2, 1)
    assert batch.num_hyperedges == batch.num_targets == 1
    assert batch.num_nodes == batch.num_incidences == 0
    none = torch.zeros(60, dtype=torch.bool)
    assert list(HyperedgeLoader(random_data(), 2, 1, input_hyperedges=none)) == []


def test_bad_arguments() -> None:
    data = stars(3)
    with one_line_error("'num_layers' is missing", 'num_neighbors=2'):
        HyperedgeLoader(data, 2)
    with one_line_error("'num_layers'", '0'):
        HyperedgeLoader(data, 2, 0)
    with one_line_error("'num_neighbors'", '[2, 2]', '3'):
        HyperedgeLoader(data, [2, 2], 3)
    with one_line_error("'num_neighbors'", '[]'):
        HyperedgeLoader(data, [])
    for bad in (0, -2):
        with one_line_error("'num_neighbors'", str(bad)):
            HyperedgeLoader(data, [3, bad])
    with one_line_error("'input_hyperedges'", '4'):
        HyperedgeLoader(data, 2, 1, torch.ones(4, dtype=torch.bool))
    with one_line_error("'input_hyperedges'", '3'):
        HyperedgeLoader(data, 2, 1, torch.tensor([0, 3]))
    with one_line_error("'input_hyperedges'", '-1'):
        HyperedgeLoader(data, 2, 1, torch.tensor([-1]))
    with one_line_error("'input_hyperedges'", 'float32'):
        HyperedgeLoader(data, 2, 1, torch.ones(3))
    with one_line_error("'shuffle'"):
        HyperedgeLoader(data, 2, 1, shuffle=True, sampler=SequentialSampler([0]))
    data.hyperedge_index = data.hyperedge_index.flip(1)
    with one_line_error("'data.hyperedge_index[1]'"):
        HyperedgeLoader(data, 2, 1)


def test_repr() -> None:
    loader = HyperedgeLoader(stars(3), 2, 2, batch_size=5)
    assert repr(loader) == (
        'HyperedgeLoader(AnchorData(num_nodes=4, num_hyperedges=3, num_incidences=6), '
        'num_neighbors=[2, 2], batch_size=5)'
    )


# All encoders ####################################################################


@pytest.mark.parametrize('num_layers', [1, 2])
@pytest.mark.parametrize(
    'make',
    [
        *(nn.HGNN, nn.HNHN, nn.HCHA, nn.HAT, nn.UniGCN, nn.HNN, nn.WHATsNet),
        *(nn.AllSetTransformer, nn.HypergraphSetTransformer),
        *(nn.CoNHD, partial(nn.CoNHD, operator='isab')),
    ],
)
def test_batches_without_sampling_equal_the_whole(make: Any, num_layers: int) -> None:
    # A long path, whose ends do not see each other, repeated members and singletons.
    groups = [[v, v + 1, *([v] if v % 4 == 0 else [])] for v in range(30)]
    data: Any = to_data([*groups, [3], [7], [3, 4]], 31)
    generator = torch.Generator().manual_seed(0)
    data.incidence_rank = torch.rand(data.num_incidences, 4, generator=generator)
    x = torch.randn(31, 3, generator=generator, dtype=torch.double)
    torch.manual_seed(0)
    model = make(3, 128, num_layers).double().eval()
    expected = represent(model, data, x)
    loader = HyperedgeLoader(data, -1, model.num_hops, batch_size=2, shuffle=True)
    smallest = data.num_hyperedges
    for batch in loader:
        smallest = min(smallest, batch.num_hyperedges)
        row = (batch.hyperedge_index[1] < batch.num_targets).nonzero().view(-1)
        number = int(batch.num_targets)
        out = represent(model, batch, x[batch.node_origin], row, number)
        torch.testing.assert_close(out, expected[batch.incidence_origin[row]])
    assert smallest < data.num_hyperedges


def test_numbers_of_numpy() -> None:
    data = to_data([[0, 1], [1, 2]], 3)
    assert HyperedgeLoader(data, np.int64(3), 2).num_neighbors == [3, 3]  # type: ignore[arg-type]


# Parts of batches ################################################################


def targets_of(batch: AnchorData) -> list[int]:
    found: list[int] = batch['hyperedge_origin'][: batch['num_targets']].tolist()
    return found


@pytest.mark.parametrize('num_parts', [2, 3])
def test_parts_of_batches(num_parts: int) -> None:
    data = random_data()
    options: dict[str, Any] = {'batch_size': 29, 'shuffle': True, 'seed': 3}
    whole = HyperedgeLoader(data, 2, 2, **options)
    parts = [
        HyperedgeLoader(data, 2, 2, **options, num_parts=num_parts, part=part)
        for part in range(num_parts)
    ]
    # The last batch has two targets, and nothing for a third part.
    assert len(whole) == len(parts[0]) == 3
    for _ in range(2):
        for batch, *own in zip(whole, *parts, strict=True):
            assert 'share_of_targets' not in batch
            held = [b for b in own if b['share_of_targets'] > 0]
            assert sorted(e for b in held for e in targets_of(b)) == sorted(
                targets_of(batch)
            )
            for part in held:
                count, total = part['num_targets'], batch['num_targets']
                assert part['share_of_targets'] == count / total
                size = data.hyperedge_size
                share = size[targets_of(part)].sum() / size[targets_of(batch)].sum()
                assert part['share_of_members'] == pytest.approx(float(share))
            for part in own:
                assert part['num_targets'] > 0
    assert sum(b['share_of_targets'] == 0 for b in own) == num_parts - 2


def test_parts_draw_on_their_own() -> None:
    # A star: all groups reach the same hub, which draws two of them.
    data = to_data([[0, i] for i in range(1, 41)], 41)
    drawn = []
    for part in range(2):
        loader = HyperedgeLoader(
            data, [2], batch_size=40, shuffle=True, num_parts=2, part=part
        )
        batch = next(iter(loader))
        is_hub = batch['node_origin'][batch.hyperedge_index[0]] == 0
        chosen = batch['incidence_origin'][is_hub & batch['incidence_drawn']]
        drawn.append(chosen.tolist())
    assert drawn[0] != drawn[1]


def test_repeated_targets_are_in_one_part() -> None:
    data = random_data()
    chosen = torch.tensor([5, 5, 8, 5, 9])
    seen = []
    for part in range(2):
        loader = HyperedgeLoader(
            data, -1, 1, chosen, batch_size=5, num_parts=2, part=part
        )
        seen += [targets_of(batch) for batch in loader]
    assert sorted(chain.from_iterable(seen)) == [5, 8, 9]


@pytest.mark.parametrize(('part', 'num_parts'), [(2, 2), (-1, 2), (0, 0)])
def test_no_such_part(part: int, num_parts: int) -> None:
    with one_line_error("'part'", f'{part} of {num_parts}'):
        HyperedgeLoader(random_data(), -1, 1, num_parts=num_parts, part=part)
