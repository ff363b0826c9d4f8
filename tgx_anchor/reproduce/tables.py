"""Lists all tables and figures of the paper."""

from collections.abc import Callable, Iterable
from functools import partial

from tgx_anchor.benchmark.downstream import VARIANTS as DOWNSTREAM_VARIANTS
from tgx_anchor.benchmark.methods import HEURISTICS, PLANTED, STACKED, WITHOUT_EPOCHS
from tgx_anchor.paper import BASELINES, DATASETS, SETTINGS, figure, figures
from tgx_anchor.reproduce.experiments import DOWNSTREAM, OBSERVED, SHARES, VARIANTS
from tgx_anchor.reproduce.paper_table import Entry, PaperTable, Unit
from tgx_anchor.reproduce.variants import (
    ABLATIONS,
    ATTRIBUTES,
    FACTORS,
    HYPERPARAMETERS,
    NUM_SEEDS,
    USE_VAL,
    radar_variants,
)

OURS = 'AnchorRadar'
_RATIOS = 'Appendix on training ratios'
ALL, FIVE, HALF = SHARES
METHODS = (OURS, *BASELINES)
# Datasets with a first and a second author.
_AUTHORED = tuple(name for name in DATASETS if name.startswith('co'))
TWO_ANCHORS = tuple(f'{name}_first_second' for name in _AUTHORED)
# The accuracies with attributes of authors, and the data that no mirror can have.
_UNPUBLISHED = 'attributes of authors'
_WITH_ATTRIBUTES = {'coAA_first': '50.8', 'coAA_last': '51.8'}

Settings = Iterable[str]


def _statistics(settings: Settings) -> list[Entry]:
    table = figures('datasets')
    units: dict[str, Unit] = {'avg_size': 'number'}
    names = [name for name in table if name.startswith(('num_', 'min', 'max', 'avg'))]
    out = []
    for setting in settings:
        dataset, _, anchor = setting.partition('_')
        if anchor == 'last':
            # The hypergraph is the same for all kinds of anchors.
            continue
        line = table['name'].index(dataset)
        for name in names:
            unit = units.get(name, 'count')
            paper = table[name][line]
            words = name.replace('num_', '').replace('_', ' ')
            entry = Entry(setting, words, OBSERVED, 'statistics', name, unit, paper)
            out.append(entry._replace(is_split=False, has_epochs=False))
    return out


def _methods(
    settings: Settings,
    experiment: str,
    metric: str,
    table: str,
    methods: Iterable[str],
) -> list[Entry]:
    unit: Unit = 'percent' if metric == 'accuracy' else 'score'
    out = []
    for setting in settings:
        for method in methods:
            where = 'heuristics' if method in HEURISTICS else table
            paper = figure(where, method, setting)
            entry = Entry(setting, method, experiment, method, metric, unit, paper)
            out.append(entry._replace(has_epochs=method not in WITHOUT_EPOCHS))
        if OURS in methods and experiment == ALL:
            # Known anchors like any other once the hyperparameters are chosen: the
            # paper does not say whether its figures learn from them.
            paper = figure(table, OURS, setting)
            row = f'{OURS}, {USE_VAL}'
            out.append(Entry(setting, row, VARIANTS, USE_VAL, metric, unit, paper))
    return out


def _purity(settings: Settings, part: str, table: str) -> list[Entry]:
    columns = figures(table)
    names: dict[str, Unit] = {
        'real_mean': 'score',
        'random_mean': 'score',
        'p_value': 'p-value',
    }
    out = []
    for setting in settings:
        line = columns['setting'].index(setting)
        for metric, unit in names.items():
            paper = columns[metric][line]
            deviation = columns.get(metric.replace('mean', 'std'))
            if metric != 'p_value' and deviation is not None:
                # Over nodes, not over splits: no measure of the error of the mean.
                paper = f'{paper} (nodes ±{deviation[line]})'
            variant = f'purity of {part} hyperedges'
            row = metric.replace('_mean', ' anchors').replace('_', '-')
            entry = Entry(setting, row, OBSERVED, variant, metric, unit, paper)
            out.append(entry._replace(has_epochs=False))
    return out


def _proportion(settings: Settings) -> list[Entry]:
    out = []
    for setting in settings:
        for part in ('training', 'all'):
            paper = figure('anchor_proportion_accuracy', 'anchor proportion', setting)
            paper = paper if part == 'training' else ''
            variant = f'proportion in {part} hyperedges'
            row = f'{part} hyperedges'
            entry = Entry(setting, row, OBSERVED, variant, 'accuracy', 'percent', paper)
            out.append(entry._replace(is_split=part == 'training', has_epochs=False))
    return out


