r"""Measures AnchorRadar on real datasets, beside the figures of its paper.

Each figure is the mean over random splits, under two protocols:

* :obj:`train`: learns from the training anchors only.
* :obj:`train+val`: learns from the validation anchors, too, which are known anchors
  like any other once the hyperparameters are chosen.

Test hyperedges are the same under both. The experiments are those of the paper:

* :obj:`main`: accuracy, MRR and NDCG with the published hyperparameters.
* :obj:`ablation`: one stage only, no aggregation (GA), no local features (LF).
* :obj:`ratios`: fewer training anchors; validation stays at 2.5 %.
* :obj:`inductive`: fitted on one dataset, judged on another one of its domain.
* :obj:`multi`: the first two authors of a publication, both of which must be found.
  The paper has no hyperparameters for it: those of the first author stand in, and
  those of a small search on the validation anchors.
* :obj:`seeds`: other first weights of the MLP, and other draws between equals.
* :obj:`alignment`: the forms of the alignment of the two stages.
* :obj:`sensitivity`: one hyperparameter moved, all others as published.

Each row goes to a CSV file at once, and a second run continues where the first one
stopped. What two experiments have in common is measured once and entered in both.
All tables, also of earlier runs into the same file, end up in a Markdown file beside
it.
"""

import argparse
import copy
import csv
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast, get_type_hints

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from tgx_anchor.benchmark import PaperFigures
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import AnchorDataset
from tgx_anchor.io.files import replace_file
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import AnchorRadar
from tgx_anchor.transforms import AddTopologicalFeatures, RandomHyperedgeSplit

SETTINGS = ('emER', 'qaBI', 'qaPH', 'emEU', 'coDB_first', 'coDB_last')
EXPERIMENTS = (
    'main',
    'ablation',
    'ratios',
    'inductive',
    'multi',
    'seeds',
    'alignment',
    'sensitivity',
)
PROTOCOLS = {'train': False, 'train+val': True}
METRICS = ('accuracy', 'mrr', 'ndcg')
OURS = 'AnchorRadar'
TRAIN = 0.075
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
# A log file has no width of its own.
LOG_WIDTH = 160

EXAMPLE = """example:
  TGX_ANCHOR_MIRROR=data python benchmarks/anchor_radar.py --experiments main ablation
  python benchmarks/anchor_radar.py --settings emER qaBI --experiments sensitivity
"""

Load = Callable[[str, str | None], AnchorData]
Key = tuple[str, str, str, str, int, int, int]


class Figures(NamedTuple):
    r"""What is measured of a fitted model."""

    accuracy: float
    mrr: float
    ndcg: float
    seconds: float


@dataclass(frozen=True)
class Row:
    r"""One measurement: a line of the CSV file."""

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

    @property
    def key(self) -> Key:
        r"""What makes two rows the same measurement."""
        return (
            self.experiment,
            self.setting,
            self.variant,
            self.protocol,
            self.split,
            self.seed,
            self.num_epochs,
        )

    @property
    def figures(self) -> Figures:
        r"""What was measured."""
        return Figures(self.accuracy, self.mrr, self.ndcg, self.seconds)


@dataclass(frozen=True)
class Variant:
    r"""How a model differs from the published one.

    Args:
        name (str): Its name in the tables.
        changes (dict, optional): Arguments of the model that are not the published
            ones. (default: :obj:`{}`)
        published (str, optional): The setting whose hyperparameters are taken, the one
            the model is fitted on if :obj:`None`. (default: :obj:`None`)
        source (str, optional): The setting the model is fitted on, the one it is
            judged on if :obj:`None`. (default: :obj:`None`)
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
    train: float = TRAIN

    def model(self, setting: str, num_epochs: int) -> AnchorRadar:
        r"""The model, not yet fitted, for a setting to be judged on."""
        published = self.published or self.source or setting
        changes = {'num_epochs': num_epochs, **self.changes}
        return AnchorRadar.from_paper(published, **changes)


class ResultFile:
    r"""The rows of a CSV file, which grows by one line per measurement.

    Args:
        path (str): The file, which need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[Key, Row] = {}
        kinds = get_type_hints(Row)
        header = ','.join(kinds)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(header + '\n', encoding='utf-8')
            return
        text = path.read_text(encoding='utf-8')
        if text.partition('\n')[0] != header:
            raise ValueError(f"'{path}' must have the columns {header} (got others)")
        lines = list(csv.DictReader(text.splitlines()))
        for line in lines:
            try:
                row = Row(**{name: kind(line[name]) for name, kind in kinds.items()})
            except (TypeError, ValueError):
                # A line that was cut off: it is measured again.
                continue
            self.rows[row.key] = row
        if len(self.rows) < len(lines) or not text.endswith('\n'):
            with (
                replace_file(path) as part,
                part.open('w', newline='', encoding='utf-8') as file,
            ):
                file.write(header + '\n')
                writer = csv.writer(file, lineterminator='\n')
                writer.writerows(astuple(row) for row in self.rows.values())

    def add(self, row: Row) -> None:
        r"""Takes a row, in memory and in the file."""
        self.rows[row.key] = row
        with self.path.open('a', newline='', encoding='utf-8') as file:
            csv.writer(file, lineterminator='\n').writerow(astuple(row))


