import pytest
import torch
from hypothesis import given

from tests.devices import second_device
from tests.strategies import SETTINGS, by_group, hypergraphs, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import RandomHeuristic


@SETTINGS
@given(hypergraphs())
def test_members_are_equally_likely(data: AnchorData) -> None:
    proba = RandomHeuristic().fit(data).predict_proba(data)
    assert proba.dtype == torch.float32
    for row in by_group(data, proba):
        assert row == pytest.approx([1 / len(row)] * len(row) if row else [])


def test_is_as_good_as_chance(device: torch.device) -> None:
    data = to_data([[0, 1], [0, 1, 2, 3], [0, 1, 2]], 4, [[0], [1], [0, 2]])
    data = data.to(device)
    proba = RandomHeuristic().predict_proba(data)
    assert proba.device.type == device.type
    out = AnchorEvaluator(chance=True).eval(proba, data)
    assert out['accuracy'] == pytest.approx((1 / 2 + 1 / 4 + 1 / 3) / 3)
    assert out['accuracy'] == out['chance']


def test_predictions_follow_the_seed() -> None:
    data = to_data([[0, 1, 2, 3]] * 400 + [[], [2]], 4)
    first = RandomHeuristic(seed=3).predict(data)
    assert torch.equal(first, RandomHeuristic(seed=3).predict(data))
    assert not torch.equal(first, RandomHeuristic(seed=4).predict(data))
    assert first[400:].tolist() == [-1, 2]
    # 100 times each, give or take five deviations.
    assert all(abs(first[:400].tolist().count(v) - 100) < 44 for v in range(4))


def test_learns_nothing() -> None:
    model = RandomHeuristic(seed=5)
    assert model.fit(to_data([], 0)) is model
    assert repr(model) == 'RandomHeuristic(seed=5)'
    assert not list(model.parameters())
    assert not model.calibrated
    assert len(model.held_out) == 0


def test_second_device() -> None:
    data = to_data([[0, 1], [0, 2], [1, 2, 3], []], 4, [[1], [2], [3], []])
    expected = RandomHeuristic().fit(data)
    proba, best = expected.predict_proba(data), expected.predict(data)
    with second_device() as device:
        moved = data.clone().to(device)
        model = RandomHeuristic().to(device).fit(moved)
        assert model.predict_proba(moved).device == device
        assert torch.equal(model.predict_proba(moved).cpu(), proba)
        assert torch.equal(model.predict(moved).cpu(), best)
