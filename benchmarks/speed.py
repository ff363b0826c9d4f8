r"""Measures the cost of training AnchorRadar against the work it cannot do without.

* :obj:`stage1`: one epoch, against one step of a bare MLP on the same rows, all at
  once. Training passes many rows in blocks, which is why it can be the faster one.
* :obj:`stage2`: one epoch, for one and for 20 weights :math:`\alpha` at once, against
  bare sparse products, one each with :math:`\mathbf{H}`, :math:`\mathbf{H}^{\top}`,
  :math:`\mathbf{Q}` and :math:`\mathbf{Q}^{\top}`, into allocated memory; as
  :class:`AnchorRadar` trains, and in a user's own loop around :func:`strength_loss`.
* :obj:`tune`: the 1,980 points of the paper's grid, against one fit.
* :obj:`pipeline`: generate, add features, split, fit and predict, with the peak memory;
  at the size of coAA, the largest dataset of the paper, and at growing sizes, from
  which the exponent of growth follows.

An epoch and its competitor take turns, and the best of several turns counts.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch_geometric.utils import softmax

from tgx_anchor.benchmark import fill_table
from tgx_anchor.benchmark.growth import growth_exponent
from tgx_anchor.benchmark.memory import peak_memory
from tgx_anchor.benchmark.methods import load_setting
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.benchmark.tables import publish_table
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.io import ResultTable
from tgx_anchor.nn import AnchorRadar, AnchorStrength, IncidenceScorer
from tgx_anchor.nn.functional import StrengthProblem, strength_loss, strength_problem
from tgx_anchor.nn.predictors.feature_rows import FeatureRows
from tgx_anchor.nn.predictors.incidence_features import attribute_scale
from tgx_anchor.nn.predictors.stages import scorer_epochs, strength_epochs
from tgx_anchor.nn.predictors.tuning import PAPER_GRID
from tgx_anchor.paper import SETTINGS
from tgx_anchor.transforms import AddTopologicalFeatures, RandomHyperedgeSplit

# Measurement, case, number of threads.
Task = tuple[str, str, int]
# Quantity, value, unit.
Figures = list[tuple[str, float, str]]

# The nodes and hyperedges of coAA, and the mean size to ask for. Members who are drawn
# twice count once, so the result has about 2.5 members per hyperedge.
COAA = (1_712_433, 2_037_605, 2.55)
NUM_INCIDENCES = 5.2e6
NUM_FEATURES = 33
TRAIN_SHARE = 0.075
# The largest wanted value of a figure.
GOALS = {
    ('stage1', 'ratio'): 2.0,
    ('stage2', 'ratio'): 3.0,
    ('tune', 'ratio'): 50.0,
    ('tune', 'search'): 20.0,
    ('pipeline coAA', 'peak memory'): 8.0,
    ('growth', 'exponent'): 1.1,
}
# The last figure of a measurement: without it, the measurement was cut off.
LAST = {'stage1': 'ratio', 'stage2': 'ratio', 'tune': 'ratio', 'pipeline': 'total'}
# The steps of the pipeline that make up its total; others are parts of these.
TOTAL = ('features', 'fit', 'predict')
OUT = Path(__file__).parent / 'results' / 'speed.csv'
EXAMPLE = """example:
  TGX_ANCHOR_MIRROR=data python benchmarks/speed.py --threads 1
  python benchmarks/speed.py --sizes 1e5 --tune --pipeline 1e5 1e6