def load_setting(setting: str, root: str | None) -> AnchorData:
    r"""The real hypergraph of a setting."""
    return cast(AnchorData, AnchorDataset(setting, root=root, progress=False)[0])


class Workbench:
    r"""Prepares data, and fits and judges models on it.

    Args:
        load (callable): Gives the hypergraph of a setting.
        root (str): Where datasets are kept.
        num_splits (int): The number of random splits.
        num_epochs (int): The number of epochs of each stage.
    """

    def __init__(
        self, load: Load, root: str | None, num_splits: int, num_epochs: int
    ) -> None:
        self.load = load
        self.root = root
        self.num_splits = num_splits
        self.num_epochs = num_epochs
        self.prepared: dict[str, AnchorData] = {}
        self.masks: dict[tuple[str, float], dict[str, Tensor]] = {}
        self.models: dict[tuple[Any, ...], tuple[AnchorRadar, float]] = {}
        self.figures: dict[tuple[Any, ...], Figures] = {}

    def data(self, setting: str) -> AnchorData:
        r"""The hypergraph of a setting with its features."""
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

    def split(
        self, setting: str, number: int, local: bool = True, train: float = TRAIN
    ) -> AnchorData:
        r"""One random split of a setting."""
        data = copy.copy(self.data(setting))
        for name, mask in self.all_masks(setting, train).items():
            data[name] = mask[:, number]
        if not local:
            names = AddTopologicalFeatures().feature_names
            kept = set(AddTopologicalFeatures(local=False).feature_names)
            columns = [i for i, name in enumerate(names) if name in kept]
            data.incidence_attr = data.incidence_attr[:, columns]
        return data

    def all_masks(self, setting: str, train: float = TRAIN) -> dict[str, Tensor]:
        r"""The masks of all splits, one split per column."""
        if (setting, train) not in self.masks:
            data = self.data(setting)
            transform = RandomHyperedgeSplit(train=train, num_splits=self.num_splits)
            drawn = transform(data)
            self.masks[setting, train] = {
                name: drawn[name].view(data.num_hyperedges, -1)
                for name in ('train_mask', 'val_mask', 'test_mask')
            }
        return self.masks[setting, train]

    def tune(self, setting: str) -> dict[str, float | None]:
        r"""The best hyperparameters of a small grid on the validation anchors."""
        data = copy.copy(self.data(setting))
        for name, mask in self.all_masks(setting).items():
            data[name] = mask
        epochs = self.num_epochs
        return AnchorRadar.tune(
            data, MULTI_GRID, progress=False, num_epochs=epochs
        ).best

    def identity(
        self, setting: str, variant: Variant, protocol: str, split: int
    ) -> tuple[Any, ...]:
        r"""All that a measurement depends on."""
        params = tuple(variant.model(setting, self.num_epochs).get_params().items())
        source = variant.source or setting
        return setting, source, variant.local, variant.train, protocol, split, params

    def measure(
        self, setting: str, variant: Variant, protocol: str, split: int
    ) -> Figures:
        r"""The figures on the test hyperedges, and the seconds of fitting and
        predicting.
        """
        identity = self.identity(setting, variant, protocol, split)
        if identity not in self.figures:
            model, seconds = self._fit(setting, variant, protocol, split)
            target = self.split(setting, split, variant.local, variant.train)
            start = time.perf_counter()
            score = model.predict_proba(target)
            seconds += time.perf_counter() - start
            found = AnchorEvaluator().eval(score, target, target.test_mask)
            accuracy, mrr, ndcg = (round(found[name], 6) for name in METRICS)
            self.figures[identity] = Figures(accuracy, mrr, ndcg, round(seconds, 3))
        return self.figures[identity]

    def _fit(
        self, setting: str, variant: Variant, protocol: str, split: int
    ) -> tuple[AnchorRadar, float]:
        source = variant.source or setting
        model = variant.model(setting, self.num_epochs)
        # Whether to aggregate is a matter of predicting: what was fitted with
        # aggregation serves without it as well, and on every target.
        params = {k: v for k, v in model.get_params().items() if k != 'w'}
        shared = (
            source,
            variant.local,
            variant.train,
            protocol,
            split,
            tuple(params.items()),
        )
        if shared in self.models:
            fitted, seconds = self.models[shared]
            if model.w is None or model.w == fitted.w:
                fitted = copy.deepcopy(fitted)
                fitted.w = model.w
                return fitted, seconds
        data = self.split(source, split, variant.local, variant.train)
        start = time.perf_counter()
        model.fit(data, use_val=PROTOCOLS[protocol])
        seconds = time.perf_counter() - start
        self.models[shared] = model, seconds
        return model, seconds


