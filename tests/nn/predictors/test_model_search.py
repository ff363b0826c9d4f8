import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import softmax

from tests.strategies import one_line_error
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.nn import AnchorModel
from tgx_anchor.nn.predictors.fit_run import FitRun
from tgx_anchor.nn.predictors.model_search import search_models
from tgx_anchor.transforms import RandomHyperedgeSplit

GRID: dict[str, tuple[Any, ...]] = {'sign': (-1, 1), 'power': (0.0, 1.0, 2.0)}


class Degree(AnchorModel):
    """Ranks by the degree, and counts how often it is fitted."""

    num_fits = 0

    def __init__(self, sign: int = 1, power: float = 1.0, seed: int = 0) -> None:
        super().__init__(seed)
        if sign not in (-1, 1):
            raise ValueError(f"'sign' must be -1 or 1 (got {sign})")
        self.sign, self.power = sign, power

    def _fit(self, data: AnchorData, run: FitRun) -> None:
        type(self).num_fits += 1
        assert run.on_interrupt == 'raise'
        self.register_buffer('mask', data.train_mask)

    def predict_proba(
        self,
        data: AnchorData,
        same_people: bool | None = None,  # noqa: ARG002
    ) -> Tensor:
        node, hyperedge = data.hyperedge_index
        degree = torch.bincount(node, minlength=int(data.num_nodes or 0)).double()
        # The odd nodes depend on the power, so that points differ.
        score = (
            self.sign * degree * (1 + self.power * (torch.arange(degree.numel()) % 2))
        )
        return softmax(score[node], hyperedge, num_nodes=data.num_hyperedges)


@pytest.fixture(autouse=True)
def no_fits() -> None:
    Degree.num_fits = 0


def table(num_splits: int = 1, seed: int = 0) -> AnchorData:
    data: Any = PlantedAnchorDataset(40, 200, correlation=0.6, seed=seed)[0]
    out: AnchorData = RandomHyperedgeSplit(0.3, 0.3, num_splits=num_splits)(data)
    return out


def split_of(data: AnchorData, number: int) -> AnchorData:
    out: AnchorData = data.clone()
    for name in ('train_mask', 'val_mask', 'test_mask'):
        out[name] = data[name][:, number]
    return out


def test_search_is_fitting_each_point() -> None:
    data = table()
    result = search_models(Degree, data, GRID)
    assert [(row['sign'], row['power']) for row in result.table] == [
        (sign, power) for sign in (-1, 1) for power in (0.0, 1.0, 2.0)
    ]
    for row in result.table:
        model = Degree(row['sign'], row['power']).fit(data, on_interrupt='raise')
        assert row['val_accuracy'] == model.score(data, data.val_mask)
        assert row['val_std'] == 0
    top = max(result.table, key=lambda row: row['val_accuracy'])
    assert result.best == {name: top[name] for name in GRID}
    assert len({row['val_accuracy'] for row in result.table}) > 3
    assert result.model.get_params() == {**result.best, 'seed': 0}
    assert torch.equal(result.model.mask, data.train_mask)  # type: ignore[arg-type]
    # One per point, and the best one once more.
    assert Degree.num_fits == 6 + 6 + 1


def test_first_of_equals_wins() -> None:
    result = search_models(Degree, table(), {'seed': [3, 1, 2]})
    assert result.best == {'seed': 3}


def test_further_arguments() -> None:
    result = search_models(Degree, table(), {'power': [0.0]}, sign=-1, seed=4)
    assert result.best == {'power': 0.0}
    assert result.model.get_params() == {'sign': -1, 'power': 0.0, 'seed': 4}


