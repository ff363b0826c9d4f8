from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tests.devices import second_device
from tests.strategies import one_line_error
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.loader import HyperedgeLoader
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import HGNN, AnchorPredictor, AnchorRadar, CoNHD, RandomHeuristic
from tgx_anchor.nn.predictors.training import PredictorTraining
from tgx_anchor.transforms import AddRandomWalkEmbedding, RandomHyperedgeSplit

MASKS = ('train_mask', 'val_mask', 'test_mask')


@lru_cache
def _planted(seed: int) -> AnchorData:
    data: Any = PlantedAnchorDataset(80, 400, correlation=0.4, seed=seed)[0]
    generator = torch.Generator().manual_seed(seed)
    # What tells anchors apart must be somewhere, since nobody walks here.
    noise = torch.randn(80, 5, generator=generator)
    data.x = torch.cat([data.node_strength.float().unsqueeze(1), noise], dim=1)
    # Tests change the roles.
    del data.role_names
    out: AnchorData = RandomHyperedgeSplit(0.4, 0.2)(data)
    return out


def planted(seed: int = 0) -> AnchorData:
    out: AnchorData = _planted(seed).clone()
    return out


def hgnn() -> HGNN:
    return HGNN(6, 8, 1, 12)


def quick(**kwargs: Any) -> AnchorPredictor:
    options = {'lr': 0.02, 'batch_size': 50, 'num_epochs': 6, 'eval_every': 2}
    return AnchorPredictor(
        kwargs.pop('encoder', None) or hgnn(), **{**options, **kwargs}
    )


def same_state(model: AnchorPredictor, twin: AnchorPredictor) -> bool:
    a, b = model.state_dict(), twin.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


class Mean(torch.nn.Module):
    """A user's encoder, of means over members."""

    def __init__(self, width: int = 7) -> None:
        super().__init__()
        self.width = width
        self.num_layers = 1
        self.lin = torch.nn.Linear(6, width)

    def forward(self, x: Tensor, hyperedge_index: Tensor) -> tuple[Tensor, Tensor]:
        node, hyperedge = hyperedge_index
        x = self.lin(x).relu()
        size = int(hyperedge[-1]) + 1
        return x, scatter(x[node], hyperedge, 0, size, 'mean')


