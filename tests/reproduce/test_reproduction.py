from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tgx_anchor.benchmark import Failure
from tgx_anchor.reproduce import Cell, reproduce, reproduction
from tgx_anchor.reproduce.cell import CellKey, cell_table
from tgx_anchor.reproduce.experiments import checkpoint_folder
from tgx_anchor.reproduce.reproduction import is_available
from tgx_anchor.reproduce.run import run_table


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # No data but the planted one.
    monkeypatch.delenv('TGX_ANCHOR_MIRROR', raising=False)
    monkeypatch.setenv('PYG_HOME', str(tmp_path / 'home'))


def features(folder: Path, **kwargs: object) -> list[Cell]:
    new: list[Cell] = []
    reproduce(
        ['features'],
        num_epochs=2,
        folder=folder,
        root=str(folder),
        progress=False,
        callback=new.append,
        **kwargs,  # type: ignore[arg-type]
    )
    return new


def test_continues_where_it_stopped(tmp_path: Path) -> None:
    first = features(tmp_path, num_splits=1)
    assert {cell.key for cell in first} == {
        CellKey('methods', 'planted', 'AnchorRadar', 0, 2),
        CellKey('variants', 'planted', 'with attributes', 0, 2),
    }
    assert features(tmp_path, num_splits=1) == []
    second = features(tmp_path, num_splits=2)
    assert {cell.split for cell in second} == {1}
    assert cell_table(tmp_path / 'tables' / 'cells.csv').rows == first + second
    assert [run.run for run in run_table(tmp_path / 'tables' / 'runs.csv').rows] == [
        1,
        2,
    ]
    assert {cell.run for cell in second} == {2}


def test_writes_all_files(tmp_path: Path) -> None:
    features(tmp_path, num_splits=1, command='the command')
    text = (tmp_path / 'tables' / 'features.md').read_text(encoding='utf-8')
    assert '| planted | and attributes |' in text
    assert '| coAA_first | and attributes | no data | 50.8 |' in text
    assert 'the command' in text
    report = (tmp_path / 'RESULTS.md').read_text(encoding='utf-8')
    assert '| planted | and attributes |' in report
    assert '| no data |' not in report
    assert 'Runs: 1.' in report
    assert '- Run 1, ' in report
    assert (tmp_path / 'tables' / 'features.tex').exists()
    names = {path.name for path in tmp_path.rglob('*')}
    assert not any(name.endswith('.part') for name in names)
    assert not names & {'checkpoints', '.lock'}


def test_report_only_measures_nothing(tmp_path: Path) -> None:
    features(tmp_path, num_splits=1)
    new: list[Cell] = []
    filled = reproduce(
        ['features'], num_splits=3, folder=tmp_path, measure=False, callback=new.append
    )
    assert new == []
    assert [len(each.values) for each in filled['features']] == [1, 1, 0, 0, 0, 0]
    assert len(run_table(tmp_path / 'tables' / 'runs.csv').rows) == 1


def test_a_folder_has_one_run_at_a_time(tmp_path: Path) -> None:
    (tmp_path / 'tables').mkdir()
    with (
        FileLock(tmp_path / 'tables' / '.lock'),
        pytest.raises(ValueError, match="'folder' must not be in use by another run"),
    ):
        features(tmp_path, num_splits=1)
    assert features(tmp_path, num_splits=1)


def test_an_interruption_leaves_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    features(tmp_path, num_splits=1)
    (tmp_path / 'RESULTS.md').unlink()
    monkeypatch.setattr(reproduction, 'fill_table', interrupt)
    with pytest.raises(KeyboardInterrupt):
        features(tmp_path, num_splits=2)
    assert 'planted' in (tmp_path / 'RESULTS.md').read_text(encoding='utf-8')


def test_all_tables_of_a_cell_are_written(tmp_path: Path) -> None:
    key = CellKey('methods', 'emER', 'AnchorRadar', 0)
    (tmp_path / 'tables').mkdir()
    cells = cell_table(tmp_path / 'tables' / 'cells.csv')
    for metric in ('accuracy', 'mrr', 'ndcg'):
        cells.add(Cell(*key, metric, 0.6, 1))
    reproduce(['ablation'], folder=tmp_path, measure=False)
    for name in ('ablation', 'accuracy', 'mrr', 'seeds'):
        text = (tmp_path / 'tables' / f'{name}.md').read_text(encoding='utf-8')
        assert '| emER |' in text
    assert not (tmp_path / 'tables' / 'purity.md').exists()


def test_methods_and_datasets_are_chosen(tmp_path: Path) -> None:
    found = features(tmp_path, num_splits=1, methods=['with attributes'])
    assert {cell.variant for cell in found} == {'with attributes'}
    assert features(tmp_path, num_splits=1, datasets=['coAA']) == []


def test_failures_keep_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_hand(setting: str, _: str | None = None) -> bool:
        return setting in ('planted', 'coAA_first')

    # The data of coAA is said to be at hand, and is not.
    monkeypatch.setattr(reproduction, 'is_available', at_hand)
    monkeypatch.setenv('TGX_ANCHOR_MIRROR', str(tmp_path / 'nowhere'))
    with pytest.raises(ValueError, match=r'1 measurements failed, .* of coAA_first'):
        features(tmp_path, num_splits=1)
    cells = cell_table(tmp_path / 'tables' / 'cells.csv').rows
    assert {cell.setting for cell in cells} == {'planted'}


def test_trainings_that_failed_keep_their_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths: list[Path] = []

    def fail_first(*args: Any, **_: object) -> dict[Any, Failure]:
        for batch in args[2]:
            paths.append(checkpoint_folder(tmp_path / 'checkpoints', batch[0]))
            paths[-1].mkdir(parents=True)
        return {args[2][0]: Failure('over')}

    monkeypatch.setattr(reproduction, 'is_available', lambda *_: True)
    monkeypatch.setattr(reproduction, 'fill_table', fail_first)
    with pytest.raises(ValueError, match='1 measurements failed'):
        reproduce(
            ['observation1'], ['emER'], ['WHATsNet', 'CoNHD-U'], 1, folder=tmp_path
        )
    assert [path.exists() for path in paths] == [True, False]


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'tables': ['weather']}, "'tables' must be among statistics"),
        ({'datasets': ['emXX']}, "'name' must be one of"),
        ({'datasets': ['coDB_middle']}, "'anchor' of 'coDB' must be one of"),
        ({'num_splits': 0}, "'num_splits' must be positive"),
        ({'num_epochs': 0}, "'num_epochs' must be positive"),
        ({'jobs': 0}, "'jobs' must be positive"),
        ({'methods': ['Seed 9']}, "'methods' must be among"),
    ],
)
def test_bad_arguments(
    tmp_path: Path, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        reproduce(folder=tmp_path, **arguments)  # type: ignore[arg-type]


def test_data_at_hand(tmp_path: Path) -> None:
    assert is_available('planted')
    assert not is_available('qaBI', str(tmp_path))
    assert not is_available('attributes of authors')