def _efficiency(settings: Settings) -> list[Entry]:
    shown: dict[str, tuple[str, Unit]] = {
        'train_seconds': ('training time (s)', 'seconds'),
        'num_parameters': ('learnable parameters', 'count'),
    }
    return [
        Entry(setting, f'{method}, {words}', ALL, method, metric, unit, '')
        for setting in settings
        for metric, (words, unit) in shown.items()
        for method in METHODS
    ]


def _ablation(settings: Settings) -> list[Entry]:
    out = []
    for setting in settings:
        for name in (*ABLATIONS, OURS):
            paper = figure('ablation', name, setting)
            out.append(_of_variant(setting, name, name, paper))
    return out


def _seeds(settings: Settings) -> list[Entry]:
    out = []
    for setting in settings:
        for number in range(1, NUM_SEEDS + 1):
            name = f'Seed {number}'
            paper = figure('random_seeds', name, setting)
            variant = OURS if number == 1 else name
            out.append(_of_variant(setting, name, variant, paper))
    return out


def _sensitivity(settings: Settings) -> list[Entry]:
    out = []
    for setting in settings:
        known = radar_variants(setting)
        out.append(
            _of_variant(
                setting, 'as published', OURS, figure('ablation', OURS, setting)
            )
        )
        for name in HYPERPARAMETERS:
            for sign in FACTORS:
                variant = f'{name} {sign}'
                if variant in known:
                    out.append(_of_variant(setting, variant, variant, ''))
    return out


def _of_variant(setting: str, row: str, variant: str, paper: str) -> Entry:
    # The published model is measured once, with all other methods.
    experiment = ALL if variant == OURS else VARIANTS
    return Entry(setting, row, experiment, variant, 'accuracy', 'percent', paper)


def _inductive(settings: Settings) -> list[Entry]:
    table = figures('inductive')
    pairs = list(zip(table['train'], table['test'], strict=True))
    out = []
    for setting in settings:
        for line, (source, target) in enumerate(pairs):
            if target != setting:
                continue
            entry = _of_variant(
                setting, f'from {source}', f'from {source}', table['inductive'][line]
            )
            out.append(entry._replace(source=source))
        lines = [line for line, pair in enumerate(pairs) if pair[1] == setting]
        if lines:
            paper = table['transductive'][lines[0]]
            out.append(_of_variant(setting, 'same dataset', OURS, paper))
    return out


def _multi(settings: Settings) -> list[Entry]:
    return [
        Entry(
            setting,
            method,
            ALL,
            method,
            'accuracy',
            'percent',
            figure('multi_anchor', method, setting.partition('_')[0]),
        )
        for setting in settings
        for method in METHODS
    ]


def _features(settings: Settings) -> list[Entry]:
    out = []
    for setting in settings:
        paper = figure('accuracy', OURS, setting)
        out.append(_of_variant(setting, 'topological features', OURS, paper))
        paper = _WITH_ATTRIBUTES.get(setting, '')
        entry = _of_variant(setting, 'and attributes', ATTRIBUTES, paper)
        if setting != PLANTED:
            entry = entry._replace(source=_UNPUBLISHED)
        out.append(entry)
    return out


def _downstream(settings: Settings) -> list[Entry]:
    out = []
    for setting in settings:
        for variant in DOWNSTREAM_VARIANTS:
            for metric, row in (('accuracy', variant), ('auroc', f'{variant}, AUROC')):
                # The paper prints accuracies only.
                paper = figure('downstream', variant, setting)
                paper = paper if metric == 'accuracy' else ''
                unit: Unit = 'percent' if metric == 'accuracy' else 'score'
                out.append(
                    Entry(setting, row, DOWNSTREAM, variant, metric, unit, paper)
                )
    return out


def _accuracies(
    name: str, title: str, place: str, experiment: str, note: str
) -> PaperTable:
    table = {ALL: 'accuracy', FIVE: 'accuracy_train5', HALF: 'accuracy_train2p5'}
    make = partial(
        _methods,
        experiment=experiment,
        metric='accuracy',
        table=table[experiment],
        methods=(*METHODS, STACKED) if experiment == ALL else METHODS,
    )
    return PaperTable(name, title, place, note, make, SETTINGS)


def _ranking(name: str, title: str) -> PaperTable:
    make = partial(
        _methods,
        experiment=ALL,
        metric=name,
        table=name,
        methods=(*METHODS, STACKED),
    )
    note = (
        'AnchorRadar ranks members by their strengths, the baselines by the logit of '
        "the anchor's role."
    )
    place = 'Appendix on evaluation metrics'
    return PaperTable(name, title, place, note, make, SETTINGS)


def _named(
    name: str,
    title: str,
    place: str,
    note: str,
    make: Callable[[Settings], list[Entry]],
    settings: tuple[str, ...] = SETTINGS,
) -> PaperTable:
    return PaperTable(name, title, place, note, make, settings)


