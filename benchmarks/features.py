r"""Measures the centralities and the 33 topological features against networkx and
igraph, which need a built clique graph, and against peeling in plain Python.

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
"""

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from competitors import (
    IMPLEMENTATIONS,
    METHODS,
    OURS,
    Hypergraph,
    Implementation,
    Values,
    common_tolerance,
)
from matplotlib.figure import Figure

from tgx_anchor.benchmark import Failure, run_tasks
from tgx_anchor.benchmark.growth import growth_exponent
from tgx_anchor.benchmark.memory import peak_memory, reset_peak_memory
from tgx_anchor.benchmark.methods import load_setting
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.benchmark.tables import publish_table
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.io import ResultTable
from tgx_anchor.io.files import replace_file

# How many steps it takes to converge depends on the spectrum, not on the size: it has
# no exponent, and the size limit of the competitors holds for ours, too.
UNBOUNDED = {'eigenvector_converged'}
AGREEMENT = 1e-6
# Slow measurements are not repeated beyond this many seconds.
PATIENCE = 10.0
# The shape of the largest dataset of the paper, coAA, in nodes and hyperedges per
# incidence. Members drawn twice count once: the mean size is asked a little larger.
NODES_PER_INCIDENCE, HYPEREDGES_PER_INCIDENCE, MEAN_SIZE = 1.7 / 5.2, 2.0 / 5.2, 2.62
OUT = Path(__file__).parent / 'results' / 'features.csv'
EXAMPLE = """example:
  TGX_ANCHOR_MIRROR=data python benchmarks/features.py --repeats 3
  python benchmarks/features.py --datasets --sizes 1e4 1e5 --methods pagerank coreness
"""

# Dataset, method, library, device, number of threads.
Task = tuple[str, str, str, str, int]


@dataclass(frozen=True)
class Row:
    r"""One measurement. Seconds are those of the fastest repetition."""

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

    @property
    def is_measured(self) -> bool:
        r"""Whether there are figures."""
        return self.status == 'measured'


KEY = tuple(field.name for field in fields(Row)[:5])


def save_hypergraph(dataset: str, root: Path) -> Path:
    r"""Saves the incidences of a dataset, so that no measurement has to read raw files
    or draw random numbers.

    Args:
        dataset (str): A setting, or :obj:`planted_` and the number of incidences.
        root (Path): The folder of the datasets.
    """
    path = root / 'hypergraphs' / f'{dataset}.pt'
    if path.exists():
        return path
    if dataset.startswith('planted_'):
        size = int(dataset.removeprefix('planted_'))
        planted = PlantedAnchorDataset(
            num_nodes=max(round(size * NODES_PER_INCIDENCE), 1),
            num_hyperedges=max(round(size * HYPEREDGES_PER_INCIDENCE), 1),
            mean_size=MEAN_SIZE,
        )
        data = cast(AnchorData, planted[0])
    else:
        data = load_setting(dataset, root)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as part:
        torch.save((data.hyperedge_index, data.num_nodes, data.num_hyperedges), part)
    return path


def measure(
    task: Task, _: Tell, *, root: Path, repeats: int, competitor_limit: float
) -> Row:
    r"""Times one method of one library, and compares its values with ours.

    Args:
        task (Task): The task.
        root (Path): The folder of the datasets.
        repeats (int): The largest number of repetitions.
        competitor_limit (float): The largest number of incidences for competitors.
    """
    dataset, method, library, device, _threads = task
    index, num_nodes, num_hyperedges = torch.load(
        save_hypergraph(dataset, root), weights_only=True
    )
    row = Row(*task, 'measured', num_nodes, num_hyperedges, index.size(1))
    is_limited = library != OURS or method in UNBOUNDED
    if is_limited and index.size(1) > competitor_limit:
        return replace(row, status=f'skipped: over {competitor_limit:g} incidences')
    graph = Hypergraph(index.numpy(), num_nodes, num_hyperedges, device=device)
    if library == 'networkx' and method in ('eigenvector', 'features'):
        graph = graph._replace(eigenvector_tolerance=common_tolerance(graph))
    implementation = IMPLEMENTATIONS[method, library]
    # Warm-up: imports and setup on first use are not measured.
    tiny = Hypergraph(np.array([[0, 1, 1, 2, 3], [0, 0, 1, 1, 1]]), 4, 2, 1.0, device)
    _timed(implementation, tiny)
    gc.collect()
    reset_peak_memory()
    before = peak_memory()
    times, value = _timed(implementation, graph)
    peak = 1024 * max(peak_memory() - before, 0.0)
    runs = [times]
    while len(runs) < repeats and sum(b + c for b, c, _ in runs) < PATIENCE:
        runs.append(_timed(implementation, graph)[0])
    build, compute, _cpu = min(runs, key=lambda run: run[0] + run[1])
    row = replace(
        row,
        repeats=len(runs),
        build_seconds=None if library == OURS else _rounded(build),
        compute_seconds=_rounded(compute),
        # Moving incidences to the device is not building a graph.
        total_seconds=_rounded(compute if library == OURS else build + compute),
        cpu_seconds=_rounded(min(cpu for _, _, cpu in runs)),
        peak_mib=_rounded(peak),
    )
    if library == OURS:
        return row
    difference = np.abs(value - _timed(IMPLEMENTATIONS[method, OURS], graph)[1])
    return replace(
        row,
        max_abs_difference=_rounded(float(difference.max(initial=0.0))),
        share_differing=_rounded(float((difference > AGREEMENT).mean())),
    )