def test_several_splits() -> None:
    data = table(3)
    parts = [split_of(data, number) for number in range(3)]
    result = search_models(Degree, data, GRID)
    alone = [search_models(Degree, part, GRID).table for part in parts]
    for row, *each in zip(result.table, *alone, strict=True):
        values = [one['val_accuracy'] for one in each]
        assert row['val_accuracy'] == pytest.approx(np.mean(values), abs=1e-12)
        assert row['val_std'] == pytest.approx(np.std(values), abs=1e-12)
    assert search_models(Degree, parts, GRID).table == result.table
    # The model is that of the first split, and the data stays as it was.
    assert torch.equal(result.model.mask, parts[0].train_mask)  # type: ignore[arg-type]
    assert data.train_mask.size() == (200, 3)


def test_search_goes_on(tmp_path: Path) -> None:
    data, path = table(2), tmp_path / 'search.csv'
    whole = search_models(Degree, data, GRID, path)
    assert Degree.num_fits == 12 + 1
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    assert len(lines) == 1 + 12
    assert search_models(Degree, data, GRID, path).table == whole.table
    assert Degree.num_fits == 13 + 1
    # Cut anywhere: whole lines count, and no others.
    for cut in range(0, len(content), 97):
        path.write_bytes(content[:cut])
        done = max(content[:cut].count(b'\n') - 1, 0)
        Degree.num_fits = 0
        again = search_models(Degree, data, GRID, path)
        assert again.table == whole.table
        assert again.best == whole.best
        assert Degree.num_fits == 12 - done + 1
        assert path.read_bytes() == content


def test_larger_grid_takes_what_is_there(tmp_path: Path) -> None:
    data, path = table(), tmp_path / 'search.csv'
    search_models(Degree, data, {'sign': [1], 'power': [0.0]}, path)
    Degree.num_fits = 0
    result = search_models(Degree, data, GRID, path)
    assert Degree.num_fits == 5 + 1
    assert result.table == search_models(Degree, data, GRID).table
    # And a smaller one leaves out what it does not ask for.
    small = search_models(Degree, data, {'sign': [-1], 'power': [2.0]}, path)
    assert [row['power'] for row in small.table] == [2.0]


def test_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, path = table(), tmp_path / 'search.csv'
    fit = Degree._fit

    def stop(self: Degree, part: AnchorData, run: FitRun) -> None:
        if Degree.num_fits == 4:
            raise KeyboardInterrupt
        fit(self, part, run)

    with monkeypatch.context() as patch:
        patch.setattr(Degree, '_fit', stop)
        with pytest.raises(KeyboardInterrupt):
            search_models(Degree, data, GRID, path)
    assert len(path.read_text().splitlines()) == 1 + 4
    Degree.num_fits = 0
    assert search_models(Degree, data, GRID, path).table == (
        search_models(Degree, data, GRID).table
    )
    assert Degree.num_fits == 2 + 1 + 6 + 1


def _other_anchors(data: AnchorData) -> None:
    hyperedge = data.hyperedge_index[1]
    data.y = torch.cat([torch.tensor([True]), hyperedge.diff() > 0])


def _other_training(data: AnchorData) -> None:
    data.train_mask = data.train_mask & (data.train_mask.long().cumsum(0) > 1)


def _other_validation(data: AnchorData) -> None:
    data.val_mask = data.val_mask & (data.val_mask.long().cumsum(0) > 1)


def _attributes(data: AnchorData) -> None:
    data.x = torch.ones(40, 1)


def _time(data: AnchorData) -> None:
    data.hyperedge_time = torch.arange(200)


@pytest.mark.parametrize(
    'change', [_other_anchors, _other_training, _other_validation, _attributes, _time]
)
def test_results_of_another_search(change: Any, tmp_path: Path) -> None:
    path = tmp_path / 'search.csv'
    search_models(Degree, table(), GRID, path, seed=0)
    content = path.read_bytes()
    data = table()
    change(data)
    for other, seed in ((data, 0), (table(seed=1), 0), (table(), 1)):
        with one_line_error(str(path), 'another search', 'choose another file'):
            search_models(Degree, other, GRID, path, seed=seed)
    assert path.read_bytes() == content
    # Anchors in neither mask are not looked at.
    data = table()
    seen = (data.train_mask | data.val_mask)[data.hyperedge_index[1]]
    data.y = data['y'] & seen
    Degree.num_fits = 0
    search_models(Degree, data, GRID, path, seed=0)
    assert Degree.num_fits == 1


