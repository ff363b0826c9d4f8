import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.utils import scatter, softmax

from tests.devices import second_device
from tests.nn.predictors.radar import planted, quick
from tests.strategies import SETTINGS, by_group, hypergraphs, one_line_error, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.metrics import AnchorEvaluator, expected_calibration_error
from tgx_anchor.nn import AnchorPredictor, AnchorRadar
from tgx_anchor.nn.predictors import calibrator as module
from tgx_anchor.nn.predictors.calibrator import Calibrator, check_calibration
from tgx_anchor.transforms import AddTopologicalFeatures, RandomHyperedgeSplit
from tgx_anchor.utils import distinct_hyperedges


def by_hand(coefficient: Sequence[float]) -> Calibrator:
    out = Calibrator()
    out.coefficient = torch.tensor(coefficient, dtype=torch.double)
    out.low = torch.full((4,), -100.0, dtype=torch.double)
    out.high = torch.full((4,), 100.0, dtype=torch.double)
    out.num_hyperedges = torch.tensor(1)
    return out


def numbers(data: AnchorData) -> Tensor:
    return distinct_hyperedges(
        data.hyperedge_index, int(data.num_nodes or 0), data.num_hyperedges
    )


def top(data: AnchorData, value: Tensor) -> Tensor:
    return scatter(value, data.hyperedge_index[1], 0, data.num_hyperedges, 'max')


@SETTINGS
@given(hypergraphs(), st.data())
def test_order_never_changes(data: AnchorData, draw: st.DataObject) -> None:
    number = st.floats(-20, 20)
    size = data.num_incidences
    score = draw.draw(st.lists(number, min_size=size, max_size=size))
    proba = softmax(
        torch.tensor(score, dtype=torch.double),
        data.hyperedge_index[1],
        num_nodes=data.num_hyperedges,
    )
    coefficient = draw.draw(st.lists(st.floats(-5, 5), min_size=5, max_size=5))
    out = by_hand(coefficient)(proba, data)
    for before, after in zip(by_group(data, proba), by_group(data, out), strict=True):
        if not before:
            continue
        assert sum(after) == pytest.approx(1)
        assert min(after) >= 0
        best = [i for i, value in enumerate(before) if value == max(before)]
        assert [i for i, value in enumerate(after) if value == max(after)] == best
        ranked = sorted(range(len(before)), key=lambda i: before[i])
        values = [after[i] for i in ranked]
        assert values == sorted(values)


def test_hand_computed() -> None:
    data = to_data([[0, 1], [0, 1, 2], [3], [], [1, 2]], 4)
    proba = torch.tensor([0.9, 0.1, 0.6, 0.3, 0.1, 1.0, 0.5, 0.5], dtype=torch.double)
    # All log-odds become zero: one half is below 0.9 and 0.6.
    out = by_hand([0, 0, 0, 0, 0])(proba, data)
    # A mixture with a uniform choice levels by 99 % at most.
    assert out[:2].tolist() == pytest.approx([0.504, 0.496])
    share = 0.1 / (0.6 - 1 / 3)
    expected = [(1 - share) * p + share / 3 for p in (0.6, 0.3, 0.1)]
    assert expected[0] == pytest.approx(0.5)
    assert out[2:5].tolist() == pytest.approx(expected)
    assert out[5:].tolist() == [1.0, 0.5, 0.5]
    # The odds of the second become those of 0.9.
    goal = torch.logit(torch.tensor(0.9)).item() - torch.logit(torch.tensor(0.6)).item()
    out = by_hand([goal, 1, 0, 0, 0])(proba, data)
    assert out[2:5].tolist() == pytest.approx([0.9, 0.075, 0.025])


def test_sizes_and_degrees_count() -> None:
    data = to_data([[0, 1], [0, 1, 2], [0, 3]], 4)
    proba = torch.tensor([0.9, 0.1, 0.6, 0.2, 0.2, 0.8, 0.2], dtype=torch.double)
    logit = torch.logit
    for column, numbers_of in ((2, (1, 2, 1)), (3, (3, 3, 3)), (4, (2, 3, 1))):
        coefficient = [0.0, 1.0, 0.0, 0.0, 0.0]
        coefficient[column] = 0.3
        out = top(data, by_hand(coefficient)(proba, data))
        for value, before, shift in zip(out, (0.9, 0.6, 0.8), numbers_of, strict=True):
            expected = logit(torch.tensor(before)) + 0.3 * math.log(shift)
            assert float(logit(value)) == pytest.approx(float(expected), abs=1e-6)


