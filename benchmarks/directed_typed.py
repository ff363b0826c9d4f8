r"""Measures what sides and types add to AnchorRadar on planted data, in which they
matter or do not.

A part of the variance of the strengths of people belongs to the side on which they are
in a group (:obj:`directed`), or to the type of the group (:obj:`typed`); with the share
zero, sides and types say nothing about anchors. The models are

* :obj:`plain`: AnchorRadar, which sees neither.
* :obj:`context`: ContextAnchorRadar, which chooses its penalty.

Each seed draws other people, groups and known anchors. Differences are those to
:obj:`plain` on the same draw, with the standard error of their mean.
"""

import argparse
import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from tgx_anchor.benchmark import fill_table
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.benchmark.tables import markdown_table, rich_table
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.io import ResultTable
from tgx_anchor.io.files import replace_file
from tgx_anchor.nn import AnchorModel, AnchorRadar, ContextAnchorRadar
from tgx_anchor.transforms import RandomHyperedgeSplit

OUT = Path(__file__).parent / 'results' / 'directed_typed.csv'
KINDS: dict[str, dict[str, Any]] = {
    'directed': {'directed': True},
    'typed': {'num_types': 3},
    'both': {'directed': True, 'num_types': 2},
}
MODELS = ('plain', 'context')

# Kind of data, share of the variance that belongs to contexts, share of known groups,
# seed.
Task = tuple[str, float, float, int]


@dataclass(frozen=True)
class Row:
    r"""The accuracies on the groups with unknown anchors, and the chosen penalty."""

    kind: str
    share: float
    known: float
    seed: int
    plain: float
    context: float
    penalty: float


KEY = ('kind', 'share', 'known', 'seed')


def make_models() -> dict[str, AnchorModel]:
    r"""Returns the models by name, not yet fitted. Probabilities are not calibrated,
    which does not change the order of members.
    """
    return {
        'plain': AnchorRadar(calibration=None),
        'context': ContextAnchorRadar(calibration=None),
    }


def measure(task: Task, tell: Tell, *, num_nodes: int, num_groups: int) -> list[Row]:
    r"""Fits all models on one draw, and returns a row.

    Args:
        task (Task): The task.
        tell (callable): Shows the progress.
        num_nodes (int): The number of people.
        num_groups (int): The number of groups.
    """
    kind, share, known, seed = task
    dataset = PlantedAnchorDataset(
        num_nodes, num_groups, context=share, seed=seed, **KINDS[kind]
    )
    data = RandomHyperedgeSplit(known, 0.025, seed=seed)(dataset[0])
    accuracy, penalty = {}, math.inf
    for name, model in make_models().items():
        tell(f'{kind} {share:g} {known:g} seed {seed}: {name}')
        prepared = model.required_transform()(data.clone())
        model.fit(prepared, on_interrupt='raise')
        accuracy[name] = round(model.score(prepared, data.test_mask), 6)
        if isinstance(model, ContextAnchorRadar):
            penalty = model.chosen_penalty
    return [Row(*task, accuracy['plain'], accuracy['context'], penalty)]


def make_table(rows: Sequence[Row]) -> list[list[str]]:
    r"""Returns means and differences in percent as lines of text, the header first.

    Args:
        rows (list[Row]): The rows.
    """
    head = ['data', 'share', 'known', 'seeds', *MODELS, 'context - plain']
    lines = []
    for setting in dict.fromkeys((row.kind, row.share, row.known) for row in rows):
        found = [row for row in rows if (row.kind, row.share, row.known) == setting]
        means = [
            f'{100 * statistics.mean(getattr(row, name) for row in found):.1f}'
            for name in MODELS
        ]
        gain = _difference([row.context - row.plain for row in found])
        kind, share, known = setting
        numbers = [f'{share:g}', f'{100 * known:g} %', str(len(found))]
        lines.append([kind, *numbers, *means, gain])
    return [head, *lines]


def _difference(values: Sequence[float]) -> str:
    mean = 100 * statistics.mean(values)
    if len(values) < 2:
        return f'{mean:+.2f}'
    error = 100 * statistics.stdev(values) / math.sqrt(len(values))
    return f'{mean:+.2f} ± {error:.2f}'


def main(argv: Sequence[str] | None = None) -> int:
    r"""Measures what is missing, and writes the report.

    Args:
        argv (list[str], optional): The command line. (default: :obj:`None`)

    Returns:
        Zero, or one if a measurement failed.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n\n')[0])
    add = parser.add_argument
    add('--kinds', nargs='+', default=list(KINDS), choices=list(KINDS))
    add('--shares', nargs='+', type=float, default=[0.0, 0.5, 0.8])
    add('--known', nargs='+', type=float, default=[0.075])
    add('--seeds', type=int, default=6, help='the number of seeds')
    add('--num-nodes', type=int, default=400)
    add('--num-groups', type=int, default=8000)
    add('--jobs', type=int, default=1, help='the number of processes at a time')
    add('--out', type=Path, default=OUT, help='the CSV file; the table goes next to it')
    add('--in-process', action='store_true', help='start no processes')
    args, console = parser.parse_args(argv), Console()

    table = ResultTable(Row, args.out, key=KEY)
    tasks: list[Task] = [
        (kind, share, known, seed)
        for kind in args.kinds
        for known in args.known
        for share in args.shares
        # Not those on which the rule of the penalty was tried. That an infinite penalty
        # leaves out the features as well was decided after a first run on these.
        for seed in range(100, 100 + args.seeds)
    ]
    failures = fill_table(
        table,
        partial(measure, num_nodes=args.num_nodes, num_groups=args.num_groups),
        tasks,
        jobs=args.jobs,
        isolated=not args.in_process,
        progress=sys.stderr.isatty(),
    )
    for task, failure in failures.items():
        console.print(f'{" ".join(map(str, task))} failed: {failure.message}')
    order = {task: place for place, task in enumerate(tasks)}
    rows = sorted(
        table.rows,
        key=lambda r: order.get((r.kind, r.share, r.known, r.seed), len(order)),
    )
    lines = make_table(rows)
    console.print(rich_table(lines, num_left=1))
    with replace_file(args.out.with_suffix('.md')) as part:
        part.write_text(markdown_table(lines, num_left=1), encoding='utf-8')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
