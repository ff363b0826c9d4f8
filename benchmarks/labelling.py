r"""Measures how much more accurate AnchorRadar becomes if it chooses the groups whose
anchors it is told next.

Each run starts with random known anchors, and learns more of them in steps, from a pool
of half of the groups. The accuracy is that on the other half, which is never asked for.

* :obj:`suggest`: the groups of :meth:`AnchorRadar.suggest`.
* :obj:`margin`: the groups with the smallest margin.
* :obj:`random`: random groups.

Groups with the same members are told together, as in all splits. The hyperparameters
are the published ones.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from matplotlib.figure import Figure
from torch import Tensor

from tgx_anchor.benchmark import fill_table
from tgx_anchor.benchmark.methods import load_setting, new_model, prepare
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.benchmark.tables import mean_text, publish_table
from tgx_anchor.data import AnchorData
from tgx_anchor.io import ResultTable
from tgx_anchor.nn import AnchorModel
from tgx_anchor.transforms import RandomHyperedgeSplit
from tgx_anchor.utils import distinct_hyperedges, group_order

STRATEGIES = ('suggest', 'margin', 'random')
# Shares of the distinct groups, in per mille.
SHARES = (25, 35, 45, 55, 65, 75)
VAL, TEST = 0.025, 0.45
OUT = Path(__file__).parent / 'results' / 'labelling.csv'
EXAMPLE = """example:
  TGX_ANCHOR_MIRROR=data python benchmarks/labelling.py --settings qaBI --seeds 5