def overconfident(seed: int = 0) -> tuple[AnchorData, Tensor]:
    # The planted probabilities, and those of a model that doubles all log-odds.
    data: Any = PlantedAnchorDataset(300, 4000, repeat=0.0, scale=1.0, seed=seed)[0]
    score = data.node_strength[data.hyperedge_index[0]].double()
    hyperedge = data.hyperedge_index[1]
    return data, softmax(2 * score, hyperedge, num_nodes=data.num_hyperedges)


def test_finds_the_planted_probabilities() -> None:
    data, proba = overconfident()
    mask = data.choice_mask & (torch.arange(data.num_hyperedges) % 2 == 0)
    test = data.choice_mask & ~mask
    fitted = Calibrator()
    held_out = fitted.fit(proba, data, mask, numbers(data))
    best = proba == top(data, proba)[data.hyperedge_index[1]]
    correct = top(data, (best & data['y']).double())
    before = expected_calibration_error(top(data, proba)[test], correct[test])
    stated = top(data, fitted(proba, data)).clamp(max=1)
    after = expected_calibration_error(stated[test], correct[test])
    assert before > 0.1
    assert after < 0.04
    # Those of the cross-validation are as good.
    assert expected_calibration_error(held_out, correct[mask]) < 0.04
    assert int(fitted.num_hyperedges) == int(mask.sum())
    assert fitted.is_fitted


def test_copies_are_one_piece_of_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    # Degrees would tell the copies from the others.
    monkeypatch.setattr(module, '_CANDIDATES', (1,))
    # The model is always sure. It is wrong in one group of a hundred, which occurs a
    # thousand times.
    groups = [[2 * i, 2 * i + 1] for i in range(100)] + [[0, 1]] * 999
    anchors = [[1]] + [[2 * i] for i in range(1, 100)] + [[1]] * 999
    data = to_data(groups, 200, anchors)
    proba = torch.tensor([0.6, 0.4] * 1099, dtype=torch.double)
    mask = torch.ones(1099, dtype=torch.bool)
    fitted = Calibrator()
    fitted.fit(proba, data, mask, numbers(data))
    # 99 / (99 + 1000 / (1 + 0.1 * 999)), and not 99 / 1099.
    assert float(fitted(proba, data)[2]) == pytest.approx(0.909, abs=0.02)


def test_few_groups_change_little() -> None:
    data, proba = overconfident()
    mask = torch.zeros_like(data.choice_mask)
    mask[data.choice_mask.nonzero().view(-1)[:5]] = True
    fitted = Calibrator()
    fitted.fit(proba, data, mask, numbers(data))
    # Sizes and degrees of five groups tell nothing.
    assert fitted.coefficient[2:].tolist() == [0, 0, 0]
    change = (top(data, fitted(proba, data)) - top(data, proba)).abs()
    assert float(change[data.choice_mask].mean()) < 0.15


def test_several_anchors() -> None:
    # Both anchors are found, but each is only one of two.
    data = to_data([[3 * i, 3 * i + 1, 3 * i + 2] for i in range(200)], 600)
    data.y = torch.tensor([True, True, False] * 200)
    proba = torch.tensor([0.9, 0.08, 0.02] * 200, dtype=torch.double)
    fitted = Calibrator()
    fitted.fit(proba, data, torch.ones(200, dtype=torch.bool), numbers(data))
    assert float(fitted(proba, data)[0]) == pytest.approx(0.5, abs=0.02)


def test_unfitted_returns_what_it_is_given() -> None:
    data = to_data([[0, 1]], 2)
    proba = torch.tensor([0.9, 0.1])
    assert Calibrator()(proba, data) is proba
    assert not Calibrator().is_fitted
    assert not list(Calibrator().parameters())


def test_model_is_calibrated_by_val_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    data = planted()
    plain = quick(calibration=None).fit(data)
    assert not plain.calibrated
    fits = []
    fit = AnchorRadar._fit

    def counted(self: AnchorRadar, *args: Any) -> None:
        fits.append(1)
        fit(self, *args)

    monkeypatch.setattr(AnchorRadar, '_fit', counted)
    model = quick().fit(data)
    # With validation groups, no further models are fitted.
    assert len(fits) == 1
    assert model.calibrated
    assert torch.equal(model.rank_score(data), plain.predict_proba(data))
    assert torch.equal(model.predict(data), plain.predict(data))
    for mask in (data.test_mask, data.train_mask):
        assert model.score(data, mask) == plain.score(data, mask)
    assert list(map(torch.Tensor.size, model.parameters())) == list(
        map(torch.Tensor.size, plain.parameters())
    )
    # Test anchors play no part.
    blind = data.clone()
    blind.y = data.y & ~data.test_mask[data.hyperedge_index[1]]
    assert torch.equal(
        quick().fit(blind).predict_proba(data), model.predict_proba(data)
    )

    fits.clear()
    del data.val_mask
    assert quick().fit(data).calibrated
    assert len(fits) == 1 + 5
    fits.clear()
    model = quick(calibration=None).fit(data)
    assert not model.calibrated
    assert len(fits) == 1


