from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest
import torch

from tests.benchmarks.scripts import load_script
from tgx_anchor.data import AnchorData
from tgx_anchor.transforms import AddTopologicalFeatures
from tgx_anchor.utils import coreness


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    for name in ('igraph', 'networkx'):
        pytest.importorskip(name)
    with load_script('competitors') as module:
        yield module


def test_competitors_by_hand(script: ModuleType) -> None:
    # A triangle of nodes 0, 1, 2 listed twice, a pair, and somebody alone.
    index = torch.tensor(
        [[0, 1, 2, 0, 1, 2, 2, 3, 4], [0, 0, 0, 1, 1, 1, 2, 2, 3]],
    )
    graph = script.Hypergraph(index.numpy(), num_nodes=5, num_hyperedges=4)
    core = script.peel(script._lists(graph), graph)
    assert core.tolist() == [2, 2, 2, 1, 1]
    assert core.tolist() == coreness(index, 5, 4).tolist()

    edge, weight = script._clique_edges(graph)
    assert sorted(map(tuple, edge.tolist())) == [(0, 1), (0, 2), (1, 2), (2, 3)]
    assert weight.sum() == 7

    data = AnchorData(hyperedge_index=index, num_nodes=5, num_hyperedges=4)
    ours = AddTopologicalFeatures(centralities=['coreness'])(data).incidence_attr
    assert np.abs(script.loop_features([core], graph) - ours.numpy()).max() < 1e-6


def test_every_method_has_implementations(script: ModuleType) -> None:
    assert set(script.IMPLEMENTATIONS) == {
        (method, library)
        for method, libraries in script.METHODS.items()
        for library in libraries
    }