class Incidence(torch.nn.Module):
    """A user's encoder that gives one row per incidence, and takes what it names."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, Any] = {}
        self.rows = 0

    def forward(
        self, x: Tensor, hyperedge_index: Tensor, incidence_extra: Tensor, **_: Any
    ) -> Tensor:
        self.seen = {'incidence_extra': incidence_extra}
        return x[hyperedge_index[0]][self.rows :]


# Learning ########################################################################


@pytest.mark.parametrize('objective', ['role', 'anchor'])
@pytest.mark.parametrize('batch_size', [50, None])
def test_anchors_are_found(objective: Any, batch_size: int | None) -> None:
    data = planted()
    model = quick(
        objective=objective, batch_size=batch_size, num_epochs=40, lr=0.05
    ).fit(data)
    chance = RandomHeuristic().fit(data).score(data, data.test_mask)
    assert model.score(data, data.test_mask) > chance + 0.15


def planted_without_val() -> AnchorData:
    data = planted()
    del data['val_mask']
    return data


def test_empty_val_mask_is_none() -> None:
    data = planted()
    data.val_mask = torch.zeros(400, dtype=torch.bool)
    model = quick(num_epochs=40, patience=1).fit(data)
    assert len(model.history) == 40
    assert same_state(model, quick(num_epochs=40).fit(planted_without_val()))


def test_val_groups_without_roles_are_judged_by_anchors() -> None:
    data = planted()
    data.role[data.val_mask[data.hyperedge_index[1]]] = -1
    model = quick(num_epochs=2).fit(data)
    expected = model.score(data, data.val_mask)
    assert model.history[-1]['val_accuracy'] == pytest.approx(expected)


def test_one_large_batch_is_the_whole() -> None:
    data = planted()
    options: dict[str, Any] = {'encoder': HGNN(6, 8, 2, 12, dropout=0.0)}
    whole = quick(batch_size=None, num_epochs=1, **options).fit(data)
    batch = quick(batch_size=1000, num_epochs=1, **options).fit(data)
    assert batch.history[0]['loss'] == pytest.approx(whole.history[0]['loss'], rel=1e-5)
    assert whole.table is not None
    torch.testing.assert_close(batch.table, whole.table, rtol=1e-3, atol=1e-4)


def test_neighbours_of_each_hop(tmp_path: Path) -> None:
    data = planted()
    options: dict[str, Any] = {'encoder': HGNN(6, 8, 2, 12), 'num_epochs': 1}
    one, same, fewer = (
        quick(num_neighbors=given, **options).fit(data) for given in (3, (3, 3), [3, 1])
    )
    assert same_state(one, same)
    assert not same_state(one, fewer)
    training = PredictorTraining(fewer.encoder, data, fewer._options())
    assert training.loader is not None
    assert training.loader.num_neighbors == [3, 1]
    fewer.save(tmp_path / 'model')
    assert AnchorPredictor.load(tmp_path / 'model').num_neighbors == [3, 1]
    assert quick(num_neighbors=np.array([3, 1]), **options).num_neighbors == [3, 1]
    with one_line_error("'num_neighbors'", "'all'"):
        quick(num_neighbors='all', **options)
    with one_line_error("'num_neighbors'", '[3]', '2'):
        quick(num_neighbors=[3], **options).fit(data)


def test_val_accuracy_of_roles_and_anchors() -> None:
    data = planted()
    row = data.val_mask[data.hyperedge_index[1]]
    model = quick(num_epochs=2).fit(data)
    right = (model.eval()(data)[row].argmax(1) == data.role[row]).double().mean()
    assert model.history[-1]['val_role_accuracy'] == pytest.approx(float(right))
    expected = model.score(data, data.val_mask)
    assert model.history[-1]['val_accuracy'] == pytest.approx(expected)
    assert expected != pytest.approx(float(right), abs=1e-4)
    model = quick(num_epochs=2, objective='anchor').fit(data)
    assert 'val_role_accuracy' not in model.history[-1]
    expected = model.score(data, data.val_mask)
    assert model.history[-1]['val_accuracy'] == pytest.approx(expected)


# Roles ###########################################################################


def test_roles() -> None:
    data = planted()
    data.role_names = []
    # Planted anchors have role 0; a third role makes three outputs.
    data.role = data.role + (data.role == 1) * (torch.arange(len(data.role)) % 2)
    model = quick(num_epochs=2).fit(data)
    assert int(model.anchor_role) == 0
    assert model(data).size() == (data.num_incidences, 3)
    assert quick(num_epochs=1, num_roles=9).fit(data)(data).size(1) == 9
    with one_line_error("'num_roles'", '3', '2'):
        quick(num_roles=2).fit(data)
    # Whatever their numbers are.
    data.role = torch.tensor([10**12, 7, 10**9])[data.role]
    other = quick(num_epochs=2).fit(data)
    assert int(other.anchor_role) == 2
    assert other(data).size(1) == 3
    data.role = torch.where(data.role == 10**12, 10**10, data.role)
    assert same_state(quick(num_epochs=2).fit(data), other)


def test_roles_that_are_not_learnt_are_never_right() -> None:
    data = planted()
    data.role_names = []
    row = data.val_mask[data.hyperedge_index[1]]
    # Of the validation groups only: nothing is asked of roles that are not known.
    other = (data.role == 1) & row
    all_right = {}
    for role in (5, -1):
        given = data.clone()
        given.role[other] = role
        model = quick(num_epochs=2).fit(given)
        right = model.eval()(data)[row].argmax(1) == given.role[row]
        known = given.role[row] >= 0
        all_right[role] = float(right[known].double().mean())
        found = model.history[-1]['val_role_accuracy']
        assert found == pytest.approx(all_right[role])
        assert model(data).size(1) == 2
    assert all_right[5] < all_right[-1]


def test_roles_that_do_not_tell_the_anchor() -> None:
    data = planted()
    data.role = data['y'].long()
    expected = quick(num_epochs=2).fit(data)
    for role in (torch.zeros_like(data.role), None):
        data.role = role
        model = quick(num_epochs=2).fit(data)
        assert int(model.anchor_role) == 1
        assert same_state(model, expected)
    assert quick(num_epochs=1, num_roles=5).fit(data)(data).size(1) == 5
    with one_line_error("'num_roles'", '2', '1'):
        quick(num_roles=1).fit(data)
    for bad in (data['y'].float(), data['y'].long().unsqueeze(1)):
        data.role = bad
        with one_line_error("'role'", 'integer'):
            quick().fit(data)


# Encoders ########################################################################


@pytest.mark.parametrize('batch_size', [64, None])
def test_encoder_of_the_user(batch_size: int | None) -> None:
    data = planted()
    torch.manual_seed(0)
    encoder = Mean()
    before = encoder.lin.weight.clone()
    model = quick(encoder=encoder, batch_size=batch_size, num_epochs=2).fit(data)
    assert model(data).size() == (data.num_incidences, 2)
    # Without 'reset_parameters' training starts from the given weights, which stay.
    assert torch.equal(encoder.lin.weight, before)
    model.encoder.num_layers = None  # type: ignore[assignment]
    if batch_size is not None:
        with one_line_error("'encoder'", "'num_layers'", "'Mean'", '=64'):
            model.fit(data)


class Asks(torch.nn.Module):
    """A user's encoder with arguments of its own."""

    def __init__(self, lin: torch.nn.Module | None = None) -> None:
        super().__init__()
        self.lin = lin or torch.nn.Linear(6, 3)
        self.num_layers = 1

    def forward(self, x: Tensor, hyperedge_index: Tensor, num_nodes: int) -> Tensor:
        assert num_nodes == x.size(0)
        out: Tensor = self.lin(x)[hyperedge_index[0]]
        return out


