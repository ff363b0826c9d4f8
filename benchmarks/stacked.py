r"""Measures StackedAnchorRadar beside AnchorRadar, on the same random splits.

Split :math:`k` is :obj:`RandomHyperedgeSplit(train, 0.025, seed=k)`. The experiments
are

* :obj:`main`: all learners without time, with 7.5 % training anchors.
* :obj:`time`: with the times of groups, and with the same times in a random order.
  Datasets without times take the order of the file.
* :obj:`scarce`: 5 % and 2.5 % training anchors.
* :obj:`curve`: from 1 % to 50 % training anchors.
* :obj:`rival`: the curve of the fastest of the strong baselines, which trains for
  minutes to hours, on small datasets and up to 20 %.
* :obj:`ablation`: fewer views, and other last steps.
* :obj:`structureless`: planted groups, and the same with anchors drawn at random. Each
  split has groups of its own.
* :obj:`size`: planted groups as many as those of coAA, the largest dataset.
* :obj:`other`: the tables of :obj:`--tables`.

A measurement that two experiments have in common is made once.
"""

import argparse
import math
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from matplotlib.figure import Figure
from rich.console import Console

from tgx_anchor.benchmark import fill_table
from tgx_anchor.benchmark.memory import peak_memory, reset_peak_memory
from tgx_anchor.benchmark.methods import load_setting, new_model, prepare
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.benchmark.tables import markdown_table, rich_table
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import CATALOG, PlantedAnchorDataset
from tgx_anchor.datasets.location import dataset_root
from tgx_anchor.io import ResultTable
from tgx_anchor.io.files import replace_file
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import AnchorModel, AnchorRadar, RandomHeuristic, StackedAnchorRadar
from tgx_anchor.paper import SETTINGS as PUBLISHED
from tgx_anchor.paper import figure, figures
from tgx_anchor.transforms import RandomHyperedgeSplit