"""


@dataclass(frozen=True)
class Row:
    r"""One figure of a measurement."""

    measurement: str
    case: str
    threads: int
    num_nodes: int
    num_hyperedges: int
    num_incidences: int
    quantity: str
    value: float
    unit: str
    goal: float | None = None


def planted(size: str) -> AnchorData:
    r"""Returns a synthetic hypergraph in the proportions of coAA.

    Args:
        size (str): The approximate number of incidences, or :obj:`"coAA"`.
    """
    scale = 1.0 if size == 'coAA' else float(size) / NUM_INCIDENCES
    num_nodes, num_hyperedges = (max(round(scale * number), 10) for number in COAA[:2])
    data: Any = PlantedAnchorDataset(num_nodes, num_hyperedges, COAA[2])[0]
    out: AnchorData = data
    return out


def train_mask(data: AnchorData) -> Tensor:
    r"""Returns a random mask of the hyperedges to learn from.

    Args:
        data (AnchorData): The hypergraph.
    """
    generator = torch.Generator().manual_seed(0)
    draw = torch.rand(data.num_hyperedges, generator=generator) < TRAIN_SHARE
    return draw & data.choice_mask


def take_turns(
    epochs: Iterator[Any], competitor: Callable[[], object], seconds: float
) -> tuple[float, float]:
    r"""Runs epochs and a competitor in turns, and returns the best seconds of each.

    Args:
        epochs (iterator): Runs one epoch per step.
        competitor (callable): The competitor.
        seconds (float): The time after which turns end, once there are two.
    """
    times: list[tuple[float, float]] = []
    begin = time.perf_counter()
    while len(times) < 2 or time.perf_counter() - begin < seconds:
        times.append((_seconds(lambda: next(epochs)), _seconds(competitor)))
    return min(epoch for epoch, _ in times), min(other for _, other in times)


def _seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def measure_stage1(size: str, seconds: float) -> tuple[AnchorData, Figures]:
    r"""Measures one epoch of stage 1.

    Args:
        size (str): A size as in :func:`planted`.
        seconds (float): The duration of the comparison.
    """
    data = planted(size)
    mask = train_mask(data)
    # Random values cost as much as features.
    generator = torch.Generator().manual_seed(0)
    feature = torch.rand((data.num_incidences, NUM_FEATURES), generator=generator)
    rows = feature[mask[data.hyperedge_index[1]]]
    mlp = torch.nn.Sequential(
        torch.nn.Linear(NUM_FEATURES, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)
    )
    optimizer = torch.optim.Adam(mlp.parameters())

    def competitor() -> None:
        optimizer.zero_grad()
        mlp(rows).sum().backward()
        optimizer.step()

    scorer = IncidenceScorer(NUM_FEATURES, 64)
    data.incidence_attr = feature
    epochs = scorer_epochs(
        scorer,
        FeatureRows(data, attribute_scale(data)),
        data,
        mask,
        0.01,
        sys.maxsize,
    )
    # The first step also prepares the epochs.
    next(epochs)
    epoch, bare = take_turns(epochs, competitor, seconds)
    figures = [
        ('epoch', epoch, 's'),
        ('bare MLP', bare, 's'),
        ('ratio', epoch / bare, ''),
    ]
    return data, figures


def bare_products(problem: StrengthProblem, num_variants: int) -> Callable[[], object]:
    r"""Returns a function that computes the two sparse products of an epoch.

    Args:
        problem (StrengthProblem): The matrices.
        num_variants (int): The number of columns.
    """
    num_nodes, num_sums = problem.to_node.size()
    shape = () if num_variants == 1 else (num_variants,)
    x = torch.ones((num_nodes, *shape), dtype=torch.double)
    z = torch.ones((num_sums, *shape), dtype=torch.double)
    x_out, z_out = torch.empty_like(x), torch.empty_like(z)
    # Faster than 'mv' and 'mm', which allocate their result and fill it with zeros.
    product = torch.addmv if num_variants == 1 else torch.addmm

    def run() -> None:
        product(z_out, problem.to_hyperedge, x, beta=0, out=z_out)
        product(x_out, problem.to_node, z, beta=0, out=x_out)

    return run


def measure_stage2(case: str, seconds: float) -> tuple[AnchorData, Figures]:
    r"""Measures one epoch of stage 2.

    Args:
        case (str): A size as in :func:`planted`, and the number of weights of the
            alignment: :obj:`"1e5 x 20"`.
        seconds (float): The duration of the comparison.
    """
    size, _, number = case.partition(' x ')
    data, num_variants = planted(size), int(number)
    num_nodes, num_hyperedges = int(data.num_nodes or 0), data.num_hyperedges
    score = torch.randn(data.num_incidences, generator=torch.Generator().manual_seed(0))
    problem = strength_problem(
        softmax(score, data.hyperedge_index[1], num_nodes=num_hyperedges),
        data.hyperedge_index,
        num_nodes,
        num_hyperedges,
        data['y'],
        train_mask(data),
    )
    alpha = torch.linspace(0, 1, num_variants, dtype=torch.double)
    competitor = bare_products(problem, num_variants)
    strengths = AnchorStrength(num_nodes, num_variants)
    epochs = strength_epochs(strengths, problem, alpha, 0.1, sys.maxsize)
    next(epochs)
    epoch, bare = take_turns(epochs, competitor, seconds)

    def own_loop() -> Iterator[None]:
        optimizer = torch.optim.Adam(strengths.parameters(), fused=True)
        while True:
            optimizer.zero_grad()
            strength_loss(strengths.strength, problem, alpha).sum().backward()
            optimizer.step()
            yield

    own, own_bare = take_turns(own_loop(), competitor, seconds)
    return data, [
        ('own loop epoch', own, 's'),
        ('own loop ratio', own / own_bare, ''),
        ('epoch', epoch, 's'),
        ('bare products', bare, 's'),
        ('ratio', epoch / bare, ''),
    ]


def measure_tune(
    case: str, root: Path | None, num_epochs: int
) -> tuple[AnchorData, Figures]:
    r"""Measures a search of the whole grid on one split, and one fit.

    Args:
        case (str): A setting of the paper, or a size as in :func:`planted`.
        root (Path, optional): The folder of the datasets.
        num_epochs (int): The number of epochs of each stage.
    """
    data = load_setting(case, root) if case in SETTINGS else planted(case)
    data = RandomHyperedgeSplit()(AddTopologicalFeatures()(data))
    model = AnchorRadar(num_epochs=num_epochs)
    fits = [_seconds(lambda: model.fit(data)) for _ in range(2)]
    search = _seconds(
        lambda: AnchorRadar.tune(data, progress=False, num_epochs=num_epochs)
    )
    fits.append(_seconds(lambda: model.fit(data)))
    return data, [
        ('points', float(math.prod(map(len, PAPER_GRID.values()))), ''),
        ('search', search, 's'),
        ('fit', min(fits), 's'),
        ('ratio', search / min(fits), ''),
    ]


def measure_pipeline(case: str, num_epochs: int) -> tuple[AnchorData, Figures]:
    r"""Measures each step from generating a hypergraph to its predictions.

    Args:
        case (str): A size as in :func:`planted`.
        num_epochs (int): The number of epochs of each stage.
    """
    seconds: dict[str, float] = {}

    def timed(name: str, function: Callable[..., Any], *args: Any) -> Any:
        start = time.perf_counter()
        out = function(*args)
        seconds[name] = time.perf_counter() - start
        return out

    data = timed('generate', planted, case)
    begin = time.process_time()
    data = timed('features', AddTopologicalFeatures(), data)
    data = timed('split', RandomHyperedgeSplit(), data)
    model = AnchorRadar(num_epochs=num_epochs)
    timed('fit', model.fit, data)
    for stage in (1, 2):
        records = [record for record in model.history if record['stage'] == stage]
        seconds[f'stage {stage}'] = sum(record['seconds'] for record in records)
    timed('predict', model.predict, data)
    # CPU time of all steps but the first; it depends less on other processes.
    processor = time.process_time() - begin
    figures = [(name, spent, 's') for name, spent in seconds.items()]
    figures.append(('peak memory', peak_memory(), 'GiB'))
    figures.append(('processor', processor, 's'))
    figures.append(('total', sum(seconds[name] for name in TOTAL), 's'))
    return data, figures


def measure(
    task: Task, _: Tell, *, root: Path | None, seconds: float, num_epochs: int
) -> list[Row]:
    r"""Measures a task.

    Args:
        task (Task): The task.
        root (Path, optional): The folder of the datasets.
        seconds (float): The duration of a comparison of epochs.
        num_epochs (int): The number of epochs of each stage in whole fits.
    """
    measurement, case, _threads = task
    match measurement:
        case 'stage1':
            data, figures = measure_stage1(case, seconds)
        case 'stage2':
            data, figures = measure_stage2(case, seconds)
        case 'tune':
            data, figures = measure_tune(case, root, num_epochs)
        case _:
            data, figures = measure_pipeline(case, num_epochs)
    sizes = int(data.num_nodes or 0), data.num_hyperedges, data.num_incidences
    out = []
    for quantity, value, unit in figures:
        goal = GOALS.get((measurement, quantity))
        goal = GOALS.get((f'{measurement} {case}', quantity), goal)
        value = float(f'{value:.6g}')
        out.append(Row(*task, *sizes, quantity, value, unit, goal))
    return out


# Report -------------------------------------------------------------------------------


def growth(rows: Sequence[Row]) -> list[Row]:
    r"""Computes the exponents with which the pipeline grows, by number of threads.

    Args:
        rows (list[Row]): All rows.
    """
    out = []
    for threads in sorted({row.threads for row in rows}):
        for quantity, name in (
            ('processor', 'processor exponent'),
            ('total', 'exponent'),
        ):
            points = sorted(
                (row.num_incidences, row.value, row.case)
                for row in rows
                if (row.measurement, row.threads) == ('pipeline', threads)
                and row.quantity == quantity
                # Of another shape, hence not part of the series.
                and row.case != 'coAA'
            )
            slope = growth_exponent((size, value) for size, value, _ in points)
            if slope is not None:
                case, size = ' '.join(point[2] for point in points), points[-1][0]
                goal = GOALS.get(('growth', name))
                out.append(
                    Row('growth', case, threads, 0, 0, size, name, slope, '', goal)
                )
    return out


def make_table(rows: Sequence[Row]) -> list[list[str]]:
    r"""Returns all figures as lines of text, the header first.

    Args:
        rows (list[Row]): The rows.
    """
    header = [
        'measurement',
        'case',
        'quantity',
        'incidences',
        'threads',
        'value',
        'goal',
    ]
    return [
        header,
        *(
            [
                row.measurement,
                row.case,
                row.quantity,
                f'{row.num_incidences:,}',
                str(row.threads),
                f'{row.value:.4g} {row.unit}'.strip(),
                '' if row.goal is None else f'{row.goal:g}',
            ]
            for row in rows
        ),
    ]


def plot(rows: Sequence[Row], path: Path) -> None:
    r"""Draws the ratios of both stages, and the seconds of the steps.

    Args:
        rows (list[Row]): The rows of one number of threads.
        path (Path): The image.
    """
    figure = Figure(figsize=(10, 4), layout='constrained')
    left, right = figure.subplots(1, 2)
    lines: dict[tuple[Any, str], list[tuple[int, float]]] = {}
    for row in rows:
        point = row.num_incidences, row.value
        if row.quantity == 'ratio' and row.measurement.startswith('stage'):
            _, _, number = row.case.partition(' x ')
            rival = (
                f', [N, {number}], to bare products' if number else ', to a bare MLP'
            )
            lines.setdefault((left, row.measurement + rival), []).append(point)
        elif row.measurement == 'pipeline' and row.unit == 's':
            lines.setdefault((right, row.quantity), []).append(point)
    shown = ('features', 'split', 'stage 1', 'stage 2', 'predict', 'total')
    for (axes, name), points in lines.items():
        if axes is left or name in shown:
            axes.plot(*zip(*sorted(points), strict=True), 'o-', label=name)
    for name in ('stage1', 'stage2'):
        label = f'goal of {name}'
        left.axhline(GOALS[name, 'ratio'], color='grey', linestyle='--', label=label)
    left.set(xscale='log', ylim=(0, 4.5), xlabel='incidences', ylabel='ratio')
    left.set_title('One epoch')
    right.set(xscale='log', yscale='log', xlabel='incidences', ylabel='seconds')
    right.set_title('From the hypergraph to its predictions')
    for axes in (left, right):
        if axes.lines:
            axes.legend(fontsize='small')
    figure.savefig(path, dpi=110)


def main(argv: Sequence[str] | None = None) -> int:
    r"""Measures what is missing, and writes the report.

    Args:
        argv (list[str], optional): The command line. (default: :obj:`None`)

    Returns:
        Zero, or one if a measurement failed.
    """
    parser = argparse.ArgumentParser(
        description=(__doc__ or '').partition('\n')[0],
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add('--sizes', nargs='*', default=['1e5', '1e6', '5e6'], help='sizes for epochs')
    add('--variants', nargs='*', type=int, default=[1, 20], help='weights at once')
    add('--tune', nargs='*', default=['qaBI'], help='settings or sizes to search on')
    add('--pipeline', nargs='*', default=['1e5', '1e6', '1e7', 'coAA'])
    add('--seconds', type=float, default=5.0, help='duration of each comparison')
    add('--epochs', type=int, default=100, help='epochs of each stage in whole fits')
    add('--threads', type=int, default=1)
    add('--root', type=Path, help='the folder of the datasets')
    add(
        '--out', type=Path, default=OUT, help='the CSV file; the report goes next to it'
    )
    add('--in-process', action='store_true', help='quicker, but memory is blurred')
    args = parser.parse_args(argv)

    cases = [('stage1', size) for size in args.sizes]
    cases += [('stage2', f'{size} x {k}') for size in args.sizes for k in args.variants]
    cases += [('tune', case) for case in args.tune]
    cases += [('pipeline', case) for case in args.pipeline]
    key = ('measurement', 'case', 'threads', 'quantity')
    table = ResultTable(Row, args.out, key=key)
    tasks: list[Task] = [(*case, args.threads) for case in cases]
    failures = fill_table(
        table,
        partial(measure, root=args.root, seconds=args.seconds, num_epochs=args.epochs),
        tasks,
        is_done=lambda task: (*task, LAST[task[0]]) in table,
        threads=args.threads,
        isolated=not args.in_process,
        progress=sys.stderr.isatty(),
    )
    for task, failure in failures.items():
        print(*task, 'failed:', failure.message)
    rows = [*table.rows, *growth(table.rows)]
    publish_table(make_table(rows), args.out, 'Speed', num_left=3)
    shown = [row for row in rows if row.threads == args.threads]
    plot(shown, args.out.with_suffix('.png'))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
