import math
from collections import Counter
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import (
    SETTINGS,
    Groups,
    groupings,
    to_index,
)
from tgx_anchor.transforms._hypergraph_walk import (
    HypergraphWalk,
    Membership,
    Neighbourhood,
)
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
