import sys
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from torch_geometric.data import Data, HeteroData

from tests.io.strategies import ODD_VALUES, described_hypergraphs, examples, outcome
from tests.strategies import one_line_error, to_data, to_groups
from tgx_anchor.data import AnchorData
from tgx_anchor.data.ogb import read_ogb, write_ogb

WRITES = ('author', 'writes', 'paper')
CITES = ('paper', 'cites', 'paper')


def graph() -> dict[str, Any]:
    return {
        'edge_index_dict': {
            WRITES: np.array([[2, 0, 1, 2], [1, 0, 1, 0]]),
            CITES: np.array([[0], [1]]),
        },
        'num_nodes_dict': {'author': 4, 'paper': np.int64(2)},
        'node_feat_dict': {'paper': np.array([[0.5, 1.0], [2.0, 3.0]])},
        'edge_feat_dict': {WRITES: np.array([[0], [1], [2], [3]])},
        'node_year': {'paper': np.array([2019, 2020])},
    }


def pyg_graph() -> Data:
    tables = graph()
    return Data(
        edge_index_dict={
            key: torch.from_numpy(value)
            for key, value in tables['edge_index_dict'].items()
        },
        num_nodes_dict=tables['num_nodes_dict'],
        x_dict={'paper': torch.tensor([[0.5, 1.0], [2.0, 3.0]])},
        edge_attr_dict={WRITES: torch.arange(4).view(4, 1)},
    )


def hetero_graph() -> HeteroData:
    out = HeteroData()
    out['author'].num_nodes = 4
    out['paper'].x = torch.tensor([[0.5, 1.0], [2.0, 3.0]], dtype=torch.bfloat16)
    out[WRITES].edge_index = torch.from_numpy(graph()['edge_index_dict'][WRITES])
    out[WRITES].edge_attr = torch.arange(4).view(4, 1)
    out[CITES].edge_index = torch.tensor([[0], [1]])
    return out


@pytest.mark.parametrize('make', [graph, pyg_graph, hetero_graph])
def test_read_ogb(make: Any) -> None:
    data = read_ogb(make(), WRITES, anchor=[-1, 1])
    data.validate()
    assert to_groups(data) == [[0, 2], [2, 1]]
    assert data.num_nodes == 4
    assert 'x' not in data
    assert data.hyperedge_attr.tolist() == [[0.5, 1.0], [2.0, 3.0]]
    assert data.incidence_attr.tolist() == [[1.0], [3.0], [0.0], [2.0]]
    assert data['y'].tolist() == [False, False, False, True]

    cited = read_ogb(make(), CITES)
    assert to_groups(cited) == [[], [0]]
    assert torch.equal(cited['x'], cited.hyperedge_attr)
    assert not cited.known_mask.any()


def test_read_ogb_does_not_share_memory() -> None:
    tables = graph()
    feature = tables['node_feat_dict']['paper'] = np.ones((2, 1), dtype=np.float32)
    data = read_ogb(tables, WRITES)
    feature[:] = 7
    assert data.hyperedge_attr.tolist() == [[1.0], [1.0]]


def test_read_ogb_merges_repeated_members() -> None:
    tables = graph()
    tables['edge_index_dict'][WRITES] = np.array([[1, 1, 2, 1], [0, 0, 0, 1]])
    with pytest.warns(UserWarning, match='^1 repeated member'):
        data = read_ogb(tables, WRITES)
    assert to_groups(data) == [[1, 2], [1]]
    assert data.incidence_attr.tolist() == [[0.0], [2.0], [3.0]]


@pytest.mark.parametrize(
    ('change', 'names'),
    [
        ({'edge_index_dict': None}, ["'edge_index_dict'", 'None']),
        ({'edge_index_dict': {CITES: 0}}, ["'edge_index_dict'", 'writes', 'cites']),
        ({'edge_index_dict': {WRITES: [[0], [0]]}}, ["'edge_index'", '[2, num_edges]']),
        ({'edge_index_dict': {WRITES: np.zeros((3, 1), int)}}, ['[2, num', '[3, 1]']),
        (
            {'edge_index_dict': {WRITES: np.zeros((2, 1))}},
            ['edge_index[0]', 'integers'],
        ),
        (
            {'edge_index_dict': {WRITES: np.array([[0, 4], [0, 0]])}},
            ["'edge_index[0]'", '[0, 4)', "'author'", 'got 4 in column 1'],
        ),
        (
            {'edge_index_dict': {WRITES: np.array([[0], [-1]])}},
            ["'edge_index[1]'", '[0, 2)', "'paper'", 'got -1 in column 0'],
        ),
        ({'num_nodes_dict': {'author': 4}}, ["'num_nodes_dict'", "'paper'"]),
        ({'num_nodes_dict': {'author': 4, 'paper': 2.0}}, ["['paper']", 'integer']),
        ({'num_nodes_dict': {'author': -4, 'paper': 2}}, ["['author']", 'got -4']),
        ({'num_nodes_dict': {'author': True, 'paper': 2}}, ["['author']", 'True']),
        ({'node_feat_dict': []}, ["'node_feat_dict'", 'mapping']),
        (
            {'node_feat_dict': {'paper': np.zeros(2)}},
            ["'node_feat_dict['paper']'", '[2, num_features]', 'got [2]'],
        ),
        ({'node_feat_dict': {'author': np.zeros((2, 1))}}, ['[4, num', 'got [2, 1]']),
        ({'node_feat_dict': {'paper': np.array([['a'], ['b']])}}, ['numbers', "'a'"]),
        (
            {'node_feat_dict': {'paper': np.array([[0.0], [np.nan]])}},
            ["['paper']", 'finite', 'nan in position 1'],
        ),
    ],
)
def test_read_ogb_refuses(change: dict[str, Any], names: list[str]) -> None:
    with one_line_error(*names):
        read_ogb({**graph(), **change}, WRITES)