# The settings, cheap ones first.
SETTINGS = ('emER', 'qaBI', 'emEU', 'coDB_first', 'coDB_last', 'qaPH')
TIMED = ('emER', 'qaBI', 'emEU', 'coDB_first', 'coDB_last')
PLANTED = ('planted', 'planted random')
LARGE = 'planted, size of coAA'
EXPERIMENTS = (
    'main',
    'time',
    'scarce',
    'curve',
    'rival',
    'ablation',
    'structureless',
    'size',
    'other',
)
OURS, BASE, CHANCE = 'both', 'AnchorRadar', 'Random'
RIVAL, RIVAL_SETTINGS, RIVAL_CURVE = 'CoNHD-U', ('emER', 'qaBI'), 5
# The strongest baselines, of which the paper prints figures with 2.5, 5 and 7.5 %.
STRONG = ('WHATsNet', 'CoNHD-U', 'CoNHD-I')
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
        name (str): :obj:`"AnchorRadar"`, :obj:`"CoNHD-U"`, :obj:`"Random"`, a learner,
            :obj:`"both+time"` with or without :obj:`"shuffled"`, :obj:`"views AB"` or
            :obj:`"last belief"`.
        setting (str): The setting.
    """
    if name == CHANCE:
        return RandomHeuristic()
    if name == RIVAL:
        return new_model(name, setting)
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
    elif setting == LARGE:
        size = CATALOG['coAA']
        dataset = PlantedAnchorDataset(
            size.num_nodes, size.num_hyperedges, seed=task.split
        )
        data = cast(AnchorData, dataset[0])
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
    data = prepare(data, model, dataset_root(root) / 'embedding')
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
    elif experiment == 'rival':
        models, shares = (RIVAL,), CURVE[:RIVAL_CURVE]
        settings = [setting for setting in settings if setting in RIVAL_SETTINGS]
    elif experiment == 'ablation':
        models = (*ablations(), OURS)
    elif experiment == 'structureless':
        models, settings = (CHANCE, BASE, OURS), PLANTED
    elif experiment == 'size':
        settings = (LARGE,)
    else:
        models, settings = (CHANCE, BASE, OURS), list(tables)
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
    known = [*SETTINGS, *PLANTED, LARGE]
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


# Report -------------------------------------------------------------------------------

METRICS = {'accuracy': (100.0, 2), 'mrr': (1.0, 3), 'ndcg': (1.0, 3)}
# Tables of the paper, by the share of training anchors; others have 7.5 % only.
PAPER = {TRAIN: '', 0.05: '_train5', 0.025: '_train2p5'}
# The rows of a setting, a model and a training share, by split.
Found = dict[tuple[str, str, float], dict[int, Row]]


@dataclass(frozen=True)
class Section:
    r"""A table of the report.

    Args:
        note (str): The text above it.
        models (list[str]): The models with a column each.
        gains (list[tuple[str, str]]): The pairs of models that are compared.
    """

    note: str
    models: tuple[str, ...]
    gains: tuple[tuple[str, str], ...] = ((OURS, BASE),)


SECTIONS = {
    'main': Section(
        'StackedAnchorRadar without time, by learner. `paper` is the best figure of '
        'the ten methods there, whose splits are not published.',
        (BASE, *LEARNERS),
        tuple((learner, BASE) for learner in LEARNERS),
    ),
    'time': Section(
        'With the times of groups. emER has dates. The other files have none: there, '
        'the time is the place of the group in the file, and nothing is known of the '
        'order of a file. Shuffled times are the same times in a random order.',
        (BASE, OURS, TIME, SHUFFLED),
        ((TIME, OURS), (SHUFFLED, OURS)),
    ),
    'scarce': Section('Fewer training anchors, validation 2.5 %.', (BASE, OURS)),
    'curve': Section(
        'From few to many training anchors, validation 2.5 %. AnchorRadar and the '
        'strongest baseline that trains in minutes have the hyperparameters of 7.5 %. '
        'The plot also has the figures of the paper for WHATsNet and CoNHD.',
        (BASE, OURS, RIVAL),
        ((OURS, BASE), (OURS, RIVAL)),
    ),
    'size': Section(
        'Planted groups, as many as those of coAA, the largest dataset.',
        (BASE, OURS),
    ),
    'structureless': Section(
        'Planted groups, and the same groups with anchors drawn at random, where '
        'nothing can be learnt. Each split has groups of its own.',
        (CHANCE, BASE, OURS),
    ),
    'other': Section(
        'Tables outside the benchmark, with the defaults of both models, and with '
        'their times where they have any.',
        (CHANCE, BASE, OURS, TIME),
        ((OURS, BASE), (TIME, BASE), (TIME, OURS)),
    ),
}


def mean_error(values: Sequence[float], digits: int, sign: str = '') -> str:
    r"""Writes the mean of several values and its standard error.

    Args:
        values (list[float]): The values.
        digits (int): The number of decimal digits.
        sign (str, optional): :obj:`"+"` to write the sign. (default: :obj:`""`)
    """
    if not values:
        return ''
    text = f'{statistics.fmean(values):{sign}.{digits}f}'
    if len(values) == 1:
        return text
    error = statistics.stdev(values) / math.sqrt(len(values))
    return f'{text} ± {error:.{digits}f}'


def group_rows(rows: Sequence[Row]) -> Found:
    r"""Returns the rows by setting, model, training share and split.

    Args:
        rows (list[Row]): The rows.
    """
    out: Found = {}
    for row in rows:
        out.setdefault((row.setting, row.model, row.train), {})[row.split] = row
    return out


def cell(
    found: Found,
    setting: str,
    model: str,
    train: float,
    metric: str = 'accuracy',
    against: str | None = None,
) -> str:
    r"""Writes the mean of a metric, or the mean gain over another model on the splits
    that both have.

    Args:
        found (dict): The rows.
        setting (str): The setting.
        model (str): The model.
        train (float): The share of training anchors.
        metric (str, optional): One of :obj:`METRICS`. (default: :obj:`"accuracy"`)
        against (str, optional): The other model. (default: :obj:`None`)
    """
    scale, digits = METRICS[metric]
    mine = found.get((setting, model, train), {})
    values = {split: scale * getattr(row, metric) for split, row in mine.items()}
    if against is None:
        return mean_error(list(values.values()), digits)
    other = found.get((setting, against, train), {})
    gains = [
        value - scale * getattr(other[split], metric)
        for split, value in values.items()
        if split in other
    ]
    return mean_error(gains, digits, '+')


def best_printed(setting: str, train: float, metric: str = 'accuracy') -> str:
    r"""Returns the best figure of the paper and its method, or :obj:`""`.

    Args:
        setting (str): The setting.
        train (float): The share of training anchors.
        metric (str, optional): One of :obj:`METRICS`. (default: :obj:`"accuracy"`)
    """
    is_printed = train in PAPER and (metric == 'accuracy' or train == TRAIN)
    if setting not in PUBLISHED or not is_printed:
        return ''
    table = figures(metric + PAPER[train])
    pairs = [
        (float(text.partition('±')[0]), text, method)
        for text, method in zip(table[setting], table['method'], strict=True)
        # Not a number: out of memory, or out of time.
        if text[:1].isdigit()
    ]
    _, text, method = max(pairs)
    return f'{text} ({method})'


def places(experiment: str, found: Found) -> list[tuple[str, float]]:
    r"""Returns the settings and training shares of an experiment that have rows.

    Args:
        experiment (str): One of :obj:`SECTIONS`.
        found (dict): The rows.
    """
    settings: Sequence[str] = SETTINGS
    if experiment == 'structureless':
        settings = PLANTED
    elif experiment == 'size':
        settings = (LARGE,)
    elif experiment == 'other':
        known = {*SETTINGS, *PLANTED, LARGE}
        names = dict.fromkeys(setting for setting, _, _ in found)
        settings = [name for name in names if name not in known]
    shares = {'scarce': SCARCE, 'curve': CURVE}.get(experiment, (TRAIN,))
    own = [model for model, _ in SECTIONS[experiment].gains]
    return [
        (setting, share)
        for setting in settings
        for share in shares
        if any((setting, model, share) in found for model in own)
    ]


def make_table(
    experiment: str, found: Found, metric: str = 'accuracy'
) -> list[list[str]]:
    r"""Returns the table of an experiment as lines of text, the header first.

    Args:
        experiment (str): One of :obj:`SECTIONS`.
        found (dict): The rows.
        metric (str, optional): One of :obj:`METRICS`. (default: :obj:`"accuracy"`)
    """
    section = SECTIONS[experiment]
    lines = []
    for setting, train in places(experiment, found):
        counts = [len(found.get((setting, name, train), {})) for name in section.models]
        line = [
            setting,
            f'{100 * train:g} %',
            '/'.join(dict.fromkeys(str(count) for count in counts if count)),
            best_printed(setting, train, metric),
        ]
        pairs = [*((model, None) for model in section.models), *section.gains]
        line += [
            cell(found, setting, model, train, metric, against)
            for model, against in pairs
        ]
        lines.append(line)
    head = ['setting', 'train', 'splits', 'paper', *section.models]
    head += [f'{model} - {against}' for model, against in section.gains]
    # Empty columns are left out.
    kept = [i for i in range(len(head)) if any(line[i] for line in lines)]
    return [[line[i] for i in kept] for line in (head, *lines)]


def ablation_table(found: Found) -> list[list[str]]:
    r"""Returns the gain of each variant over the whole model, one column per setting.

    Args:
        found (dict): The rows.
    """
    models = [name for name in ablations() if any(name == key[1] for key in found)]
    settings = [
        setting
        for setting in SETTINGS
        if any((setting, model, TRAIN) in found for model in models)
    ]
    lines = [
        [model, *(cell(found, name, model, TRAIN, against=OURS) for name in settings)]
        for model in models
    ]
    if lines:
        lines.append([OURS, *(cell(found, name, OURS, TRAIN) for name in settings)])
    return [['variant', *settings], *lines]


def cost_table(found: Found) -> list[list[str]]:
    r"""Returns the seconds of AnchorRadar, the fits of other models as multiples of it,
    and the peak memory. Of all splits, the shortest time counts: other work on the
    machine only makes it longer.

    Args:
        found (dict): The rows.
    """
    others = (*LEARNERS, TIME)
    lines = []

    def shortest(rows: Mapping[int, Row], name: str) -> float:
        return min(float(getattr(row, name)) for row in rows.values())

    for setting in (*SETTINGS, LARGE):
        base = found.get((setting, BASE, TRAIN), {})
        ours = found.get((setting, OURS, TRAIN), {})
        if not base or not ours:
            continue
        line = [setting]
        line += [f'{shortest(rows, "feature_seconds"):.1f} s' for rows in (base, ours)]
        seconds = max(shortest(base, 'fit_seconds'), 1e-3)
        line.append(f'{seconds:.1f} s')
        for model in others:
            rows = found.get((setting, model, TRAIN), {})
            ratio = shortest(rows, 'fit_seconds') / seconds if rows else 0.0
            line.append(f'{ratio:.1f} x' if rows else '')
        for rows in (base, ours):
            memory = max(row.peak_memory for row in rows.values())
            line.append(f'{memory:.2f} GiB')
        lines.append(line)
    head = ['setting', f'features {BASE}', f'features {OURS}', f'fit {BASE}']
    head += [*others, f'memory {BASE}', f'memory {OURS}']
    return [head, *lines]


def summary_table(found: Found) -> list[list[str]]:
    r"""Returns the accuracies of all models beside the best of the paper, with one
    column per setting.

    Args:
        found (dict): The rows.
    """
    settings = [name for name in SETTINGS if (name, OURS, TRAIN) in found]

    def line(name: str, model: str, against: str | None = None) -> list[str]:
        cells = [cell(found, s, model, TRAIN, against=against) for s in settings]
        return [name, *cells]

    lines = [
        ['best of the ten in the paper', *(best_printed(s, TRAIN) for s in settings)],
        line('AnchorRadar, measured here', BASE),
        *(line(f'StackedAnchorRadar, {name!r}', name) for name in LEARNERS),
        line('gain of the last over AnchorRadar', OURS, BASE),
        line('with time', TIME),
    ]
    return [['accuracy in %', *settings], *lines] if settings else [['']]


def make_report(rows: Sequence[Row]) -> dict[str, tuple[str, list[list[str]]]]:
    r"""Returns the notes and tables that have rows, by title.

    Args:
        rows (list[Row]): All rows.
    """
    found = group_rows(rows)
    note = (
        'Time is not part of the task of the paper. emER has dates; elsewhere it is '
        'the order of the file.'
    )
    tables = {'summary': (note, summary_table(found))}
    tables['main'] = SECTIONS['main'].note, make_table('main', found)
    for metric, name in (('mrr', 'MRR'), ('ndcg', 'NDCG')):
        note = f'{name} of the same predictions.'
        tables[f'main, {name}'] = note, make_table('main', found, metric)
    note = (
        'Seconds of features and of a fit of AnchorRadar, the fits of the others as '
        'multiples of it, each the shortest over the splits, and the largest memory in '
        'a fit.'
    )
    tables['cost'] = note, cost_table(found)
    for experiment in ('time', 'scarce', 'curve'):
        section = SECTIONS[experiment]
        tables[experiment] = section.note, make_table(experiment, found)
    note = (
        'Gain over the whole model, without time. `views none` has the topological '
        'features only; without D, there is no second pass. The last line has the '
        'accuracy of the whole model.'
    )
    tables['ablation'] = note, ablation_table(found)
    for experiment in ('structureless', 'size', 'other'):
        section = SECTIONS[experiment]
        tables[experiment] = section.note, make_table(experiment, found)
    return {title: pair for title, pair in tables.items() if len(pair[1]) > 1}


def markdown_report(rows: Sequence[Row]) -> str:
    r"""Writes the whole report.

    Args:
        rows (list[Row]): All rows.
    """
    text = (
        '# StackedAnchorRadar\n\n'
        'Mean ± standard error over random splits by distinct node sets, with 7.5 % '
        'training and 2.5 % validation unless noted. Accuracy in percent. Gains are '
        'those on the same splits. AnchorRadar has its published hyperparameters.\n\n'
        'Made by `benchmarks/stacked.py` from the CSV file of the same name.\n'
    )
    for title, (note, table) in make_report(rows).items():
        text += f'\n## {title}\n\n{note}\n\n{markdown_table(table)}'
    return text


def printed_curve(method: str, setting: str) -> dict[float, float]:
    r"""Returns the accuracies that the paper prints, by training share in percent.

    Args:
        method (str): The method.
        setting (str): The setting.
    """
    out = {}
    for share, suffix in sorted(PAPER.items()):
        text = figure(f'accuracy{suffix}', method, setting).partition('±')[0]
        # Nothing for a table that is not of the paper, 'OOM' for one out of memory.
        if text[:1].isdigit():
            out[100 * share] = float(text)
    return out


def plot(rows: Sequence[Row], path: Path) -> None:
    r"""Draws the learning curves, one panel per setting.

    Args:
        rows (list[Row]): The rows.
        path (Path): The image.
    """
    found = group_rows(rows)
    settings = list(dict.fromkeys(setting for setting, _ in places('curve', found)))
    if not settings:
        return
    width = min(len(settings), 3)
    height = math.ceil(len(settings) / width)
    image = Figure(figsize=(4 * width, 3.5 * height), layout='constrained')
    panels = image.subplots(height, width, squeeze=False).ravel()
    for axes in panels[len(settings) :]:
        axes.set_axis_off()
    for axes, setting in zip(panels, settings, strict=False):
        for model in (BASE, OURS, RIVAL):
            shares = [share for share in CURVE if (setting, model, share) in found]
            lists = [
                [100 * row.accuracy for row in found[setting, model, share].values()]
                for share in shares
            ]
            means = [statistics.fmean(values) for values in lists]
            errors = [
                statistics.stdev(values) / math.sqrt(len(values))
                if len(values) > 1
                else 0.0
                for values in lists
            ]
            shares = [100 * share for share in shares]
            if shares:
                axes.errorbar(shares, means, errors, fmt='o-', capsize=3, label=model)
        for method, sign in zip(STRONG, 'x+*', strict=True):
            points = printed_curve(method, setting)
            label = f'{method} (paper)'
            axes.plot(list(points), list(points.values()), sign, c='gray', label=label)
        axes.set(title=setting, xlabel='training anchors, %', ylabel='accuracy, %')
        axes.set_xscale('log')
        ticks = [100 * share for share in CURVE]
        axes.set_xticks(ticks, [f'{tick:g}' for tick in ticks])
        axes.minorticks_off()
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize='small')
    image.savefig(path, dpi=100)


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
    args = parser.parse_args(argv)
    console = Console(width=None if sys.stdout.isatty() else 170)

    table = ResultTable(Row, args.out, key=Task._fields[1:])
    tables = {path.stem: path for path in args.tables}
    if len(tables) < len(args.tables) or tables.keys() & {*SETTINGS, *PLANTED}:
        parser.error("'--tables' must have names of their own")
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
    for title, (_, lines) in make_report(table.rows).items():
        console.print(rich_table(lines, title))
    with replace_file(args.out.with_suffix('.md')) as part:
        part.write_text(markdown_report(table.rows), encoding='utf-8')
    plot(table.rows, args.out.with_suffix('.png'))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
