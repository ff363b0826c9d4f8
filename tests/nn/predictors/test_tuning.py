import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from tests.devices import second_device
from tests.nn.predictors.radar import GRID, column, planted, quick, same_state
from tests.strategies import one_line_error
from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import AnchorRadar
from tgx_anchor.nn.predictors import tuning
from tgx_anchor.nn.predictors.tuning import PAPER_GRID
from tgx_anchor.paper import SETTINGS, hyperparameters
from tgx_anchor.transforms import RandomHyperedgeSplit


def test_grid_of_the_paper() -> None:
    assert [len(values) for values in PAPER_GRID.values()] == [3, 3, 20, 11]
    for setting in SETTINGS:
        for name, value in hyperparameters('AnchorRadar', setting).items():
            assert value in PAPER_GRID[name]


def points(table: list[dict[str, float | None]]) -> list[tuple[float | None, ...]]:
    return [tuple(row[name] for name in GRID) for row in table]


def accuracy(data: AnchorData, params: dict[str, float | None], **kwargs: Any) -> float:
    model = quick(**params, **kwargs).fit(data)
    score = model.predict_proba(data)
    return AnchorEvaluator().eval(score, data, data.val_mask)['accuracy']


@pytest.mark.parametrize(
    'kwargs', [{}, {'seed': 4}, {'alignment': 'known'}, {'alignment': 'cross_entropy'}]
)
def test_search_is_fitting_each_point(
    kwargs: dict[str, Any], device: torch.device
) -> None:
    data = planted().to(device)
    result = AnchorRadar.tune(
        data, GRID, progress=False, hidden_channels=8, num_epochs=15, **kwargs
    )
    assert points(result.table) == list(itertools.product(*GRID.values()))
    for row in result.table:
        expected = accuracy(data, {name: row[name] for name in GRID}, **kwargs)
        assert row['val_accuracy'] == pytest.approx(expected, abs=1e-9)
        assert row['val_std'] == 0
    top = max(row['val_accuracy'] or 0 for row in result.table)
    assert accuracy(data, result.best, **kwargs) == pytest.approx(top, abs=1e-9)
    assert len({row['val_accuracy'] for row in result.table}) > 4
    assert same_state(result.model, quick(**result.best, **kwargs).fit(data))
    assert repr(result.model) == repr(quick(**result.best, **kwargs))


def test_search_over_several_splits() -> None:
    data = planted(num_splits=3)
    parts = [column(data, split) for split in range(3)]
    kwargs: dict[str, Any] = {'hidden_channels': 8, 'num_epochs': 5}
    result = AnchorRadar.tune(data, GRID, progress=False, **kwargs)
    alone = [AnchorRadar.tune(p, GRID, progress=False, **kwargs) for p in parts]
    for row, *each in zip(result.table, *(one.table for one in alone), strict=True):
        values = [float(one['val_accuracy'] or 0) for one in each]
        assert row['val_accuracy'] == pytest.approx(np.mean(values), abs=1e-12)
        assert row['val_std'] == pytest.approx(np.std(values), abs=1e-12)
    listed = AnchorRadar.tune(parts, GRID, progress=False, **kwargs)
    assert listed.table == result.table
    assert listed.best == result.best
    # The data stays as it was.
    assert data.train_mask.size() == (600, 3)
    parts[0].train_mask = parts[0].train_mask.unsqueeze(1)
    parts[0].val_mask = parts[0].val_mask.unsqueeze(1)
    wide = AnchorRadar.tune(parts[0], GRID, progress=False, **kwargs)
    assert wide.table == alone[0].table
    assert parts[0].train_mask.size() == (600, 1)


