r"""Implementations that :obj:`features.py` compares: ours, and competitors on top of
networkx, igraph and plain Python.

The clique graph comes out of one sparse product, which is the fastest way to it.
"""

import warnings
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import igraph
import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.transforms import AddTopologicalFeatures
from tgx_anchor.utils import coreness, degree, eigenvector_centrality, pagerank

Values = NDArray[np.float64]

OURS = 'tgx_anchor'
# A method is one definition together with one stopping rule, so that the libraries
# compared under it have to agree.
METHODS = {
    'degree': (OURS, 'networkx', 'igraph'),
    'eigenvector': (OURS, 'networkx'),
    'eigenvector_converged': (OURS, 'igraph'),
    'pagerank': (OURS, 'networkx', 'igraph'),
    'coreness': (OURS, 'python'),
    'features': (OURS, 'networkx', 'igraph'),
}
MAX_ITER, TOLERANCE = 100, 1e-6
CONVERGED_MAX_ITER, CONVERGED_TOLERANCE = 100_000, 1e-9


class Hypergraph(NamedTuple):
    r"""The input of all implementations.

    Args:
        incidences (numpy.ndarray): Nodes and hyperedges, sorted by hyperedge.
        num_nodes (int): The number of nodes.
        num_hyperedges (int): The number of hyperedges.
        eigenvector_tolerance (float, optional): The change at which the eigenvector
            centrality stops. (default: :obj:`1e-6`)
        device (str, optional): The device of our tensors. (default: :obj:`"cpu"`)

    Shapes:
        - **incidences:** :math:`(2, P)`
    """

    incidences: NDArray[np.int64]
    num_nodes: int
    num_hyperedges: int
    eigenvector_tolerance: float = TOLERANCE
    device: str = 'cpu'

    @property
    def sizes(self) -> tuple[int, int]:
        r"""The numbers of nodes and hyperedges."""
        return self.num_nodes, self.num_hyperedges


class Implementation(NamedTuple):
    r"""An implementation of a method by a library.

    Args:
        build (callable): Builds the graph of the library.
        compute (callable): Computes the values from that graph.
    """

    build: Callable[[Hypergraph], Any]
    compute: Callable[[Any, Hypergraph], Values]


def _move(graph: Hypergraph) -> Tensor:
    return torch.from_numpy(graph.incidences).to(graph.device)


def _array(value: Tensor) -> Values:
    return value.double().cpu().numpy()


def _our_features(index: Tensor, graph: Hypergraph) -> Values:
    data = AnchorData(
        hyperedge_index=index,
        num_nodes=graph.num_nodes,
        num_hyperedges=graph.num_hyperedges,
    )
    out: Tensor = AddTopologicalFeatures()(data).incidence_attr
    # A second copy in double precision would count as memory of the transform.
    table: Values = out.cpu().numpy()
    return table


def _clique_edges(graph: Hypergraph) -> tuple[NDArray[np.int64], Values]:
    ones = np.ones(graph.incidences.shape[1])
    H = sparse.csr_array(
        (ones, (graph.incidences[0], graph.incidences[1])), shape=graph.sizes
    )
    W = sparse.triu(H @ H.T, k=1).tocoo()
    return np.stack([W.row, W.col], axis=1).astype(np.int64), W.data


def _networkx_clique(graph: Hypergraph) -> Any:
    edge, weight = _clique_edges(graph)
    out = nx.Graph()
    out.add_nodes_from(range(graph.num_nodes))
    out.add_weighted_edges_from(
        zip(edge[:, 0].tolist(), edge[:, 1].tolist(), weight.tolist(), strict=True)
    )
    return out


def _igraph_clique(graph: Hypergraph) -> Any:
    edge, weight = _clique_edges(graph)
    out = igraph.Graph(n=graph.num_nodes, edges=edge)
    out.es['weight'] = weight
    return out


def _networkx_star(graph: Hypergraph) -> Any:
    out = nx.Graph()
    out.add_nodes_from(range(sum(graph.sizes)))
    node, hyperedge = graph.incidences.tolist()
    out.add_edges_from(
        (v, graph.num_nodes + e) for v, e in zip(node, hyperedge, strict=True)
    )
    return out


def _igraph_star(graph: Hypergraph) -> Any:
    edge = graph.incidences.T + np.array([0, graph.num_nodes])
    return igraph.Graph(n=sum(graph.sizes), edges=edge)


