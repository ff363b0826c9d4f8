from pathlib import Path

import pytest

from tgx_anchor.benchmark.downstream import VARIANTS
from tgx_anchor.reproduce.cell import CellKey
from tgx_anchor.reproduce.experiments import (
    checkpoint_folder,
    make_batches,
    measure_batch,
)


def test_trainings_stand_alone() -> None:
    keys = [
        CellKey('methods', 'coDB_first', 'AnchorRadar', 0),
        CellKey('methods', 'coDB_first', 'WHATsNet', 0),
        CellKey('methods', 'coDB_first', 'StackedAnchorRadar', 0),
        CellKey('variants', 'coDB_first', 'No GA', 0),
        CellKey('methods', 'coDB_last', 'WHATsNet', 0),
        CellKey('methods, 5 %', 'coDB_last', 'WHATsNet', 0),
        CellKey('variants', 'coDB_first', 'No GA', 1),
    ]
    assert make_batches(keys) == [
        (keys[0], keys[3]),
        # One training for both kinds of anchors.
        (keys[1], keys[4]),
        (keys[2],),
        (keys[5],),
        (keys[6],),
    ]


def test_batches_are_small() -> None:
    keys = [CellKey('variants', 'emER', f'Seed {i}', 0) for i in range(20)]
    found = make_batches(keys)
    assert [len(batch) for batch in found] == [8, 8, 4]
    assert [key for batch in found for key in batch] == keys


def test_measures_methods_variants_and_observations() -> None:
    keys = (
        CellKey('methods', 'planted', 'AnchorRadar', 0, 3),
        CellKey('methods, 5 %', 'planted', 'AnchorRadar', 0, 3),
        CellKey('methods', 'planted', 'Degree', 0),
        CellKey('variants', 'planted', 'with attributes', 0, 3),
        CellKey('observations', 'planted', 'statistics', 0),
    )
    told: list[str] = []
    cells = measure_batch(keys, told.append, run=7)
    values = {(cell.key, cell.metric): cell.value for cell in cells}
    assert {cell.run for cell in cells} == {7}
    assert {cell.key for cell in cells} == set(keys)
    assert values[keys[4], 'num_nodes'] == 1000
    for key in keys[:4]:
        assert 0.4 < values[key, 'accuracy'] < 1
    assert values[keys[0], 'accuracy'] != values[keys[1], 'accuracy']
    assert values[keys[0], 'trained_epochs'] == 6
    assert values[keys[0], 'num_parameters'] == 64 * 35 + 1 + 1000
    assert 'planted with attributes' in told


def test_measurements_repeat() -> None:
    keys = (CellKey('variants', 'planted', 'with attributes', 1, 2),)
    first, second = (
        {c.metric: c.value for c in measure_batch(keys, print, run=1)} for _ in range(2)
    )
    assert first['accuracy'] == second['accuracy']
    assert first['ndcg'] == second['ndcg']


@pytest.mark.parametrize(
    ('key', 'message'),
    [
        (CellKey('weather', 'planted', 'rain', 0), "'experiment' must be one of"),
        (CellKey('variants', 'planted', 'No GA', 0), "'variant' must be one of with"),
    ],
)
def test_unknown_names(key: CellKey, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure_batch((key,), print, run=1)


def test_checkpoints_are_shared_by_the_roles_of_authors() -> None:
    def folder(setting: str, experiment: str = 'methods') -> Path:
        return checkpoint_folder(Path('a'), CellKey(experiment, setting, 'HGNN', 0))

    assert folder('coDB_first') == folder('coDB_last')
    assert folder('coDB_first') != folder('coDB_first_second')
    assert folder('coDB_first') != folder('coDB_first', 'methods, 5 %')
    assert folder('emER') != folder('emEU')


def test_real_or_fake_is_measured_once(tmp_path: Path) -> None:
    keys = tuple(
        CellKey('real or fake', 'planted', variant, 0, 2) for variant in VARIANTS
    )
    other = CellKey('methods', 'planted', 'Degree', 0)
    assert set(make_batches([keys[0], other, *keys[1:]])) == {keys, (other,)}
    told: list[str] = []
    cells = measure_batch(keys, told.append, run=1, cache=str(tmp_path))
    assert {cell.key for cell in cells} == set(keys)
    assert {cell.metric for cell in cells} == {'accuracy', 'auroc', 'seconds'}
    assert told.count('planted real or fake') == 1
