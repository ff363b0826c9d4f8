r"""Measures the centralities and the 33 topological features against networkx and
igraph, which need a built clique graph, and against peeling in plain Python.

Each measurement runs in a process of its own and goes to a CSV file at once; a second
run continues where the first one stopped. A method is one definition together with
one stopping rule, so that the libraries compared under it have to agree:

* :obj:`degree`: incidences of a node. A clique graph has lost them: networkx and
  igraph count neighbours in the graph of nodes and hyperedges.
* :obj:`eigenvector`: power iteration, until it changes by less than 1e-6 or for 100
  steps. igraph has no such rule.
* :obj:`eigenvector_converged`: the same vector to 1e-9, as igraph finds it (ARPACK).
* :obj:`pagerank`: until it changes by less than 1e-6; igraph solves exactly (PRPACK).
* :obj:`coreness`: networkx and igraph have none of hypergraphs; the competitor peels
  one node at a time, in plain Python, from a bucket queue.
* :obj:`features`: all 33 columns. The competitors take their own centralities, peel
  as above, and compare the members of a hyperedge in a loop over hyperedges.

The clique graph comes out of one sparse product, which is the fastest way to it.
"""

import argparse
import csv
import gc
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, cast

import igraph
import networkx as nx
import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.table import Table
from scipy import sparse
from torch import Tensor
from torch_geometric.data import InMemoryDataset

from tgx_anchor.benchmark.memory import forget_peak_memory, peak_memory
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import AnchorDataset, PlantedAnchorDataset
from tgx_anchor.io.files import replace_file
from tgx_anchor.transforms import AddTopologicalFeatures
from tgx_anchor.utils import coreness, degree, eigenvector_centrality, pagerank

Values = NDArray[np.float64]

OURS = 'tgx_anchor'
COMPARISONS = {
    'degree': (OURS, 'networkx', 'igraph'),
    'eigenvector': (OURS, 'networkx'),
    'eigenvector_converged': (OURS, 'igraph'),
    'pagerank': (OURS, 'networkx', 'igraph'),
    'coreness': (OURS, 'python'),
    'features': (OURS, 'networkx', 'igraph'),
}
# How many steps it takes to converge depends on the spectrum, not on the size: there
# is no exponent to speak of, and we are subject to the limit of the competitors.
UNBOUNDED = {'eigenvector_converged'}

MAX_ITER, TOLERANCE = 100, 1e-6
CONVERGED_MAX_ITER, CONVERGED_TOLERANCE = 100_000, 1e-9
AGREEMENT = 1e-6
# Slow measurements are not repeated beyond this many seconds.
PATIENCE = 10.0
# The shape of the largest dataset of the paper, coAA, in nodes and hyperedges per
# incidence. Members drawn twice count once: the mean size is asked a little larger.
NODES_PER_INCIDENCE, HYPEREDGES_PER_INCIDENCE, MEAN_SIZE = 1.7 / 5.2, 2.0 / 5.2, 2.62

EXAMPLE = """example:
  TGX_ANCHOR_MIRROR=data python benchmarks/features.py --repeats 3
  python benchmarks/features.py --datasets --sizes 1e4 1e5 --methods pagerank coreness
"""