def _by_node(value: dict[int, float]) -> Values:
    return np.array([value[node] for node in range(len(value))], dtype=np.float64)


def _networkx_degree(star: Any, graph: Hypergraph) -> Values:
    return _by_node(dict(star.degree(range(graph.num_nodes))))


def _igraph_degree(star: Any, graph: Hypergraph) -> Values:
    return np.array(star.degree(range(graph.num_nodes)), dtype=np.float64)


def _networkx_eigenvector(clique: Any, graph: Hypergraph) -> Values:
    # networkx multiplies the tolerance by the number of nodes, here and below.
    tol = graph.eigenvector_tolerance / graph.num_nodes
    return _by_node(nx.eigenvector_centrality(clique, MAX_ITER, tol, weight='weight'))


def _igraph_eigenvector(clique: Any, _: Hypergraph) -> Values:
    with warnings.catch_warnings():
        # By definition, all components but one are zero.
        warnings.filterwarnings('ignore', message='Some eigenvector centralities')
        value = np.array(clique.eigenvector_centrality(weights='weight'))
    return np.asarray(value / np.linalg.norm(value))


def _networkx_pagerank(clique: Any, graph: Hypergraph) -> Values:
    tol = TOLERANCE / graph.num_nodes
    return _by_node(nx.pagerank(clique, max_iter=MAX_ITER, tol=tol, weight='weight'))


def _igraph_pagerank(clique: Any, _: Hypergraph) -> Values:
    return np.array(clique.pagerank(weights='weight'))


class Lists(NamedTuple):
    r"""The members of each hyperedge and the hyperedges of each node."""

    member: list[list[int]]
    star: list[list[int]]


def _lists(graph: Hypergraph) -> Lists:
    member: list[list[int]] = [[] for _ in range(graph.num_hyperedges)]
    star: list[list[int]] = [[] for _ in range(graph.num_nodes)]
    for node, hyperedge in zip(*graph.incidences.tolist(), strict=True):
        member[hyperedge].append(node)
        star[node].append(hyperedge)
    return Lists(member, star)


def peel(lists: Lists, _: Hypergraph) -> Values:
    r"""Computes the hypergraph coreness, one node at a time from a bucket queue.

    Args:
        lists (Lists): The members and hyperedges.
    """
    current = [len(hyperedges) for hyperedges in lists.star]
    core = [-1] * len(current)
    alive = [True] * len(lists.member)
    buckets: list[list[int]] = [[] for _ in range(max(current, default=0) + 1)]
    for node, count in enumerate(current):
        buckets[count].append(node)
    for level, bucket in enumerate(buckets):
        while bucket:
            node = bucket.pop()
            # A node stays in the buckets it has left: the lowest one counts.
            if core[node] >= 0:
                continue
            core[node] = level
            for hyperedge in lists.star[node]:
                if not alive[hyperedge]:
                    continue
                alive[hyperedge] = False
                for other in lists.member[hyperedge]:
                    if core[other] < 0:
                        current[other] -= 1
                        buckets[max(current[other], level)].append(other)
    return np.array(core, dtype=np.float64)


def _normalise(value: Values) -> Values:
    low, high = value.min(), value.max()
    return (value - low) / (high - low) if high > low else np.zeros_like(value)


def _local_values(value: list[float]) -> tuple[list[float], list[float]]:
    # The obvious code for one hyperedge; lists are faster than arrays at these sizes.
    low, high = min(value), max(value)
    if low == high:
        return [0.0] * len(value), [0.0] * len(value)
    above = sorted(value, reverse=True)
    first: dict[float, int] = {}
    for place, item in enumerate(above):
        first.setdefault(item, place)
    span, others = high - low, len(value) - 1
    return [(v - low) / span for v in value], [first[v] / others for v in value]


