r"""Compares the probabilities of AnchorRadar with its accuracy on the test hyperedges,
before and after they are calibrated.

* :obj:`val`: calibrated on the validation anchors, as with every split.
* :obj:`cross-fit`: calibrated on training anchors that further models were not shown,
  as for data of your own without validation anchors.

The expected calibration error is that of bins of equal count, in which the highest
probability of each test hyperedge is compared with the accuracy. The bins are in the
table, too: they are the reliability diagram.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.benchmark import fill_table
from tgx_anchor.benchmark.methods import load_setting, new_model, one_split, prepare
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.benchmark.tables import publish_table
from tgx_anchor.data import AnchorData
from tgx_anchor.io import ResultTable
from tgx_anchor.metrics import (
    AnchorEvaluator,
    calibration_bins,
    expected_calibration_error,
)

SETTINGS = ('emER', 'qaBI', 'qaPH', 'emEU', 'coDB_first', 'coDB_last', 'planted')
BEFORE = 'before'
SOURCES = ('val', 'cross-fit')
NUM_BINS = 15
OUT = Path(__file__).parent / 'results' / 'calibration.csv'
EXAMPLE = """example:
  TGX_ANCHOR_MIRROR=data python benchmarks/calibration.py --settings qaBI coDB_last
"""

# Setting and split.
Task = tuple[str, int]


@dataclass(frozen=True)
class Row:
    r"""One bin of a reliability diagram, with the error of all bins."""

    setting: str
    split: int
    source: str
    bin: int
    size: int
    probability: float
    share_right: float
    error: float
    accuracy: float
    seconds: float


KEY = ('setting', 'split', 'source', 'bin')


def measure(task: Task, _: Tell, *, root: Path, epochs: int | None) -> list[Row]:
    r"""Measures a setting before and after each calibration.

    Args:
        task (Task): The setting and the split.
        root (Path): The folder of the datasets.
        epochs (int, optional): The number of epochs; the published one if :obj:`None`.
    """
    setting, split = task
    data = prepare(load_setting(setting, root), new_model('AnchorRadar', setting))
    data = one_split(data, split)
    rows = []
    for source in SOURCES:
        model = new_model('AnchorRadar', setting, epochs)
        part = data.clone()
        if source != 'val':
            del part.val_mask
        start = time.perf_counter()
        model.fit(part)
        seconds = round(time.perf_counter() - start, 3)
        if source == 'val':
            rows += _bins(task, BEFORE, model.rank_score(data), data, 0.0)
        rows += _bins(task, source, model.predict_proba(data), data, seconds)
    return rows


def _bins(
    task: Task, source: str, proba: Tensor, data: AnchorData, seconds: float
) -> list[Row]:
    test = data.test_mask
    best = scatter(proba, data.hyperedge_index[1], 0, data.num_hyperedges, 'max')
    stated = best[test].clamp(0, 1)
    right = AnchorEvaluator().per_hyperedge(proba, data, test)['accuracy']
    error = round(expected_calibration_error(stated, right, NUM_BINS), 6)
    accuracy = round(float(right.mean()), 6)
    found = calibration_bins(stated, right, NUM_BINS)
    return [
        Row(
            *task,
            source,
            i,
            int(found.size[i]),
            round(float(found.probability[i]), 6),
            round(float(found.accuracy[i]), 6),
            error,
            accuracy,
            seconds,
        )
        for i in range(len(found.size))
    ]


# Report -------------------------------------------------------------------------------


def make_table(rows: Sequence[Row]) -> list[list[str]]:
    r"""Returns the errors as lines of text, the header first.

    Args:
        rows (list[Row]): The rows.
    """
    sources = (BEFORE, *SOURCES)
    header = ['setting', 'split', 'test groups', 'accuracy']
    table = [[*header, *(f'error {source}' for source in sources)]]
    found = {(row.setting, row.split, row.source): row for row in rows}
    sizes: dict[Task, int] = {}
    for row in rows:
        if row.source == BEFORE:
            task = row.setting, row.split
            sizes[task] = sizes.get(task, 0) + row.size
    for task, size in sizes.items():
        line = [task[0], str(task[1]), f'{size:,}']
        line.append(f'{100 * found[(*task, BEFORE)].accuracy:.1f}')
        for source in sources:
            each = found.get((*task, source))
            line.append('' if each is None else f'{each.error:.3f}')
        table.append(line)
    return table


def plot(rows: Sequence[Row], path: Path) -> None:
    r"""Draws the reliability diagrams of the first split, one panel per setting.

    Args:
        rows (list[Row]): The rows.
        path (Path): The image.
    """
    settings = list(dict.fromkeys(row.setting for row in rows))
    if not settings:
        return
    figure = Figure(figsize=(3.2 * len(settings), 3.4), layout='constrained')
    panels = figure.subplots(1, len(settings), squeeze=False)[0]
    for axes, setting in zip(panels, settings, strict=True):
        axes.plot([0, 1], [0, 1], '--', color='grey', linewidth=1)
        for source in (BEFORE, *SOURCES):
            bins = [
                row
                for row in rows
                if (row.setting, row.split, row.source) == (setting, 0, source)
            ]
            if bins:
                stated = [row.probability for row in bins]
                label = f'{source}, {bins[0].error:.3f}'
                axes.plot(stated, [row.share_right for row in bins], 'o-', label=label)
        axes.set(title=setting, xlabel='probability', ylabel='share of right anchors')
        axes.legend(fontsize=7)
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
    add('--settings', nargs='+', default=list(SETTINGS))
    add('--splits', type=int, default=1, help='the number of splits')
    add('--epochs', type=int, help='epochs per stage, other than the published ones')
    add('--out', type=Path, default=OUT, help='the CSV file')
    add('--root', type=Path, default=Path(tempfile.gettempdir()) / 'tgx_anchor')
    add('--in-process', action='store_true', help='run all in this process')
    args = parser.parse_args(argv)

    table = ResultTable(Row, args.out, key=KEY)
    tasks: list[Task] = [
        (setting, split) for split in range(args.splits) for setting in args.settings
    ]
    failures = fill_table(
        table,
        partial(measure, root=args.root, epochs=args.epochs),
        tasks,
        is_done=lambda task: (*task, SOURCES[-1], 0) in table,
        isolated=not args.in_process,
        progress=sys.stderr.isatty(),
    )
    title = f'expected calibration error, {NUM_BINS} bins of equal count'
    publish_table(make_table(table.rows), args.out, title)
    plot(table.rows, args.out.with_suffix('.png'))
    for task, failure in failures.items():
        print(f'{" ".join(map(str, task))}: {failure.message}', file=sys.stderr)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