class Cheats(Asks):
    """Wants to see the answers."""

    def forward(  # type: ignore[override]
        self, x: Tensor, hyperedge_index: Tensor, role: Tensor
    ) -> Tensor:
        return x[hyperedge_index[0]] + role.unsqueeze(1)


def test_encoders_that_do_not_work(tmp_path: Path) -> None:
    data = planted()
    with one_line_error("'encoder'", "'role'"):
        quick(encoder=Cheats()).fit(data)
    with one_line_error("'encoder'", 'module'):
        AnchorPredictor(None)  # type: ignore[arg-type]
    with one_line_error("'x'", '5', '6'):
        quick(encoder=HGNN(5, 8, 1)).fit(data)
    # Modules as arguments are not kept in a file: the user makes them again.
    lin = torch.nn.Linear(6, 3)
    model = quick(encoder=Asks(lin), num_epochs=1).fit(data)
    model.save(tmp_path / 'model')
    twin = AnchorPredictor.load(tmp_path / 'model', encoder=Asks())
    assert torch.equal(twin.predict_proba(data), model.predict_proba(data))


def test_incidence_native_encoder() -> None:
    data = planted()
    data.incidence_rank = torch.rand(data.num_incidences, 4)
    model = quick(encoder=CoNHD(6, 8, 1, heads=2), num_epochs=2).fit(data)
    assert model.predict_proba(data).size() == (data.num_incidences,)


# Repeating, interrupting, going on ###############################################


def test_same_seed_same_model(tmp_path: Path) -> None:
    data, model, twin = planted(), quick(), quick()
    state = torch.get_rng_state()
    model.fit(data)
    model.predict(data)
    model.save(tmp_path / 'model')
    assert torch.equal(torch.get_rng_state(), state)
    # Whatever its first weights were, and also if it was fitted before.
    assert same_state(model, twin.fit(data))
    assert same_state(model, twin.fit(planted(1)).fit(data))
    assert not same_state(model, quick(seed=1).fit(data))


class KillError(Exception):
    """Stands for the end of a process."""