# What is measured ############################################################


def plan(
    experiment: str, settings: Sequence[str], num_seeds: int
) -> Iterator[tuple[str, Variant]]:
    r"""The settings and variants of an experiment, but for those that a search of
    hyperparameters finds.

    Args:
        experiment (str): One of :obj:`EXPERIMENTS`.
        settings (list[str]): The settings to measure.
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


def multi_settings(settings: Iterable[str]) -> list[str]:
    r"""The settings with two anchors of the datasets that have them."""
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


def tuned_variant(setting: str, results: ResultFile, bench: Workbench) -> Variant:
    r"""The variant that a search finds, or an earlier search has found: its name says
    all of it.
    """
    for row in results.rows.values():
        if row.setting == setting and row.variant.startswith(TUNED):
            pairs = row.variant.removeprefix(TUNED).split()
            found = dict(pair.split('=') for pair in pairs)
            best = {k: None if v == 'None' else float(v) for k, v in found.items()}
            break
    else:
        best = bench.tune(setting)
    name = TUNED + ' '.join(f'{key}={value}' for key, value in best.items())
    return Variant(name, dict(best), published=f'{setting.partition("_")[0]}_first')


def recall(
    results: ResultFile, settings: Sequence[str], num_seeds: int, bench: Workbench
) -> None:
    r"""Tells the bench what earlier runs have measured, in any experiment."""
    for experiment in EXPERIMENTS:
        for setting, variant in plan(experiment, settings, num_seeds):
            for split in range(bench.num_splits):
                for protocol in PROTOCOLS:
                    key = _key(experiment, setting, variant, protocol, split, bench)
                    if key in results.rows:
                        identity = bench.identity(setting, variant, protocol, split)
                        bench.figures[identity] = results.rows[key].figures


def _key(
    experiment: str,
    setting: str,
    variant: Variant,
    protocol: str,
    split: int,
    bench: Workbench,
) -> Key:
    seed = variant.changes.get('seed', 0)
    name, epochs = variant.name, bench.num_epochs
    return experiment, setting, name, protocol, split, seed, epochs


def run_experiment(
    experiment: str,
    settings: Sequence[str],
    num_seeds: int,
    results: ResultFile,
    bench: Workbench,
    console: Console,
) -> None:
    r"""Measures all that an experiment still lacks."""

    def runs() -> Iterator[tuple[str, Variant]]:
        yield from plan(experiment, settings, num_seeds)
        if experiment == 'multi':
            # Only now, since a search takes long.
            for setting in multi_settings(settings):
                yield setting, tuned_variant(setting, results, bench)

    for setting, variant in runs():
        for split in range(bench.num_splits):
            for protocol in PROTOCOLS:
                key = _key(experiment, setting, variant, protocol, split, bench)
                if key in results.rows:
                    continue
                row = Row(*key, *bench.measure(setting, variant, protocol, split))
                results.add(row)
                console.print(
                    f'{experiment} {setting} {variant.name} {protocol} '
                    f'split {split}: {100 * row.accuracy:.2f} % '
                    f'({row.seconds:.1f} s)',
                    highlight=False,
                )


# Tables ######################################################################


class Reference(PaperFigures):
    r"""The figures of the paper, by experiment."""

    def figure(self, experiment: str, setting: str, variant: str, metric: str) -> str:
        r"""A figure as printed, or an empty text where there is none."""
        if experiment in ('main', 'alignment'):
            return self.cell(metric, OURS, setting)
        if metric != 'accuracy':
            return ''
        if experiment == 'ablation':
            return self.cell('ablation', variant, setting)
        if experiment == 'ratios':
            return self.cell(RATIOS[variant][1], OURS, setting)
        if experiment == 'multi':
            return self.cell('multi_anchor', OURS, setting.partition('_')[0])
        if experiment == 'seeds':
            return self.cell('random_seeds', variant, setting)
        if experiment == 'inductive':
            source = variant.removeprefix('from ').partition(',')[0]
            for row in self.rows('inductive'):
                if (row['train'], row['test']) == (source, setting):
                    return row['inductive']
        return ''


def make_table(
    experiment: str, rows: Iterable[Row], reference: Reference
) -> list[list[str]]:
    r"""The table of an experiment as words, a header first.

    Args:
        experiment (str): One of :obj:`EXPERIMENTS`.
        rows (list[Row]): Rows of any experiments.
        reference (Reference): The figures of the paper.
    """
    groups: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        if row.experiment == experiment:
            group = groups.setdefault((row.setting, row.variant), {})
            group.setdefault(row.protocol, []).append(row)
    # A later run may have added variants of a setting that was there before.
    settings = list(dict.fromkeys(setting for setting, _ in groups))
    table = []
    for setting in settings:
        variants = {v: group for (s, v), group in groups.items() if s == setting}
        for metric in METRICS if experiment == 'main' else METRICS[:1]:
            for variant, group in variants.items():
                values = {
                    protocol: [getattr(row, metric) for row in found]
                    for protocol, found in group.items()
                }
                cells = {
                    name: _mean_and_std(values.get(name, [])) for name in PROTOCOLS
                }
                paper = reference.figure(experiment, setting, variant, metric)
                table.append(_line(setting, variant, metric, cells, paper))
        if experiment == 'seeds':
            table += _over_seeds(setting, variants, reference)
    header = ['setting', 'variant', 'metric', *PROTOCOLS, 'splits', 'paper']
    header += [f'{name} - paper' for name in PROTOCOLS]
    table = [header, *table]
    # Columns that say nothing are left out.
    kept = [i for i in range(len(header)) if any(line[i] for line in table[1:])]
    return [[line[i] for i in kept] for line in table]


Spread = tuple[float, float | None, int]


def _mean_and_std(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    # One split has no spread.
    std = statistics.pstdev(values) if len(values) > 1 else None
    return statistics.fmean(values), std, len(values)


def _line(
    setting: str,
    variant: str,
    metric: str,
    cells: dict[str, Spread | None],
    paper: str,
) -> list[str]:
    scale, digits = (100, 2) if metric == 'accuracy' else (1, 3)
    printed = paper.partition('±')[0]
    texts, differences, counts = [], [], []
    for cell in cells.values():
        if cell is None:
            texts.append('')
            differences.append('')
            continue
        mean, std, count = cell
        spread = '' if std is None else f' ± {scale * std:.{digits}f}'
        texts.append(f'{scale * mean:.{digits}f}{spread}')
        difference = f'{scale * mean - float(printed):+.{digits}f}' if printed else ''
        differences.append(difference)
        counts.append(count)
    number = '' if not counts else '/'.join(map(str, dict.fromkeys(counts)))
    return [setting, variant, metric, *texts, number, paper, *differences]


def _over_seeds(
    setting: str, variants: dict[str, dict[str, list[Row]]], reference: Reference
) -> list[list[str]]:
    # As in the paper: first over splits, then over seeds.
    means: dict[str, list[float]] = {name: [] for name in PROTOCOLS}
    for group in variants.values():
        for protocol, rows in group.items():
            means[protocol].append(statistics.fmean(row.accuracy for row in rows))
    lines = []
    for name, reduce in (('Average', statistics.fmean), ('Stdev', statistics.pstdev)):
        cells: dict[str, Spread | None] = {
            protocol: (reduce(values), None, len(values)) if values else None
            for protocol, values in means.items()
        }
        paper = reference.figure('seeds', setting, name, 'accuracy')
        line = _line(setting, name, 'accuracy', cells, paper)
        lines.append([*line[:5], '', *line[6:]])
    return lines


def print_table(title: str, table: list[list[str]], console: Console) -> None:
    r"""Prints a table of words.

    Args:
        title (str): Its title.
        table (list[list[str]]): Its lines, a header first.
        console (rich.console.Console): Where to print.
    """
    out = Table(title=title)
    for i, name in enumerate(table[0]):
        out.add_column(name, justify='left' if i < 2 else 'right')
    for line in table[1:]:
        out.add_row(*line)
    console.print(out)


NOTES = {
    'main': 'The published hyperparameters.',
    'ablation': (
        'One stage only; without the aggregation (GA); without local features (LF).'
    ),
    'ratios': 'Fewer training anchors, validation 2.5 %; hyperparameters of 7.5 %.',
    'inductive': (
        'Fitted on one dataset with its hyperparameters, judged on the test hyperedges '
        'of another one, of which no anchor is known.'
    ),
    'multi': (
        'The first and the second author, both of which must be found; groups of two '
        'are left out. The paper does not print its hyperparameters.'
    ),
    'seeds': 'Mean and deviation over splits of each seed, then those over seeds.',
    'alignment': (
        'Over all hyperedges, over the known ones as the paper prints it, and as a '
        'cross-entropy; beside what the paper reports of its method.'
    ),
    'sensitivity': 'One hyperparameter moved, all others as published.',
}


def write_markdown(path: Path, rows: Sequence[Row], reference: Reference) -> None:
    r"""Writes the tables of all experiments that there are rows of.

    Args:
        path (str): The file.
        rows (list[Row]): All rows.
        reference (Reference): The figures of the paper.
    """
    lines = [
        '# AnchorRadar',
        '',
        'Mean ± population standard deviation over random splits (7.5 % training, '
        '2.5 % validation, 90 % test, by distinct node sets). `train` learns from the '
        'training anchors, `train+val` from the validation anchors, too; test '
        'hyperedges are the same. Accuracy in percent; `paper` is the figure printed '
        'there, of splits that are not published. What is not listed was not run.',
        '',
        'Made by `benchmarks/anchor_radar.py` from the CSV file of the same name.',
    ]
    for experiment in EXPERIMENTS:
        table = make_table(experiment, rows, reference)
        if len(table) < 2:
            continue
        lines += ['', f'## {experiment}', '', NOTES[experiment], '']
        lines.append('| ' + ' | '.join(table[0]) + ' |')
        lines.append('|' + '|'.join(['---'] * 2 + ['---:'] * (len(table[0]) - 2)) + '|')
        lines += ['| ' + ' | '.join(line) + ' |' for line in table[1:]]
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    r"""Reads the command line."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or '').partition('\n\n')[0],
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add('--settings', nargs='+', default=SETTINGS, help='datasets, with their anchor')
    add('--experiments', nargs='+', default=EXPERIMENTS, choices=EXPERIMENTS)
    add('--splits', type=int, default=5, help='number of random splits')
    add('--seeds', type=int, default=5, help='number of seeds of that experiment')
    add('--epochs', type=int, default=100, help='of each stage; fewer for a trial')
    add('--root', help='where datasets are kept (default: the cache of PyG)')
    add('--reference', type=Path, help='folder with the tables of the paper')
    add('--out', type=Path, default=Path('benchmarks/results/anchor_radar.csv'))
    # More threads than idle cores slow these small products down by far.
    add('--threads', type=int, default=1, help='threads of PyTorch')
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None, load: Load = load_setting) -> None:
    r"""Measures what the command line asks for.

    Args:
        arguments (list[str], optional): The command line, that of the process if
            :obj:`None`. (default: :obj:`None`)
        load (callable, optional): Gives the hypergraph of a setting.
    """
    options = parse_arguments(arguments)
    torch.set_num_threads(options.threads)
    console = Console()
    if not console.is_terminal:
        console.width = LOG_WIDTH
    reference = Reference(options.reference)
    results = ResultFile(options.out)
    bench = Workbench(load, options.root, options.splits, options.epochs)
    recall(results, options.settings, options.seeds, bench)
    for experiment in options.experiments:
        run_experiment(
            experiment, options.settings, options.seeds, results, bench, console
        )
        rows = [r for r in results.rows.values() if r.num_epochs == options.epochs]
        table = make_table(experiment, rows, reference)
        if len(table) > 1:
            print_table(experiment, table, console)
        # After each experiment, so that an interrupted run leaves its tables, too.
        write_markdown(options.out.with_suffix('.md'), rows, reference)


if __name__ == '__main__':
    main()