def test_another_model(tmp_path: Path) -> None:
    class Other(Degree):
        pass

    path = tmp_path / 'search.csv'
    search_models(Degree, table(), GRID, path)
    with one_line_error(str(path), 'another search'):
        search_models(Other, table(), GRID, path)


@pytest.mark.parametrize(
    ('grid', 'names'),
    [
        ({}, ()),
        ({'sign': []}, ("'grid'", 'at least one')),
        ({'sign': 'both'}, ("'grid['sign']'", "'both'")),
        ({'sign': 1}, ("'grid['sign']'", '1')),
        ({'sign': [1, 5]}, ("'sign'", '5')),
        ({'seed': ['x']}, ("'seed'", "'x'")),
        ({'depth': [1]}, ("'grid'", "'depth'")),
        ([1, 2], ("'grid'", '[1, 2]')),
    ],
)
def test_bad_grids(grid: Any, names: tuple[str, ...], tmp_path: Path) -> None:
    if not names:
        # Nothing to try: the model as it is.
        result = search_models(Degree, table(), grid)
        assert (result.best, len(result.table)) == ({}, 1)
        return
    with one_line_error(*names):
        search_models(Degree, table(), grid, tmp_path / 'search.csv')
    assert Degree.num_fits == 0
    assert list(tmp_path.iterdir()) == []


def test_argument_and_axis() -> None:
    with one_line_error("'sign'", "'grid'"):
        search_models(Degree, table(), GRID, sign=1)


@pytest.mark.parametrize('kind', [np.array, torch.tensor, iter])
def test_kinds_of_values(kind: Any, tmp_path: Path) -> None:
    path = tmp_path / 'search.csv'
    result = search_models(Degree, table(), {'sign': kind([-1, 1])}, path)
    assert [row['sign'] for row in result.table] == [-1, 1]
    with path.open(newline='') as file:
        params = [json.loads(row['params']) for row in csv.DictReader(file)]
    assert params == [{'sign': -1}, {'sign': 1}]
    assert type(result.best['sign']) is int


def _no_masks(data: AnchorData) -> None:
    del data.val_mask


def _no_validation(data: AnchorData) -> None:
    data.val_mask = torch.zeros_like(data.val_mask)


def _both(data: AnchorData) -> None:
    data.val_mask = data.val_mask | data.train_mask


@pytest.mark.parametrize(
    ('spoil', 'names'),
    [
        (_no_masks, ("'val_mask'", 'RandomHyperedgeSplit')),
        (_no_validation, ("'val_mask'", 'selects no hyperedge')),
        (_both, ("'val_mask'", "'train_mask'")),
    ],
)
def test_bad_data(spoil: Any, names: tuple[str, ...]) -> None:
    data = table()
    spoil(data)
    with one_line_error(*names):
        search_models(Degree, data, GRID)
    nothing: Sequence[AnchorData] = []
    with one_line_error("'data'", 'empty'):
        search_models(Degree, nothing, GRID)
    wrong: Any = Data()
    with one_line_error("'data'", 'AnchorData'):
        search_models(Degree, wrong, GRID)
    assert Degree.num_fits == 0


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    search_models(Degree, table(), GRID)
    assert capsys.readouterr().err == ''
    search_models(Degree, table(), GRID, progress=True)
    assert 'tune: 100%' in capsys.readouterr().err


def test_file_of_another_kind(tmp_path: Path) -> None:
    with one_line_error("'.csv'"):
        search_models(Degree, table(), GRID, tmp_path / 'search.txt')
    path = tmp_path / 'other.csv'
    path.write_text('group,member\n1,2\n')
    with one_line_error(str(path), 'columns'):
        search_models(Degree, table(), GRID, path)
    assert path.read_text() == 'group,member\n1,2\n'
