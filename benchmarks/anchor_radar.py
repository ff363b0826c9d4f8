r"""Measures AnchorRadar on real datasets, beside the figures of its paper.

Each figure is the mean over random splits, under two protocols:

* :obj:`train`: learns from the training anchors only.
* :obj:`train+val`: learns from the validation anchors, too, which are known anchors
  like any other once the hyperparameters are chosen.

Test hyperedges are the same under both. The experiments are those of the paper:

* :obj:`main`: accuracy, MRR and NDCG with the published hyperparameters.
* :obj:`ablation`: one stage only, no aggregation (GA), no local features (LF).
* :obj:`ratios`: fewer training anchors; validation stays at 2.5 %.
* :obj:`inductive`: fitted on one dataset, evaluated on another one of its domain.
* :obj:`multi`: the first two authors of a publication, both of which must be found.
  The paper prints no hyperparameters for it: they are those of the first author, and
  those of a small search on the validation anchors.
* :obj:`seeds`: other first weights of the MLP, and other draws between equals.
* :obj:`alignment`: the forms of the alignment of the two stages.
* :obj:`sensitivity`: one hyperparameter moved, all others as published.

A measurement that two experiments have in common is made once and entered in both.
"""

import argparse
import copy
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.console import Console

from tgx_anchor.benchmark import fill_table
from tgx_anchor.benchmark.methods import load_setting, one_split
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.benchmark.tables import (
    difference_text,
    markdown_table,
    mean_text,
    rich_table,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.io import ResultTable
from tgx_anchor.io.files import replace_file
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import AnchorRadar
from tgx_anchor.paper import figure, figures
from tgx_anchor.transforms import AddTopologicalFeatures, RandomHyperedgeSplit

SETTINGS = ('emER', 'qaBI', 'qaPH', 'emEU', 'coDB_first', 'coDB_last')
# The experiments, and the notes on their tables.
EXPERIMENTS = {
    'main': 'The published hyperparameters.',
    'ablation': (
        'One stage only; without the aggregation (GA); without local features (LF).'
    ),
    'ratios': 'Fewer training anchors, validation 2.5 %; hyperparameters of 7.5 %.',
    'inductive': (
        'Fitted on one dataset with its hyperparameters, evaluated on the test '
        'hyperedges of another one, of which no anchor is known.'
    ),
    'multi': (
        'The first and the second author, both of which must be found; groups of two '
        'are left out. The paper does not print its hyperparameters.'
    ),
    'seeds': 'Mean and deviation over splits of each seed, then those over seeds.',
    'alignment': (
        'Over all hyperedges, over the known ones as the paper prints it, and as a '
        'cross-entropy; beside the figure that the paper reports for its method.'
    ),
    'sensitivity': 'One hyperparameter moved, all others as published.',
}
PROTOCOLS = {'train': False, 'train+val': True}
METRICS = ('accuracy', 'mrr', 'ndcg')
OURS = 'AnchorRadar'
# The share of training anchors, and the table of the paper that has it.
RATIOS = {'5 %': (0.05, 'accuracy_train5'), '2.5 %': (0.025, 'accuracy_train2p5')}
ABLATIONS: dict[str, dict[str, Any]] = {
    'Stage 1': {'stages': 'first'},
    'Stage 2': {'stages': 'second'},
    'No GA': {'w': None},
    'No LF': {},
    OURS: {},
}
ALIGNMENTS = ('all', 'known', 'cross_entropy')
HYPERPARAMETERS = ('lr_stage1', 'lr_stage2', 'alpha', 'w')
FACTORS = {' x 2': 2.0, ' x √2': math.sqrt(2), ' / √2': math.sqrt(0.5), ' / 2': 0.5}
# Domains in which the paper moves a model from one dataset to another.
INDUCTIVE_DOMAINS = ('qa', 'co')
# Two anchors: a part of the search space of the paper.
MULTI_GRID: dict[str, tuple[float | None, ...]] = {
    'lr_stage1': (0.001, 0.01),
    'lr_stage2': (0.01, 0.1),
    'alpha': (0.0, 0.03, 0.06, 0.09, 0.2, 0.5, 1.0),
    'w': (None, 1.0, 2.0, 4.0, 7.0, 10.0),
}
TUNED = 'tuned: '
OUT = Path(__file__).parent / 'results' / 'anchor_radar.csv'
EXAMPLE = """example:
  TGX_ANCHOR_MIRROR=data python benchmarks/anchor_radar.py --experiments main ablation
  python benchmarks/anchor_radar.py --settings emER qaBI --experiments sensitivity
"""

Load = Callable[[str, str | None], AnchorData]


class Task(NamedTuple):
    r"""One measurement: the key of a row."""

    experiment: str
    setting: str
    variant: str
    protocol: str
    split: int
    seed: int
    num_epochs: int


@dataclass(frozen=True)
class Row:
    r"""The figures of one measurement, and the seconds of fitting and predicting."""

    experiment: str
    setting: str
    variant: str
    protocol: str
    split: int
    seed: int
    num_epochs: int
    accuracy: float
    mrr: float
    ndcg: float
    seconds: float


@dataclass(frozen=True)
class Variant:
    r"""A model that differs from the published one.

    Args:
        name (str): Its name in the tables.
        changes (dict, optional): Arguments of the model other than the published ones.
            (default: :obj:`{}`)
        published (str, optional): The setting whose hyperparameters are taken; the one
            the model is fitted on if :obj:`None`. (default: :obj:`None`)
        source (str, optional): The setting the model is fitted on; the one it is
            evaluated on if :obj:`None`. (default: :obj:`None`)
        local (bool, optional): Whether there are local features.
            (default: :obj:`True`)
        train (float, optional): The share of training anchors.
            (default: :obj:`0.075`)
    """

    name: str
    changes: dict[str, Any] = field(default_factory=dict)
    published: str | None = None
    source: str | None = None
    local: bool = True
    train: float = 0.075

    def model(self, setting: str, num_epochs: int) -> AnchorRadar:
        r"""Returns the model, not yet fitted, for a setting to evaluate it on."""
        published = self.published or self.source or setting
        # Calibration changes no figure here, and without validation anchors takes time.
        changes = {'num_epochs': num_epochs, 'calibration': None, **self.changes}
        return AnchorRadar.from_paper(published, **changes)


class Workbench:
    r"""Measures tasks, and keeps hypergraphs, features and figures for the next ones.

    Args:
        load (callable): Returns the hypergraph of a setting.
        root (str, optional): The folder of the datasets.
        variants (dict): The variants by experiment, setting and name.
    """

    def __init__(
        self,
        load: Load,
        root: str | None,
        variants: dict[tuple[str, str, str], Variant],
    ) -> None:
        self.load = load
        self.root = root
        self.variants = variants
        self.prepared: dict[str, AnchorData] = {}
        self.known: dict[tuple[Any, ...], tuple[float, ...]] = {}

    def data(self, setting: str) -> AnchorData:
        r"""Returns the hypergraph of a setting with its features."""
        if setting not in self.prepared:
            data = self.load(setting, self.root)
            for other in self.prepared.values():
                # Another kind of anchor of the same hypergraph has the same features.
                if torch.equal(other.hyperedge_index, data.hyperedge_index):
                    data.incidence_attr = other.incidence_attr
                    break
            else:
                data = AddTopologicalFeatures(cat=False)(data)
            self.prepared[setting] = data
        return self.prepared[setting]

    def split(self, setting: str, number: int, variant: Variant) -> AnchorData:
        r"""Returns a random split of a setting with the features of a variant."""
        data = one_split(copy.copy(self.data(setting)), number, variant.train)
        if not variant.local:
            names = AddTopologicalFeatures().feature_names
            kept = set(AddTopologicalFeatures(local=False).feature_names)
            columns = [i for i, name in enumerate(names) if name in kept]
            data.incidence_attr = data.incidence_attr[:, columns]
        return data

    def identity(self, task: Task) -> tuple[Any, ...]:
        r"""Returns everything that the figures of a task depend on."""
        variant = self.variants[task[:3]]
        params = variant.model(task.setting, task.num_epochs).get_params()
        source = variant.source or task.setting
        what = task.setting, source, variant.local, variant.train
        return *what, task.protocol, task.split, *params.items()

    def __call__(self, task: Task, _: Tell) -> list[Row]:
        r"""Measures a task, unless another one has the same figures."""
        identity = self.identity(task)
        if identity not in self.known:
            self.known[identity] = self._measure(task)
        return [Row(*task, *self.known[identity])]

    def _measure(self, task: Task) -> tuple[float, ...]:
        variant = self.variants[task[:3]]
        model = variant.model(task.setting, task.num_epochs)
        source = self.split(variant.source or task.setting, task.split, variant)
        target = self.split(task.setting, task.split, variant)
        start = time.perf_counter()
        model.fit(source, use_val=PROTOCOLS[task.protocol], on_interrupt='raise')
        score = model.predict_proba(target)
        seconds = time.perf_counter() - start
        found = AnchorEvaluator().eval(score, target, target.test_mask)
        return *(round(found[name], 6) for name in METRICS), round(seconds, 3)


# Tasks --------------------------------------------------------------------------------


def plan(
    experiment: str, settings: Sequence[str], num_seeds: int
) -> Iterator[tuple[str, Variant]]:
    r"""Yields the settings and variants of an experiment, without those that a search
    finds.

    Args:
        experiment (str): One of :obj:`EXPERIMENTS`.
        settings (list[str]): The settings.
        num_seeds (int): The number of seeds of :obj:`seeds`.
    """
    if experiment == 'multi':
        for setting in multi_settings(settings):
            first = f'{setting.partition("_")[0]}_first'
            yield setting, Variant(f'as {first}', published=first)
        return
    for setting in settings:
        for variant in _variants(experiment, setting, settings, num_seeds):
            yield setting, variant


def multi_settings(settings: Sequence[str]) -> list[str]:
    r"""Returns the settings with two anchors of the datasets that have them.

    Args:
        settings (list[str]): The settings.
    """
    names = [name.partition('_')[0] for name in settings if name.startswith('co')]
    return [f'{name}_first_second' for name in dict.fromkeys(names)]


def _variants(
    experiment: str, setting: str, settings: Sequence[str], num_seeds: int
) -> Iterator[Variant]:
    if experiment == 'main':
        yield Variant(OURS)
    elif experiment == 'ablation':
        for name, changes in ABLATIONS.items():
            yield Variant(name, changes, local=name != 'No LF')
    elif experiment == 'ratios':
        for name, (train, _) in RATIOS.items():
            yield Variant(name, train=train)
    elif experiment == 'inductive':
        for source in settings:
            if _is_transfer(source, setting):
                yield Variant(f'from {source}', source=source)
                # The paper leaves open whether stage 2 takes part.
                first = ABLATIONS['Stage 1']
                yield Variant(f'from {source}, Stage 1', first, source=source)
    elif experiment == 'seeds':
        for seed in range(num_seeds):
            yield Variant(f'Seed {seed + 1}', {'seed': seed})
    elif experiment == 'alignment':
        for alignment in ALIGNMENTS:
            yield Variant(alignment, {'alignment': alignment})
    elif experiment == 'sensitivity':
        published = AnchorRadar.from_paper(setting).get_params()
        for name in HYPERPARAMETERS:
            # Nothing changes where a factor meets zero or no weight at all.
            for sign, factor in FACTORS.items() if published[name] else ():
                yield Variant(name + sign, {name: published[name] * factor})


def _is_transfer(source: str, target: str) -> bool:
    (first, _, kind), (second, _, other) = source.partition('_'), target.partition('_')
    is_same_domain = first[:2] == second[:2] and first[:2] in INDUCTIVE_DOMAINS
    return is_same_domain and first != second and kind == other


def tuned_variant(
    setting: str, rows: Sequence[Row], bench: Workbench, options: argparse.Namespace
) -> Variant:
    r"""Returns the variant with the best hyperparameters of a small grid, from the name
    of an earlier row, or from a search on the validation anchors.

    Args:
        setting (str): The setting.
        rows (list[Row]): The rows of earlier runs.
        bench (Workbench): Has the hypergraphs.
        options (argparse.Namespace): The command line.
    """
    names = [row.variant for row in rows if row.setting == setting]
    names = [name for name in names if name.startswith(TUNED)]
    if names:
        pairs = (pair.split('=') for pair in names[0].removeprefix(TUNED).split())
        best = {k: None if v == 'None' else float(v) for k, v in pairs}
    else:
        data = RandomHyperedgeSplit(num_splits=options.splits)(bench.data(setting))
        best = AnchorRadar.tune(
            data, MULTI_GRID, progress=False, num_epochs=options.epochs
        ).best
    name = TUNED + ' '.join(f'{key}={value}' for key, value in best.items())
    return Variant(name, dict(best), published=f'{setting.partition("_")[0]}_first')


# Report -------------------------------------------------------------------------------


def printed(experiment: str, setting: str, variant: str, metric: str) -> str:
    r"""Returns the figure of the paper, or :obj:`""` if it has none.

    Args:
        experiment (str): One of :obj:`EXPERIMENTS`.
        setting (str): The setting.
        variant (str): The name of the variant.
        metric (str): One of :obj:`METRICS`.
    """
    if experiment in ('main', 'alignment'):
        return figure(metric, OURS, setting)
    if metric != 'accuracy' or experiment == 'sensitivity':
        return ''
    if experiment == 'inductive':
        table = figures('inductive')
        source = variant.removeprefix('from ').partition(',')[0]
        pairs = list(zip(table['train'], table['test'], strict=True))
        if (source, setting) not in pairs:
            return ''
        return table['inductive'][pairs.index((source, setting))]
    name, method, column = {
        'ablation': ('ablation', variant, setting),
        'ratios': (RATIOS.get(variant, ('', 'accuracy_train5'))[1], OURS, setting),
        'multi': ('multi_anchor', OURS, setting.partition('_')[0]),
        'seeds': ('random_seeds', variant, setting),
    }[experiment]
    return figure(name, method, column)


def make_table(experiment: str, rows: Sequence[Row]) -> list[list[str]]:
    r"""Returns the table of an experiment as lines of text, the header first.

    Args:
        experiment (str): One of :obj:`EXPERIMENTS`.
        rows (list[Row]): Rows of any experiments.
    """
    rows = [row for row in rows if row.experiment == experiment]
    lines = []
    for setting in dict.fromkeys(row.setting for row in rows):
        found = [row for row in rows if row.setting == setting]
        variants = list(dict.fromkeys(row.variant for row in found))
        for metric in METRICS if experiment == 'main' else METRICS[:1]:
            for variant in variants:
                values = {
                    name: [
                        getattr(row, metric)
                        for row in found
                        if (row.variant, row.protocol) == (variant, name)
                    ]
                    for name in PROTOCOLS
                }
                lines.append(_line(experiment, setting, variant, metric, values))
        if experiment == 'seeds':
            lines += _over_seeds(setting, found)
    header = ['setting', 'variant', 'metric', *PROTOCOLS, 'splits', 'paper']
    header += [f'{name} - paper' for name in PROTOCOLS]
    # Empty columns are left out.
    kept = [i for i in range(len(header)) if any(line[i] for line in lines)]
    return [[line[i] for i in kept] for line in (header, *lines)]


def _line(
    experiment: str,
    setting: str,
    variant: str,
    metric: str,
    values: dict[str, list[float]],
) -> list[str]:
    scale, digits = (100, 2) if metric == 'accuracy' else (1, 3)
    paper = printed(experiment, setting, variant, metric)
    counts = dict.fromkeys(str(len(each)) for each in values.values() if each)
    return [
        setting,
        variant,
        metric,
        *(mean_text(each, digits, scale) for each in values.values()),
        '/'.join(counts),
        paper,
        *(difference_text(each, paper, digits, scale) for each in values.values()),
    ]


def _over_seeds(setting: str, rows: Sequence[Row]) -> list[list[str]]:
    # As in the paper: first over splits, then over seeds.
    lines = []
    for name, reduce in (('Average', statistics.fmean), ('Stdev', statistics.pstdev)):
        values: dict[str, list[float]] = {}
        for protocol in PROTOCOLS:
            groups: dict[int, list[float]] = {}
            for row in rows:
                if row.protocol == protocol:
                    groups.setdefault(row.seed, []).append(row.accuracy)
            means = [statistics.fmean(group) for group in groups.values()]
            values[protocol] = [reduce(means)] if means else []
        line = _line('seeds', setting, name, 'accuracy', values)
        lines.append([*line[:5], '', *line[6:]])
    return lines


def markdown_report(rows: Sequence[Row]) -> str:
    r"""Writes the tables of all experiments that have rows.

    Args:
        rows (list[Row]): All rows.
    """
    text = (
        '# AnchorRadar\n\n'
        'Mean ± population standard deviation over random splits (7.5 % training, '
        '2.5 % validation, 90 % test, by distinct node sets). `train` learns from the '
        'training anchors, `train+val` from the validation anchors, too; test '
        'hyperedges are the same. Accuracy in percent; `paper` is the figure printed '
        'there, whose splits are not published.\n\n'
        'Made by `benchmarks/anchor_radar.py` from the CSV file of the same name.\n'
    )
    for experiment, note in EXPERIMENTS.items():
        table = make_table(experiment, rows)
        if len(table) > 1:
            text += (
                f'\n## {experiment}\n\n{note}\n\n{markdown_table(table, num_left=2)}'
            )
    return text


def main(argv: Sequence[str] | None = None, load: Load = load_setting) -> None:
    r"""Measures what is missing, and writes the report.

    Args:
        argv (list[str], optional): The command line. (default: :obj:`None`)
        load (callable, optional): Returns the hypergraph of a setting.
    """
    parser = argparse.ArgumentParser(
        description=(__doc__ or '').partition('\n\n')[0],
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add('--settings', nargs='+', default=SETTINGS, help='datasets, with their anchor')
    add('--experiments', nargs='+', default=list(EXPERIMENTS), choices=EXPERIMENTS)
    add('--splits', type=int, default=5, help='the number of random splits')
    add('--seeds', type=int, default=5, help='the number of seeds of that experiment')
    add('--epochs', type=int, default=100, help='of each stage; fewer for a trial')
    add('--root', help='the folder of the datasets (default: the cache of PyG)')
    add(
        '--out', type=Path, default=OUT, help='the CSV file; the report goes next to it'
    )
    add('--threads', type=int, default=1)
    options = parser.parse_args(argv)

    console = Console(width=None if sys.stdout.isatty() else 160)
    table = ResultTable(Row, options.out, key=Task._fields)
    bench = Workbench(load, options.root, {})
    for experiment in EXPERIMENTS:
        for setting, variant in plan(experiment, options.settings, options.seeds):
            bench.variants[experiment, setting, variant.name] = variant
    for row in table.rows:
        task = Task(*astuple(row)[: len(Task._fields)])
        if task[:3] in bench.variants:
            bench.known[bench.identity(task)] = astuple(row)[len(Task._fields) :]
    for experiment in options.experiments:
        for setting in (
            multi_settings(options.settings) if experiment == 'multi' else ()
        ):
            variant = tuned_variant(setting, table.rows, bench, options)
            bench.variants[experiment, setting, variant.name] = variant
        tasks = [
            Task(*key, protocol, split, variant.changes.get('seed', 0), options.epochs)
            for key, variant in bench.variants.items()
            if key[0] == experiment
            for split in range(options.splits)
            for protocol in PROTOCOLS
        ]
        failures = fill_table(
            table,
            bench,
            tasks,
            callback=lambda row: console.print(_progress(row), highlight=False),
            threads=options.threads,
            isolated=False,
        )
        for task, failure in failures.items():
            print(*task, 'failed:', failure.message)
        rows = [row for row in table.rows if row.num_epochs == options.epochs]
        lines = make_table(experiment, rows)
        if len(lines) > 1:
            console.print(rich_table(lines, experiment, num_left=2))
        with replace_file(options.out.with_suffix('.md')) as part:
            part.write_text(markdown_report(rows), encoding='utf-8')


def _progress(row: Row) -> str:
    what = f'{row.experiment} {row.setting} {row.variant} {row.protocol}'
    return f'{what} split {row.split}: {100 * row.accuracy:.2f} % ({row.seconds:.1f} s)'


if __name__ == '__main__':
    main()
