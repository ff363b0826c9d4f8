r"""Measures how well a model that was fitted on old groups predicts new groups of the
same people.

Each dataset is cut into two halves in the order of its file: two tables that share
nothing but the ids of people. The anchors of the first half are known, and those of the
second half are predicted in three ways:

* :obj:`inductive`: fitted on the first half, without recognising anybody in the second
  (:obj:`same_people=False`).
* :obj:`carried`: fitted on the first half, with all that is known of its people.
* :obj:`both`: fitted on both halves in one table, in which the anchors of the second
  half are unknown.

:obj:`degree` is the degree heuristic on both halves in one table.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from rich.console import Console

from tgx_anchor.benchmark import fill_table
from tgx_anchor.benchmark.methods import load_setting, new_model
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.benchmark.tables import markdown_table, rich_table
from tgx_anchor.data import AnchorData
from tgx_anchor.io import ResultTable
from tgx_anchor.io.files import replace_file
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import (
    AnchorModel,
    AnchorRadar,
    DegreeHeuristic,
    StackedAnchorRadar,
)

OUT = Path(__file__).parent / 'results' / 'old_and_new.csv'
WAYS = ('degree', 'inductive', 'carried', 'both')
PARAMS = ('paper', 'default', 'stacked')

# Setting, model and hyperparameters, share of the first half with known anchors.
Task = tuple[str, str, float]


@dataclass(frozen=True)
class Row:
    r"""The accuracies on the second half, and the seconds of the carried prediction."""

    setting: str
    params: str
    known: float
    degree: float
    inductive: float
    carried: float
    both: float
    fit_seconds: float
    predict_seconds: float


def make_model(setting: str, params: str) -> AnchorModel:
    r"""Returns a model, not yet fitted.

    Args:
        setting (str): The setting.
        params (str): :obj:`"paper"` or :obj:`"default"` for AnchorRadar with these
            hyperparameters, or :obj:`"stacked"` for StackedAnchorRadar without time.
    """
    if params == 'stacked':
        return StackedAnchorRadar('both', time=False)
    return new_model('AnchorRadar', setting) if params == 'paper' else AnchorRadar()


def halves(data: AnchorData, known: float) -> tuple[AnchorData, AnchorData, AnchorData]:
    r"""Returns the two halves of a hypergraph and the whole. The :obj:`train_mask` of
    first half and whole selects the known anchors, that of the second half none.

    Args:
        data (AnchorData): The hypergraph.
        known (float): The share of the first half with known anchors.
    """
    num_hyperedges = data.num_hyperedges
    is_old = torch.arange(num_hyperedges) < num_hyperedges // 2
    draw = torch.rand(num_hyperedges, generator=torch.Generator().manual_seed(0))
    data.val_mask = data.test_mask = None
    data.train_mask = is_old & data.known_mask & data.choice_mask & (draw < known)
    old, new = (
        data.hyperedge_subgraph(mask, relabel_nodes=True) for mask in (is_old, ~is_old)
    )
    return old, new, data


def measure(task: Task, tell: Tell, *, root: str | None) -> list[Row]:
    r"""Predicts the second half in all ways, and returns a row.

    Args:
        task (Task): The task.
        tell (callable): Shows the progress.
        root (str, optional): The folder of the datasets.
    """
    setting, params, known = task
    tell(f'{setting} {params}: features')
    model = make_model(setting, params)
    old, new, whole = map(
        model.required_transform(), halves(load_setting(setting, root), known)
    )
    is_new = torch.arange(whole.num_hyperedges) >= old.num_hyperedges
    mask = is_new & whole.known_mask & whole.choice_mask

    tell(f'{setting} {params}: first half')
    start = time.perf_counter()
    model.fit(old, on_interrupt='raise')
    fit_seconds = time.perf_counter() - start
    evaluator = AnchorEvaluator()
    inductive = evaluator.eval(model.predict_proba(new, same_people=False), new)
    start = time.perf_counter()
    carried = evaluator.eval(model.predict_proba(new), new)
    predict_seconds = time.perf_counter() - start

    tell(f'{setting} {params}: both halves')
    both = make_model(setting, params).fit(whole, on_interrupt='raise')
    row = Row(
        setting,
        params,
        known,
        degree=round(DegreeHeuristic().fit(whole).score(whole, mask), 6),
        inductive=round(inductive['accuracy'], 6),
        carried=round(carried['accuracy'], 6),
        both=round(both.score(whole, mask), 6),
        fit_seconds=round(fit_seconds, 2),
        predict_seconds=round(predict_seconds, 2),
    )
    return [row]


def make_table(rows: Sequence[Row]) -> list[list[str]]:
    r"""Returns the accuracies in percent as lines of text, the header first.

    Args:
        rows (list[Row]): The rows.
    """
    head = ['setting', 'params', 'known', *WAYS, 'fit', 'predict']
    lines = [
        [
            row.setting,
            row.params,
            f'{100 * row.known:g} %',
            *(f'{100 * getattr(row, way):.1f}' for way in WAYS),
            f'{row.fit_seconds:.1f} s',
            f'{row.predict_seconds:.1f} s',
        ]
        for row in rows
    ]
    return [head, *lines]


def main(argv: Sequence[str] | None = None) -> int:
    r"""Measures what is missing, and writes the report.

    Args:
        argv (list[str], optional): The command line. (default: :obj:`None`)

    Returns:
        Zero, or one if a measurement failed.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n\n')[0])
    add = parser.add_argument
    add('--datasets', nargs='+', default=['emER', 'emEU', 'qaPH'])
    add('--params', nargs='+', default=PARAMS, choices=PARAMS)
    add('--known', nargs='+', type=float, default=[1.0, 0.075])
    add('--jobs', type=int, default=1, help='the number of processes at a time')
    add('--root', help='the folder of the datasets (default: the cache of PyG)')
    add('--out', type=Path, default=OUT, help='the CSV file; the table goes next to it')
    add('--in-process', action='store_true', help='start no processes')
    args, console = parser.parse_args(argv), Console()

    table = ResultTable(Row, args.out, key=('setting', 'params', 'known'))
    tasks: list[Task] = [
        (setting, params, known)
        for setting in args.datasets
        for known in args.known
        for params in args.params
    ]
    failures = fill_table(
        table,
        partial(measure, root=args.root),
        tasks,
        jobs=args.jobs,
        isolated=not args.in_process,
        progress=sys.stderr.isatty(),
    )
    for task, failure in failures.items():
        console.print(f'{" ".join(map(str, task))} failed: {failure.message}')
    lines = make_table(table.rows)
    console.print(rich_table(lines, num_left=2))
    with replace_file(args.out.with_suffix('.md')) as part:
        part.write_text(markdown_table(lines, num_left=2), encoding='utf-8')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
