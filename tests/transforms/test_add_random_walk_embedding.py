import math
import sys
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.strategies import (
    SETTINGS,
    Groups,
    groupings,
    one_line_error,
    to_data,
    to_index,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.transforms import AddRandomWalkEmbedding
from tgx_anchor.transforms._hypergraph_walk import (
    HypergraphWalk,
    Membership,
    Neighbourhood,
)
from tgx_anchor.transforms._skip_gram import _SkipGram, skip_gram
from tgx_anchor.transforms.add_random_walk_embedding import standardize
from tgx_anchor.utils import collapse_incidences

# Members listed twice, groups that come again, singletons, a loner, a far end.
GROUPS = [
    [0, 1, 2],
    [0, 1, 2],
    [1, 3],
    [0, 3, 4, 4],
    [2, 5],
    [5, 6, 6, 6],
    [1, 1, 5],
    [6],
    [7],
    [2],
    [0, 2, 3, 5],
]
NUM_NODES = 9


# Steps ###########################################################################


def slow_step(groups: Groups, s: int | None, c: int, p: float, q: float) -> list[float]:
    # The probability of each next node, from the equations.
    degree = Counter(v for group in groups for v in group)
    weight = [0.0] * NUM_NODES
    for x in range(NUM_NODES):
        if x == c:
            continue
        for group in groups:
            both = group.count(c) * group.count(x)
            weight[x] += both / max(len(group), 1) / math.sqrt(max(degree[x], 1))
        if s is None:
            continue
        if x == s or any({s, c, x} <= set(group) for group in groups):
            weight[x] /= p
        elif not any({s, x} <= set(group) for group in groups):
            weight[x] /= q
    return [value / sum(weight) for value in weight]


def make_walk(groups: Groups, p: float = 2.0, q: float = 0.25) -> HypergraphWalk:
    return HypergraphWalk(to_index(groups), NUM_NODES, len(groups), p, q)


def neighbours(groups: Groups, c: int) -> list[int]:
    return sorted({v for group in groups if c in group for v in group} - {c})


@pytest.mark.parametrize(('p', 'q'), [(2.0, 0.25), (0.25, 4.0), (1.0, 1.0), (3.0, 2.0)])
@pytest.mark.parametrize('max_pairs', [None, 0])
def test_steps_have_the_probabilities_of_the_equations(
    p: float, q: float, max_pairs: int | None
) -> None:
    walk = make_walk(GROUPS, p, q)
    index, _ = collapse_incidences(to_index(GROUPS), NUM_NODES)
    several = torch.bincount(index[1]) > 1
    walk.neighbourhood = Neighbourhood(
        index[:, several[index[1]]], NUM_NODES, len(GROUPS), max_pairs
    )
    generator = torch.Generator().manual_seed(0)
    rounds, total, freedom = 2000, 0.0, 0
    states = [(s, c) for c in range(7) for s in [None, *neighbours(GROUPS, c)]]
    before = torch.tensor([s for s, _ in states if s is not None])
    after = torch.tensor([c for s, c in states if s is not None])
    starts = torch.tensor([c for s, c in states if s is None])
    first = walk.step(None, starts.repeat_interleave(rounds), generator)
    later = walk.step(
        before.repeat_interleave(rounds), after.repeat_interleave(rounds), generator
    )
    drawn = [*first.view(-1, rounds), *later.view(-1, rounds)]
    chances = [slow_step(GROUPS, None, int(c), p, q) for c in starts]
    for s, c in zip(before.tolist(), after.tolist(), strict=True):
        chances.append(slow_step(GROUPS, s, c, p, q))
    for expected, nodes in zip(chances, drawn, strict=True):
        count = torch.bincount(nodes, minlength=NUM_NODES).tolist()
        for seen, chance in zip(count, expected, strict=True):
            assert chance > 0 or seen == 0
            if chance > 0:
                total += (seen - rounds * chance) ** 2 / (rounds * chance)
                freedom += 1
        freedom -= 1
    # Chi-square, within four standard deviations.
    assert abs(total - freedom) < 4 * math.sqrt(2 * freedom)


def test_steps_of_a_chain() -> None:
    # From 0 over 1: back with weight (1/2) / 2, on with 4 / 2 / sqrt(2).
    walk = HypergraphWalk(to_index([[0, 1], [1, 2], [2, 3]]), 4, 3, 2.0, 0.25)
    current = torch.ones(20_000, dtype=torch.long)
    generator = torch.Generator().manual_seed(0)
    out = walk.step(torch.zeros_like(current), current, generator)
    onward = 4 / math.sqrt(2) / (4 / math.sqrt(2) + 0.5)
    assert set(out.tolist()) == {0, 2}
    assert float((out == 2).double().mean()) == pytest.approx(onward, abs=0.01)


def test_steps_in_a_triangle_of_pairs() -> None:
    # No hyperedge holds 0, 1 and 2, but 0 and 2 meet; 3 is far from 0.
    groups = [[0, 1], [1, 2], [0, 2], [1, 3], [3]]
    walk = HypergraphWalk(to_index(groups), 4, 5, 2.0, 0.25)
    current = torch.ones(30_000, dtype=torch.long)
    generator = torch.Generator().manual_seed(0)
    out = walk.step(torch.zeros_like(current), current, generator)
    share = torch.bincount(out, minlength=4) / out.numel()
    expected = torch.tensor([0.5, 0.0, 1.0, 4.0]) / 5.5
    torch.testing.assert_close(share, expected, atol=0.01, rtol=0)


def holds(groups: Groups, *nodes: int) -> bool:
    return any(set(nodes) <= set(group) for group in groups)


@SETTINGS
@given(groupings(1, 6, 8, repeated_members=True), st.sampled_from([0, 1, 3, 9, None]))
def test_neighbourhoods(grouping: tuple[Groups, int], max_pairs: int | None) -> None:
    groups, num_nodes = grouping
    index, _ = collapse_incidences(to_index(groups), num_nodes)
    around = Neighbourhood(index, num_nodes, len(groups), max_pairs)
    listed = around.pairs.numel() - 1
    if max_pairs is None:
        assert around.wide.hyperedge.numel() == 0
    else:
        assert listed <= max_pairs
    every = torch.arange(num_nodes)
    a, b = torch.cartesian_prod(every, every).t()
    expected = [
        u == v or holds(groups, u, v)
        for u in range(num_nodes)
        for v in range(num_nodes)
    ]
    assert around.share(a, b).tolist() == expected
    a, b, c = torch.cartesian_prod(every, every, every).t()
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    known = torch.tensor([u != v and holds(groups, u, v) for u, v in pairs])
    a, b, c = a[known], b[known], c[known]
    triples = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    assert around.share_all(a, b, c).tolist() == [holds(groups, *t) for t in triples]


def test_few_look_ups_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    index, _ = collapse_incidences(to_index(GROUPS), NUM_NODES)
    member = Membership(index, NUM_NODES)
    every = torch.arange(NUM_NODES)
    nodes = torch.cartesian_prod(every, every, every).t()
    whole = member.common(*nodes)
    assert 0 < int(whole.sum()) < whole.numel()
    for most in (1, 2, 5, 100):
        monkeypatch.setattr('tgx_anchor.transforms._hypergraph_walk._LOOKUPS', most)
        assert torch.equal(member.common(*nodes), whole)


# Walks ###########################################################################


def test_walks_go_from_member_to_member(
    device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = to_index(GROUPS).to(device)
    walk = HypergraphWalk(index, NUM_NODES, len(GROUPS), 2.0, 0.25)
    start = torch.arange(NUM_NODES, device=device).repeat_interleave(10)
    out = walk.sample(start, 12, torch.Generator().manual_seed(0))
    assert out.size() == (90, 12)
    assert torch.equal(out[:, 0].long(), start)
    for row in out.tolist():
        if row[0] >= 7:
            # Without co-members, and without any hyperedge.
            assert row == row[:1] * 12
        else:
            assert all(x in neighbours(GROUPS, c) for c, x in pairwise(row))
    again = walk.sample(start, 12, torch.Generator().manual_seed(0))
    assert torch.equal(out, again)
    other = walk.sample(start, 12, torch.Generator().manual_seed(1))
    assert not torch.equal(out, other)
    # Walks of several blocks.
    monkeypatch.setattr('tgx_anchor.transforms._hypergraph_walk._BLOCK', 7)
    out = walk.sample(start, 12, torch.Generator().manual_seed(0))
    assert torch.equal(out[:, 0].long(), start)
    assert bool((out[:70, 1:] != out[:70, :-1]).all())


def test_walk_of_one_node() -> None:
    walk = make_walk(GROUPS)
    out = walk.sample(torch.tensor([3, 8]), 1, torch.Generator())
    assert out.tolist() == [[3], [8]]


# Skip-gram #######################################################################


def make_model(walk: Tensor, num_nodes: int, sample: float = 0.0) -> _SkipGram:
    generator = torch.Generator().manual_seed(0)
    return _SkipGram(walk, num_nodes, 4, 3, 2, sample, generator)


def test_a_step_follows_the_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(1)
    walk = torch.randint(6, (3, 7), generator=generator)
    model = make_model(walk, 6)
    model.inner = torch.randn(6, 4, generator=generator)
    model.outer = torch.randn(6, 4, generator=generator)
    pair, noise = model._pairs(walk), model._negatives(3, 16)
    assert (pair > 0).any()
    monkeypatch.setattr(model, '_pairs', lambda *_: pair)
    monkeypatch.setattr(model, '_negatives', lambda *_: noise)

    inner = model.inner.clone().requires_grad_()
    outer = model.outer.clone().requires_grad_()
    gain = torch.zeros(())
    for b, j, i in pair.nonzero().tolist():
        u, target = inner[walk[b, j]], int(walk[b, i])
        gain = gain + torch.nn.functional.logsigmoid(u @ outer[target])
        # Sixteen shared negatives stand for two of each pair.
        for k in noise[b].tolist():
            if k != target:
                gain = gain + torch.nn.functional.logsigmoid(-u @ outer[k]) * 2 / 16
    gain.backward()
    before = model.inner.clone(), model.outer.clone()
    model.step(walk, 1e-3)
    for table, old, new in (
        (inner, before[0], model.inner),
        (outer, before[1], model.outer),
    ):
        assert table.grad is not None
        # The step is a little shorter than the gradient asks for, in its direction.
        change = (new - old) / 1e-3
        ratio = change.norm(dim=1) / table.grad.norm(dim=1)
        assert bool(((ratio > 0.85) & (ratio < 1.0)).all())
        cosine = torch.cosine_similarity(change, table.grad)
        torch.testing.assert_close(cosine, torch.ones(6), atol=1e-4, rtol=0)


def test_large_steps_stay_bounded() -> None:
    # Two nodes that meet in all pairs of many walks at once.
    walk = torch.tensor([[0, 1] * 20] * 50)
    model = make_model(walk, 2)
    for _ in range(50):
        model.step(walk, 0.5)
    assert float(model.inner.abs().max()) < 20
    assert float(model.outer.abs().max()) < 20


def test_pairs_are_within_a_random_window() -> None:
    walk = torch.arange(9).repeat(4000, 1)
    pair = make_model(walk, 9)._pairs(walk).mean(dim=0)
    for j in range(9):
        for i in range(9):
            chance = max(0, 4 - abs(i - j)) / 3 if i != j else 0.0
            assert float(pair[j, i]) == pytest.approx(chance, abs=0.04)
    # The window is that of i, the same for all j.
    one = make_model(walk, 9)._pairs(walk)[0]
    for i in range(9):
        reach = [abs(i - j) for j in range(9) if one[j, i] > 0]
        assert sorted(set(reach)) == list(range(1, max(reach) + 1))


def test_frequent_nodes_are_left_out_before_windows() -> None:
    # Node 0 takes nine of ten places; others then become neighbours.
    walk = torch.zeros(3000, 20, dtype=torch.long)
    walk[:, ::10] = torch.arange(1, 6001).view(3000, 2)
    model = make_model(walk, 6001, sample=1e-3)
    ratio = 1e-3 / 0.9
    assert float(model.kept[0]) == pytest.approx(math.sqrt(ratio) + ratio)
    assert bool((model.kept[1:] == 1).all())
    pair = model._pairs(walk)
    # Of the places of node 0, few have a pair; the two others often are one.
    used = (pair.sum(dim=2) > 0).double().mean(dim=0)
    assert float(used[1:10].mean()) < 0.1
    assert float(pair[:, 0, 10].mean()) > 0.7
    whole = make_model(walk, 6001, sample=0.0)
    assert bool((whole.kept == 1).all())


def test_negatives_follow_frequencies() -> None:
    walk = torch.tensor([[0] * 16 + [1] * 1 + [3] * 81])
    model = make_model(walk, 4)
    share = torch.bincount(model._negatives(200, 200).view(-1)) / 40_000
    expected = torch.tensor([8.0, 1.0, 0.0, 27.0]) / 36
    torch.testing.assert_close(share, expected, atol=0.01, rtol=0)


def test_epochs_and_rates() -> None:
    walk = torch.randint(5, (40, 6), generator=torch.Generator().manual_seed(0))

    def run(num_epochs: int = 1, lr: float = 0.025) -> Tensor:
        generator = torch.Generator().manual_seed(0)
        return skip_gram(walk, 5, 4, num_epochs=num_epochs, lr=lr, generator=generator)

    once = run()
    assert torch.equal(once, run())
    assert not torch.equal(once, run(num_epochs=2))
    start = run(lr=1e-12)
    assert float(start.abs().max()) <= 0.25
    assert float((run(num_epochs=5) - start).norm()) > float((once - start).norm())


# The transform ###################################################################


def two_communities(size: int = 30, seed: int = 0) -> AnchorData:
    # Groups of three inside each community, and a few across.
    generator = torch.Generator().manual_seed(seed)
    groups = []
    for e in range(8 * size):
        members = torch.randint(size, (3,), generator=generator)
        side = torch.full((3,), e % 2)
        if e % 16 == 0:
            side[0] = 1 - side[0]
        groups.append((members + size * side).tolist())
    return to_data(groups, 2 * size)


def separation(x: Tensor) -> float:
    # How much better the own community's centre fits than the other one's.
    half = x.size(0) // 2
    centre = torch.stack([x[:half].mean(dim=0), x[half:].mean(dim=0)])
    near = torch.cdist(x, centre).argmin(dim=1)
    own = torch.arange(2).repeat_interleave(half)
    return float((near == own).double().mean())


def test_communities_are_separated(device: torch.device) -> None:
    data = two_communities().to(device)
    out = AddRandomWalkEmbedding()(data)
    assert separation(out.x.cpu()) >= 0.95
    untrained = quick(lr=1e-9)(data)
    assert separation(untrained.x.cpu()) < 0.85
    assert out.x.size() == (60, 48)
    assert out.x.dtype == torch.float
    assert out.x.device.type == device.type
    assert data.get('x') is None


def quick(**kwargs: Any) -> AddRandomWalkEmbedding:
    options = {'dim': 6, 'walks_per_node': 2, 'walk_length': 10, **kwargs}
    return AddRandomWalkEmbedding(**options)


def test_columns_are_standardized() -> None:
    x = quick()(two_communities()).x.double()
    torch.testing.assert_close(
        x.mean(dim=0), torch.zeros(6).double(), atol=1e-6, rtol=0
    )
    std = x.std(dim=0, correction=0)
    torch.testing.assert_close(std, torch.ones(6).double(), atol=1e-5, rtol=0)


def test_walks_of_the_embedding() -> None:
    data = AnchorData(torch.tensor([[0, 1, 1, 2, 3], [0, 0, 1, 1, 2]]), 4, 3)
    transform = AddRandomWalkEmbedding(3, walks_per_node=2, walk_length=5, seed=7)
    walks = transform.walk(data)
    assert walks.size() == (8, 5)
    assert walks[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert walks[6:].tolist() == [[3] * 5] * 2
    assert torch.equal(transform.walk(data), walks)
    generator = torch.Generator().manual_seed(7)
    assert torch.equal(transform.walk(data, generator), walks)
    # Those that the embeddings are made of.
    expected = skip_gram(walks, 4, 3, generator=generator)
    assert torch.equal(transform(data)['x'], standardize(expected))


def test_seeds_decide_and_global_state_is_left_alone() -> None:
    data = two_communities()
    state = torch.get_rng_state()
    first = quick(seed=3)(data).x
    torch.manual_seed(12)
    again = quick(seed=3)(data).x
    assert torch.equal(first, again)
    assert not torch.equal(first, quick(seed=4)(data).x)
    torch.set_rng_state(state)
    quick()(data)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ('groups', 'num_nodes'),
    [
        ([], 0),
        ([[]], 0),
        ([], 1),
        ([[0]], 1),
        ([], 5),
        ([[0], [0], []], 3),
        ([[1, 2]], 4),
    ],
)
def test_little_to_walk_on(groups: Groups, num_nodes: int) -> None:
    out = quick(dim=3)(to_data(groups, num_nodes))
    assert out.x.size() == (num_nodes, 3)
    assert out.x.dtype == torch.float
    assert bool(torch.isfinite(out.x).all())
    if num_nodes == 1:
        assert bool((out.x == 0).all())
    out.validate()


def test_attribute_and_functional_name() -> None:
    data = two_communities(4)
    out = quick(dim=3, attr_name='node_walk')(data)
    assert out.node_walk.size() == (8, 3)
    assert out.get('x') is None


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    data = two_communities(4)
    quiet = quick(dim=3)(data).x
    assert capsys.readouterr().err == ''
    loud = quick(dim=3, progress=True)(data).x
    err = capsys.readouterr().err
    assert 'walks' in err
    assert 'skip-gram' in err
    assert torch.equal(quiet, loud)


def test_repr_shows_what_changes_the_result() -> None:
    assert repr(AddRandomWalkEmbedding(dim=44, progress=True)) == (
        "AddRandomWalkEmbedding(dim=44, attr_name='x', walks_per_node=10, "
        'walk_length=40, p=2.0, q=0.25, window=10, num_negatives=5, num_epochs=1, '
        "lr=0.025, sample=0.001, seed=0, backend='torch')"
    )


@pytest.mark.parametrize(
    'name',
    ['dim', 'walks_per_node', 'walk_length', 'p', 'q', 'window', 'num_negatives', 'lr'],
)
def test_bad_numbers(name: str) -> None:
    for value in (0, -1, math.inf, math.nan):
        with one_line_error(f"'{name}'", str(value)):
            quick(**{name: value})


def test_bad_arguments() -> None:
    with one_line_error("'sample'", '-1'):
        AddRandomWalkEmbedding(sample=-1)
    with one_line_error("'attr_name'", 'y'):
        AddRandomWalkEmbedding(attr_name='y')


def test_names_reach_the_data() -> None:
    data = AddRandomWalkEmbedding(3, attr_name='node_walk')(to_data([[0, 1, 2]], 3))
    assert data.names('node_walk') == [f'random_walk_{i}' for i in range(3)]
    assert data.validate()


def test_second_device() -> None:
    data = to_data(GROUPS, NUM_NODES)
    transform = AddRandomWalkEmbedding(4, walks_per_node=3, walk_length=8)
    expected = transform(data).x
    with second_device() as device:
        out = transform(data.clone().to(device)).x
        assert out.device == device
    assert torch.equal(out.cpu(), expected)


# gensim ##########################################################################


def test_gensim_learns_from_the_same_walks() -> None:
    models = pytest.importorskip('gensim.models')
    data = to_data(GROUPS, NUM_NODES)
    transform = AddRandomWalkEmbedding(6, seed=3, backend='gensim')
    x = transform(data)['x']
    assert torch.equal(transform(data)['x'], x)
    assert x.dtype == torch.float32
    assert not torch.equal(AddRandomWalkEmbedding(6, seed=3)(data)['x'], x)

    walks = transform.walk(data)
    order = torch.randperm(len(walks), generator=torch.Generator().manual_seed(3))
    sentences = [[str(node) for node in walk] for walk in walks[order].tolist()]
    # The other arguments are the defaults of gensim.
    model = models.Word2Vec(
        sentences,
        vector_size=6,
        window=10,
        min_count=0,
        sg=1,
        epochs=1,
        workers=1,
        seed=3,
    )
    rows = torch.tensor(model.wv[[str(node) for node in range(NUM_NODES)]])
    assert torch.equal(standardize(rows), x)


@pytest.mark.parametrize(
    'change',
    [
        {'window': 1},
        {'num_negatives': 1},
        {'num_epochs': 2},
        {'lr': 0.5},
        {'sample': 0},
    ],
    ids=str,
)
def test_gensim_takes_all_arguments(change: dict[str, Any]) -> None:
    pytest.importorskip('gensim')
    data = to_data(GROUPS, NUM_NODES)
    x = AddRandomWalkEmbedding(4, backend='gensim')(data)['x']
    changed = AddRandomWalkEmbedding(4, backend='gensim', **change)(data)['x']
    assert not torch.equal(changed, x)


def test_gensim_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'gensim.models', None)
    transform = AddRandomWalkEmbedding(4, backend='gensim')
    with pytest.raises(ImportError, match='gensim') as caught:
        transform(to_data(GROUPS, NUM_NODES))
    assert str(caught.value) == (
        "backend='gensim' needs gensim: pip install 'tgx_anchor[bench]', or use "
        "backend='torch'"
    )


def test_backend_is_shown_and_checked() -> None:
    assert "backend='torch'" in repr(AddRandomWalkEmbedding())
    assert "backend='gensim'" in repr(AddRandomWalkEmbedding(backend='gensim'))
    with one_line_error("'backend'", "'fast'"):
        AddRandomWalkEmbedding(backend='fast')  # type: ignore[arg-type]
