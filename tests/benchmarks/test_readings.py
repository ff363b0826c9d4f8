from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import torch

from tests.benchmarks.scripts import load_script
from tgx_anchor.benchmark.methods import load_setting
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import AnchorRadar


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    pytest.importorskip('rich')
    with load_script('readings') as module:
        yield module


def test_figures_of_the_paper(script: ModuleType) -> None:
    found = {name: script.printed(name) for name in script.QUESTIONS}
    assert list(found.values()) == ['67.8±2.6', '37.42', '86.94']


def test_one_thing_changes(script: ModuleType) -> None:
    for question, readings in script.QUESTIONS.items():
        ours = script.make_model(question, 'ours').get_params()
        for reading in readings:
            found = script.make_model(question, reading).get_params()
            changed = {name for name in found if found[name] != ours[name]}
            expected = set(script.CHANGES.get(reading, {}))
            if reading != 'hyperparameters of the target':
                assert changed == expected
    target = script.make_model('qaPH to qaBI', 'hyperparameters of the target')
    published = AnchorRadar.from_paper('qaBI', calibration=None)
    assert target.get_params() == published.get_params()


@pytest.fixture
def planted(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    # The planted groups take the place of all datasets.
    def load(setting: str, _: str | None) -> AnchorData:
        data = load_setting('planted')
        if setting == 'coDB_first_second':
            # The anchor and another member; of singletons, which are not known, none.
            first, last = data.hyperedge_ptr[:-1], data.hyperedge_ptr[1:] - 1
            y = data['y']
            y[torch.where(y[first], last, first)] = True
            y[first[data.hyperedge_size == 1]] = False
        return data

    monkeypatch.setattr(script, 'load_setting', load)


@pytest.mark.usefixtures('planted')
def test_split_by_hyperedge(script: ModuleType) -> None:
    data = script.load('emER', 1, 'split by hyperedge', None)
    masks = torch.stack([data.train_mask, data.val_mask, data.test_mask])
    assert torch.equal(masks.sum(dim=0) == 1, data.choice_mask)
    size = int(data.choice_mask.sum())
    assert size < data.num_hyperedges
    sizes = [round(0.075 * size), round(0.025 * size)]
    assert masks.sum(dim=1).tolist() == [*sizes, size - sum(sizes)]


@pytest.mark.usefixtures('planted')
@pytest.mark.parametrize('reading', ['ours', 'one model per author'])
def test_two_anchors(script: ModuleType, reading: str) -> None:
    task = script.Task('coDB, two anchors', reading, 0)
    (row,) = script.measure(task, print, root=None)
    assert 0.1 < row.accuracy < 1


@pytest.mark.usefixtures('planted')
def test_best_of_the_grid(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = {'lr_stage1': (0.01,), 'lr_stage2': (0.1,), 'alpha': (0.0, 0.1), 'w': (4.0,)}
    tune = AnchorRadar.tune

    def search(data: AnchorData, **kwargs: Any) -> Any:
        return tune(data, grid, **kwargs)

    monkeypatch.setattr(AnchorRadar, 'tune', search)
    task = script.Task('coDB, two anchors', 'best of the grid', 0)
    (row,) = script.measure(task, print, root=None)
    data = script.load('coDB_first_second', 0, 'ours', None)
    found = []
    for alpha in grid['alpha']:
        params: dict[str, Any] = {name: values[0] for name, values in grid.items()}
        model = AnchorRadar(**{**params, 'alpha': alpha}, calibration=None).fit(data)
        found.append(model.score(data, data.test_mask))
    assert found[0] != found[1]
    assert row.accuracy == pytest.approx(max(found), abs=1e-6)


@pytest.mark.usefixtures('planted')
def test_all_hyperedges(script: ModuleType) -> None:
    task = script.Task('qaPH to qaBI', 'all hyperedges', 0)
    (row,) = script.measure(task, print, root=None)
    (ours,) = script.measure(task._replace(reading='ours'), print, root=None)
    assert row.accuracy != ours.accuracy
    assert row.accuracy == pytest.approx(ours.accuracy, abs=0.03)


def test_table(script: ModuleType) -> None:
    rows = [script.Row('emER', 'ours', split, 0.6 + 0.1 * split) for split in (0, 1)]
    lines = script.make_table(rows)
    assert lines[1] == ['emER', 'ours', '65.00 ± 5.00', '67.8±2.6', '-2.80', '2']
    assert len(lines) == 2
    assert script.OUT.name == 'readings.csv'
