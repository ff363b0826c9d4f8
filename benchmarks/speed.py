r"""Measures what training costs against the work that it cannot do without.

* :obj:`stage1`: one epoch, against one step of a bare MLP on the same rows, all at
  once; training passes many rows in blocks, which is why it can be the faster one.
* :obj:`stage2`: one epoch, for one and for 20 weights :math:`\alpha` at once, against
  bare sparse products, one each with :math:`\mathbf{H}`, :math:`\mathbf{H}^{\top}`,
  :math:`\mathbf{Q}` and :math:`\mathbf{Q}^{\top}`, into memory that is there already;
  as :class:`AnchorRadar` trains, and in a loop of the user's own around
  :func:`strength_loss`.
* :obj:`tune`: the 1,980 points of the paper's grid, against one fit.
* :obj:`pipeline`: generate, add features, split, fit and predict, in a process of its
  own, with its peak memory; at the size of coAA, the largest dataset of the paper, and
  at growing sizes, from which the exponent of growth follows.

What is compared takes turns in one process, epoch by epoch of the training itself,
and the best of several turns counts. Each result goes to a CSV file at once; a second
run continues where the first one stopped.
"""

import argparse
import csv
import io
import itertools
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import torch
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch_geometric.utils import softmax

from tgx_anchor.benchmark.memory import peak_memory
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import AnchorDataset, PlantedAnchorDataset
from tgx_anchor.nn import AnchorRadar, AnchorStrength, IncidenceScorer
from tgx_anchor.nn.functional import (
    StrengthProblem,
    strength_loss,
    strength_problem,
)
from tgx_anchor.nn.predictors import anchor_radar
from tgx_anchor.nn.predictors.stages import scorer_epochs, strength_epochs
from tgx_anchor.nn.predictors.tuning import PAPER_GRID
from tgx_anchor.paper import SETTINGS
from tgx_anchor.transforms import AddTopologicalFeatures, RandomHyperedgeSplit
from tgx_anchor.transforms.add_topological_features import CENTRALITIES

# What is measured, on what, with how many threads.
Task = tuple[str, str, int]

# The sizes of coAA: nodes, hyperedges and the mean size to ask for. Members who are
# drawn twice count once, so the result has about 2.5 members per hyperedge.
COAA = (1_712_433, 2_037_605, 2.55)
NODES_PER_INCIDENCE, HYPEREDGES_PER_INCIDENCE = COAA[0] / 5.2e6, COAA[1] / 5.2e6
NUM_FEATURES = 33
TRAIN_SHARE = 0.075
# The largest that each figure may be.
GOALS = {
    ('stage1', 'ratio'): 2.0,
    ('stage2', 'ratio'): 3.0,
    ('tune', 'ratio'): 50.0,
    ('tune', 'search'): 20.0,
    ('pipeline coAA', 'peak memory'): 8.0,
    ('growth', 'exponent'): 1.1,
}
# What is written last: a measurement without it was interrupted.
LAST = {'stage1': 'ratio', 'stage2': 'ratio', 'tune': 'ratio', 'pipeline': 'total'}
# The steps of the pipeline that make up its total; others are parts of these.
TOTAL = ('features', 'fit', 'predict')
# Repetitions end after this many seconds, once there are two.
PATIENCE = 30.0

EXAMPLE = """example:
  TGX_ANCHOR_MIRROR=data python benchmarks/speed.py --threads 1
  python benchmarks/speed.py --sizes 1e5 --tune --pipeline 1e5 1e6
"""


@dataclass(frozen=True)
class Row:
    r"""One figure."""

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

    @property
    def task(self) -> Task:
        r"""What was measured."""
        return self.measurement, self.case, self.threads


# Files --------------------------------------------------------------------------------


