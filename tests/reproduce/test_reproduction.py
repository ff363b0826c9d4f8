from pathlib import Path

import pytest

from tgx_anchor.reproduce import Cell, reproduce, reproduction
from tgx_anchor.reproduce.cell import CellKey, cell_table
from tgx_anchor.reproduce.reproduction import is_at_hand
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
    lines = [line for line in text.splitlines() if '| no data |' not in line]
    assert '\n'.join(lines) in report
    assert (tmp_path / 'tables' / 'features.tex').exists()
    names = {path.name for path in tmp_path.rglob('*')}
    assert not any(name.endswith('.part') for name in names)
    assert 'checkpoints' not in names


def test_report_only_measures_nothing(tmp_path: Path) -> None:
    filled = reproduce(['statistics'], folder=tmp_path, measure=False)
    assert not any(each.values for each in filled['statistics'])
    assert not run_table(tmp_path / 'tables' / 'runs.csv').rows


def test_methods_and_datasets_are_chosen(tmp_path: Path) -> None:
    found = features(tmp_path, num_splits=1, methods=['with attributes'])
    assert {cell.variant for cell in found} == {'with attributes'}
    assert features(tmp_path, num_splits=1, datasets=['emER', 'coDB']) == []


def test_failures_keep_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_hand(setting: str, _: str | None = None) -> bool:
        return setting in ('planted', 'coAA_first')

    # The data of coAA is said to be at hand, and is not.
    monkeypatch.setattr(reproduction, 'is_at_hand', at_hand)
    monkeypatch.setenv('TGX_ANCHOR_MIRROR', str(tmp_path / 'nowhere'))
    with pytest.raises(ValueError, match=r'1 measurements failed, .* of coAA_first'):
        features(tmp_path, num_splits=1)
    cells = cell_table(tmp_path / 'tables' / 'cells.csv').rows
    assert {cell.setting for cell in cells} == {'planted'}


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'tables': ['weather']}, "'tables' must be some of statistics"),
        ({'datasets': ['emXX']}, "'name' must be one of"),
        ({'datasets': ['coDB_middle']}, "'anchor' of 'coDB' must be one of"),
        ({'num_splits': 0}, "'num_splits' must be positive"),
        ({'num_epochs': 0}, "'num_epochs' must be positive"),
    ],
)
def test_bad_arguments(
    tmp_path: Path, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        reproduce(folder=tmp_path, **arguments)  # type: ignore[arg-type]


def test_data_at_hand(tmp_path: Path) -> None:
    assert is_at_hand('planted')
    assert not is_at_hand('qaBI', str(tmp_path))
    assert not is_at_hand('attributes of authors')