def loop_features(centralities: Iterable[Values], graph: Hypergraph) -> Values:
    r"""Computes the columns of :class:`~tgx_anchor.transforms.AddTopologicalFeatures`
    with a loop over hyperedges.

    Args:
        centralities (Iterable[numpy.ndarray]): Degree, eigenvector, PageRank,
            coreness of each node.
        graph (Hypergraph): The hypergraph.
    """
    node, hyperedge = graph.incidences
    size = np.bincount(hyperedge, minlength=graph.num_hyperedges)
    bounds = [0, *np.cumsum(size).tolist()]
    count = np.maximum(np.bincount(node, minlength=graph.num_nodes), 1)
    global_, local = [], []
    for centrality in centralities:
        mantissa, exponent = np.frexp(centrality)
        value = np.ldexp(np.round(mantissa * 2.0**32), exponent - 32)
        larger = value.size - np.searchsorted(np.sort(value), value, side='right')
        columns = [_normalise(value)[node], larger[node] / max(value.size - 1, 1)]

        minmax: list[float] = []
        rank: list[float] = []
        by_incidence = value[node].tolist()
        for begin, end in pairwise(bounds):
            if begin < end:
                one, other = _local_values(by_incidence[begin:end])
                minmax += one
                rank += other
        for part in (np.array(minmax), np.array(rank)):
            local.append(part)
            mean = np.bincount(node, part, graph.num_nodes) / count
            square = (part - mean[node]) ** 2
            std = np.sqrt(np.bincount(node, square, graph.num_nodes) / count)
            columns += [mean[node], std[node]]
        global_ += columns
    out = [*global_, *local, size[hyperedge]]
    return np.stack(out, axis=1)


def _features_by(
    build: Callable[[Hypergraph], Any],
    eigenvector: Callable[[Any, Hypergraph], Values],
    rank: Callable[[Any, Hypergraph], Values],
) -> Implementation:
    def compute(built: tuple[Any, Lists], graph: Hypergraph) -> Values:
        clique, lists = built
        degrees = np.array([len(e) for e in lists.star], dtype=np.float64)
        values = (
            degrees,
            eigenvector(clique, graph),
            rank(clique, graph),
            peel(lists, graph),
        )
        return loop_features(values, graph)

    return Implementation(lambda graph: (build(graph), _lists(graph)), compute)


IMPLEMENTATIONS: dict[tuple[str, str], Implementation] = {
    ('degree', OURS): Implementation(_move, lambda x, g: _array(degree(x, *g.sizes))),
    ('eigenvector', OURS): Implementation(
        _move, lambda x, g: _array(eigenvector_centrality(x, *g.sizes))
    ),
    ('eigenvector_converged', OURS): Implementation(
        _move,
        lambda x, g: _array(
            eigenvector_centrality(
                x, *g.sizes, max_iter=CONVERGED_MAX_ITER, tol=CONVERGED_TOLERANCE
            )
        ),
    ),
    ('pagerank', OURS): Implementation(
        _move, lambda x, g: _array(pagerank(x, *g.sizes))
    ),
    ('coreness', OURS): Implementation(
        _move, lambda x, g: _array(coreness(x, *g.sizes))
    ),
    ('features', OURS): Implementation(_move, _our_features),
    ('degree', 'networkx'): Implementation(_networkx_star, _networkx_degree),
    ('degree', 'igraph'): Implementation(_igraph_star, _igraph_degree),
    ('eigenvector', 'networkx'): Implementation(
        _networkx_clique, _networkx_eigenvector
    ),
    ('eigenvector_converged', 'igraph'): Implementation(
        _igraph_clique, _igraph_eigenvector
    ),
    ('pagerank', 'networkx'): Implementation(_networkx_clique, _networkx_pagerank),
    ('pagerank', 'igraph'): Implementation(_igraph_clique, _igraph_pagerank),
    ('coreness', 'python'): Implementation(_lists, peel),
    ('features', 'networkx'): _features_by(
        _networkx_clique, _networkx_eigenvector, _networkx_pagerank
    ),
    ('features', 'igraph'): _features_by(
        _igraph_clique, _igraph_eigenvector, _igraph_pagerank
    ),
}


def common_tolerance(graph: Hypergraph) -> float:
    r"""Returns a tolerance for the eigenvector centrality that 100 steps reach. Where
    they do not reach 1e-6, ours returns the last iterate but networkx raises an error.

    Args:
        graph (Hypergraph): The hypergraph.
    """
    index = torch.from_numpy(graph.incidences)
    last, x = (
        eigenvector_centrality(index, *graph.sizes, max_iter=steps, tol=0.0)
        for steps in (MAX_ITER - 1, MAX_ITER)
    )
    return max(TOLERANCE, float((x - last).abs().sum()) * (1 + 1e-8))
