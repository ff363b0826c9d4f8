r"""Measures the time of an epoch of every encoder with its published hyperparameters,
without validation.

With :obj:`--steps`, an epoch is cut to this number of mini-batches: a whole epoch of
WHATsNet on qaPH takes minutes.

To compare two states of the code, run it with each of them, under two labels, into the
same file: the table has a column per label, and the ratio of the first to the last.
"""

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from tgx_anchor.benchmark import fill_table
from tgx_anchor.benchmark.methods import load_setting, new_model, one_split, prepare
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.benchmark.tables import publish_table
from tgx_anchor.datasets.location import dataset_root
from tgx_anchor.io import ResultTable
from tgx_anchor.nn import AnchorPredictor
from tgx_anchor.paper import BASELINES

OUT = Path(__file__).parent / 'results' / 'encoders.csv'

# Label, setting, method, number of threads, steps of an epoch at most (0: all).
Task = tuple[str, str, str, int, int]


@dataclass(frozen=True)
class Row:
    r"""The seconds of an epoch, over all epochs of one training but the first."""

    label: str
    setting: str
    method: str
    threads: int
    num_steps: int
    num_epochs: int
    best_seconds: float
    median_seconds: float


def measure(task: Task, tell: Tell, *, root: str | None, num_epochs: int) -> list[Row]:
    r"""Trains for some epochs, and returns the row of their seconds.

    Args:
        task (Task): The task.
        tell (callable): Shows the progress.
        root (str, optional): The folder of the datasets.
        num_epochs (int): The number of epochs.
    """
    _, setting, method, _, num_steps = task
    # One more, since caches are filled in the first epoch.
    model = new_model(method, setting, num_epochs + 1)
    cache = dataset_root(root) / 'embedding'
    data = one_split(prepare(load_setting(setting, root), model, cache), 0)
    del data['val_mask']
    size = model.batch_size if isinstance(model, AnchorPredictor) else None
    if num_steps > 0 and size is not None:
        chosen = data.train_mask.nonzero().view(-1)
        order = torch.randperm(
            chosen.numel(), generator=torch.Generator().manual_seed(0)
        )
        data.train_mask[chosen[order[num_steps * size :]]] = False
    model.fit(
        data,
        callback=lambda record: tell(f'{method} {record["epoch"]:.0f}'),
        on_interrupt='raise',
    )
    seconds = [record['seconds'] for record in model.history[1:]]
    best, median = min(seconds), statistics.median(seconds)
    return [Row(*task, len(seconds), round(best, 4), round(median, 4))]


def make_table(rows: Sequence[Row]) -> list[list[str]]:
    r"""Returns the best seconds of an epoch by label as lines of text, header first.

    Args:
        rows (list[Row]): The rows.
    """
    labels = list(dict.fromkeys(row.label for row in rows))
    seconds: dict[tuple[str, str, int, int], dict[str, float]] = {}
    for row in rows:
        key = row.setting, row.method, row.threads, row.num_steps
        seconds.setdefault(key, {})[row.label] = row.best_seconds
    header = ['setting', 'method', 'threads', 'steps']
    header += [f'{label} (s)' for label in labels]
    table = [[*header, 'ratio'] if len(labels) > 1 else header]
    for (setting, method, threads, num_steps), found in seconds.items():
        line = [setting, method, str(threads), str(num_steps or 'all')]
        line += [f'{found[each]:.3g}' if each in found else '' for each in labels]
        if len(labels) > 1:
            both = labels[0] in found and labels[-1] in found
            line.append(f'{found[labels[0]] / found[labels[-1]]:.2f}' if both else '')
        table.append(line)
    return table


def main(argv: Sequence[str] | None = None) -> int:
    r"""Measures what is missing, and writes the table.

    Args:
        argv (list[str], optional): The command line. (default: :obj:`None`)

    Returns:
        Zero, or one if a measurement failed.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n\n')[0])
    add = parser.add_argument
    add('--label', default='now', help='the name of this state of the code')
    add('--datasets', nargs='+', default=['qaBI'])
    add('--methods', nargs='+', default=list(BASELINES), choices=BASELINES)
    add('--epochs', type=int, default=3, help='the number of epochs, after a first one')
    add('--steps', type=int, default=0, help='at most so many mini-batches (0: all)')
    add('--threads', type=int, default=1)
    add('--root', help='the folder of the datasets (default: the cache of PyG)')
    add('--out', type=Path, default=OUT, help='the CSV file; the table goes next to it')
    add('--in-process', action='store_true', help='start no processes')
    args = parser.parse_args(argv)

    key = ('label', 'setting', 'method', 'threads', 'num_steps')
    table = ResultTable(Row, args.out, key=key)
    tasks: list[Task] = [
        (args.label, setting, method, args.threads, args.steps)
        for setting in args.datasets
        for method in args.methods
    ]
    failures = fill_table(
        table,
        partial(measure, root=args.root, num_epochs=args.epochs),
        tasks,
        threads=args.threads,
        isolated=not args.in_process,
        progress=sys.stderr.isatty(),
    )
    for task, failure in failures.items():
        print(*task, 'failed:', failure.message)
    publish_table(make_table(table.rows), args.out, num_left=2)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