class Hypergraph(NamedTuple):
    r"""What all libraries are given.

    Args:
        incidences (numpy.ndarray): Nodes and hyperedges, sorted by hyperedge.
        num_nodes (int): The number of nodes.
        num_hyperedges (int): The number of hyperedges.
        eigenvector_tolerance (float): When to stop for the eigenvector centrality.
        device (str): Where our tensors are.

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
    r"""How a library answers a method: what it must build first, and the rest."""

    build: Callable[[Hypergraph], Any]
    compute: Callable[[Any, Hypergraph], Values]


@dataclass(frozen=True)
class Row:
    r"""One measurement, and what follows from it together with others."""

    dataset: str
    method: str
    library: str
    device: str
    threads: int
    status: str
    num_nodes: int = 0
    num_hyperedges: int = 0
    num_incidences: int = 0
    repeats: int | None = None
    build_seconds: float | None = None
    compute_seconds: float | None = None
    total_seconds: float | None = None
    cpu_seconds: float | None = None
    peak_mib: float | None = None
    max_abs_difference: float | None = None
    share_differing: float | None = None
    ratio: float | None = None
    cpu_ratio: float | None = None
    ratio_without_build: float | None = None
    memory_ratio: float | None = None
    exponent: float | None = None
    cpu_exponent: float | None = None

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        r"""What makes two rows the same measurement."""
        return self.dataset, self.method, self.library, self.device, self.threads


# Ours ---------------------------------------------------------------------------------


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


# Competitors --------------------------------------------------------------------------


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
        # Zeros in all components but one are what the definition asks for.
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
    r"""The hypergraph coreness, one node at a time from a bucket queue.

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
    # What a person would write for one hyperedge; lists beat arrays at these sizes.
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
    r"""The columns of :class:`~tgx_anchor.transforms.AddTopologicalFeatures`, by a
    loop over hyperedges.

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


# One measurement ----------------------------------------------------------------------


def common_tolerance(graph: Hypergraph) -> float:
    r"""Where 100 steps do not reach the tolerance, we return the last iterate but
    networkx raises an error: the tolerance that both reach in the same number of
    steps.

    Args:
        graph (Hypergraph): The hypergraph.
    """
    index = torch.from_numpy(graph.incidences)
    last, x = (
        eigenvector_centrality(index, *graph.sizes, max_iter=steps, tol=0.0)
        for steps in (MAX_ITER - 1, MAX_ITER)
    )
    return max(TOLERANCE, float((x - last).abs().sum()) * (1 + 1e-8))


def _synchronize(device: str) -> None:
    if device.startswith('cuda'):
        torch.cuda.synchronize()


def _timed(
    implementation: Implementation, graph: Hypergraph
) -> tuple[tuple[float, float, float], Values]:
    cpu, start = time.process_time(), time.perf_counter()
    built = implementation.build(graph)
    _synchronize(graph.device)
    middle = time.perf_counter()
    value = implementation.compute(built, graph)
    end = time.perf_counter()
    return (middle - start, end - middle, time.process_time() - cpu), value


def _tiny() -> Hypergraph:
    index = np.array([[0, 1, 1, 2, 3], [0, 0, 1, 1, 1]])
    return Hypergraph(index, num_nodes=4, num_hyperedges=2)


def measure(path: Path, template: Row, repeats: int) -> Row:
    r"""Times one method of one library, and compares its result with ours.

    Args:
        path (pathlib.Path): The hypergraph, as :meth:`prepare` left it.
        template (Row): What to measure, and with how many threads.
        repeats (int): How often at most; the best one counts.
    """
    torch.set_num_threads(template.threads)
    implementation = IMPLEMENTATIONS[template.method, template.library]
    content = torch.load(path, weights_only=True)
    graph = Hypergraph(
        content['hyperedge_index'].numpy(),
        content['num_nodes'],
        content['num_hyperedges'],
        device=template.device,
    )
    if template.library == 'networkx' and template.method in {
        'eigenvector',
        'features',
    }:
        graph = graph._replace(eigenvector_tolerance=common_tolerance(graph))
    # Whatever is loaded or set up on first use is not what we measure.
    tiny = _tiny()._replace(eigenvector_tolerance=1.0, device=template.device)
    _timed(implementation, tiny)

    gc.collect()
    forget_peak_memory()
    baseline = peak_memory()
    one, value = _timed(implementation, graph)
    peak = 1024 * max(peak_memory() - baseline, 0.0)
    times = [one]
    while len(times) < repeats and sum(b + c for b, c, _ in times) < PATIENCE:
        one, value = _timed(implementation, graph)
        times.append(one)
    build, compute, _ = min(times, key=lambda t: t[0] + t[1])
    row = replace(
        template,
        status='measured',
        num_nodes=graph.num_nodes,
        num_hyperedges=graph.num_hyperedges,
        num_incidences=graph.incidences.shape[1],
        repeats=len(times),
        build_seconds=None if template.library == OURS else build,
        compute_seconds=compute,
        total_seconds=compute if template.library == OURS else build + compute,
        cpu_seconds=min(cpu for _, _, cpu in times),
        peak_mib=peak,
    )
    if template.library == OURS:
        return row
    _, ours = _timed(IMPLEMENTATIONS[template.method, OURS], graph)
    difference = np.abs(value - ours)
    return replace(
        row,
        max_abs_difference=float(difference.max(initial=0.0)),
        share_differing=float((difference > AGREEMENT).mean()),
    )


def _send(sender: Connection, path: Path, template: Row, repeats: int) -> None:
    try:
        row = measure(path, template, repeats)
    except Exception as error:  # whatever it is belongs into the table
        row = replace(template, status=f'failed: {type(error).__name__}: {error}')
    sender.send(row)


def measure_apart(path: Path, template: Row, repeats: int, time_limit: float) -> Row:
    r"""As :meth:`measure`, in a child process that may be stopped or run out of memory.

    Args:
        path (pathlib.Path): The hypergraph, as :meth:`prepare` left it.
        template (Row): What to measure, and with how many threads.
        repeats (int): How often at most; the best one counts.
        time_limit (float): After how many seconds it is stopped.
    """
    fork = multiprocessing.get_context('fork')
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=_send, args=(sender, path, template, repeats))
    child.start()
    sender.close()
    try:
        if not receiver.poll(time_limit):
            return replace(template, status=_over(time_limit, 'seconds'))
        row: Row = receiver.recv()
        return row
    except EOFError:
        child.join()
        return replace(template, status=f'failed: exit code {child.exitcode}')
    finally:
        child.kill()
        child.join()
        receiver.close()


class Laboratory:
    r"""A process that has imported everything and computed nothing, whose children do
    the measurements: all of them start alike, and none has to wait for imports.

    Args:
        threads (int): The number of threads, which libraries only read when they are
            loaded.
    """

    def __init__(self, threads: int) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - runs this very file
            [sys.executable, __file__, '--serve'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, 'OMP_NUM_THREADS': str(threads)},
        )

    def measure(
        self, path: Path, template: Row, repeats: int, time_limit: float
    ) -> Row:
        r"""As :meth:`measure_apart`."""
        request = [str(path), asdict(template), repeats, time_limit]
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline() if self.process.stdout else ''
        if answer == '':
            raise RuntimeError('the process that measures has ended')
        return Row(**json.loads(answer))

    def close(self) -> None:
        r"""Ends the process."""
        self.process.communicate()


def serve() -> None:
    r"""Answers one request per line, see :class:`Laboratory`."""
    for line in sys.stdin:
        path, template, repeats, time_limit = json.loads(line)
        row = measure_apart(Path(path), Row(**template), repeats, time_limit)
        print(json.dumps(asdict(row)), flush=True)


# Rows ---------------------------------------------------------------------------------


def _over(limit: float, unit: str) -> str:
    return f'skipped: over {limit:g} {unit}'


def read_rows(path: Path) -> list[Row]:
    r"""The rows of a CSV file, none if there is no file."""
    if not path.exists():
        return []
    types = {field.name: str(field.type) for field in fields(Row)}

    def parse(name: str, text: str) -> Any:
        if 'str' in types[name]:
            return text
        if text == '':
            return None
        return int(text) if 'int' in types[name] else float(text)

    with path.open(newline='', encoding='utf-8') as file:
        lines = list(csv.DictReader(file))
    return [
        Row(**{name: parse(name, text) for name, text in line.items()})
        for line in lines
    ]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    r"""Writes all rows, such that the file is never seen half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        replace_file(path) as part,
        part.open('w', newline='', encoding='utf-8') as file,
    ):
        names = [field.name for field in fields(Row)]
        writer = csv.DictWriter(file, names, lineterminator='\n')
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def _rounded(row: Row) -> Row:
    # Further digits are noise, and would make a table of numbers hard to read.
    values: dict[str, Any] = {
        name: float(f'{value:.6g}')
        for name, value in asdict(row).items()
        if isinstance(value, float)
    }
    return replace(row, **values)