@pytest.mark.parametrize('weights', [(None,), (2.0,), (2, None)])
def test_search_in_few_columns(
    weights: tuple[float | None, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Memory for one alpha at a time, or for all, is no difference.
    data = planted()
    grid = {**GRID, 'lr_stage1': [0.1], 'lr_stage2': [0.2], 'w': weights}
    whole = AnchorRadar.tune(data, grid, progress=False, num_epochs=5)
    monkeypatch.setattr('tgx_anchor.nn.predictors.tuning._CHUNK_VALUES', 1)
    monkeypatch.setattr('tgx_anchor.nn.predictors.known_rows.CHUNK_ROWS', 100)
    parts = AnchorRadar.tune(data, grid, progress=False, num_epochs=5)
    assert [row['w'] for row in parts.table] == list(weights) * 2
    assert [row['val_accuracy'] for row in parts.table] == pytest.approx(
        [row['val_accuracy'] for row in whole.table], abs=1e-9
    )


class Counted:
    """Counts how often each stage is learnt."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = {'scorer_epochs': 0, 'strength_epochs': 0}
        for name in self.calls:
            self._wrap(monkeypatch, name)

    def _wrap(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        method = getattr(tuning, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.calls[name] += 1
            return method(*args, **kwargs)

        monkeypatch.setattr(tuning, name, counted)

    def since(self) -> tuple[int, int]:
        out = self.calls['scorer_epochs'], self.calls['strength_epochs']
        self.calls = dict.fromkeys(self.calls, 0)
        return out


def test_search_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, path = planted(num_splits=2), tmp_path / 'search.csv'
    kwargs: dict[str, Any] = {'progress': False, 'hidden_channels': 8, 'num_epochs': 3}
    counted = Counted(monkeypatch)
    whole = AnchorRadar.tune(data, GRID, path, **kwargs)
    assert counted.since() == (4, 8)
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    assert len(lines) == 1 + 8 * 6
    assert AnchorRadar.tune(data, GRID, path, **kwargs).table == whole.table
    assert counted.since() == (0, 0)
    assert path.read_bytes() == content
    # One byte at a time through the last line of the fifth block and its neighbours,
    # to the line ends and beyond; the first four blocks are never learnt again.
    begin = len(b''.join(lines[:30]))
    end = len(b''.join(lines[:32]))
    for cut in [*range(begin - 2, end, 7), begin, begin + len(lines[30]) - 1]:
        path.write_bytes(content[:cut])
        done = path.read_bytes().count(b'\n') - 1
        again = AnchorRadar.tune(data, GRID, path, **kwargs)
        assert again.table == whole.table, cut
        assert counted.since()[1] == 8 - done // 6
        # What is in the file now is whole as well.
        assert AnchorRadar.tune(data, GRID, path, **kwargs).table == whole.table
        assert counted.since() == (0, 0)
    for cut in (0, 5, len(lines[0]) - 1, len(lines[0])):
        path.write_bytes(content[:cut])
        assert AnchorRadar.tune(data, GRID, path, **kwargs).table == whole.table
        assert counted.since() == (4, 8)
        assert path.read_bytes() == content


def test_search_takes_more_of_the_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, path = planted(), tmp_path / 'search.csv'
    kwargs: dict[str, Any] = {'progress': False, 'num_epochs': 3}
    small = {**GRID, 'lr_stage2': (0.05,)}
    counted = Counted(monkeypatch)
    AnchorRadar.tune(data, small, path, **kwargs)
    assert counted.since() == (2, 2)
    result = AnchorRadar.tune(data, GRID, path, **kwargs)
    assert counted.since() == (2, 2)
    assert result.table == AnchorRadar.tune(data, GRID, **kwargs).table


def test_search_of_something_else(tmp_path: Path) -> None:
    data, path = planted(), tmp_path / 'search.csv'
    kwargs: dict[str, Any] = {'progress': False, 'num_epochs': 2}
    AnchorRadar.tune(data, GRID, path, **kwargs)
    content = path.read_bytes()
    other_anchors = data.clone()
    other_anchors.y = data['y'].clone()
    first = data.hyperedge_index[1] == int(data.train_mask.nonzero()[0])
    other_anchors.y[first] = ~data['y'][first]
    other_features = data.clone()
    other_features.incidence_attr = data.incidence_attr.clone()
    other_features.incidence_attr[3, 5] += 1
    for other, changed in (
        (planted(1), {}),
        (other_anchors, {}),
        (other_features, {}),
        (RandomHyperedgeSplit(0.3, 0.2, seed=1)(planted()), {}),
        (data, {'seed': 1}),
        (data, {'num_epochs': 3}),
        (data, {'alignment': 'known'}),
        (data, {'hidden_channels': 7}),
    ):
        with one_line_error(str(path), 'another search'):
            AnchorRadar.tune(other, GRID, path, **{**kwargs, **changed})
        assert path.read_bytes() == content
    path.write_text('a table\nof mine\n')
    with one_line_error(str(path), 'columns', 'lr_stage1', 'a table'):
        AnchorRadar.tune(data, GRID, path, **kwargs)
    assert path.read_text() == 'a table\nof mine\n'


@pytest.mark.parametrize(
    ('grid', 'names'),
    [
        ({'lr': [0.1]}, ("'grid'", "'lr'")),
        ({'alpha': []}, ('alpha', '[]')),
        ({'alpha': [None]}, ('alpha', 'None')),
        ({'alpha': ['0.1']}, ('alpha', '0.1')),
        ({'alpha': [0.1, -1]}, ('alpha', '-1')),
        ({'lr_stage1': [0.1, 0.0]}, ('lr_stage1', '0.0')),
        ({'lr_stage2': [float('nan')]}, ('lr_stage2', 'nan')),
        ({'w': [None, -2.0]}, ("'w'", '-2.0')),
        ({'w': 'none'}, ('w', "'n'")),
        ({'alpha': 0.1}, ('alpha', '0.1')),
    ],
)
def test_bad_grid(grid: Any, names: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / 'search.csv'
    with one_line_error(*names):
        AnchorRadar.tune(planted(), grid, path, progress=False)
    assert not path.exists()


@pytest.mark.parametrize(
    'kwargs', [{'alpha': 0.5}, {'w': None}, {'stages': 'first'}, {'stages': 'second'}]
)
def test_the_grid_decides(kwargs: dict[str, Any]) -> None:
    with one_line_error("'grid'", *kwargs):
        AnchorRadar.tune(planted(), GRID, progress=False, **kwargs)


def test_bad_splits() -> None:
    def tune(data: Any) -> None:
        AnchorRadar.tune(data, GRID, progress=False)

    with one_line_error("'data'", 'empty list'):
        tune([])
    for name in ('train_mask', 'val_mask'):
        data = planted()
        del data[name]
        with one_line_error(f"'{name}'", 'RandomHyperedgeSplit'):
            tune(data)
        data[name] = torch.zeros(7, dtype=torch.bool)
        with one_line_error(f"'{name}'", '7'):
            tune(data)
        data[name] = torch.zeros(600, dtype=torch.bool)
        with one_line_error(f"'{name}'", 'no hyperedge'):
            tune(data)
        data[name] = torch.zeros(600, 2, dtype=torch.bool)
        with one_line_error("'val_mask'", 'columns'):
            tune(data)
    data = planted()
    data.val_mask = data.train_mask
    with one_line_error("'val_mask'", "'train_mask'", 'hyperedge'):
        tune(data)
    with one_line_error("'data'", 'AnchorData'):
        tune([Data()])
    data = planted()
    first = int(data.val_mask.nonzero()[0])
    data.y = data['y'] & (data.hyperedge_index[1] != first)
    with one_line_error("'val_mask'", f'hyperedge {first}'):
        tune(data)


def test_search_takes_numbers_of_numpy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid: dict[str, Any] = {
        'lr_stage1': np.array([0.01]),
        'lr_stage2': np.array([0.1]),
        'alpha': torch.linspace(0, 1, 3),
        'w': [1, np.float32(2)],
    }
    result = AnchorRadar.tune(planted(), grid, num_epochs=2)
    assert 'tune' in capsys.readouterr().err
    assert all(type(value) is float for value in result.best.values())
    result.model.save(tmp_path / 'model')
    assert same_state(AnchorRadar.load(tmp_path / 'model'), result.model)
    AnchorRadar.tune(planted(), grid, progress=False, num_epochs=2)
    assert capsys.readouterr().err == ''


def test_second_device() -> None:
    kwargs: dict[str, Any] = {'progress': False, 'hidden_channels': 8, 'num_epochs': 3}
    expected = AnchorRadar.tune(planted(), GRID, **kwargs)
    with second_device() as device:
        found = AnchorRadar.tune(planted().to(device), GRID, **kwargs)
        assert found.model.strength.device == device
    assert [row['val_accuracy'] for row in found.table] == pytest.approx(
        [row['val_accuracy'] for row in expected.table], abs=1e-2
    )
