import pytest

from tgx_anchor.paper import BASELINES, figure, figures, tables
from tgx_anchor.reproduce.experiments import EXPERIMENTS, OBSERVED, VARIANTS
from tgx_anchor.reproduce.observations import OBSERVATIONS
from tgx_anchor.reproduce.tables import TABLES
from tgx_anchor.reproduce.variants import radar_variants


def printed(name: str) -> list[str]:
    return [entry.paper for entry in TABLES[name].entries() if entry.paper]


def test_names_are_keys() -> None:
    assert all(name == table.name for name, table in TABLES.items())
    assert len(TABLES) >= 17


@pytest.mark.parametrize('name', TABLES)
def test_entries_can_be_measured(name: str) -> None:
    table = TABLES[name]
    entries = table.entries()
    assert entries
    assert len({(entry.setting, entry.row) for entry in entries}) == len(entries)
    for entry in entries:
        assert entry.experiment in EXPERIMENTS
        if entry.experiment == VARIANTS and not entry.source.startswith('attributes'):
            assert entry.variant in radar_variants(entry.setting)
        if entry.experiment == OBSERVED:
            assert entry.variant in OBSERVATIONS
            assert entry.is_split == OBSERVATIONS[entry.variant]
            assert not entry.has_epochs


@pytest.mark.parametrize(
    ('name', 'shipped'),
    [
        ('statistics', 'datasets'),
        ('accuracy', 'accuracy'),
        ('train5', 'accuracy_train5'),
        ('train2p5', 'accuracy_train2p5'),
        ('ndcg', 'ndcg'),
        ('mrr', 'mrr'),
        ('ablation', 'ablation'),
        ('multi', 'multi_anchor'),
        ('proportion', 'anchor_proportion_accuracy'),
        ('downstream', 'downstream'),
    ],
)
def test_every_printed_figure_is_in_a_table(name: str, shipped: str) -> None:
    texts = {'name', 'source', 'domain', 'anchor_role', 'method', 'average'}
    columns = figures(shipped)
    expected = {
        text for column in columns if column not in texts for text in columns[column]
    }
    assert set(printed(name)) == expected


def test_all_shipped_tables_are_used() -> None:
    used = {'datasets', 'heuristics', 'anchor_proportion_accuracy', 'multi_anchor'}
    used |= {'accuracy', 'accuracy_train5', 'accuracy_train2p5', 'mrr', 'ndcg'}
    used |= {'ablation', 'inductive', 'purity_all', 'purity_train', 'random_seeds'}
    assert set(tables()) == used | {'downstream'}


def test_main_table_has_ten_methods() -> None:
    rows = [e.row for e in TABLES['accuracy'].entries(['qaBI'])]
    ours, beyond = 'AnchorRadar, train + val', 'StackedAnchorRadar'
    assert rows == ['AnchorRadar', *BASELINES, beyond, ours]
    (hnn,) = [e for e in TABLES['accuracy'].entries(['emEU']) if e.row == 'HNN']
    assert hnn.paper == 'OOM'


def test_observation_1() -> None:
    entries = TABLES['observation1'].entries(['emER'])
    assert [(e.row, e.paper) for e in entries] == [
        ('Degree', '66.2'),
        ('WHATsNet', figure('accuracy', 'WHATsNet', 'emER')),
        ('CoNHD-U', figure('accuracy', 'CoNHD-U', 'emER')),
        ('CoNHD-I', figure('accuracy', 'CoNHD-I', 'emER')),
        ('Random', '44.9'),
    ]
    assert [e.has_epochs for e in entries] == [False, True, True, True, False]


def test_purity() -> None:
    entries = TABLES['purity'].entries(['soME'])
    assert [e.paper for e in entries] == [
        '0.6872 (nodes ±0.4048)',
        '0.6701 (nodes ±0.4138)',
        '0.0834',
    ]


def test_the_published_model_is_measured_once() -> None:
    entries = [
        entry
        for name in ('accuracy', 'ablation', 'seeds', 'sensitivity', 'inductive')
        for entry in TABLES[name].entries(['qaPH'])
        if entry.row in ('AnchorRadar', 'Seed 1', 'as published', 'same dataset')
    ]
    assert len(entries) == 5
    assert len({key for entry in entries for key in entry.keys(5, 0)}) == 5


def test_inductive_needs_two_datasets() -> None:
    entries = TABLES['inductive'].entries()
    pairs = {(e.source, e.setting): e.paper for e in entries if e.source}
    table = figures('inductive')
    expected = zip(table['train'], table['test'], strict=True)
    assert pairs == dict(zip(expected, table['inductive'], strict=True))