def _timed(
    implementation: Implementation, graph: Hypergraph
) -> tuple[tuple[float, float, float], Values]:
    cpu, start = time.process_time(), time.perf_counter()
    built = implementation.build(graph)
    if graph.device.startswith('cuda'):
        torch.cuda.synchronize()
    middle = time.perf_counter()
    value = implementation.compute(built, graph)
    end = time.perf_counter()
    return (middle - start, end - middle, time.process_time() - cpu), value


def _rounded(value: float) -> float:
    return float(f'{value:.6g}')


# Report -------------------------------------------------------------------------------


def ratio(row: Row, rows: Sequence[Row], name: str) -> float | None:
    r"""Returns the ratio of a competitor's figure to ours.

    Args:
        row (Row): The row of the competitor.
        rows (list[Row]): All rows.
        name (str): The name of the figure.
    """
    for ours in rows:
        if _same(ours, row, 'library') and ours.library == OURS != row.library:
            below = getattr(ours, name)
            # Below one MiB, a process grows by chance.
            if not below or (name == 'peak_mib' and below < 1):
                return None
            above = getattr(row, name)
            return None if above is None else float(above / below)
    return None


def exponent(row: Row, rows: Sequence[Row], name: str) -> float | None:
    r"""Returns the exponent with which a figure of ours grows with the incidences.

    Args:
        row (Row): Any of our rows on planted data.
        rows (list[Row]): All rows.
        name (str): The name of the figure.
    """
    if row.library != OURS or row.method in UNBOUNDED or not _is_planted(row):
        return None
    family = [r for r in rows if _is_planted(r) and _same(r, row, 'dataset')]
    return growth_exponent((r.num_incidences, getattr(r, name)) for r in family)


def _same(one: Row, other: Row, but: str) -> bool:
    return all(getattr(one, k) == getattr(other, k) for k in KEY if k != but)


def _is_planted(row: Row) -> bool:
    return row.dataset.startswith('planted_')


def make_table(rows: Sequence[Row]) -> list[list[str]]:
    r"""Returns the figures, ratios and exponents as lines of text, the header first.

    Args:
        rows (list[Row]): The rows.
    """
    header = ['dataset', 'method', 'library', 'build s', 'total s', 'cpu s', 'ratio']
    header += ['cpu ratio', 'MiB', 'memory ratio', 'max difference', 'cpu exponent']
    table = [header]
    for row in rows:
        line = [row.dataset, row.method, row.library]
        if not row.is_measured:
            # The rest of a message may be long.
            table.append([*line, '', row.status.partition(':')[0], *[''] * 7])
            continue
        for value, style in (
            (row.build_seconds, '.3g'),
            (row.total_seconds, '.3g'),
            (row.cpu_seconds, '.3g'),
            (ratio(row, rows, 'total_seconds'), '.3g'),
            (ratio(row, rows, 'cpu_seconds'), '.3g'),
            (row.peak_mib, '.0f'),
            (ratio(row, rows, 'peak_mib'), '.3g'),
            (row.max_abs_difference, '.1e'),
            (exponent(row, rows, 'cpu_seconds'), '.2f'),
        ):
            line.append('' if value is None else format(value, style))
        table.append(line)
    return table


