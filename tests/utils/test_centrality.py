from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.strategies import (
    SETTINGS,
    Groups,
    clique_weights,
    hypergraphs,
    incidences,
    one_line_error,
    renamings,
    slow_coreness,
    slow_eigenvector,
    slow_pagerank,
    to_index,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.utils import coreness, degree, eigenvector_centrality, pagerank

Centrality = Callable[[Tensor, int, int], Tensor]
CENTRALITIES: dict[str, Centrality] = {
    'degree': degree,
    'eigenvector': eigenvector_centrality,
    'eigenvector of the plain graph': partial(eigenvector_centrality, weighted=False),
    'pagerank': pagerank,
    'coreness': coreness,
}
SOURCES = ['DBLP', 'StackOverflowBiology', 'StackOverflowPhysics', 'emailEu']

all_centralities = pytest.mark.parametrize(
    'centrality', CENTRALITIES.values(), ids=list(CENTRALITIES)
)


def close(actual: Tensor, expected: Tensor | list[float], rtol: float = 1e-12) -> None:
    expected = torch.as_tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(actual, expected, rtol=rtol, atol=1e-12)


def networkx_graph(groups: Groups, num_nodes: int) -> Any:
    networkx = pytest.importorskip('networkx')
    graph = networkx.Graph()
    graph.add_nodes_from(range(num_nodes))
    for u, row in enumerate(clique_weights(groups, num_nodes)):
        graph.add_weighted_edges_from((u, v, w) for v, w in enumerate(row) if w)
    return graph


# Against the definitions #########################################################


@SETTINGS
@given(incidences())
def test_degree(drawn: tuple[Tensor, Groups, int]) -> None:
    index, groups, num_nodes = drawn
    out = degree(index, num_nodes, len(groups))
    assert out.tolist() == [
        sum(group.count(v) for group in groups) for v in range(num_nodes)
    ]
    assert out.dtype == torch.long


@SETTINGS
@given(incidences())
def test_coreness(drawn: tuple[Tensor, Groups, int]) -> None:
    index, groups, num_nodes = drawn
    out = coreness(index, num_nodes, len(groups))
    assert out.tolist() == slow_coreness(groups, num_nodes)
    assert out.dtype == torch.long


@SETTINGS
@given(incidences(), st.booleans(), st.integers(1, 100))
def test_eigenvector(
    drawn: tuple[Tensor, Groups, int], weighted: bool, max_iter: int
) -> None:
    index, groups, num_nodes = drawn
    weight = clique_weights(groups, num_nodes)
    if not weighted:
        weight = [[min(w, 1) for w in row] for row in weight]
    out = eigenvector_centrality(index, num_nodes, len(groups), weighted, max_iter)
    close(out, slow_eigenvector(weight, max_iter))


@SETTINGS
@given(incidences(), st.sampled_from([0.0, 0.5, 0.85]), st.integers(1, 100))
def test_pagerank(
    drawn: tuple[Tensor, Groups, int], damping: float, max_iter: int
) -> None:
    index, groups, num_nodes = drawn
    out = pagerank(index, num_nodes, len(groups), damping, max_iter)
    weight = clique_weights(groups, num_nodes)
    close(out, slow_pagerank(weight, damping, max_iter))
    if num_nodes > 0:
        close(out.sum(), torch.tensor(1.0))


@SETTINGS
@given(incidences(min_nodes=1))
def test_networkx(drawn: tuple[Tensor, Groups, int]) -> None:
    networkx = pytest.importorskip('networkx')
    index, groups, num_nodes = drawn
    size, tol = (num_nodes, len(groups)), num_nodes * 1e-6
    graph = networkx_graph(groups, num_nodes)
    expected = networkx.pagerank(graph)
    close(pagerank(index, *size, tol=tol), [expected[v] for v in range(num_nodes)])
    for weighted in (True, False):
        try:
            expected = networkx.eigenvector_centrality(
                graph, weight='weight' if weighted else None
            )
        except networkx.PowerIterationFailedConvergence:
            continue
        out = eigenvector_centrality(index, *size, weighted, tol=tol)
        close(out, [expected[v] for v in range(num_nodes)])


# By hand #########################################################################


def test_one_group(device: torch.device) -> None:
    index = to_index([[2, 0, 1]]).to(device)
    assert degree(index, 3, 1).tolist() == [1, 1, 1]
    assert coreness(index, 3, 1).tolist() == [1, 1, 1]
    close(pagerank(index, 3, 1).cpu(), [1 / 3] * 3)
    close(eigenvector_centrality(index, 3, 1).cpu(), [3**-0.5] * 3)


def test_first_iterates(device: torch.device) -> None:
    # The weights are 3 between nodes 0 and 1, and 1 between nodes 1 and 2.
    groups = [[0, 1], [1, 0], [1, 2], [0, 1]]
    index = to_index(groups).to(device)
    # x + W x is (1 + 3, 1 + 4, 1 + 1) / 3 for the weights 3, 1.
    expected = torch.tensor([4.0, 5.0, 2.0]) / 45**0.5
    out = eigenvector_centrality(index, 3, 4, max_iter=1).cpu()
    close(out, expected.double(), rtol=1e-6)
    out = eigenvector_centrality(index, 3, 4, weighted=False, max_iter=1).cpu()
    close(out, (torch.tensor([2.0, 3.0, 2.0]) / 17**0.5).double(), rtol=1e-6)
    # Node 1 sends 3/4 of its third to node 0, the others send all to node 1.
    rest = 0.15 / 3
    out = pagerank(index, 3, 4, max_iter=1).cpu()
    close(out, [0.85 / 4 + rest, 0.85 * 2 / 3 + rest, 0.85 / 12 + rest])
    assert coreness(index, 3, 4).tolist() == [3, 3, 1]


def test_isolated_nodes_share_their_pagerank() -> None:
    # Nodes 2 (in singletons) and 3 (in nothing) dangle: x2 = x3, x0 = 0.85 x0 + x2.
    out = pagerank(to_index([[0, 1], [2], [2]]), 4, 3, tol=1e-15, max_iter=300)
    close(out, [1 / 2.3, 1 / 2.3, 0.15 / 2.3, 0.15 / 2.3])
    out = pagerank(to_index([[0, 1], [1, 2]]), 4, 2, damping=0.5, tol=1e-15)
    # x3 = (0.5 x3 + 0.5) / 4 = 1/7; x0 = x2 = 1/7 + x1 / 4; x1 = 1/7 + (x0 + x2) / 2.
    close(out, [5 / 21, 8 / 21, 5 / 21, 1 / 7])


def test_a_group_dies_with_its_first_member() -> None:
    # Node 3 is in one group; with it goes the group of four, and one degree of each.
    groups = [[0, 1, 2, 3], [0, 1], [0, 1], [1, 2], [4]]
    assert coreness(to_index(groups), 6, 5).tolist() == [2, 2, 1, 1, 1, 0]
    # Members of it listed twice lose two.
    groups = [[0, 0, 1, 2], [0, 3], [0, 3], [1, 3], [1, 3], [1, 3]]
    assert coreness(to_index(groups), 4, 6).tolist() == [2, 3, 1, 3]


@all_centralities
@pytest.mark.parametrize('num_hyperedges', [0, 2])
@pytest.mark.parametrize('num_nodes', [0, 1, 3])
def test_no_incidences(
    centrality: Centrality, num_nodes: int, num_hyperedges: int
) -> None:
    out = centrality(to_index([]), num_nodes, num_hyperedges)
    expected = 0.0
    if centrality is pagerank:
        expected = 1 / max(num_nodes, 1)
    elif out.is_floating_point():
        expected = max(num_nodes, 1) ** -0.5
    close(out.double(), [expected] * num_nodes)


def test_large_groups_cost_no_cliques() -> None:
    # The clique graph of this group has 10^10 edges.
    size = 100_000
    index = torch.stack([torch.arange(size), torch.zeros(size, dtype=torch.long)])
    close(pagerank(index, size, 1), torch.full((size,), 1 / size), rtol=1e-6)
    out = eigenvector_centrality(index, size, 1)
    close(out, torch.full((size,), size**-0.5), rtol=1e-6)


# Whatever the input looks like ###################################################


@all_centralities
@SETTINGS
@given(data=hypergraphs(), draw=st.data())
def test_names_do_not_matter(
    centrality: Centrality, data: AnchorData, draw: st.DataObject
) -> None:
    other = draw.draw(renamings(data))
    size = (int(data.num_nodes or 0), data.num_hyperedges)
    before = centrality(data.hyperedge_index, *size)
    after = centrality(other.data.hyperedge_index, *size)
    torch.testing.assert_close(after, other.nodes(before), rtol=1e-12, atol=1e-15)


@all_centralities
def test_results_repeat_and_inputs_stay(centrality: Centrality) -> None:
    generator = torch.Generator().manual_seed(0)
    node = torch.randint(0, 300, (5000,), generator=generator)
    hyperedge = torch.randint(0, 900, (5000,), generator=generator)
    index = torch.stack([node, hyperedge])
    before = index.clone()
    out = centrality(index, 300, 900)
    assert out.size() == (300,)
    assert torch.equal(index, before)
    assert torch.equal(centrality(index, 300, 900), out)
    assert out.dtype == (
        torch.long if centrality in (degree, coreness) else torch.float64
    )


@all_centralities
@pytest.mark.parametrize(
    ('index', 'name'),
    [
        (torch.tensor([[0, -1], [0, 0]]), "'hyperedge_index[0]'"),
        (torch.tensor([[0, 2], [0, 0]]), "'hyperedge_index[0]'"),
        (torch.tensor([[0, 0], [0, -1]]), "'hyperedge_index[1]'"),
        (torch.tensor([[0, 0], [0, 1]]), "'hyperedge_index[1]'"),
        (torch.tensor([[0, 1], [0, 0]], dtype=torch.int32), "'hyperedge_index'"),
        (torch.tensor([0, 1]), "'hyperedge_index'"),
    ],
)
def test_bad_incidences(centrality: Centrality, index: Tensor, name: str) -> None:
    with one_line_error(name):
        centrality(index, 2, 1)


@pytest.mark.parametrize('damping', [-0.1, 1.0, 1.5, float('nan')])
def test_bad_damping(damping: float) -> None:
    with one_line_error("'damping'", str(damping)):
        pagerank(to_index([[0, 1]]), 2, 1, damping=damping)


@pytest.mark.parametrize('max_iter', [0, -3])
@pytest.mark.parametrize('function', [eigenvector_centrality, pagerank])
def test_bad_max_iter(function: Callable[..., Tensor], max_iter: int) -> None:
    with one_line_error("'max_iter'", str(max_iter)):
        function(to_index([[0, 1]]), 2, 1, max_iter=max_iter)


# Against the published files #####################################################


def read_raw(folder: Path) -> tuple[Tensor, int, dict[str, list[float]]]:
    # Tokens as they are, members listed twice included; DBLP has a quoted key first.
    published: dict[str, list[float]] = {}
    for kind in ('degree', 'eigenvec', 'pagerank', 'kcore'):
        path = folder / f'{kind}_nodecentrality.txt'
        rows = [line.split() for line in path.read_text().splitlines()[1:]]
        number = {name: i for i, (name, _) in enumerate(rows)}
        published[kind] = [float(value) for _, value in rows]
    with (folder / 'hypergraph.txt').open() as file:
        groups = [
            [number[token] for token in line.split() if not token.startswith("'")]
            for line in file
        ]
    return to_index(groups), len(groups), published


@pytest.mark.mirror
@pytest.mark.parametrize('source', SOURCES)
def test_published_files(mirror: Path, source: str) -> None:
    index, num_hyperedges, published = read_raw(
        mirror / 'edge_dependent_node_classification' / source
    )
    num_nodes = len(published['degree'])
    size, tol = (num_nodes, num_hyperedges), num_nodes * 1e-6
    assert degree(index, *size).tolist() == published['degree']
    assert coreness(index, *size).tolist() == published['kcore']
    close(pagerank(index, *size, tol=tol), published['pagerank'])
    out = eigenvector_centrality(index, *size, weighted=False, tol=tol)
    close(out, published['eigenvec'])


@settings(SETTINGS, max_examples=5)
@given(incidences())
def test_second_device(drawn: tuple[Tensor, Groups, int]) -> None:
    index, groups, num_nodes = drawn
    unweighted: Centrality = partial(eigenvector_centrality, weighted=False)
    functions = [*CENTRALITIES.values(), unweighted]
    for function in functions:
        expected = function(index, num_nodes, len(groups))
        with second_device() as device:
            found = function(index.to(device), num_nodes, len(groups))
            assert found.device == device
        assert torch.equal(found.cpu(), expected)


@pytest.mark.parametrize('measure', [eigenvector_centrality, pagerank])
@pytest.mark.parametrize('is_repeated', [False, True])
def test_bits_do_not_depend_on_the_order_of_hyperedges(
    measure: Callable[..., Tensor], is_repeated: bool
) -> None:
    generator = torch.Generator().manual_seed(0)
    size = torch.randint(1, 9, (3000,), generator=generator)
    # A few nodes are in many hyperedges.
    draw = torch.rand(int(size.sum()), generator=generator, dtype=torch.double)
    node = (400 * draw**3).long()
    hyperedge = torch.repeat_interleave(size)
    if not is_repeated:
        node, hyperedge = torch.unique(torch.stack([node, hyperedge]), dim=1)
        hyperedge, perm = torch.sort(hyperedge, stable=True)
        node = node[perm]
    number = torch.randperm(3000, generator=generator)[hyperedge]
    number, perm = torch.sort(number, stable=True)
    expected = measure(torch.stack([node, hyperedge]), 400, 3000)
    found = measure(torch.stack([node[perm], number]), 400, 3000)
    assert torch.equal(found, expected)