def test_read_ogb_refuses_anchors_outside() -> None:
    with one_line_error("'anchor'", 'node 3', 'hyperedge 0'):
        read_ogb(graph(), WRITES, anchor=[3, -1])


@pytest.mark.parametrize(
    'relation', ['writes', ['author', 'writes', 'paper'], ('a', 'b'), (0, 1, 2), None]
)
def test_read_ogb_refuses_other_relations(relation: Any) -> None:
    with one_line_error("'relation'", 'three strings'):
        read_ogb(graph(), relation)


def test_read_ogb_refuses_graphs_without_sizes() -> None:
    lost = hetero_graph()
    del lost['author'].num_nodes
    with one_line_error("'num_nodes_dict'", "'author'"):
        read_ogb(lost, WRITES)
    with one_line_error("'graph'", 'mapping'):
        read_ogb(3, WRITES)  # type: ignore[arg-type]


class FakeDataset:
    def __init__(self, name: str, root: str) -> None:
        if name != 'ogbn-mag':
            raise ValueError(
                f'Invalid dataset name {name}, should be one of:\nogbn-mag'
            )
        self.root = root

    def __getitem__(self, item: int) -> tuple[dict[str, Any], dict[str, Any]]:
        assert (item, self.root) == (0, 'somewhere')
        return graph(), {}


def test_read_ogb_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType('ogb.nodeproppred')
    monkeypatch.setattr(module, 'NodePropPredDataset', FakeDataset, raising=False)
    monkeypatch.setitem(sys.modules, 'ogb', ModuleType('ogb'))
    monkeypatch.setitem(sys.modules, 'ogb.nodeproppred', module)
    data = AnchorData.from_ogb('ogbn-mag', WRITES, root='somewhere')
    assert to_groups(data) == [[0, 2], [2, 1]]
    with one_line_error("'ogbn-nothing'", 'one of'):
        read_ogb('ogbn-nothing', WRITES)


def test_read_ogb_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'ogb', None)
    monkeypatch.setitem(sys.modules, 'ogb.nodeproppred', None)
    with pytest.raises(ImportError, match=r"'ogbn-mag'.*tgx_anchor\[ogb\]"):
        read_ogb('ogbn-mag', WRITES)


@given(described_hypergraphs(max_anchors=1))
@examples(50)
def test_ogb_round_trip(data: AnchorData) -> None:
    tables, anchor = write_ogb(data, WRITES, return_anchor=True)
    again = read_ogb(tables, WRITES, anchor)
    assert again.num_nodes == data.num_nodes
    assert again.num_hyperedges == data.num_hyperedges
    kept = {'hyperedge_index', 'y', 'x', 'hyperedge_attr', 'incidence_attr'}
    for key in kept:
        assert (key in again) == (key in data)
        if key in data:
            assert torch.equal(again[key], data[key])


def test_ogb_methods() -> None:
    data = to_data([[1, 0], [2]], 3, [[1], []])
    tables, anchor = data.to_ogb(WRITES, return_anchor=True)
    assert data.to_ogb(WRITES).keys() == tables.keys()
    again = AnchorData.from_ogb(tables, WRITES, anchor)
    assert to_groups(again) == [[1, 0], [2]]
    assert torch.equal(again['y'], data['y'])


def test_write_ogb_refuses_relations_of_one_type() -> None:
    with one_line_error("'relation'", "'paper' twice"):
        write_ogb(to_data([[0]], 1), CITES)


ODD_ARRAYS = [
    np.array(value)
    for value in ([[0, 1]], [[0, 1], [1, 0]], [[0, 9], [0, 0]], [[0.5], [1.5]])
]


@pytest.mark.parametrize('table', sorted(graph()))
@pytest.mark.parametrize('key', ['author', 'paper', WRITES, None])
def test_read_ogb_is_right_or_refuses(table: str, key: Any) -> None:
    for value in [*ODD_VALUES, *ODD_ARRAYS]:
        tables = graph()
        if key is None:
            tables[table] = value
        else:
            tables[table][key] = value
        data = outcome(partial(read_ogb, tables, WRITES))
        if data is None:
            continue
        data.validate()
        node, hyperedge = tables['edge_index_dict'][WRITES].tolist()
        groups: list[list[int]] = [[], []]
        for v, e in zip(node, hyperedge, strict=True):
            groups[e].append(v)
        assert to_groups(data) == groups
        assert data.num_nodes == tables['num_nodes_dict']['author']
