"""Graphs of nodes and hyperedges, against the hypergraphs they come from."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric import transforms
from torch_geometric.data import HeteroData

from tests.data.examples import SHAPES, build, contents, decorate
from tests.strategies import SETTINGS, hypergraphs, one_line_error, to_data, to_groups
from tgx_anchor.data import AnchorData

WRITES = ('author', 'writes', 'paper')


@pytest.mark.parametrize('strings', [False, True])
@pytest.mark.parametrize('shape', SHAPES)
def test_to_bipartite(shape: str, strings: bool) -> None:
    data = build(shape, strings)
    source = contents(data)
    out: Any = data.to_bipartite()
    assert out.node_types == ['node', 'hyperedge']
    assert out.edge_types == [('node', 'in', 'hyperedge')]
    assert out['node'].num_nodes == data.num_nodes
    assert out['hyperedge'].num_nodes == data.num_hyperedges
    store = {
        'node': out['node'],
        'hyperedge': out['hyperedge'],
        'incidence': out['node', 'in', 'hyperedge'],
    }
    names = {'hyperedge_attr': 'x', 'incidence_attr': 'edge_attr'}
    assert store['incidence'].edge_index.tolist() == data.hyperedge_index.tolist()
    seen = {
        (level, key): (value.dtype, list(value.size()), value.tolist())
        if isinstance(value, Tensor)
        else value
        for level, part in store.items()
        for key, value in part.items()
        if key not in ('num_nodes', 'edge_index')
    }
    assert seen == {
        (level, names.get(key, key)): value
        for key, value in source.items()
        if (level := data.level(key)) is not None
    }
    assert out.title == data['title']
    assert out.graph_attr.tolist() == data['graph_attr'].tolist()
    assert out.validate()


def test_bipartite_reverses() -> None:
    out: Any = transforms.ToUndirected()(
        decorate(to_data([[0, 1, 2], [1, 2]], 3), strings=True).to_bipartite()
    )
    assert out['hyperedge', 'rev_in', 'node'].edge_index.tolist() == [
        [0, 0, 0, 1, 1],
        [0, 1, 2, 1, 2],
    ]


@SETTINGS
@given(hypergraphs(), st.booleans())
def test_round_trip(data: AnchorData, strings: bool) -> None:
    decorate(data, strings)
    data.pos = torch.arange(3.0 * data.num_nodes).view(-1, 3)
    data.column_names = {'x': ['a', 'b'], 'incidence_attr': ['c', 'd']}
    data.role_names = ['from', 'to', 'cc']
    for graph in (data.to_bipartite(), transforms.ToUndirected()(data.to_bipartite())):
        again = AnchorData.from_bipartite(graph)
        assert contents(again) == contents(data)
        assert again.column_names == data.column_names
        assert again.role_names == data.role_names


def by_hand() -> HeteroData:
    graph = HeteroData()
    graph['author'].x = torch.tensor([[1.0], [2.0], [3.0]])
    graph['author'].age = torch.tensor([30, 40, 50])
    graph['paper'].x = torch.tensor([[7.0, 8.0], [9.0, 10.0]])
    graph['paper'].year = torch.tensor([2001, 2002])
    graph['paper'].y = torch.tensor([4, 5])
    graph['paper'].train_mask = torch.tensor([True, False])
    graph['author'].train_mask = torch.tensor([True, False, True])
    graph[WRITES].edge_index = torch.tensor([[2, 1, 0, 1], [1, 0, 0, 1]])
    graph[WRITES].edge_attr = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    graph[WRITES].y = torch.tensor([True, False, True, False])
    graph['author', 'knows', 'author'].edge_index = torch.tensor([[0], [1]])
    graph.title = 'papers'
    return graph


def test_graph_made_by_hand() -> None:
    data = AnchorData.from_bipartite(by_hand(), WRITES)
    assert to_groups(data) == [[1, 0], [2, 1]]
    assert data['y'].tolist() == [False, True, True, False]
    assert data['incidence_attr'].tolist() == [[1.0], [2.0], [0.0], [3.0]]
    assert data['x'].tolist() == [[1.0], [2.0], [3.0]]
    assert data['node_age'].tolist() == [30, 40, 50]
    assert data['hyperedge_attr'].tolist() == [[7.0, 8.0], [9.0, 10.0]]
    assert data['hyperedge_year'].tolist() == [2001, 2002]
    assert data['hyperedge_y'].tolist() == [4, 5]
    assert data['train_mask'].tolist() == [True, False]
    assert data['node_train_mask'].tolist() == [True, False, True]
    assert data['title'] == 'papers'
    assert 'node_id' not in data
    assert data.validate()


def test_the_only_relation_is_taken() -> None:
    graph = by_hand()
    del graph['author', 'knows', 'author']
    assert to_groups(AnchorData.from_bipartite(graph)) == [[1, 0], [2, 1]]


def test_wrong_relations() -> None:
    with one_line_error("'relation' is missing", "('author', 'writes', 'paper')"):
        AnchorData.from_bipartite(by_hand())
    with one_line_error("'relation' must be one of", "(got ('a', 'b', 'c'))"):
        AnchorData.from_bipartite(by_hand(), ('a', 'b', 'c'))
    with one_line_error("'graph' must have a relation"):
        AnchorData.from_bipartite(HeteroData())
    graph = by_hand()
    del graph['paper']
    graph['paper'].year = torch.tensor([2001, 2002])
    graph[WRITES].edge_index = torch.tensor([[0], [1]])
    with one_line_error(
        "'num_nodes' of 'paper' is missing", "graph['paper'].num_nodes"
    ):
        AnchorData.from_bipartite(graph, WRITES)
    graph['paper'].num_nodes = 1
    with one_line_error("'hyperedge_index[1]' must lie in [0, 1)"):
        AnchorData.from_bipartite(graph, WRITES)