"""

# Setting, strategy, seed.
Task = tuple[str, str, int]


@dataclass(frozen=True)
class Row:
    r"""The accuracy with a number of known groups."""

    setting: str
    strategy: str
    seed: int
    per_mille: int
    num_known: int
    accuracy: float


KEY = ('setting', 'strategy', 'seed', 'per_mille')


def smallest_margin(model: AnchorModel, data: AnchorData, pool: Tensor) -> Tensor:
    r"""Returns the groups of the pool by rising margin.

    Args:
        model (AnchorModel): The fitted model.
        data (AnchorData): The hypergraph.
        pool (torch.Tensor): The groups to choose from.
    """
    proba = model.predict_proba(data)
    order = group_order(proba, data.hyperedge_index[1], data.num_hyperedges)
    ranked = proba[order.perm]
    group = pool.nonzero().view(-1)
    begin = order.ptr[group]
    margin = ranked[begin] - ranked[begin + 1]
    return group[torch.argsort(margin, stable=True)]


def choose(
    strategy: str,
    model: AnchorModel,
    data: AnchorData,
    pool: Tensor,
    number: Tensor,
    count: int,
    seed: int,
) -> Tensor:
    r"""Returns the groups to be told next, with all copies of them in the pool.

    Args:
        strategy (str): One of :obj:`STRATEGIES`.
        model (AnchorModel): The fitted model.
        data (AnchorData): The hypergraph, with :obj:`train_mask`.
        pool (torch.Tensor): The groups to choose from.
        number (torch.Tensor): The number of the node set of each group.
        count (int): The number of node sets to choose.
        seed (int): The seed of random choices.

    Shapes:
        - **output:** :math:`(M)`, a mask
    """
    if strategy == 'suggest':
        table = model.suggest(data, count, pool)
        group = torch.tensor(table['group'].to_pylist(), dtype=torch.long)
    elif strategy == 'margin':
        group = smallest_margin(model, data, pool)
    else:
        generator = torch.Generator().manual_seed(seed)
        group = pool.nonzero().view(-1)
        group = group[torch.randperm(group.numel(), generator=generator)]
    sets = list(dict.fromkeys(number[group].tolist()))[:count]
    return pool & torch.isin(number, torch.tensor(sets, dtype=torch.long))


def measure(task: Task, tell: Tell, *, root: Path, epochs: int | None) -> list[Row]:
    r"""Follows one strategy from the first to the last share of known groups.

    Args:
        task (Task): The task.
        tell (callable): Shows the progress.
        root (Path): The folder of the datasets.
        epochs (int, optional): The number of epochs; the published one if :obj:`None`.
    """
    setting, strategy, seed = task
    data = prepare(load_setting(setting, root), new_model('AnchorRadar', setting))
    # Suggestions come as numbers of groups.
    data.hyperedge_id = torch.arange(data.num_hyperedges)
    split = RandomHyperedgeSplit(SHARES[0] / 1000, VAL, TEST, seed=seed)
    data = split(data)
    eligible = data.known_mask & data.choice_mask
    pool = eligible & ~(data.train_mask | data.val_mask | data.test_mask)
    number = distinct_hyperedges(
        data.hyperedge_index, int(data.num_nodes or 0), data.num_hyperedges
    )
    total = int(torch.unique(number[eligible]).numel())
    rows = []
    for step, share in enumerate(SHARES):
        model = new_model('AnchorRadar', setting, epochs).fit(data)
        accuracy = round(model.score(data, data.test_mask), 6)
        count = int(torch.unique(number[data.train_mask]).numel())
        rows.append(Row(*task, share, count, accuracy))
        tell(f'{setting} {strategy} {share / 10:.1f} %: {100 * accuracy:.1f} %')
        if share == SHARES[-1]:
            break
        more = round(total * SHARES[step + 1] / 1000) - count
        told = choose(strategy, model, data, pool, number, more, 100 * seed + step)
        data.train_mask = data.train_mask | told
        pool = pool & ~told
    return rows


# Report -------------------------------------------------------------------------------


def curves(rows: Sequence[Row]) -> dict[tuple[str, str], list[list[float]]]:
    r"""Returns the accuracies in percent by setting and strategy: for each seed, one
    per share.

    Args:
        rows (list[Row]): The rows.
    """
    out: dict[tuple[str, str], list[list[float]]] = {}
    known = {tuple(getattr(row, name) for name in KEY): row for row in rows}
    for setting in dict.fromkeys(row.setting for row in rows):
        for strategy in STRATEGIES:
            for seed in sorted({row.seed for row in rows}):
                keys = [(setting, strategy, seed, share) for share in SHARES]
                if all(key in known for key in keys):
                    curve = [100 * known[key].accuracy for key in keys]
                    out.setdefault((setting, strategy), []).append(curve)
    return out


def mean_curve(lines: Sequence[Sequence[float]]) -> list[float]:
    r"""Returns the mean of several curves.

    Args:
        lines (list[list[float]]): The curves, one per seed.
    """
    return [statistics.fmean(column) for column in zip(*lines, strict=True)]


def area(curve: Sequence[float]) -> float:
    r"""Returns the mean height of a curve, by the trapezoidal rule.

    Args:
        curve (list[float]): Accuracies at equal distances.
    """
    return (sum(curve) - (curve[0] + curve[-1]) / 2) / (len(curve) - 1)


def make_table(rows: Sequence[Row]) -> list[list[str]]:
    r"""Returns the mean curves and areas as lines of text, the header first.

    Args:
        rows (list[Row]): The rows.
    """
    shares = [f'{share / 10:.1f} %' for share in SHARES]
    table = [['setting', 'strategy', 'seeds', *shares, 'area', 'area - random']]
    found = curves(rows)
    for (setting, strategy), lines in found.items():
        means = [
            f'{statistics.fmean(column):.1f}' for column in zip(*lines, strict=True)
        ]
        areas = [area(line) for line in lines]
        base = [area(line) for line in found.get((setting, 'random'), [])]
        gain = ''
        if strategy != 'random' and len(base) == len(areas):
            gain = mean_text([a - b for a, b in zip(areas, base, strict=True)], 1)
        line = [setting, strategy, str(len(lines)), *means, mean_text(areas, 1), gain]
        table.append(line)
    return table


def plot(rows: Sequence[Row], path: Path) -> None:
    r"""Draws the mean curves, one panel per setting.

    Args:
        rows (list[Row]): The rows.
        path (Path): The image.
    """
    found = curves(rows)
    settings = list(dict.fromkeys(setting for setting, _ in found))
    if not settings:
        return
    figure = Figure(figsize=(4 * len(settings), 3.5), layout='constrained')
    panels = figure.subplots(1, len(settings), squeeze=False)[0]
    for axes, setting in zip(panels, settings, strict=True):
        for strategy in STRATEGIES:
            lines = found.get((setting, strategy), [])
            if lines:
                means = [
                    statistics.fmean(column) for column in zip(*lines, strict=True)
                ]
                axes.plot([share / 10 for share in SHARES], means, 'o-', label=strategy)
        axes.set(title=setting, xlabel='known groups, %', ylabel='accuracy, %')
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=100)


def main(argv: Sequence[str] | None = None) -> int:
    r"""Measures what is missing, and writes the report.

    Args:
        argv (list[str], optional): The command line. (default: :obj:`None`)

    Returns:
        Zero, or one if a measurement failed.
    """
    parser = argparse.ArgumentParser(
        description=(__doc__ or '').partition('\n\n')[0],
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add('--settings', nargs='+', default=['qaBI', 'coDB_last', 'emEU'])
    add('--strategies', nargs='+', choices=STRATEGIES, default=list(STRATEGIES))
    add('--seeds', type=int, default=5, help='the number of seeds')
    add('--epochs', type=int, help='epochs per stage, other than the published ones')
    add('--out', type=Path, default=OUT, help='the CSV file')
    add('--root', type=Path, default=Path(tempfile.gettempdir()) / 'tgx_anchor')
    add('--jobs', type=int, default=1)
    add('--in-process', action='store_true', help='run all in this process')
    args = parser.parse_args(argv)

    table = ResultTable(Row, args.out, key=KEY)
    tasks: list[Task] = [
        (setting, strategy, seed)
        for seed in range(args.seeds)
        for setting in args.settings
        for strategy in args.strategies
    ]
    failures = fill_table(
        table,
        partial(measure, root=args.root, epochs=args.epochs),
        tasks,
        is_done=lambda task: (*task, SHARES[-1]) in table,
        jobs=args.jobs,
        isolated=not args.in_process,
        progress=sys.stderr.isatty(),
    )
    publish_table(make_table(table.rows), args.out, 'accuracy in %', num_left=2)
    plot(table.rows, args.out.with_suffix('.png'))
    for task, failure in failures.items():
        print(f'{" ".join(map(str, task))}: {failure.message}', file=sys.stderr)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