def test_calibration_improves_a_model() -> None:
    data: Any = AddTopologicalFeatures()(PlantedAnchorDataset()[0])
    data = RandomHyperedgeSplit()(data)
    model = quick(num_epochs=50).fit(data)
    test = data.test_mask
    errors = []
    for proba in (model.rank_score(data), model.predict_proba(data)):
        correct = AnchorEvaluator().per_hyperedge(proba, data, test)['accuracy']
        stated = top(data, proba)[test].clamp(max=1)
        errors.append(expected_calibration_error(stated, correct))
    assert errors[1] < 0.05 < 0.1 < errors[0]


def test_too_few_groups() -> None:
    data = planted()
    del data.val_mask
    first = data.train_mask.nonzero().view(-1)[:15]
    data.train_mask = torch.zeros_like(data.train_mask)
    data.train_mask[first] = True
    model = quick().fit(data)
    assert not model.calibrated
    assert len(model.held_out) == 0


def test_interrupt_while_calibrating(monkeypatch: pytest.MonkeyPatch) -> None:
    data = planted()
    del data.val_mask
    fitted = quick().fit(data)
    state = {key: value.clone() for key, value in fitted.state_dict().items()}
    fit, calls = AnchorRadar._fit, []

    def interrupted(self: AnchorRadar, *args: Any) -> None:
        calls.append(1)
        if len(calls) % 3 == 0:
            raise KeyboardInterrupt
        fit(self, *args)

    monkeypatch.setattr(AnchorRadar, '_fit', interrupted)
    other = planted(1)
    del other.val_mask
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(other, on_interrupt='raise')
    assert all(torch.equal(value, state[k]) for k, value in fitted.state_dict().items())
    with pytest.warns(UserWarning, match='interrupted'):
        fitted.fit(other)
    assert fitted.interrupted
    assert not fitted.calibrated
    assert fitted.strength.numel() == other.num_nodes


def test_survives_a_file(tmp_path: Any) -> None:
    data = planted()
    model = quick().fit(data)
    model.save(tmp_path / 'model')
    twin = AnchorRadar.load(tmp_path / 'model')
    assert twin.calibrated
    assert torch.equal(twin.predict_proba(data), model.predict_proba(data))
    twin.reset_parameters()
    assert not twin.calibrated
    assert len(twin.held_out) == 0


def test_second_device() -> None:
    data, proba = overconfident()
    mask = data.choice_mask
    fitted = Calibrator()
    fitted.fit(proba, data, mask, numbers(data))
    expected = fitted(proba, data)
    with second_device() as device:
        moved = data.to(device)
        twin = Calibrator().to(device)
        twin.fit(proba.to(device), moved, mask.to(device), numbers(moved))
        out = twin(proba.to(device), moved)
        assert out.device == device
    torch.testing.assert_close(out.cpu(), expected)


def test_errors() -> None:
    check_calibration(None)
    check_calibration('auto')
    with one_line_error("'calibration' must be 'auto', or None (got 'isotonic')"):
        AnchorRadar(calibration='isotonic')  # type: ignore[arg-type]
    with one_line_error("'calibration'", 'True'):
        AnchorPredictor(torch.nn.Identity(), calibration=True)  # type: ignore[arg-type]


def test_nearly_equal_members_keep_their_order() -> None:
    data = to_data([[0, 1, 2]], 3)
    # One unit in the last place, which a mixture with a uniform choice rounds away.
    second = torch.tensor(0.4, dtype=torch.double)
    first = torch.nextafter(second, torch.ones_like(second))
    proba = torch.stack([second, first, 1 - first - second])
    for intercept in (-5, 0, 5):
        out = by_hand([intercept, 0, 0, 0, 0])(proba, data)
        assert out[1] > out[0] > out[2]
    # However low the goal is, the most likely member stays ahead.
    proba = torch.tensor([0.5, 0.3, 0.2], dtype=torch.double)
    out = by_hand([-50, 0, 0, 0, 0])(proba, data)
    assert out.tolist() == pytest.approx([0.335, 0.333, 0.332])