def plot(rows: Sequence[Row], path: Path) -> None:
    r"""Draws our CPU time against the number of incidences, and the ratios.

    Args:
        rows (list[Row]): The rows.
        path (Path): The image.
    """
    figure = Figure(figsize=(12, 7), layout='constrained')
    left, right = figure.subplots(1, 2)
    measured = [row for row in rows if row.is_measured]
    ours = [row for row in measured if row.library == OURS and _is_planted(row)]
    for color, method in enumerate(METHODS):
        family = [row for row in ours if row.method == method]
        family.sort(key=lambda row: row.num_incidences)
        if not family or method in UNBOUNDED:
            continue
        slope = exponent(family[0], measured, 'cpu_seconds')
        points = [(row.num_incidences, row.cpu_seconds or 0.0) for row in family]
        label = f'{method}, exponent {slope:.2f}' if slope else method
        left.plot(*zip(*points, strict=True), 'o-', color=f'C{color}', label=label)
    left.set(xscale='log', yscale='log', xlabel='incidences of a planted hypergraph')
    left.set(ylabel='CPU seconds', title=f'Time of {OURS}')
    bars = [(row, ratio(row, measured, 'cpu_seconds') or 0.0) for row in measured]
    bars = [(row, value) for row, value in bars if value]
    libraries = list(dict.fromkeys(row.library for row, _ in bars))
    for place, (row, value) in enumerate(bars):
        shade = f'C{6 + libraries.index(row.library)}'
        # On a logarithmic axis there is no zero: bars begin where both are equal.
        drawn = right.barh(place, value - 1, left=1, color=shade)
        right.bar_label(drawn, [f'{value:.3g}'], padding=2, fontsize=7)
    names = [f'{row.dataset}  {row.method}  {row.library}' for row, _ in bars]
    right.set_yticks(range(len(names)), names, fontsize=7)
    right.invert_yaxis()
    right.set(xscale='log', xlabel='CPU seconds, competitor / ours, graph included')
    right.margins(x=0.15, y=0.01)
    for axes in (left, right):
        axes.grid(visible=True, alpha=0.3)
    if ours:
        left.legend()
    figure.savefig(path, dpi=100)


def report(rows: Sequence[Row], path: Path) -> None:
    r"""Prints and writes the table, names values that differ, and draws the plot.

    Args:
        rows (list[Row]): The rows.
        path (Path): The CSV file.
    """

    def place(row: Row) -> tuple[int, str, int, int]:
        # Real datasets by name, then planted ones by size.
        size = int(row.dataset.removeprefix('planted_')) if _is_planted(row) else 0
        method, libraries = list(METHODS).index(row.method), METHODS[row.method]
        return size, row.dataset, method, libraries.index(row.library)

    rows = sorted(rows, key=place)
    publish_table(make_table(rows), path, 'competitor / ours', num_left=3)
    for row in rows:
        if (row.max_abs_difference or 0.0) >= AGREEMENT:
            print(
                f'{row.dataset} {row.method}: {row.library} differs from ours by up to '
                f'{row.max_abs_difference:.1e}, in {row.share_differing:.2%} of values'
            )
    plot(rows, path.with_suffix('.png'))


def main(argv: Sequence[str] | None = None) -> int:
    r"""Measures what is missing, and writes the report.

    Args:
        argv (list[str], optional): The command line. (default: :obj:`None`)

    Returns:
        Zero, or one if a measurement failed.
    """

    def size(text: str) -> int:
        return int(float(text))

    parser = argparse.ArgumentParser(
        description=(__doc__ or '').partition('\n\n')[0],
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add('--datasets', nargs='*', default=['emEU', 'coDB_last'], help='real datasets')
    add('--sizes', nargs='*', type=size, default=[10**5, 10**6, 10**7], metavar='P')
    add('--methods', nargs='+', choices=list(METHODS), default=list(METHODS))
    add('--repeats', type=int, default=3, help='repetitions, of which the best counts')
    add('--competitor-limit', type=float, default=2e6, metavar='P')
    add('--time-limit', type=float, default=300.0, metavar='SECONDS')
    add(
        '--out', type=Path, default=OUT, help='the CSV file; the report goes next to it'
    )
    add('--root', type=Path, default=Path(tempfile.gettempdir()) / 'tgx_anchor')
    add('--threads', type=int, default=1)
    add('--device', default='cpu', help='the device of our tensors')
    add('--in-process', action='store_true', help='quicker, but memory is blurred')
    args = parser.parse_args(argv)

    table = ResultTable(Row, args.out, key=KEY)
    datasets = [*args.datasets, *(f'planted_{size}' for size in args.sizes)]
    tasks: list[Task] = [
        (dataset, method, library, args.device, args.threads)
        for dataset in datasets
        for method in args.methods
        for library in METHODS[method]
    ]
    limits = [f'skipped: over {args.competitor_limit:g} incidences']
    limits += [f'skipped: over {args.time_limit:g} seconds']

    def is_done(task: Task) -> bool:
        row = table.get(task)
        return row is not None and row.status in ('measured', *limits)

    options: dict[str, Any] = {
        'threads': args.threads,
        'isolated': not args.in_process,
        'time_limit': args.time_limit,
        'progress': sys.stderr.isatty(),
    }
    function = partial(
        measure,
        root=args.root,
        repeats=args.repeats,
        competitor_limit=args.competitor_limit,
    )
    left = [task for task in tasks if not is_done(task)]
    for task, found in run_tasks(function, left, **options):
        if isinstance(found, Failure):
            kind = 'skipped' if found.is_timeout else 'failed'
            found = Row(*task, f'{kind}: {found.message}')
        table.add(found)
    alike = (args.device, args.threads)
    report([row for row in table.rows if (row.device, row.threads) == alike], args.out)
    print(f'{len(left)} measurements, written to {args.out}')
    return 0 if all(is_done(task) for task in tasks) else 1


if __name__ == '__main__':
    sys.exit(main())
