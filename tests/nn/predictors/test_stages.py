from typing import Any

import pytest
import torch
from torch_geometric.utils import softmax

from tests.devices import second_device
from tests.nn.predictors.radar import planted
from tests.strategies import one_line_error
from tgx_anchor.nn import AnchorStrength, IncidenceScorer, strength_loss
from tgx_anchor.nn.functional import anchor_cross_entropy
from tgx_anchor.nn.predictors import known_rows, stages
from tgx_anchor.nn.predictors.feature_rows import FeatureRows
from tgx_anchor.nn.predictors.incidence_features import attribute_scale
from tgx_anchor.nn.predictors.stages import (
    StageOptions,
    alignment_problem,
    check_converged,
    new_scorer,
    reference_proba,
    scorer_epochs,
    strength_epochs,
)

OPTIONS = StageOptions(hidden_channels=8, num_epochs=3, alignment='all', seed=2)


def test_scorer_depends_on_the_seed_only() -> None:
    state = torch.get_rng_state()
    first, again = new_scorer(5, OPTIONS), new_scorer(5, OPTIONS)
    other = new_scorer(5, StageOptions(8, 3, 'all', seed=3))
    assert torch.equal(torch.get_rng_state(), state)
    weights = [next(each.parameters()) for each in (first, again, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert first.hidden_channels == 8


@pytest.mark.parametrize('rows', [100, 1 << 15])
def test_one_epoch_of_stage_1(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # In blocks or in one piece, it is the first step of Adam on the whole loss.
    monkeypatch.setattr(known_rows, 'CHUNK_ROWS', rows)
    data = planted()
    data.incidence_attr = feature = data.incidence_attr.double()
    torch.set_default_dtype(torch.double)
    rows_of = FeatureRows(data, attribute_scale(data))
    torch.set_default_dtype(torch.float)
    scorer, twin = new_scorer(33, OPTIONS).double(), new_scorer(33, OPTIONS).double()
    epochs = scorer_epochs(scorer, rows_of, data, data.train_mask, 0.05, 7)
    record = next(epochs)
    score, hyperedge = twin(feature), data.hyperedge_index[1]
    loss = anchor_cross_entropy(score, data['y'], hyperedge, data.train_mask)
    loss.backward()
    assert record['loss'] == pytest.approx(loss.item(), rel=1e-9)
    assert (record['stage'], record['epoch'], record['num_epochs']) == (1, 1, 7)
    assert record['seconds'] > 0
    for after, before in zip(scorer.parameters(), twin.parameters(), strict=True):
        grad = before.grad
        assert grad is not None
        step = 0.05 * grad / (grad.abs() + 1e-8)
        torch.testing.assert_close(after, before - step, rtol=1e-6, atol=1e-6)
    assert len(list(epochs)) == 6


def test_reference_is_a_softmax(monkeypatch: pytest.MonkeyPatch) -> None:
    data = planted()
    scorer = new_scorer(33, OPTIONS)
    feature = FeatureRows(data, attribute_scale(data))
    whole = reference_proba(scorer, feature, data)
    expected = softmax(scorer(data.incidence_attr), data.hyperedge_index[1])
    torch.testing.assert_close(whole, expected)
    assert not whole.requires_grad
    monkeypatch.setattr(stages, 'CHUNK_ROWS', 7)
    torch.testing.assert_close(reference_proba(scorer, feature, data), whole)


@pytest.mark.parametrize('alpha', [0.3, torch.tensor([0.0, 0.3, 1.0]).double()])
def test_two_epochs_of_stage_2(alpha: Any) -> None:
    data = planted()
    generator = torch.Generator().manual_seed(0)
    reference = torch.rand(data.num_incidences, generator=generator)
    problem = alignment_problem(reference, data, data['y'], data.train_mask, 'all')
    variants = None if isinstance(alpha, float) else len(alpha)
    strengths, twin = AnchorStrength(120, variants), AnchorStrength(120, variants)
    records = list(strength_epochs(strengths, problem, alpha, 0.1, 2))
    optimizer = torch.optim.Adam(twin.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        strength_loss(twin.strength, problem, alpha).sum().backward()
        optimizer.step()
    torch.testing.assert_close(strengths.strength, twin.strength, rtol=0, atol=1e-9)
    assert [(r['stage'], r['epoch'], r['num_epochs']) for r in records] == [
        (2, 1, 2),
        (2, 2, 2),
    ]
    assert 'loss' not in records[0]


def test_divergence() -> None:
    scorer = IncidenceScorer(3, 2)
    check_converged(scorer, 1, 0.1)
    with torch.no_grad():
        next(scorer.parameters())[0, 0] = float('nan')
    with one_line_error("'lr_stage1'", 'stage 1 diverged', '0.1'):
        check_converged(scorer, 1, 0.1)


def test_second_device() -> None:
    data = planted()
    mask = data.train_mask
    with second_device() as device:
        moved = data.clone().to(device)
        scorer = new_scorer(33, OPTIONS).to(device)
        feature = FeatureRows(moved, attribute_scale(moved))
        losses = [
            record['loss']
            for record in scorer_epochs(scorer, feature, moved, mask.to(device), 0.1, 3)
        ]
        reference = reference_proba(scorer, feature, moved)
        assert reference.device == device
    scorer = new_scorer(33, OPTIONS)
    rows = FeatureRows(data, attribute_scale(data))
    epochs = scorer_epochs(scorer, rows, data, mask, 0.1, 3)
    assert losses == pytest.approx([record['loss'] for record in epochs], rel=1e-5)
    expected = reference_proba(scorer, rows, data)
    torch.testing.assert_close(reference.cpu(), expected, rtol=1e-4, atol=1e-5)
