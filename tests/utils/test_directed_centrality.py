"""Directed centralities, against loops over arcs."""

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.strategies import (
    SETTINGS,
    Groups,
    Renaming,
    incidences,
    one_line_error,
    slow_pagerank,
    to_data,
    to_index,
)
from tgx_anchor.utils import (
    authority,
    directed_pagerank,
    in_coreness,
    in_degree,
    out_degree,
    swap_sides,
)

ALL = [in_degree, out_degree, directed_pagerank, authority, in_coreness]
# Mails from 0 to 1 and 2, from 1 to 2, from 0 and 3 to 1.
MAILS = [[0, 1, 2], [1, 2], [0, 3, 1]]
SIDE = torch.tensor([0, 1, 1, 0, 1, 0, 0, 1])
ARCS = [[0, 2, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]


@st.composite
def directed(draw: st.DrawFn) -> tuple[Tensor, Tensor, Groups, int]:
    """Incidences with sides, some unknown; a member may be on both sides."""
    index, groups, num_nodes = draw(incidences(min_nodes=1))
    size = index.size(1)
    side = draw(st.lists(st.sampled_from([0, 1, -1]), min_size=size, max_size=size))
    return index, torch.tensor(side, dtype=torch.long), groups, num_nodes


def slow_arcs(index: Tensor, side: Tensor, num_nodes: int) -> list[list[int]]:
    """The number of hyperedges from one node to another."""
    rows = list(zip(*index.tolist(), side.tolist(), strict=True))
    arcs = [[0] * num_nodes for _ in range(num_nodes)]
    for u, e, tail in rows:
        for v, f, head in rows:
            if e == f and u != v and (tail, head) == (0, 1):
                arcs[u][v] += 1
    return arcs


def slow_in_coreness(index: Tensor, side: Tensor, num_nodes: int) -> list[int]:
    """Peels one node at a time; a group counts as long as it has a tail."""
    rows = list(zip(*index.tolist(), side.tolist(), strict=True))
    core, left, level = [0] * num_nodes, set(range(num_nodes)), 0
    while left:
        led = {e for v, e, s in rows if s == 0 and v in left}
        count = {
            v: sum(u == v and s == 1 and e in led for u, e, s in rows) for v in left
        }
        node = min(left, key=lambda v: (count[v], v))
        level = max(level, count[node])
        core[node] = level
        left.remove(node)
    return core


def test_mails() -> None:
    index = to_index(MAILS)
    assert slow_arcs(index, SIDE, 4) == ARCS
    assert out_degree(index, SIDE, 4, 3).tolist() == [2, 1, 0, 1]
    assert in_degree(index, SIDE, 4, 3).tolist() == [0, 2, 2, 0]
    # Nobody writes to 0 and 3; without them, only the mail from 1 to 2 has a tail, and
    # nobody writes to 1.
    assert in_coreness(index, SIDE, 4, 3).tolist() == [0, 0, 0, 0]
    # Nobody reads what 2 sends; then 1 has no reader, and the others have none.
    assert in_coreness(index, swap_sides(SIDE), 4, 3).tolist() == [0, 0, 0, 0]
    # Two who write to each other twice, and a third who only reads.
    pair = to_index([[0, 1], [1, 0], [0, 1], [1, 0], [0, 2]])
    side = torch.tensor([0, 1] * 5)
    assert in_coreness(pair, side, 3, 5).tolist() == [2, 2, 1]


def test_authority_of_a_star() -> None:
    # 0 writes to 1 and 2 in one mail, and once more to 2.
    index, side = to_index([[0, 1, 2], [0, 2]]), torch.tensor([0, 1, 1, 0, 1])
    root = 5**0.5
    expected = pytest.approx([0, 1 / root, 2 / root])
    assert authority(index, side, 3, 2).tolist() == expected
    assert authority(index, swap_sides(side), 3, 2).tolist() == [1, 0, 0]


@given(directed())
@SETTINGS
def test_degrees_and_cores_match_loops(
    drawn: tuple[Tensor, Tensor, Groups, int],
) -> None:
    index, side, groups, num_nodes = drawn
    size = (num_nodes, len(groups))
    rows = list(zip(index[0].tolist(), side.tolist(), strict=True))
    for function, sign in ((out_degree, 0), (in_degree, 1)):
        expected = [rows.count((v, sign)) for v in range(num_nodes)]
        assert function(index, side, *size).tolist() == expected
    for sides in (side, swap_sides(side)):
        expected = slow_in_coreness(index, sides, num_nodes)
        assert in_coreness(index, sides, *size).tolist() == expected


@given(directed())
@SETTINGS
def test_spectral_centralities_match_loops(
    drawn: tuple[Tensor, Tensor, Groups, int],
) -> None:
    index, side, groups, num_nodes = drawn
    size = (num_nodes, len(groups))
    arcs = slow_arcs(index, side, num_nodes)
    found = directed_pagerank(index, side, *size)
    assert found.tolist() == pytest.approx(slow_pagerank(arcs), abs=1e-9)
    assert float(found.sum()) == pytest.approx(1)

    A = torch.tensor(arcs, dtype=torch.double)
    x = torch.full((num_nodes,), 1 / num_nodes, dtype=torch.double)
    for _ in range(100):
        last, x = x, A.t() @ (A @ x)
        x = x / max(float(x.norm()), 1e-300)
        if (x - last).abs().sum() < 1e-6:
            break
    assert authority(index, side, *size).tolist() == pytest.approx(x.tolist(), abs=1e-9)


def test_spectral_centralities_match_networkx() -> None:
    generator = torch.Generator().manual_seed(0)
    groups = [torch.randperm(12, generator=generator)[:4].tolist() for _ in range(30)]
    side = torch.tensor([0, 0, 1, 1] * 30)
    index = to_index(groups)
    weight = torch.tensor(slow_arcs(index, side, 12)).numpy()
    graph = nx.from_numpy_array(weight, create_using=nx.DiGraph)
    found = directed_pagerank(index, side, 12, 30, max_iter=1000, tol=1e-12)
    expected = nx.pagerank(graph, tol=1e-12)
    assert found.tolist() == pytest.approx([expected[v] for v in range(12)], rel=1e-6)
    hubs, authorities = nx.hits(graph, max_iter=1000, tol=1e-12)
    for sides, value in ((side, authorities), (swap_sides(side), hubs)):
        found = authority(index, sides, 12, 30, max_iter=1000, tol=1e-12)
        found = found / found.sum()
        assert found.tolist() == pytest.approx([value[v] for v in range(12)], rel=1e-6)


@given(st.data())
@SETTINGS
def test_renaming_renames_the_output(draw: st.DataObject) -> None:
    index, side, groups, num_nodes = draw.draw(directed())
    order = torch.argsort(index[1], stable=True)
    index, side = index[:, order], side[order]
    data = to_data([[]] * len(groups), num_nodes)
    data.hyperedge_index = index
    renaming = Renaming(
        data,
        draw.draw(st.permutations(range(num_nodes))),
        draw.draw(st.permutations(range(len(groups)))),
        draw.draw(st.permutations(range(index.size(1)))),
    )
    other, sides = renaming.data.hyperedge_index, renaming.incidences(side)
    for function in ALL:
        expected = renaming.nodes(function(index, side, num_nodes, len(groups)))
        found = function(other, sides, num_nodes, len(groups))
        assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-12)


def test_undirected_incidences_count_for_nothing() -> None:
    index = to_index(MAILS)
    unknown = torch.full((8,), -1)
    assert swap_sides(unknown).tolist() == unknown.tolist()
    for function in (in_degree, out_degree, in_coreness, authority):
        assert function(index, unknown, 4, 3).tolist() == [0] * 4
    assert directed_pagerank(index, unknown, 4, 3).tolist() == [0.25] * 4


@pytest.mark.parametrize('function', ALL)
def test_wrong_sides(function: type) -> None:
    index = to_index(MAILS)
    with one_line_error("'side'", '8 integers', 'got torch.int64 of shape [3]'):
        function(index, SIDE[:3], 4, 3)
    with one_line_error("'side'", 'torch.float32'):
        function(index, SIDE.float(), 4, 3)
    with one_line_error("'side' must be 0 (tail)", 'got 2'):
        function(index, SIDE + 1, 4, 3)


def test_wrong_damping() -> None:
    with one_line_error("'damping'", 'got 1'):
        directed_pagerank(to_index(MAILS), SIDE, 4, 3, damping=1)