@pytest.mark.parametrize('batch_size', [50, None])
def test_checkpoint(
    batch_size: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, path = planted(), tmp_path / 'checkpoint'
    encoder = HGNN(6, 8, 2, 12)
    options: dict[str, Any] = {
        'encoder': encoder,
        'batch_size': batch_size,
        'num_epochs': 9,
    }
    whole = quick(**options).fit(data)
    epoch = PredictorTraining._train_epoch

    def killed(self: PredictorTraining) -> float:
        if self.epoch == 5:
            raise KillError
        return epoch(self)

    monkeypatch.setattr(PredictorTraining, '_train_epoch', killed)
    with pytest.raises(KillError):
        quick(**options).fit(data, checkpoint=path)
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == ['checkpoint']
    model = quick(**options).fit(data, checkpoint=path)
    assert same_state(model, whole)
    assert [r['loss'] for r in model.history] == [r['loss'] for r in whole.history]
    # Finished: nothing is learnt again.
    monkeypatch.setattr(PredictorTraining, '_train_epoch', killed)
    assert same_state(quick(**options).fit(data, checkpoint=path), whole)
    content = path.read_bytes()
    for changed in ({'lr': 0.5}, {'seed': 3}, {'encoder': hgnn()}):
        with one_line_error(str(path), 'same'):
            quick(**{**options, **changed}).fit(data, checkpoint=path)
    with one_line_error(str(path), 'same'):
        quick(**options).fit(planted(1), checkpoint=path)
    assert path.read_bytes() == content
    with one_line_error('nowhere', 'folder'):
        quick(**options).fit(data, checkpoint=tmp_path / 'nowhere' / 'checkpoint')
    for cut in (0, 10, len(content) // 2):
        path.write_bytes(content[:cut])
        with one_line_error(str(path), 'checkpoint'):
            quick(**options).fit(data, checkpoint=path)


def test_longer_training_goes_on_as_if_it_had_been_asked_for(tmp_path: Path) -> None:
    # The shorter one looks at its end, too, which the longer one does not.
    data, path = planted(), tmp_path / 'checkpoint'
    quick(num_epochs=3).fit(data, checkpoint=path)
    longer = quick(num_epochs=6).fit(data, checkpoint=path)
    whole = quick(num_epochs=6).fit(data)
    assert same_state(longer, whole)
    looks = [
        [record['epoch'] for record in model.history if 'val_accuracy' in record]
        for model in (longer, whole)
    ]
    assert looks == [[2, 4, 6], [2, 4, 6]]
    # A shorter one cannot be had of it.
    content = path.read_bytes()
    with one_line_error("'num_epochs'", '6', 'got 5'):
        quick(num_epochs=5).fit(data, checkpoint=path)
    assert path.read_bytes() == content


def test_checkpoint_knows_what_the_encoder_reads(tmp_path: Path) -> None:
    data, path = planted(), tmp_path / 'checkpoint'
    data.incidence_extra = torch.zeros(data.num_incidences)
    options: dict[str, Any] = {'encoder': Incidence(), 'batch_size': None}
    quick(**options).fit(data, checkpoint=path)
    data.incidence_extra = torch.ones(data.num_incidences)
    with one_line_error(str(path), 'same'):
        quick(**options).fit(data, checkpoint=path)


def test_checkpoint_knows_encoders_of_the_user(tmp_path: Path) -> None:
    data, path = planted(), tmp_path / 'checkpoint'
    torch.manual_seed(0)
    quick(encoder=Mean(5), num_epochs=2).fit(data, checkpoint=path)
    for width in (5, 4):
        with one_line_error(str(path), 'same'):
            quick(encoder=Mean(width), num_epochs=2).fit(data, checkpoint=path)


def test_divergence_is_told() -> None:
    data = planted()
    model = quick().fit(data)
    before = model.predict_proba(data)
    model.lr = 1e30
    with one_line_error("'lr'", '1e+30', 'nan'):
        model.fit(data)
    assert torch.equal(model.predict_proba(data), before)


def interrupt_at(epoch: int) -> Callable[[dict[str, float]], None]:
    def callback(record: dict[str, float]) -> None:
        if record['epoch'] == epoch:
            raise KeyboardInterrupt

    return callback


def test_interrupted_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    data = planted()
    expected = quick(num_epochs=4).fit(planted_without_val())
    found = iter([0.1, 0.2])
    monkeypatch.setattr(
        PredictorTraining, '_accuracy', lambda *_: {'val_accuracy': next(found)}
    )
    with pytest.warns(UserWarning, match='after epoch 5 of 50'):
        model = quick(num_epochs=50).fit(data, callback=interrupt_at(5))
    assert model.interrupted
    assert len(model.history) == 5
    # The best state is that of the fourth epoch.
    assert all(map(torch.equal, model.parameters(), expected.parameters()))
    monkeypatch.undo()
    assert not model.fit(data).interrupted


def test_interrupted_and_raised() -> None:
    data = planted()
    model = quick().fit(data)
    before, history = model.predict_proba(data), model.history
    with pytest.raises(KeyboardInterrupt):
        model.fit(data, callback=interrupt_at(5), on_interrupt='raise')
    assert torch.equal(model.predict_proba(data), before)
    assert model.history is history
    assert not model.interrupted


def test_interrupted_before_anything_was_learnt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = planted()
    model = quick().fit(data)
    before = model.predict_proba(data)

    def stopped(_: PredictorTraining) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(PredictorTraining, '_train_epoch', stopped)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data)
    assert torch.equal(model.predict_proba(data), before)


def test_interrupted_training_continues(tmp_path: Path) -> None:
    data = planted()
    whole = quick(num_epochs=8).fit(data)
    with pytest.raises(KeyboardInterrupt):
        quick(num_epochs=8).fit(
            data,
            callback=interrupt_at(5),
            on_interrupt='raise',
            checkpoint=tmp_path,
        )
    # In a folder, the file is named after the training.
    (file,) = tmp_path.iterdir()
    assert file.name.startswith('HGNN_')
    seen: list[float] = []
    model = quick(num_epochs=8).fit(
        data, callback=lambda r: seen.append(r['epoch']), checkpoint=tmp_path
    )
    assert seen == [5, 6, 7, 8]
    assert same_state(model, whole)
    assert [r['loss'] for r in model.history] == [r['loss'] for r in whole.history]
    # Another training has a file of its own.
    quick(num_epochs=2, seed=1).fit(data, checkpoint=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_callback_adds_to_history(tmp_path: Path) -> None:
    def callback(record: dict[str, float]) -> None:
        record['twice'] = 2 * record['epoch']

    data, path = planted(), tmp_path / 'checkpoint'
    model = quick(num_epochs=4).fit(data, callback=callback, checkpoint=path)
    assert [record['twice'] for record in model.history] == [2, 4, 6, 8]
    assert all(record['num_epochs'] == 4 for record in model.history)
    assert all(record['seconds'] > 0 for record in model.history)
    # It is kept in the checkpoint.
    model = quick(num_epochs=4).fit(data, checkpoint=path)
    assert [record['twice'] for record in model.history] == [2, 4, 6, 8]


def test_reset_parameters() -> None:
    data = planted()
    model = quick(num_epochs=2).fit(data)
    fitted = {key: value.clone() for key, value in model.state_dict().items()}
    state = torch.get_rng_state()
    model.reset_parameters()
    assert torch.equal(torch.get_rng_state(), state)
    assert (model.head, model.table, model.history) == (None, None, [])
    with one_line_error('AnchorPredictor', "'fit'"):
        model.predict(data)
    twin = quick(num_epochs=2)
    twin.reset_parameters()
    assert same_state(model, twin)
    # Also parts of an encoder that has no such method.
    mine = Mean()
    before = mine.lin.weight.clone()
    AnchorPredictor(mine).reset_parameters()
    assert not torch.equal(mine.lin.weight, before)
    model.fit(data)
    assert all(torch.equal(fitted[k], v) for k, v in model.state_dict().items())


def test_use_val() -> None:
    data = planted()
    both = planted_without_val()
    both.train_mask = data.train_mask | data.val_mask
    model = quick().fit(data, use_val=True)
    assert same_state(model, quick().fit(both))
    assert not any('val_accuracy' in record for record in model.history)


def test_required_transform() -> None:
    source: Any = PlantedAnchorDataset(30, 60)[0]
    data = quick(encoder=HGNN(6, 8, 1)).required_transform()(source)
    assert data.x.size() == (30, 6)
    assert torch.equal(data.x, AddRandomWalkEmbedding(6)(source.clone()).x)
    assert 'incidence_rank' not in data
    assert 'x' not in source
    # By the seed of the model, the names that the encoder takes, and its size.
    other = quick(encoder=HGNN(6, 8, 1), seed=1).required_transform()(source)
    assert not torch.equal(data.x, other.x)
    ranked = quick(encoder=CoNHD(6, 8, 1, heads=2)).required_transform()(source)
    assert ranked.incidence_rank.size() == (source.num_incidences, 4)
    assert quick(encoder=Mean()).required_transform()(source).x.size(1) == 48
    # What is there stays.
    kept = quick(encoder=HGNN(6, 8, 1)).required_transform()(planted())
    assert torch.equal(kept.x, planted()['x'])


@pytest.mark.parametrize('batch_size', [50, None])
@pytest.mark.parametrize('objective', ['role', 'anchor'])
def test_second_device(batch_size: int | None, objective: Any) -> None:
    options: dict[str, Any] = {'batch_size': batch_size, 'objective': objective}
    encoder = HGNN(6, 8, 2, 12, dropout=0.0)
    expected = quick(encoder=encoder, num_epochs=3, **options).fit(planted())
    with second_device() as device:
        data = planted().to(device)
        model = quick(encoder=encoder, num_epochs=3, **options).fit(data)
        proba = model.predict_proba(data)
        assert {value.device for value in model.state_dict().values()} == {device}
        assert proba.device == device
        model.predict(data)
        model.reset_parameters()
    torch.testing.assert_close(
        proba.cpu(), expected.predict_proba(planted()), rtol=1e-3, atol=1e-4
    )


def test_modes_stay_as_they_are() -> None:
    data = planted()
    model = quick(encoder=HGNN(6, 8, 2, 12)).fit(data)
    first = model(data)
    model.predict_proba(data)
    assert torch.equal(model(data), first)
    assert not any(module.training for module in model.modules())
    model.train()
    model.predict_proba(data)
    assert all(module.training for module in model.modules())


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    quick().fit(planted())
    assert capsys.readouterr().err == ''
    quick().fit(planted(), progress=True)
    text = capsys.readouterr().err
    assert 'HGNN' in text
    # Not before the first look, and from then on to the end.
    seen = ['val_accuracy' in line for line in text.split('\r') if 'loss=' in line]
    assert sorted(set(seen)) == [False, True]
    assert seen == sorted(seen)


# Predicting ######################################################################


@pytest.mark.parametrize('objective', ['role', 'anchor'])
def test_probabilities(objective: Any, device: torch.device) -> None:
    data = planted().to(device)
    model = quick(objective=objective, calibration=None).fit(data)
    proba = model.predict_proba(data)
    sums = scatter(proba, data.hyperedge_index[1], 0, 400, 'sum')
    torch.testing.assert_close(sums, torch.ones_like(sums))
    # By the probabilities of the anchor's role; ranks by its logits alone.
    with torch.no_grad():
        logit = model(data).double()
    role = int(model.anchor_role)
    score = (logit.softmax(1) if objective == 'role' else logit.exp())[:, role]
    total = scatter(score, data.hyperedge_index[1], 0, 400, 'sum')
    torch.testing.assert_close(proba, score / total[data.hyperedge_index[1]])
    torch.testing.assert_close(model.rank_score(data).double(), logit[:, role])
    best = model.predict(data)
    assert best.size() == (400,)
    assert model.predict(data, k=2).size() == (400, 2)
    assert model.score(data, data.test_mask) == pytest.approx(
        AnchorEvaluator().eval(proba, data, data.test_mask)['accuracy']
    )


def test_members_far_behind_do_not_tie() -> None:
    data = planted()
    model = quick().fit(data)
    assert model.head is not None
    with torch.no_grad():
        model.head.weight *= 1e3
    proba = model.predict_proba(data)
    assert int((proba == 0).sum()) < int((proba.float() == 0).sum())


def test_a_mini_batch_is_a_hypergraph() -> None:
    data = planted()
    model = quick().fit(data)
    batch: Any = next(iter(HyperedgeLoader(data, [-1], batch_size=10)))
    proba = model.predict_proba(batch)
    assert proba.size() == (batch.num_incidences,)
    # All of it, not only what its targets need.
    batch.num_targets = None
    assert torch.equal(model.predict_proba(batch), proba)


def test_other_hypergraph_has_its_own_features() -> None:
    data, other = planted(), planted(1)
    model = quick(num_epochs=30).fit(data)
    proba = model.predict_proba(other)
    other.x = other['x'].flip(0)
    assert not torch.equal(proba, model.predict_proba(other))
    # On its own hypergraph it is the learnt table that counts.
    before = model.predict_proba(data)
    data.x = data['x'].flip(0)
    assert torch.equal(before, model.predict_proba(data))


def test_known_people_keep_their_rows() -> None:
    data = planted()
    is_old = torch.arange(400) < 300
    old, new = (
        data.hyperedge_subgraph(mask, relabel_nodes=True) for mask in (is_old, ~is_old)
    )
    model = quick(num_epochs=10).fit(old)
    assert model.table is not None
    place = {int(id_): row for row, id_ in enumerate(old.node_id)}
    x = torch.stack(
        [
            model.table[place[int(id_)]] if int(id_) in place else own
            for id_, own in zip(new.node_id, new['x'], strict=True)
        ]
    ).detach()
    assert any(int(id_) not in place for id_ in new.node_id)
    moved = new.clone()
    moved.x = x
    expected = model.predict_proba(moved, same_people=False)
    assert torch.equal(model.predict_proba(new), expected)
    assert not torch.equal(model.predict_proba(new, same_people=False), expected)
    # People of another source have nothing but their features.
    strangers = new.clone()
    strangers.source = 'elsewhere'
    assert torch.equal(
        model.predict_proba(strangers), model.predict_proba(new, same_people=False)
    )
    # Where all are known, features are not needed.
    known = torch.tensor([int(id_) in place for id_ in new.node_id])
    node, hyperedge = new.hyperedge_index
    whole = torch.ones(100, dtype=torch.bool)
    whole[hyperedge[~known[node]]] = False
    part = new.hyperedge_subgraph(whole, relabel_nodes=True)
    assert part.num_hyperedges > 5
    proba = model.predict_proba(part)
    part.x = None
    assert torch.equal(model.predict_proba(part), proba)
    new.x = new['x'][:, :5]
    with one_line_error("'x'", '6 columns', '5'):
        model.predict(new)


# Files ###########################################################################


@pytest.mark.parametrize('objective', ['role', 'anchor'])
def test_save_and_load(objective: Any, tmp_path: Path) -> None:
    data, path = planted(), tmp_path / 'model'
    model = quick(objective=objective).fit(data)
    model.save(path)
    twin = AnchorPredictor.load(path)
    assert same_state(model, twin)
    assert repr(model) == repr(twin)
    assert torch.equal(model.predict_proba(data), twin.predict_proba(data))


def test_save_with_an_encoder_of_the_user(tmp_path: Path) -> None:
    data, path = planted(), tmp_path / 'model'
    model = quick(encoder=Mean(5)).fit(data)
    model.save(path)
    with one_line_error("'Mean'", 'encoder=...'):
        AnchorPredictor.load(path)
    twin = AnchorPredictor.load(path, encoder=Mean(5))
    assert torch.equal(model.predict_proba(data), twin.predict_proba(data))
    with one_line_error(str(path), 'size mismatch'):
        AnchorPredictor.load(path, encoder=Mean(4))
    with one_line_error("'AnchorRadar'", "'AnchorPredictor'"):
        AnchorRadar.load(path)


# Bad input #######################################################################


def test_bad_arguments() -> None:
    # All others are in the test of 'TrainingOptions'.
    with one_line_error("'lr'", '0.0'):
        quick(lr=0.0)
    model = quick()
    model.patience = 0
    with one_line_error("'patience'", '0'):
        model.fit(planted())


def bad_data() -> Iterator[tuple[AnchorData, tuple[str, ...]]]:
    data = planted()
    del data['x']
    yield data, ('AddRandomWalkEmbedding', 'missing')
    data = planted()
    data['x'][3, 1] = float('nan')
    yield data, ("'x'", 'finite')
    data = planted()
    data.train_mask = torch.zeros(400, dtype=torch.bool)
    yield data, ('known anchor',)
    data = planted()
    data.val_mask = torch.zeros(7, dtype=torch.bool)
    yield data, ("'val_mask'", '400')


def test_failed_fit_leaves_the_model_as_it_was() -> None:
    data = planted()
    model = quick().fit(data)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    for bad, names in bad_data():
        with one_line_error(*names):
            model.fit(bad)
        after = model.state_dict()
        assert all(torch.equal(before[key], after[key]) for key in before)
    with one_line_error('fitted'):
        quick().predict(data)


def test_from_paper() -> None:
    model = AnchorPredictor.from_paper('UniGCN', 'coDB_last', seed=4)
    assert (model.lr, model.batch_size, model.num_neighbors) == (0.01, 64, -1)
    assert model.seed == 4
    assert repr(model.encoder) == 'UniGCN(48, 128, num_layers=2)'
    for method, setting in (('HGNN', 'qaBI_first'), ('HGNN', 'qaXX'), ('HGCN', 'qaBI')):
        with one_line_error(repr(setting if method == 'HGNN' else method)):
            AnchorPredictor.from_paper(method, setting)
