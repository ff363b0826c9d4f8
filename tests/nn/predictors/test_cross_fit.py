import pytest
import torch
from torch import Tensor

from tests.nn.predictors.radar import planted
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors import cross_fit as module
from tgx_anchor.nn.predictors.cross_fit import cross_fit
from tgx_anchor.utils import distinct_hyperedges


def numbers(data: AnchorData) -> Tensor:
    return distinct_hyperedges(
        data.hyperedge_index, int(data.num_nodes or 0), data.num_hyperedges
    )


def test_no_model_predicts_what_it_has_seen() -> None:
    data = planted()
    before = data.train_mask.clone()
    number = numbers(data)
    seen = []

    def fit_predict(part: AnchorData) -> Tensor:
        seen.append(part.train_mask)
        # Says in which hyperedges the model has learnt, and in copies of them.
        learnt = torch.isin(number, number[part.train_mask])
        return learnt[part.hyperedge_index[1]].double()

    out = cross_fit(data, data.train_mask, number, fit_predict)
    assert len(seen) == 5
    assert torch.equal(out.mask, before)
    assert torch.equal(data.train_mask, before)
    row = out.mask[data.hyperedge_index[1]]
    assert not out.proba[row].any()
    # Each hyperedge is held out once, and learnt from four times.
    assert torch.equal(torch.stack(seen).sum(0), 4 * before.long())
    again = cross_fit(data, data.train_mask, number, fit_predict)
    assert torch.equal(again.degree, out.degree)


def test_many_groups_need_few_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, '_MIN_HELD_OUT', 50)
    data = planted()
    number = numbers(data)
    calls = []

    def fit_predict(part: AnchorData) -> Tensor:
        calls.append(part)
        return torch.ones(part.num_incidences)

    out = cross_fit(data, data.train_mask, number, fit_predict)
    held_out = torch.unique(number[out.mask]).numel()
    assert 50 <= held_out < 50 + 40
    assert 1 < len(calls) < 5
    assert torch.equal(out.mask & data.train_mask, out.mask)


@pytest.mark.parametrize('width', [1, 3])
def test_several_columns(width: int) -> None:
    data = planted()
    number = numbers(data)
    seen: list[Tensor] = []

    def fit_predict(part: AnchorData) -> Tensor:
        seen.append(part.train_mask)
        # The columns tell the model apart, and the incidence.
        rows = torch.arange(part.num_incidences)
        return torch.stack([1000 * len(seen) + rows] * width, dim=1)

    out = cross_fit(data, data.train_mask, number, fit_predict)
    assert out.proba.size() == (data.num_incidences, width)
    assert out.proba.dtype == torch.double
    hyperedge = data.hyperedge_index[1]
    expected = torch.zeros(data.num_incidences, dtype=torch.double)
    for model, mask in enumerate(seen, 1):
        row = (data.train_mask & ~mask)[hyperedge]
        expected[row] = 1000 * model + row.nonzero().view(-1).double()
    assert torch.equal(out.proba, expected.unsqueeze(1).expand(-1, width))
    # The rows of other hyperedges are zero.
    assert not out.proba[~data.train_mask[hyperedge]].any()


def test_fewer_groups_than_folds() -> None:
    data = planted()
    number = numbers(data)
    mask = torch.zeros_like(data.train_mask)
    mask[data.train_mask.nonzero()[:3]] = True
    count = torch.unique(number[mask]).numel()
    calls = []

    def fit_predict(part: AnchorData) -> Tensor:
        calls.append(part)
        return torch.ones(part.num_incidences)

    out = cross_fit(data, mask, number, fit_predict)
    assert len(calls) == count
    assert torch.equal(out.mask, mask)
    assert out.proba.dtype == torch.double