def _place(row: Row) -> tuple[int, str, int, int]:
    # Real datasets by name, then planted ones by size.
    size = int(row.dataset.removeprefix('planted_')) if _is_planted(row) else 0
    libraries = COMPARISONS[row.method]
    method = list(COMPARISONS).index(row.method)
    return size, row.dataset, method, libraries.index(row.library)


def _is_planted(row: Row) -> bool:
    return row.dataset.startswith('planted_')


def growth_exponent(points: Iterable[tuple[int, float | None]]) -> float | None:
    r"""The least-squares slope of log time on log incidences, over two or more sizes.

    Args:
        points (Iterable[tuple[int, float]]): Incidences and seconds.
    """
    known = [(size, seconds) for size, seconds in points if seconds]
    if len({size for size, _ in known}) < 2:
        return None
    size, seconds = np.log(np.array(known, dtype=np.float64)).T
    return float(np.polyfit(size, seconds, 1)[0])


def _quotient(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def derive(rows: Sequence[Row]) -> list[Row]:
    r"""Fills in ratios to our rows and the exponents of our rows.

    Args:
        rows (Sequence[Row]): The measurements.
    """
    ours = {row.key: row for row in rows if row.library == OURS}
    out = []
    for row in rows:
        base = ours.get(replace(row, library=OURS).key)
        if row.status != 'measured' or base is None:
            pass
        elif row.library != OURS:
            # Below one MiB a process grows by chance.
            peak = base.peak_mib if base.peak_mib and base.peak_mib >= 1 else None
            row = replace(
                row,
                ratio=_quotient(row.total_seconds, base.total_seconds),
                cpu_ratio=_quotient(row.cpu_seconds, base.cpu_seconds),
                ratio_without_build=_quotient(row.compute_seconds, base.total_seconds),
                memory_ratio=_quotient(row.peak_mib, peak),
            )
        elif _is_planted(row) and row.method not in UNBOUNDED:
            family = [
                other
                for other in ours.values()
                if _is_planted(other) and other.key[1:] == row.key[1:]
            ]
            row = replace(
                row,
                exponent=growth_exponent(
                    (other.num_incidences, other.total_seconds) for other in family
                ),
                cpu_exponent=growth_exponent(
                    (other.num_incidences, other.cpu_seconds) for other in family
                ),
            )
        out.append(_rounded(row))
    return out


# Data ---------------------------------------------------------------------------------


def prepare(dataset: str, root: Path) -> Path:
    r"""Saves the incidences of a dataset, so that no measurement has to read raw files
    or draw random numbers.

    Args:
        dataset (str): The name of a real dataset, or :obj:`planted_` and about how
            many incidences.
        root (pathlib.Path): Where datasets are kept.
    """
    path = root / 'hypergraphs' / f'{dataset}.pt'
    if path.exists():
        return path
    source: InMemoryDataset
    if dataset.startswith('planted_'):
        size = int(dataset.removeprefix('planted_'))
        source = PlantedAnchorDataset(
            num_nodes=max(round(size * NODES_PER_INCIDENCE), 1),
            num_hyperedges=max(round(size * HYPEREDGES_PER_INCIDENCE), 1),
            mean_size=MEAN_SIZE,
        )
    else:
        source = AnchorDataset(dataset, root=root)
    data = cast(AnchorData, source[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        'hyperedge_index': data.hyperedge_index,
        'num_nodes': data.num_nodes,
        'num_hyperedges': data.num_hyperedges,
    }
    with replace_file(path) as part:
        torch.save(content, part)
    return path


def _num_incidences(path: Path) -> int:
    content = torch.load(path, weights_only=True, mmap=True)
    return int(content['hyperedge_index'].size(1))


# Report -------------------------------------------------------------------------------


def _number(value: float | None, style: str) -> str:
    return '' if value is None else format(value, style)


def print_table(rows: Sequence[Row], console: Console) -> None:
    r"""Shows the rows, and warns of results that differ."""
    table = Table(title='Centralities and features: competitor / ours')
    table.add_column('dataset', no_wrap=True)
    table.add_column('method', no_wrap=True)
    table.add_column('library', no_wrap=True)
    for name in (
        'build s',
        'total s',
        'cpu s',
        'ratio',
        'cpu ratio',
        'w/o build',
        'MiB',
        'memory ratio',
        'max diff',
        'exponent',
        'cpu exp.',
    ):
        table.add_column(name, justify='right')
    last = ''
    for row in rows:
        if last and row.dataset != last:
            table.add_section()
        last = row.dataset
        if row.status != 'measured':
            word = row.status.partition(':')[0]
            table.add_row(row.dataset, row.method, row.library, '', word)
            continue
        table.add_row(
            row.dataset,
            row.method,
            row.library,
            _number(row.build_seconds, '.3g'),
            _number(row.total_seconds, '.3g'),
            _number(row.cpu_seconds, '.3g'),
            _number(row.ratio, '.3g'),
            _number(row.cpu_ratio, '.3g'),
            _number(row.ratio_without_build, '.3g'),
            _number(row.peak_mib, '.0f'),
            _number(row.memory_ratio, '.3g'),
            _number(row.max_abs_difference, '.1e'),
            _number(row.exponent, '.2f'),
            _number(row.cpu_exponent, '.2f'),
        )
    console.print(table)
    for row in rows:
        if row.max_abs_difference is not None and row.max_abs_difference >= AGREEMENT:
            console.print(
                f'{row.dataset} {row.method}: {row.library} differs from us by up to '
                f'{row.max_abs_difference:.1e}, in {row.share_differing:.2%} of values'
            )


def plot(rows: Sequence[Row], path: Path) -> None:
    r"""Draws time against incidences, and the ratios.

    Args:
        rows (Sequence[Row]): The measurements.
        path (pathlib.Path): The image.
    """
    measured = [row for row in rows if row.status == 'measured']
    # One thread on a shared machine: its own time does not depend on the neighbours.
    alone = all(row.threads == 1 and row.device == 'cpu' for row in rows)
    clock = 'CPU seconds' if alone else 'seconds'

    def seconds(row: Row) -> float:
        return (row.cpu_seconds if alone else row.total_seconds) or 0.0

    def ratio(row: Row) -> float:
        return (row.cpu_ratio if alone else row.ratio) or 0.0

    figure = Figure(figsize=(12, 7), layout='constrained')
    left, right = figure.subplots(1, 2, width_ratios=(1, 1))

    for color, method in enumerate(COMPARISONS):
        family = sorted(
            (
                row
                for row in measured
                if row.method == method and row.library == OURS and _is_planted(row)
            ),
            key=lambda row: row.num_incidences,
        )
        if not family or method in UNBOUNDED:
            continue
        last = family[-1]
        slope = last.cpu_exponent if alone else last.exponent
        left.plot(
            [row.num_incidences for row in family],
            [seconds(row) for row in family],
            marker='o',
            color=f'C{color}',
            label=f'{method}, exponent {slope:.2f}' if slope else method,
        )
    left.set(
        xscale='log',
        yscale='log',
        xlabel='incidences of a planted hypergraph',
        ylabel=clock,
        title=f'Time of {OURS}',
    )
    left.grid(visible=True, which='major', alpha=0.3)
    if left.lines:
        left.legend()

    compared = [row for row in measured if row.ratio is not None]
    groups = list(dict.fromkeys((row.dataset, row.method) for row in compared))
    libraries = [
        library
        for library in ('networkx', 'igraph', 'python')
        if any(row.library == library for row in compared)
    ]
    for color, library in enumerate(libraries):
        bars = [row for row in compared if row.library == library]
        place = []
        for row in bars:
            present = [
                r.library for r in compared if r.key[:2] == (row.dataset, row.method)
            ]
            # Bars share the unit of their group, however many they are.
            offset = (present.index(library) + 0.5) / len(present) - 0.5
            place.append(groups.index((row.dataset, row.method)) + 0.8 * offset)
        length = [ratio(row) for row in bars]
        # On a logarithmic axis there is no zero: bars begin where both are equal.
        drawn = right.barh(
            place,
            [value - 1 for value in length],
            left=1,
            height=0.38,
            color=f'C{color + 6}',
            label=library,
        )
        right.bar_label(
            drawn, [f'{value:.3g}' for value in length], padding=2, fontsize=7
        )
    right.axvline(1, color='black', linewidth=0.8)
    right.set_yticks(
        range(len(groups)), [f'{data}  {method}' for data, method in groups], fontsize=8
    )
    right.invert_yaxis()
    right.set(
        xscale='log',
        xlabel=f'{clock}, competitor / ours, with the building of their graph',
        title='Ratio of times',
    )
    right.margins(x=0.15, y=0.01)
    right.grid(visible=True, axis='x', alpha=0.3)
    if libraries:
        right.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


# Command line -------------------------------------------------------------------------


def _positive(text: str) -> int:
    value = int(float(text))
    if value < 1:
        raise argparse.ArgumentTypeError(f'must be positive (got {text})')
    return value


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    r"""Reads the command line."""
    parser = argparse.ArgumentParser(
        description='Measures centralities and features against networkx and igraph.',
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--datasets',
        nargs='*',
        default=['emEU', 'coDB_last'],
        metavar='NAME',
        help='real datasets, from TGX_ANCHOR_MIRROR or the web (emEU coDB_last)',
    )
    parser.add_argument(
        '--sizes',
        nargs='*',
        type=_positive,
        default=[100_000, 1_000_000, 10_000_000],
        metavar='P',
        help='planted hypergraphs of about this many incidences (1e5 1e6 1e7)',
    )
    parser.add_argument(
        '--methods',
        nargs='+',
        choices=list(COMPARISONS),
        default=list(COMPARISONS),
        help='what to compute (all)',
    )
    parser.add_argument(
        '--repeats',
        type=_positive,
        default=3,
        help=f'the best of so many counts, of fewer beyond {PATIENCE:g} seconds (3)',
    )
    parser.add_argument(
        '--competitor-limit',
        type=float,
        default=2e6,
        metavar='P',
        help='competitors are skipped above this many incidences (2e6)',
    )
    parser.add_argument(
        '--time-limit',
        type=float,
        default=300.0,
        metavar='SECONDS',
        help='a measurement that takes longer is stopped and skipped (300)',
    )
    parser.add_argument(
        '--out',
        type=Path,
        default=Path(__file__).parent / 'results' / 'features.csv',
        help='the CSV file; the plot goes next to it (benchmarks/results/features.csv)',
    )
    parser.add_argument(
        '--root',
        type=Path,
        default=Path(tempfile.gettempdir()) / 'tgx_anchor_benchmarks',
        help='where datasets are kept (a temporary folder)',
    )
    parser.add_argument(
        '--threads', type=_positive, default=1, help='threads of PyTorch (1)'
    )
    parser.add_argument(
        '--device',
        default='cpu',
        help='device of our tensors (cpu); memory is that of the host',
    )
    parser.add_argument(
        '--fresh', action='store_true', help='measure rows again that are there already'
    )
    parser.add_argument(
        '--in-process',
        action='store_true',
        help='start no process per measurement: quicker for small sizes, but without '
        'a time limit, and with blurred memory figures',
    )
    parser.add_argument('--serve', action='store_true', help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def _run_task(
    template: Row, args: argparse.Namespace, laboratory: Laboratory | None
) -> Row:
    path = prepare(template.dataset, args.root)
    if template.library != OURS or template.method in UNBOUNDED:
        count = _num_incidences(path)
        if count > args.competitor_limit:
            status = _over(args.competitor_limit, 'incidences')
            return replace(template, status=status, num_incidences=count)
    if laboratory is None:
        return measure(path, template, args.repeats)
    return laboratory.measure(path, template, args.repeats, args.time_limit)


def run(
    pending: Sequence[Row], args: argparse.Namespace, console: Console
) -> Iterator[Row]:
    r"""Measures one after the other, and leaves out datasets that cannot be had.

    Args:
        pending (Sequence[Row]): What to measure.
        args (argparse.Namespace): The command line.
        console (rich.console.Console): Where progress is shown.
    """
    missing: set[str] = set()
    laboratory = None
    if pending and not args.in_process:
        laboratory = Laboratory(args.threads)
    columns = (
        '{task.description}',
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    try:
        with Progress(*columns, console=console, transient=True) as progress:
            bar = progress.add_task('', total=len(pending))
            for task in pending:
                label = f'{task.dataset} {task.method} {task.library}'
                progress.update(bar, description=label)
                if task.dataset not in missing:
                    try:
                        row = _run_task(task, args, laboratory)
                    except (ConnectionError, ValueError) as error:
                        console.print(f'{task.dataset} cannot be had: {error}')
                        missing.add(task.dataset)
                    else:
                        yield _rounded(row)
                progress.advance(bar)
    finally:
        if laboratory is not None:
            laboratory.close()


def main(argv: Sequence[str] | None = None) -> int:
    r"""Measures what is missing, writes the CSV file and the plot.

    Args:
        argv (Sequence[str], optional): The command line. (default: :obj:`None`)

    Returns:
        Zero, or one if anything failed or could not be had.
    """
    args = parse_args(argv)
    if args.serve:
        serve()
        return 0

    console = Console()
    if not console.is_terminal:
        console = Console(width=170)
    datasets = [*args.datasets, *(f'planted_{size}' for size in args.sizes)]
    tasks = [
        Row(dataset, method, library, args.device, args.threads, status='')
        for dataset in datasets
        for method in COMPARISONS
        if method in args.methods
        for library in COMPARISONS[method]
    ]
    rows = {row.key: row for row in read_rows(args.out)}
    if args.fresh:
        rows = {
            key: row for key, row in rows.items() if key not in {t.key for t in tasks}
        }
    finished = {
        'measured',
        _over(args.competitor_limit, 'incidences'),
        _over(args.time_limit, 'seconds'),
    }
    pending = [
        t for t in tasks if t.key not in rows or rows[t.key].status not in finished
    ]
    for row in run(pending, args, console):
        rows[row.key] = row
        write_rows(args.out, derive(list(rows.values())))

    final = derive(sorted(rows.values(), key=_place))
    write_rows(args.out, final)
    alike = [r for r in final if (r.device, r.threads) == (args.device, args.threads)]
    plot(alike, args.out.with_suffix('.png'))
    print_table(alike, console)
    console.print(f'{len(pending)} measurements, written to {args.out}')
    complete = all(
        task.key in rows and not rows[task.key].status.startswith('failed')
        for task in tasks
    )
    return 0 if complete else 1


if __name__ == '__main__':
    sys.exit(main())
