from typing import Any

import pytest
import torch

from tests.nn.predictors.test_anchor_predictor import (
    planted,
    planted_without_val,
    quick,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import HGNN, AnchorPredictor
from tgx_anchor.nn.predictors.training import PredictorTraining


def training_of(model: AnchorPredictor, data: AnchorData) -> PredictorTraining:
    return PredictorTraining(model.encoder, data, model._options())


def test_one_step_by_hand() -> None:
    # The first step of the whole-hypergraph form, with nothing but autograd.
    data = planted()
    model = quick(batch_size=None, num_epochs=1).fit(data)
    training = training_of(quick(batch_size=None), data)
    encoder, head, table = training.encoder, training.head, training.table
    row = data.train_mask[data.hyperedge_index[1]]
    node, hyperedge = data.hyperedge_index
    x, e = encoder.train()(table, data.hyperedge_index, num_hyperedges=400)
    logit = head(torch.cat([e[hyperedge], x[node]], dim=1))[row]
    target = data.role[row]
    loss = -logit.log_softmax(1)[torch.arange(len(target)), target].mean()
    parts = [table, *encoder.parameters(), *head.parameters()]
    grads = torch.autograd.grad(loss, parts)
    assert model.history[0]['loss'] == pytest.approx(loss.item(), rel=1e-6)
    learnt = [
        model.table,
        *model.encoder.parameters(),
        *(model.head or head).parameters(),
    ]
    for before, after, grad in zip(parts, learnt, grads, strict=True):
        # The first step of Adam is the sign of the gradient times the rate.
        assert after is not None
        step = 0.02 * grad / (grad.abs() + 1e-8)
        torch.testing.assert_close(after, before - step, rtol=1e-4, atol=1e-5)


def test_the_best_state_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    # Accuracies at the looks after epochs 2, 4, ...: the second one is the best.
    data, found = planted(), iter([0.3, 0.6, 0.6, 0.5, 0.4, 0.9])
    monkeypatch.setattr(
        PredictorTraining, '_accuracy', lambda *_: {'val_accuracy': next(found)}
    )
    model = quick(num_epochs=100, patience=3).fit(data)
    assert [record.get('val_accuracy') for record in model.history] == [
        *(None, 0.3, None, 0.6, None, 0.6, None, 0.5, None, 0.4)
    ]
    # Without validation, there is also less to calibrate with.
    best = quick(num_epochs=4).fit(planted_without_val())
    assert all(map(torch.equal, model.parameters(), best.parameters()))


def test_rate_decays(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = []
    step = torch.optim.Adam.step

    def spy(self: torch.optim.Adam, *args: Any) -> Any:
        rates.append(self.param_groups[0]['lr'])
        return step(self, *args)

    monkeypatch.setattr(torch.optim.Adam, 'step', spy)
    quick(batch_size=None, num_epochs=3, gamma=0.5, lr=0.08).fit(planted())
    assert rates == pytest.approx([0.08, 0.04, 0.02])


def test_clipping() -> None:
    data = planted()
    norms: dict[str, float] = {}
    training = training_of(quick(batch_size=None, max_norm=1e-3), data)
    next(training.run())
    for name, part in (
        ('table', [training.table]),
        ('encoder', training.encoder.parameters()),
        ('head', training.head.parameters()),
    ):
        grads = [p.grad.norm() for p in part if p.grad is not None]
        norms[name] = float(torch.stack(grads).norm())
    assert norms == {name: pytest.approx(1e-3, rel=1e-3) for name in norms}


def test_groups_of_parameters() -> None:
    class Own(HGNN):
        def parameter_groups(self) -> list[dict[str, Any]]:
            return [{'params': list(self.parameters()), 'weight_decay': 0.5}]

    model = AnchorPredictor(Own(6, 8, 1, 12), weight_decay=0.1, lr=0.3)
    groups = training_of(model, planted()).optimizer.param_groups
    assert [group['weight_decay'] for group in groups] == [0.5, 0.1, 0.1]
    assert [group['lr'] for group in groups] == [0.3, 0.3, 0.3]


def test_subclass_validates_in_another_way() -> None:
    class Constant(PredictorTraining):
        def logits(self, row: torch.Tensor) -> torch.Tensor:
            # All members are anchors, in role 0.
            return torch.tensor([[1.0, 0.0]]).expand(row.numel(), 2)

    class Mine(AnchorPredictor):
        training_class = Constant

    data = planted()
    model = Mine(HGNN(6, 8, 1, 12), num_epochs=1).fit(data)
    row = data.val_mask[data.hyperedge_index[1]]
    share = float((data.role[row] == 0).double().mean())
    assert model.history[0]['val_role_accuracy'] == pytest.approx(share)
    chance = float((1 / data.hyperedge_size[data.val_mask].double()).mean())
    assert model.history[0]['val_accuracy'] == pytest.approx(chance)


def test_same_roles_other_anchors(tmp_path: Any) -> None:
    # Roles 0, 1, 2 in turn: the first or the last may be the anchor.
    data = planted()
    size = data.hyperedge_size
    data = data.hyperedge_subgraph(size > 1)
    ptr, number = data.hyperedge_ptr, data.num_incidences
    data.role_names = ['first', 'middle', 'last']
    data.role = torch.ones(number, dtype=torch.long)
    data.role[ptr[:-1]] = 0
    data.role[ptr[1:] - 1] = 2
    last = data.clone()
    data.y, last.y = data.role == 0, data.role == 2
    trained = quick(num_epochs=4).fit(data, checkpoint=tmp_path)
    epochs: list[Any] = []
    other = quick(num_epochs=4).fit(last, checkpoint=tmp_path, callback=epochs.append)
    # One training for both; accuracies of the other anchors are not its own.
    assert epochs == []
    assert len(list(tmp_path.iterdir())) == 1
    assert torch.equal(trained(data), other(last))
    assert (int(trained.anchor_role), int(other.anchor_role)) == (0, 2)
    assert 'val_accuracy' in trained.history[-1]
    assert 'val_accuracy' not in other.history[-1]
    assert 'val_role_accuracy' in other.history[-1]


def test_roles_choose_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    # As in the paper: the second validation has the best roles, the first one the best
    # anchors.
    found = iter([(0.9, 0.3), (0.1, 0.6), (0.8, 0.5)])

    def accuracy(*_: Any) -> dict[str, float]:
        anchors, roles = next(found)
        return {'val_accuracy': anchors, 'val_role_accuracy': roles}

    monkeypatch.setattr(PredictorTraining, '_accuracy', accuracy)
    model = quick(num_epochs=6).fit(planted())
    assert [record.get('val_accuracy') for record in model.history] == [
        *(None, 0.9, None, 0.1, None, 0.8)
    ]
    # Without validation, there is also less to calibrate with.
    best = quick(num_epochs=4).fit(planted_without_val())
    assert all(map(torch.equal, model.parameters(), best.parameters()))
