r"""Measures StackedAnchorRadar beside AnchorRadar, on the same random splits.

Split :math:`k` is :obj:`RandomHyperedgeSplit(train, 0.025, seed=k)`. The experiments
are

* :obj:`main`: all learners without time, with 7.5 % training anchors.
* :obj:`time`: with the times of groups, and with the same times in a random order.
  Datasets without times take the order of the file.
* :obj:`scarce`: 5 % and 2.5 % training anchors.
* :obj:`curve`: from 1 % to 50 % training anchors.
* :obj:`ablation`: fewer views, and other last steps.
* :obj:`structureless`: planted groups, and the same with anchors drawn at random. Each
  split has groups of its own.
* :obj:`other`: the tables of :obj:`--tables`.

A measurement that two experiments have in common is made once.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from rich.console import Console

from tgx_anchor.benchmark import fill_table
from tgx_anchor.benchmark.memory import peak_memory, reset_peak_memory
from tgx_anchor.benchmark.methods import load_setting
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.io import ResultTable
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import AnchorModel, AnchorRadar, RandomHeuristic, StackedAnchorRadar
from tgx_anchor.paper import SETTINGS as PUBLISHED
from tgx_anchor.transforms import RandomHyperedgeSplit

# The settings, cheap ones first.
SETTINGS = ('emER', 'qaBI', 'emEU', 'coDB_first', 'coDB_last', 'qaPH')
TIMED = ('emER', 'qaBI', 'emEU', 'coDB_first', 'coDB_last')
PLANTED = ('planted', 'planted random')
EXPERIMENTS = ('main', 'time', 'scarce', 'curve', 'ablation', 'structureless', 'other')
OURS, BASE, CHANCE = 'both', 'AnchorRadar', 'Random'
LEARNERS = ('mlp', 'boosting', OURS)
TIME, SHUFFLED = f'{OURS}+time', f'{OURS}+shuffled time'
# Models with some views, and with one last step; all views and 'blend' are OURS.
VIEWS = ('', 'A', 'AB', 'ABC', 'ABCF', 'BCDF', 'ACDF', 'ABDF', 'ABCD')
LAST_STEPS = ('belief', 'share', 'strength')
TRAIN, SCARCE = 0.075, (0.05, 0.025)
CURVE = (0.01, 0.025, 0.05, 0.075, 0.2, 0.5)
VAL = 0.025
# emER is small, and its splits differ most.
NUM_SPLITS, NUM_SPLITS_SMALL = 5, 20
OUT = Path(__file__).parent / 'results' / 'stacked.csv'
EXAMPLE = """example:
  TGX_ANCHOR_MIRROR=data python benchmarks/stacked.py --experiments main time --jobs 2
  python benchmarks/stacked.py --experiments other --tables tables/*.csv
"""


class Task(NamedTuple):
    r"""One measurement."""

    experiment: str
    setting: str
    model: str
    train: float
    split: int


@dataclass(frozen=True)
class Row:
    r"""The figures of one measurement on the test hyperedges, the seconds of fitting
    without those of features, and the peak memory of fitting in GiB.
    """

    experiment: str
    setting: str
    model: str
    train: float
    split: int
    accuracy: float
    mrr: float
    ndcg: float
    val_accuracy: float
    fit_seconds: float
    feature_seconds: float
    peak_memory: float
    threads: int


def make_model(name: str, setting: str) -> AnchorModel:
    r"""Returns a model, not yet fitted.

    Args:
        name (str): :obj:`"AnchorRadar"`, :obj:`"Random"`, a learner, :obj:`"both+time"`
            with or without :obj:`"shuffled"`, :obj:`"views AB"` or
            :obj:`"last belief"`.
        setting (str): The setting.
    """
    if name == CHANCE:
        return RandomHeuristic()
    if name == BASE:
        is_published = setting in PUBLISHED
        return AnchorRadar.from_paper(setting) if is_published else AnchorRadar()
    kind, _, value = name.partition(' ')
    args: dict[str, Any] = {}
    if kind == 'views':
        args = {'views': value.replace('none', '')}
    elif kind == 'last':
        args = {'last_step': value}
    learner: Any = name if name in LEARNERS else OURS
    return StackedAnchorRadar(learner, time=name in (TIME, SHUFFLED), **args)


def load(task: Task, root: str | None, tables: Mapping[str, Path]) -> AnchorData:
    r"""Returns the hypergraph of a task with its split.

    Args:
        task (Task): The task.
        root (str, optional): The folder of the datasets.
        tables (dict[str, Path]): The files of further settings.
    """
    setting = task.setting
    if setting in tables:
        column = 'time' if has_time(tables[setting]) else None
        data = AnchorData.from_incidence(tables[setting], time=column)
    elif setting in PLANTED:
        scale = 0.0 if setting == 'planted random' else 2.5
        dataset = PlantedAnchorDataset(scale=scale, seed=task.split)
        data = cast(AnchorData, dataset[0])
    else:
        data = load_setting(setting, root)
    if task.model in (TIME, SHUFFLED) and data.get('hyperedge_time') is None:
        data.hyperedge_time = torch.arange(data.num_hyperedges, dtype=torch.double)
    if task.model == SHUFFLED:
        generator = torch.Generator().manual_seed(task.split)
        order = torch.randperm(data.num_hyperedges, generator=generator)
        data.hyperedge_time = data.hyperedge_time[order]
    out: AnchorData = RandomHyperedgeSplit(task.train, VAL, seed=task.split)(data)
    return out


def measure(
    task: Task, tell: Tell, *, root: str | None, tables: Mapping[str, Path]
) -> list[Row]:
    r"""Fits a model on a split, and returns a row.

    Args:
        task (Task): The task.
        tell (callable): Shows the progress.
        root (str, optional): The folder of the datasets.
        tables (dict[str, Path]): The files of further settings.
    """
    name = f'{task.setting} {task.model} {task.train:g} split {task.split}'
    tell(f'{name}: features')
    model = make_model(task.model, task.setting)
    data = load(task, root, tables)
    start = time.perf_counter()
    data = model.required_transform()(data)
    feature_seconds = time.perf_counter() - start
    tell(f'{name}: fit')
    reset_peak_memory()
    start = time.perf_counter()
    model.fit(data, on_interrupt='raise')
    fit_seconds = time.perf_counter() - start
    score, ranks = model.predict_proba(data), model.rank_score(data)
    memory, evaluator = peak_memory(), AnchorEvaluator()
    result = evaluator.eval(score, data, data.test_mask, ranks)
    val = evaluator.eval(score, data, data.val_mask)
    row = Row(
        *task,
        accuracy=round(result['accuracy'], 6),
        mrr=round(result['mrr'], 6),
        ndcg=round(result['ndcg'], 6),
        val_accuracy=round(val['accuracy'], 6),
        fit_seconds=round(fit_seconds, 3),
        feature_seconds=round(feature_seconds, 3),
        peak_memory=round(memory, 3),
        threads=torch.get_num_threads(),
    )
    return [row]


# Tasks --------------------------------------------------------------------------------


def ablations() -> list[str]:
    r"""Returns the models with fewer views, and with other last steps."""
    return [
        *(f'views {views or "none"}' for views in VIEWS),
        *(f'last {step}' for step in LAST_STEPS),
    ]


def plan(
    experiment: str, settings: Sequence[str], tables: Mapping[str, Path]
) -> Iterator[tuple[str, str, float]]:
    r"""Yields the setting, the model and the training share of all measurements of an
    experiment.

    Args:
        experiment (str): One of :obj:`EXPERIMENTS`.
        settings (list[str]): The settings.
        tables (dict[str, Path]): The files of further settings.
    """
    shares: Sequence[float] = (TRAIN,)
    models: Sequence[str] = (BASE, OURS)
    if experiment == 'main':
        models = (BASE, *LEARNERS)
    elif experiment == 'time':
        models = (BASE, OURS, TIME, SHUFFLED)
        settings = [setting for setting in settings if setting in TIMED]
    elif experiment == 'scarce':
        shares = SCARCE
    elif experiment == 'curve':
        shares = CURVE
    elif experiment == 'ablation':
        models = (*ablations(), OURS)
    elif experiment == 'structureless':
        models, settings = (CHANCE, BASE, OURS), PLANTED
    else:
        settings = list(tables)
    for setting in settings:
        for share in shares:
            for model in models:
                yield setting, model, share
        if setting in tables and has_time(tables[setting]):
            yield setting, TIME, TRAIN


def has_time(path: Path) -> bool:
    r"""Tells whether a table has a column :obj:`time`.

    Args:
        path (Path): The CSV file.
    """
    with path.open(encoding='utf-8') as file:
        return 'time' in file.readline().strip().split(',')


def make_tasks(
    experiments: Sequence[str],
    settings: Sequence[str],
    num_splits: int | None,
    tables: Mapping[str, Path],
) -> list[Task]:
    r"""Returns all tasks without repetition, by split, then cheap settings first.

    Args:
        experiments (list[str]): Some of :obj:`EXPERIMENTS`.
        settings (list[str]): The settings.
        num_splits (int, optional): The number of splits, other than the usual one.
        tables (dict[str, Path]): The files of further settings.
    """
    known = [*SETTINGS, *PLANTED]
    tasks: dict[tuple[Any, ...], Task] = {}
    for experiment in experiments:
        for setting, model, train in plan(experiment, settings, tables):
            usual = NUM_SPLITS_SMALL if setting == 'emER' else NUM_SPLITS
            for split in range(num_splits or usual):
                task = Task(experiment, setting, model, train, split)
                tasks.setdefault(task[1:], task)

    def order(task: Task) -> tuple[int, int]:
        is_known = task.setting in known
        return task.split, known.index(task.setting) if is_known else -1

    return sorted(tasks.values(), key=order)


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
    add('--experiments', nargs='+', default=['main'], choices=EXPERIMENTS)
    add('--datasets', nargs='+', default=SETTINGS, choices=SETTINGS)
    add('--splits', type=int, help='the number of splits (default: 5, 20 on emER)')
    add('--tables', nargs='+', type=Path, default=[], help='CSV files for "other"')
    add('--jobs', type=int, default=1, help='the number of processes at a time')
    add('--threads', type=int, default=1, help='the number of threads of each')
    add('--root', help='the folder of the datasets (default: the cache of PyG)')
    add('--out', type=Path, default=OUT, help='the CSV file; reports go next to it')
    add('--in-process', action='store_true', help='start no processes')
    args, console = parser.parse_args(argv), Console()

    table = ResultTable(Row, args.out, key=Task._fields[1:])
    tables = {path.stem: path for path in args.tables}
    failures = fill_table(
        table,
        partial(measure, root=args.root, tables=tables),
        make_tasks(args.experiments, args.datasets, args.splits, tables),
        is_done=lambda task: task[1:] in table,
        jobs=args.jobs,
        threads=args.threads,
        isolated=not args.in_process,
        progress=sys.stderr.isatty(),
    )
    for task, failure in failures.items():
        console.print(f'{" ".join(map(str, task))} failed: {failure.message}')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