_LIST = (
    _named(
        'statistics',
        'Datasets',
        'Section II',
        'Counts of nodes, hyperedges, distinct node sets and members.',
        _statistics,
    ),
    _named(
        'observation1',
        'Observation 1: degree heuristic, strongest baselines and chance',
        'Section V-A',
        'Accuracy (%) of picking the member of highest or lowest degree, whichever '
        'finds more training anchors.',
        partial(
            _methods,
            experiment=ALL,
            metric='accuracy',
            table='accuracy',
            methods=('Degree', 'WHATsNet', 'CoNHD-U', 'CoNHD-I', 'Random'),
        ),
    ),
    _named(
        'purity',
        'Observation 2: anchor purity on 7.5 % of the hyperedges',
        'Section V-B',
        'Mean over nodes in at least two training hyperedges, with the real anchors '
        'and with random ones; p-value of a one-sided t-test. Hyperedges of one '
        'member are left out.',
        partial(_purity, part='training', table='purity_train'),
    ),
    _named(
        'purity_all',
        'Observation 2: anchor purity on all hyperedges',
        'Appendix on observation 2',
        'Mean over nodes in at least two hyperedges, with the real anchors and with '
        'random ones, which are drawn five times; p-value of a one-sided t-test. '
        'Hyperedges of one member are left out.',
        partial(_purity, part='all', table='purity_all'),
    ),
    _named(
        'proportion',
        'Accuracy of the anchor proportion',
        'Section V-B',
        'Accuracy (%) of picking the member who anchors the largest share of its '
        'hyperedges, computed from the same anchors. The paper does not say which '
        'hyperedges it takes; the training hyperedges give its figures.',
        _proportion,
    ),
    _accuracies(
        'accuracy',
        'Accuracy of all methods',
        'Section VII-B',
        ALL,
        f'Accuracy (%) with 7.5 % training and 2.5 % validation hyperedges; '
        f'"{USE_VAL}" learns from both, {STACKED} is a model beyond the paper.',
    ),
    _accuracies('train5', 'Accuracy with 5 % training', _RATIOS, FIVE, 'Accuracy (%).'),
    _accuracies(
        'train2p5', 'Accuracy with 2.5 % training', _RATIOS, HALF, 'Accuracy (%).'
    ),
    _ranking('ndcg', 'Normalized discounted cumulative gain'),
    _ranking('mrr', 'Mean reciprocal rank'),
    PaperTable(
        'efficiency',
        'Training time and learnable parameters',
        'Section VII-C',
        'The paper prints two bar charts and two ratios.',
        _efficiency,
        SETTINGS,
        plot='efficiency',
    ),
    _named(
        'ablation',
        'Ablation of AnchorRadar',
        'Section VII-D',
        'Accuracy (%) of one stage only, without global aggregation (GA), without '
        'local features (LF).',
        _ablation,
    ),
    _named(
        'seeds',
        'Five random seeds',
        'Appendix on random seeds',
        'Accuracy (%).',
        _seeds,
    ),
    PaperTable(
        'sensitivity',
        'Sensitivity to hyperparameters',
        'Appendix on hyperparameter sensitivity',
        'Accuracy (%) with one hyperparameter changed; the paper prints curves only.',
        _sensitivity,
        SETTINGS,
        plot='sensitivity',
    ),
    _named(
        'inductive',
        'Fitted on another dataset of the domain',
        'Appendix on inductive settings',
        'Accuracy (%) on a dataset of which no anchor is known.',
        _inductive,
        tuple(dict.fromkeys(figures('inductive')['test'])),
    ),
    _named(
        'multi',
        'Two anchors per group',
        'Section VII-B, appendix on multiple anchors',
        'Accuracy (%) of finding the first and the second author, groups of two left '
        'out. The paper prints no hyperparameters: AnchorRadar uses those with the '
        'highest validation accuracy on coDB, the baselines those of one anchor.',
        _multi,
        TWO_ANCHORS,
    ),
    _named(
        'features',
        'Additional features',
        'Section VII-B',
        'Accuracy (%). The paper takes attributes of authors that are not published; '
        'the attributes of the planted data have a correlation of 0.5 with strengths.',
        _features,
        (PLANTED, *_WITH_ATTRIBUTES),
    ),
    _named(
        'downstream',
        'Real or fake groups, with and without anchor strengths',
        'Section VII-E',
        'Accuracy (%) of telling the groups that are held out from fake ones of the '
        'same sizes, by embeddings of VilLain. The strengths do not see the groups '
        'that are held out, of which those with a member who is in no other group are '
        'not tested. Equal strengths and degrees are controls that the paper '
        'does not have: the features of any strengths tell the size of a group, which '
        'embeddings do not.',
        _downstream,
        tuple(name for name in figures('downstream') if name in SETTINGS),
    ),
)
#: All tables and figures of the paper by their names.
TABLES: dict[str, PaperTable] = {table.name: table for table in _LIST}