def read_rows(path: Path) -> list[Row]:
    r"""The rows of a results file, without lines that were cut off.

    Args:
        path (Path): The file; need not be there.
    """
    if not path.exists():
        return []
    out = []
    with path.open(newline='', encoding='utf-8') as file:
        for line in csv.DictReader(file):
            try:
                row = Row(
                    line['measurement'],
                    line['case'],
                    int(line['threads']),
                    int(line['num_nodes']),
                    int(line['num_hyperedges']),
                    int(line['num_incidences']),
                    line['quantity'],
                    float(line['value']),
                    line['unit'],
                    float(line['goal']) if line['goal'] else None,
                )
            except (KeyError, TypeError, ValueError):
                continue
            out.append(row)
    return out


def append_rows(path: Path, rows: Sequence[Row]) -> None:
    r"""Appends rows, in one write.

    Args:
        path (Path): The file, made with its folder if it is not there.
        rows (Sequence[Row]): The rows.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    names = [field.name for field in fields(Row)]
    writer = csv.DictWriter(text, names, lineterminator='\n')
    if not path.exists():
        writer.writeheader()
    elif not path.read_bytes().endswith(b'\n'):
        # The last line was cut off: start on a new one.
        text.write('\n')
    writer.writerows({**asdict(row), 'value': f'{row.value:.6g}'} for row in rows)
    with path.open('a', encoding='utf-8') as file:
        file.write(text.getvalue())


def _rows(
    measurement: str,
    case: str,
    data: AnchorData,
    figures: Sequence[tuple[str, float, str]],
) -> list[Row]:
    return [
        Row(
            measurement,
            case,
            torch.get_num_threads(),
            int(data.num_nodes or 0),
            data.num_hyperedges,
            data.num_incidences,
            quantity,
            value,
            unit,
            GOALS.get(
                (measurement, quantity),
                GOALS.get((f'{measurement} {case}', quantity)),
            ),
        )
        for quantity, value, unit in figures
    ]


# One epoch ----------------------------------------------------------------------------


class Turns(NamedTuple):
    r"""How long to go on with a comparison.

    Args:
        repeats (int): At least so many turns, but two are enough after
            :obj:`PATIENCE` seconds.
        seconds (float): At least so many seconds: where an epoch takes milliseconds,
            other processes disturb most of them.
    """

    repeats: int
    seconds: float

    def end(self, number: int, elapsed: float) -> bool:
        r"""Whether it is enough, after so many turns and seconds."""
        if elapsed > PATIENCE:
            return number > 1
        return number >= self.repeats and elapsed >= self.seconds


class TakingTurns:
    r"""Runs a competitor between any two epochs of a training.

    Args:
        turns (Turns): How many epochs.
        baseline (callable): The competitor.
    """

    def __init__(self, turns: Turns, baseline: Callable[[], object]) -> None:
        self.turns = turns
        self.baseline = baseline
        self.best_epoch = self.best_baseline = math.inf

    def run(self, epochs: Iterator[object]) -> None:
        r"""Trains for one epoch per step of an iterator."""
        begin = time.perf_counter()
        for number in itertools.count():
            if self.turns.end(number, time.perf_counter() - begin):
                break
            start = time.perf_counter()
            self.baseline()
            middle = time.perf_counter()
            next(epochs)
            end = time.perf_counter()
            self.best_baseline = min(self.best_baseline, middle - start)
            self.best_epoch = min(self.best_epoch, end - middle)

    def figures(self, baseline: str) -> list[tuple[str, float, str]]:
        r"""What :func:`append_rows` is told of it, with the name of the competitor."""
        return [
            ('epoch', self.best_epoch, 's'),
            (baseline, self.best_baseline, 's'),
            ('ratio', self.best_epoch / self.best_baseline, ''),
        ]


def planted(size: str, seed: int = 0) -> AnchorData:
    r"""A synthetic hypergraph in the proportions of coAA.

    Args:
        size (str): About how many incidences, or :obj:`"coAA"`.
        seed (int, optional): Decides everything. (default: :obj:`0`)
    """
    if size == 'coAA':
        num_nodes, num_hyperedges, mean_size = COAA
    else:
        num_nodes = max(round(float(size) * NODES_PER_INCIDENCE), 10)
        num_hyperedges = max(round(float(size) * HYPEREDGES_PER_INCIDENCE), 10)
        mean_size = COAA[2]
    dataset = PlantedAnchorDataset(num_nodes, num_hyperedges, mean_size, seed=seed)
    data: Any = dataset[0]
    out: AnchorData = data
    return out


def _known(data: AnchorData) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    draw = torch.rand(data.num_hyperedges, generator=generator) < TRAIN_SHARE
    return draw & data.choice_mask


def measure_stage1(size: str, turns: Turns) -> list[Row]:
    r"""One epoch of stage 1.

    Args:
        size (str): About how many incidences, as in :func:`planted`.
        turns (Turns): How long to compare.
    """
    data = planted(size)
    mask = _known(data)
    # What the features are does not change what they cost.
    feature = torch.rand(
        (data.num_incidences, NUM_FEATURES),
        generator=torch.Generator().manual_seed(0),
    )
    rows = feature[mask[data.hyperedge_index[1]]]
    mlp = torch.nn.Sequential(
        torch.nn.Linear(NUM_FEATURES, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)
    )
    optimizer = torch.optim.Adam(mlp.parameters())

    def baseline() -> None:
        optimizer.zero_grad()
        mlp(rows).sum().backward()
        optimizer.step()

    model = TakingTurns(turns, baseline)
    scorer = IncidenceScorer(NUM_FEATURES)
    model.run(scorer_epochs(scorer, feature, data, mask, 0.01, sys.maxsize))
    return _rows('stage1', size, data, model.figures('bare MLP'))


def _products(problem: StrengthProblem, num_variants: int) -> Callable[[], object]:
    num_nodes, num_hyperedges = problem.H.size()
    shape = () if num_variants == 1 else (num_variants,)
    x = torch.ones((num_nodes, *shape), dtype=torch.double)
    z = torch.ones((num_hyperedges, *shape), dtype=torch.double)
    x_out, z_out = torch.empty_like(x), torch.empty_like(z)
    # Faster than 'mv' and 'mm', which add to zeros that they make first.
    product = torch.addmv if num_variants == 1 else torch.addmm

    def run() -> None:
        for matrix in (problem.Ht, problem.Qt):
            product(z_out, matrix, x, beta=0, out=z_out)
        for matrix in (problem.H, problem.Q):
            product(x_out, matrix, z, beta=0, out=x_out)

    return run


def measure_stage2(size: str, num_variants: int, turns: Turns) -> list[Row]:
    r"""One epoch of stage 2.

    Args:
        size (str): About how many incidences, as in :func:`planted`.
        num_variants (int): For how many weights of the alignment at once.
        turns (Turns): How long to compare.
    """
    data = planted(size)
    num_nodes, num_hyperedges = int(data.num_nodes or 0), data.num_hyperedges
    hyperedge = data.hyperedge_index[1]
    score = torch.randn(data.num_incidences, generator=torch.Generator().manual_seed(0))
    problem = strength_problem(
        softmax(score, hyperedge, num_nodes=num_hyperedges),
        data.hyperedge_index,
        num_nodes,
        num_hyperedges,
        data['y'],
        _known(data),
    )
    alpha = torch.linspace(0, 1, num_variants, dtype=torch.double)
    products = _products(problem, num_variants)
    model = TakingTurns(turns, products)
    strengths = AnchorStrength(num_nodes, num_variants)
    model.run(strength_epochs(strengths, problem, alpha, 0.1, sys.maxsize))

    # The same in a loop of the user's own, with the loss and its graph.
    own = TakingTurns(turns, products)
    optimizer = torch.optim.Adam(strengths.parameters(), fused=True)

    def own_epochs() -> Iterator[None]:
        while True:
            optimizer.zero_grad()
            strength_loss(strengths.strength, problem, alpha).sum().backward()
            optimizer.step()
            yield

    own.run(own_epochs())
    case = f'{size} x {num_variants}'
    figures = [
        ('own loop epoch', own.best_epoch, 's'),
        ('own loop ratio', own.best_epoch / own.best_baseline, ''),
        *model.figures('bare products'),
    ]
    return _rows('stage2', case, data, figures)


# Search -------------------------------------------------------------------------------


def measure_tune(case: str, root: Path | None, num_epochs: int) -> list[Row]:
    r"""The whole grid on one split, and one fit.

    Args:
        case (str): A setting of the paper, or a size as in :func:`planted`.
        root (Path, optional): Where the datasets are.
        num_epochs (int): The number of epochs of each stage.
    """
    data: Any
    if case in SETTINGS:
        data = AnchorDataset(case, root=root, progress=False)[0]
    else:
        data = planted(case)
    data = RandomHyperedgeSplit()(AddTopologicalFeatures()(data))

    def fit() -> None:
        AnchorRadar(num_epochs=num_epochs).fit(data)

    fits = [_seconds(fit), _seconds(fit)]
    search = _seconds(
        lambda: AnchorRadar.tune(data, progress=False, num_epochs=num_epochs)
    )
    fits.append(_seconds(fit))
    figures = [
        ('points', float(math.prod(map(len, PAPER_GRID.values()))), ''),
        ('search', search, 's'),
        ('fit', min(fits), 's'),
        ('ratio', search / min(fits), ''),
    ]
    return _rows('tune', case, data, figures)


def _seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


# Everything from the hypergraph to the prediction -------------------------------------


class Clock:
    r"""Adds up the seconds of steps by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        r"""Returns :obj:`function`, timed."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            out = function(*args, **kwargs)
            spent = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + spent
            return out

        return timed


def measure_pipeline(case: str, num_epochs: int) -> list[Row]:
    r"""The seconds of each step from generating a hypergraph to its predictions.

    Args:
        case (str): A size as in :func:`planted`.
        num_epochs (int): The number of epochs of each stage.
    """
    clock = Clock()
    data = clock('generate', planted)(case)
    begin = time.process_time()
    plain = dict(CENTRALITIES)
    CENTRALITIES.update({name: clock(name, plain[name]) for name in plain})
    try:
        data = clock('features', AddTopologicalFeatures())(data)
    finally:
        CENTRALITIES.update(plain)
    data = clock('split', RandomHyperedgeSplit())(data)
    model = AnchorRadar(num_epochs=num_epochs)
    steps = {'stage 1': 0.0, 'stage 1 scores': 0.0, 'stage 2': 0.0, 'aggregate': 0.0}
    clock.seconds.update(steps)
    functions = {'stage 1 scores': 'reference_proba', 'aggregate': 'aggregate_strength'}
    with ExitStack() as stack:
        for name, function in functions.items():
            timed = clock(name, getattr(anchor_radar, function))
            stack.enter_context(mock.patch.object(anchor_radar, function, timed))
        clock('fit', model.fit)(data)
    for record in model.history:
        clock.seconds[f'stage {record["stage"]:.0f}'] += record['seconds']
    clock('predict', model.predict)(data)
    # Of all that follows the generation: what neighbours on the machine disturb least.
    processor = time.process_time() - begin
    figures = [(name, spent, 's') for name, spent in clock.seconds.items()]
    figures.append(('peak memory', peak_memory(), 'GiB'))
    figures.append(('processor', processor, 's'))
    figures.append(('total', sum(clock.seconds[name] for name in TOTAL), 's'))
    return _rows('pipeline', case, data, figures)


def _pipeline_apart(case: str, args: argparse.Namespace) -> list[Row]:
    # Peak memory is that of a process, so that this one must not count.
    command = [sys.executable, __file__, '--child', case]
    command += ['--threads', str(args.threads), '--epochs', str(args.epochs)]
    environment = {**os.environ, 'OMP_NUM_THREADS': str(args.threads)}
    runs = []
    for _ in range(args.pipeline_repeats):
        result = subprocess.run(  # noqa: S603
            command, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        lines = result.stdout.splitlines()
        runs.append([Row(**row) for row in json.loads(lines[-1])])
    return min(runs, key=lambda rows: rows[-1].value)


def growth(rows: Sequence[Row], threads: int) -> list[Row]:
    r"""The exponent with which the pipeline grows, in seconds and in seconds of the
    processor: the slope of the least squares line through the logarithms.

    Args:
        rows (Sequence[Row]): All rows.
        threads (int): The number of threads to look at.
    """
    out = []
    for quantity, name in (('processor', 'processor exponent'), ('total', 'exponent')):
        points = sorted(
            (row.num_incidences, row.value, row.case)
            for row in rows
            if row.task == ('pipeline', row.case, threads)
            and row.quantity == quantity
            and row.case != 'coAA'
        )
        if len(points) < 2:
            continue
        table = torch.tensor([point[:2] for point in points], dtype=torch.double).log()
        x, y = (table - table.mean(dim=0)).unbind(dim=1)
        slope = float((x * y).sum() / (x * x).sum())
        case = ' '.join(point[2] for point in points)
        goal = GOALS.get(('growth', name))
        size = points[-1][0]
        out.append(Row('growth', case, threads, 0, 0, size, name, slope, '', goal))
    return out


# Reports ------------------------------------------------------------------------------


def print_table(rows: Sequence[Row], console: Console) -> None:
    r"""Prints all figures, each with its goal.

    Args:
        rows (Sequence[Row]): The figures.
        console (Console): Where to.
    """
    table = Table(title='Speed')
    for name in ('measurement', 'case', 'quantity'):
        table.add_column(name)
    for name in ('incidences', 'threads', 'value', 'goal'):
        table.add_column(name, justify='right')
    for row in rows:
        goal = ''
        if row.goal is not None:
            colour = 'green' if row.value <= row.goal else 'red'
            goal = f'[{colour}]≤ {row.goal:g}[/]'
        table.add_row(
            row.measurement,
            row.case,
            row.quantity,
            f'{row.num_incidences:,}',
            str(row.threads),
            f'{row.value:.4g} {row.unit}'.strip(),
            goal,
        )
    console.print(table)


def plot(rows: Sequence[Row], path: Path) -> None:
    r"""Draws the ratios of both stages, and the seconds of the steps.

    Args:
        rows (Sequence[Row]): The figures of one number of threads.
        path (Path): The PNG file.
    """
    figure = Figure(figsize=(10, 4), layout='constrained')
    left, right = figure.subplots(1, 2)
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if row.quantity == 'ratio' and row.measurement in ('stage1', 'stage2'):
            _, _, variants = row.case.partition(' x ')
            name = 'stage 1, to a bare MLP'
            if row.measurement == 'stage2':
                name = f'stage 2, [N, {variants}], to bare products'
            lines.setdefault(name, []).append((row.num_incidences, row.value))
    for name, points in lines.items():
        left.plot(*zip(*sorted(points), strict=True), 'o-', label=name)
    for name, place in (('stage1', 'left'), ('stage2', 'right')):
        goal = GOALS[name, 'ratio']
        left.axhline(goal, color='grey', linestyle='--', linewidth=1)
        left.text(
            0.02 if place == 'left' else 0.98,
            goal,
            f'goal of stage {name[-1]}',
            transform=left.get_yaxis_transform(),
            horizontalalignment=place,
            verticalalignment='bottom',
            color='grey',
        )
    left.set(xscale='log', ylim=(0, 3.5), xlabel='incidences', ylabel='ratio')
    left.set_title('One epoch')
    if lines:
        left.legend(loc='center', bbox_to_anchor=(0.5, 0.74), fontsize='small')

    steps: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if row.measurement == 'pipeline' and row.unit == 's':
            steps.setdefault(row.quantity, []).append((row.num_incidences, row.value))
    for name in ('features', 'split', 'stage 1', 'stage 2', 'aggregate', 'predict'):
        if name in steps:
            right.plot(*zip(*sorted(steps[name]), strict=True), 'o-', label=name)
    if 'total' in steps:
        exponent = [row.value for row in rows if row.quantity == 'exponent']
        label = f'total, exponent {exponent[-1]:.2f}' if exponent else 'total'
        points = sorted(steps['total'])
        right.plot(*zip(*points, strict=True), 'ks-', label=label)
        right.legend(fontsize='small')
    right.set(xscale='log', yscale='log', xlabel='incidences', ylabel='seconds')
    right.set_title('From the hypergraph to its predictions')
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


# Command line -------------------------------------------------------------------------


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    r"""The arguments of the command line.

    Args:
        argv (Sequence[str], optional): These, or those of the process.
    """
    parser = argparse.ArgumentParser(
        description=(__doc__ or '').split('\n', 1)[0],
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--sizes',
        nargs='*',
        default=['1e5', '1e6', '5e6'],
        help='incidences at which single epochs are measured',
    )
    parser.add_argument(
        '--variants',
        nargs='*',
        type=int,
        default=[1, 20],
        help='numbers of weights of the alignment at once',
    )
    parser.add_argument(
        '--tune', nargs='*', default=['qaBI'], help='settings, or sizes, to search on'
    )
    parser.add_argument(
        '--pipeline',
        nargs='*',
        default=['1e5', '1e6', '1e7', 'coAA'],
        help='incidences, or coAA, from the hypergraph to its predictions',
    )
    parser.add_argument('--repeats', type=int, default=9, help='turns per comparison')
    parser.add_argument(
        '--seconds', type=float, default=5.0, help='least seconds per comparison'
    )
    parser.add_argument(
        '--pipeline-repeats', type=int, default=2, help='runs, of which the best counts'
    )
    parser.add_argument('--epochs', type=int, default=100, help='epochs of each stage')
    parser.add_argument(
        '--threads', type=int, default=torch.get_num_threads(), help='threads of torch'
    )
    parser.add_argument('--root', type=Path, help='where the datasets are')
    parser.add_argument(
        '--out',
        type=Path,
        default=Path(__file__).parent / 'results' / 'speed.csv',
        help='the CSV file; the plot goes next to it',
    )
    parser.add_argument(
        '--in-process',
        action='store_true',
        help='no processes of their own: peak memory is then that of everything',
    )
    parser.add_argument('--child', help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def _tasks(args: argparse.Namespace) -> dict[Task, Callable[[], list[Row]]]:
    out: dict[Task, Callable[[], list[Row]]] = {}
    turns = Turns(args.repeats, args.seconds)
    for size in args.sizes:
        key = ('stage1', size, args.threads)
        out[key] = partial(measure_stage1, size, turns)
        for number in args.variants:
            key = ('stage2', f'{size} x {number}', args.threads)
            out[key] = partial(measure_stage2, size, number, turns)
    for case in args.tune:
        key = ('tune', case, args.threads)
        out[key] = partial(measure_tune, case, args.root, args.epochs)
    for case in args.pipeline:
        key = ('pipeline', case, args.threads)
        if args.in_process:
            out[key] = partial(measure_pipeline, case, args.epochs)
        else:
            out[key] = partial(_pipeline_apart, case, args)
    return out


def main(argv: Sequence[str] | None = None) -> int:
    r"""Runs what is not yet in the results file.

    Args:
        argv (Sequence[str], optional): The arguments. (default: :obj:`None`)
    """
    args = parse(argv)
    torch.set_num_threads(args.threads)
    if args.child is not None:
        rows = measure_pipeline(args.child, args.epochs)
        print(json.dumps([asdict(row) for row in rows]))
        return 0

    console = Console()
    rows = read_rows(args.out)
    done = {row.task for row in rows if LAST.get(row.measurement) == row.quantity}
    failed = 0
    for task, measure in _tasks(args).items():
        if task in done:
            continue
        with console.status(' '.join(map(str, task[:2]))):
            try:
                new = measure()
            except (ConnectionError, ValueError, subprocess.CalledProcessError) as e:
                console.print(f'{task[0]} {task[1]} failed: {e}')
                failed += 1
                continue
        append_rows(args.out, new)
        rows += new
    new = growth(rows, args.threads)
    if new and new[0].task not in {row.task for row in rows}:
        append_rows(args.out, new)
        rows += new
    plot(
        [row for row in rows if row.threads == args.threads],
        args.out.with_suffix('.png'),
    )
    print_table(rows, console)
    console.print(f'written to {args.out}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
