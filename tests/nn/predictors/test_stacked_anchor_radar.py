import builtins
import copy
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch
from torch_geometric.utils import scatter, softmax

from tests.devices import second_device
from tests.nn.predictors.radar import column
from tests.nn.predictors.stacked import (
    planted,
    quick,
    same_state,
    shuffled_anchors,
)
from tests.nn.predictors.test_model_file import forge, refusal, set_entry, set_param
from tests.strategies import SETTINGS, Renaming, hypergraphs, one_line_error, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import AnchorDataset, PlantedAnchorDataset
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import (
    AnchorModel,
    AnchorRadar,
    DegreeHeuristic,
    RandomHeuristic,
    StackedAnchorRadar,
)
from tgx_anchor.nn.predictors.fit_run import FitRun
from tgx_anchor.nn.predictors.known_sets import known_sets
from tgx_anchor.nn.predictors.stack import Stack
from tgx_anchor.transforms import (
    AddPairFeatures,
    AddTemporalFeatures,
    AddTopologicalFeatures,
    RandomHyperedgeSplit,
)
from tgx_anchor.utils import distinct_hyperedges, node_sets

POSITION = 'time_position'
LEARNERS = ['mlp', 'boosting', 'both']
VARIANTS: dict[str, dict[str, Any]] = {
    'all': {},
    'one pass': {'views': 'ABCF'},
    'topology': {'views': 'A'},
    'no features of pairs': {'views': 'BCDF'},
    'nothing known': {'views': ''},
    'belief': {'last_step': 'belief'},
    'share': {'last_step': 'share'},
    'strength': {'last_step': 'strength'},
    'not calibrated': {'calibration': None},
}


@pytest.fixture(scope='module')
def fitted() -> StackedAnchorRadar:
    """Not to be changed."""
    return quick().fit(planted())


@pytest.fixture
def double_precision() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.double)
    yield
    torch.set_default_dtype(before)


def for_trees() -> AnchorData:
    """Enough groups for trees in every fold."""
    return planted(0, 500, 0.6)


def group_sums(data: AnchorData, value: Tensor) -> Tensor:
    sums = scatter(value, data.hyperedge_index[1], 0, data.num_hyperedges, 'sum')
    return sums[data.hyperedge_size > 0]


def without_labels(data: AnchorData) -> AnchorData:
    out = copy.copy(data)
    out.y = torch.zeros_like(data['y'])
    for name in ('train_mask', 'val_mask', 'test_mask'):
        if name in out:
            del out[name]
    return out


def state_of(model: torch.nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def is_state(model: torch.nn.Module, state: dict[str, Tensor]) -> bool:
    after = model.state_dict()
    return after.keys() == state.keys() and all(
        torch.equal(after[key], value) for key, value in state.items()
    )


# The model #######################################################################


def test_repr_and_params() -> None:
    assert repr(StackedAnchorRadar()) == (
        "StackedAnchorRadar(learner='mlp', views='ABCDF', last_step='blend', "
        "num_folds=5, time=True, max_size=64, seed=0, calibration='auto')"
    )
    params: dict[str, Any] = {
        'learner': 'both',
        'views': 'AB',
        'last_step': 'share',
        'num_folds': 3,
        'time': False,
        'max_size': 5,
        'seed': 9,
        'calibration': None,
    }
    assert StackedAnchorRadar(**params).get_params() == params


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('learner', 'trees'),
        ('learner', None),
        ('views', 'ABE'),
        ('views', ['A']),
        ('last_step', 'strengths'),
        ('num_folds', 1),
        ('num_folds', 2.5),
        ('num_folds', True),
        ('time', 1),
        ('time', None),
        ('max_size', 1),
        ('max_size', '64'),
        ('seed', 1.5),
        ('seed', None),
        ('calibration', 'yes'),
    ],
)
def test_bad_arguments(name: str, value: Any) -> None:
    with one_line_error(f"'{name}'", str(value)):
        StackedAnchorRadar(**{name: value})


def test_feature_names(fitted: StackedAnchorRadar) -> None:
    data = planted()
    names = fitted.feature_names(data)
    assert len(set(names)) == len(names)
    (first,), (second,) = fitted.passes.first, fitted.passes.second
    assert len(names) == second.in_channels
    assert int(fitted.num_features) == 33 + 53
    beliefs = [name for name in names if name.startswith('belief')]
    assert len(names) - len(beliefs) == first.in_channels
    data.hyperedge_time = torch.arange(data.num_hyperedges)
    assert len(fitted.feature_names(data)) == len(names) + 28
    plain = StackedAnchorRadar(views='').feature_names(data)
    assert len(plain) == 33 + 28


def test_required_transform() -> None:
    source: Any = PlantedAnchorDataset(30, 60)[0]
    source.hyperedge_time = torch.arange(60)
    topology = AddTopologicalFeatures().feature_names
    pairs = AddPairFeatures().feature_names
    time = AddTemporalFeatures().feature_names
    for kwargs, expected in (
        ({}, topology + pairs + time),
        ({'time': False}, topology + pairs),
        ({'views': 'BCDF'}, topology + time),
    ):
        transform = quick(**kwargs).required_transform()
        data = transform(source)
        assert data.names('incidence_attr') == expected
        assert torch.equal(transform(data).incidence_attr, data.incidence_attr)
    assert 'incidence_attr' not in source
    del source.hyperedge_time
    data = quick().required_transform()(source)
    assert data.names('incidence_attr') == topology + pairs


def test_features_are_added_where_they_are_missing(fitted: StackedAnchorRadar) -> None:
    data = planted()
    data.incidence_attr = None
    data.column_names = {}
    keys = set(data.keys())
    assert same_state(quick().fit(data), fitted)
    assert set(data.keys()) == keys


def test_order_of_features_does_not_matter(fitted: StackedAnchorRadar) -> None:
    # Features that the user has added before, in another order.
    data = planted()
    other = copy.copy(data)
    other.incidence_attr = None
    other.column_names = {}
    other = AddTopologicalFeatures()(AddPairFeatures()(other))
    assert other.names('incidence_attr') != data.names('incidence_attr')
    assert same_state(quick().fit(other), fitted)
    part = data.hyperedge_subgraph(torch.arange(150))
    swapped = other.hyperedge_subgraph(torch.arange(150))
    assert torch.equal(fitted.predict_proba(swapped), fitted.predict_proba(part))


# Learning ########################################################################


@pytest.mark.parametrize('learner', LEARNERS)
def test_same_seed_same_model(learner: str) -> None:
    data = for_trees()
    model, twin = (quick(learner=learner).fit(data) for _ in range(2))
    assert same_state(model, twin)
    assert torch.equal(model.predict_proba(data), twin.predict_proba(data))
    assert torch.equal(model.predict(data), twin.predict(data))
    assert len(model.passes.second) == (2 if learner == 'both' else 1)
    for each in (*model.passes.first, *model.passes.second):
        assert each.in_channels > 0
    # To fit again is to start again.
    assert same_state(model.fit(data), twin)


def test_other_seed_other_model(fitted: StackedAnchorRadar) -> None:
    data = planted()
    other = quick(seed=1).fit(data)
    assert not torch.equal(fitted.predict_proba(data), other.predict_proba(data))


@pytest.mark.parametrize('learner', ['mlp', 'boosting'])
def test_threads(learner: str) -> None:
    # All learners are the same; sums of strengths differ in their last digits.
    data = for_trees()
    model = quick(learner=learner).fit(data)
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        twin = quick(learner=learner).fit(data)
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(
        twin.predict_proba(data), model.predict_proba(data), rtol=0, atol=1e-9
    )
    torch.testing.assert_close(twin.strength, model.strength, rtol=0, atol=1e-9)


def test_global_random_state(tmp_path: Path) -> None:
    data = planted()
    del data.val_mask
    state = torch.get_rng_state()
    model = quick(views='AB').fit(data)
    model.predict(data)
    model.predict(planted(1))
    model.save(tmp_path / 'model')
    StackedAnchorRadar.load(tmp_path / 'model')
    model.reset_parameters()
    assert torch.equal(torch.get_rng_state(), state)


def test_reset_parameters(fitted: StackedAnchorRadar, device: torch.device) -> None:
    data = planted().to(device)
    model = copy.deepcopy(fitted).to(device)
    model.reset_parameters()
    assert is_state(model, state_of(quick().to(device)))
    for value in model.state_dict().values():
        assert value.device.type == device.type
    with one_line_error('fitted'):
        model.predict(data)
    assert same_state(model.fit(data), copy.deepcopy(fitted).to(device))


def test_use_val() -> None:
    data = planted()
    both = data.clone()
    both.train_mask = data.train_mask | data.val_mask
    model = quick(views='AB').fit(data, use_val=True)
    del both.val_mask
    assert same_state(model, quick(views='AB').fit(both))
    del data.val_mask
    with one_line_error("'val_mask'", 'RandomHyperedgeSplit'):
        quick().fit(data, use_val=True)


def test_without_a_mask_all_known_choices_count() -> None:
    data = planted()
    del data.train_mask
    model = quick(views='AB').fit(data)
    data.train_mask = data.known_mask & data.choice_mask
    del data.val_mask
    assert same_state(model, quick(views='AB').fit(data))


def test_last_step_without_validation() -> None:
    # Fitted to groups that five further models were not shown.
    data = planted()
    model = quick(views='AB').fit(data)
    del data.val_mask
    cross = quick(views='AB').fit(data)
    for key, value in model.passes.state_dict().items():
        assert torch.equal(value, cross.passes.state_dict()[key])
    prior = cross.passes.weights('blend')
    assert not torch.equal(cross.blend.weight, model.blend.weight)
    assert (cross.blend.weight - torch.tensor(prior)).abs().max() > 0.01
    assert cross.calibrated
    assert len(cross.held_out) == int((data.train_mask & data.choice_mask).sum())
    # Without a calibration, there are no further models.
    plain = quick(views='AB', calibration=None).fit(data)
    assert plain.blend.weight.tolist() == pytest.approx(prior)
    assert (plain.calibrated, len(plain.held_out)) == (False, 0)
    # Few groups to validate with are not enough.
    few = planted()
    few.val_mask &= few.val_mask.long().cumsum(0) < 9
    model = quick(views='AB').fit(few)
    assert torch.equal(model.blend.weight, cross.blend.weight)


@pytest.mark.parametrize('name', ['belief', 'share', 'strength'])
def test_single_last_steps(name: str) -> None:
    data = planted()
    model = quick(last_step=name, views='AB').fit(data)
    assert model.blend.weight.tolist() == model.passes.weights(name)  # type: ignore[arg-type]
    del data.val_mask
    model.fit(data)
    assert model.blend.weight.tolist() == model.passes.weights(name)  # type: ignore[arg-type]
    assert model.calibrated


def test_not_calibrated(fitted: StackedAnchorRadar) -> None:
    data = planted()
    plain = quick(calibration=None).fit(data)
    assert fitted.calibrated
    assert not plain.calibrated
    assert torch.equal(plain.predict_proba(data), fitted.rank_score(data))
    assert torch.equal(plain.rank_score(data), fitted.rank_score(data))
    assert torch.equal(plain.predict(data), fitted.predict(data))
    assert not torch.equal(plain.predict_proba(data), fitted.predict_proba(data))
    # How good it is, is known all the same.
    assert len(plain.held_out) == len(fitted.held_out) > 20


@pytest.mark.parametrize('count', [1, 2, 9, 10, 11])
@pytest.mark.parametrize('learner', ['mlp', 'boosting'])
def test_few_known_groups(count: int, learner: str) -> None:
    # Of distinct node sets; with ten there is a second pass.
    data = planted()
    del data.val_mask
    distinct: dict[tuple[int, ...], int] = {}
    for number in data.train_mask.nonzero().view(-1).tolist():
        members = data.hyperedge_index[0][data.hyperedge_index[1] == number]
        if members.numel() > 1:
            distinct.setdefault(tuple(sorted(members.tolist())), number)
    data.train_mask = torch.zeros_like(data.train_mask)
    data.train_mask[list(distinct.values())[:count]] = True
    model = quick(learner=learner).fit(data)
    has_second = count >= 10
    assert len(model.passes.second) == int(has_second)
    assert len(model.history) == 1 + 3 * has_second
    assert not model.calibrated
    proba = model.predict_proba(data)
    torch.testing.assert_close(
        group_sums(data, proba), torch.ones_like(group_sums(data, proba))
    )
    assert torch.isfinite(model.strength).all()
    if learner == 'mlp' and count > 1:
        assert model.score(data, data.train_mask) > 0.6
    other = model.predict_proba(planted(1))
    assert torch.isfinite(other).all()


def test_more_folds_than_groups() -> None:
    data = planted()
    train = data.train_mask & data.choice_mask
    data.train_mask = train & (train.long().cumsum(0) <= 15)
    model = quick(num_folds=40, views='ABD').fit(data)
    assert len(model.history) == 42
    assert torch.isfinite(model.predict_proba(data)).all()


def _no_anchors(data: AnchorData) -> None:
    data.y = torch.zeros_like(data['y'])
    del data.train_mask


def _no_y(data: AnchorData) -> None:
    data.y = None


def _no_choice(data: AnchorData) -> None:
    data.y = data['y'] & ~data.choice_mask[data.hyperedge_index[1]]
    del data.train_mask


def _nobody(data: AnchorData) -> None:
    data.train_mask = torch.zeros_like(data.train_mask)


def _unknown_anchor(data: AnchorData) -> None:
    first = int(data.train_mask.nonzero()[0])
    data.y = data['y'] & (data.hyperedge_index[1] != first)


def _unknown_validation(data: AnchorData) -> None:
    first = int(data.val_mask.nonzero()[0])
    data.y = data['y'] & (data.hyperedge_index[1] != first)


def _short_mask(data: AnchorData) -> None:
    data.train_mask = data.train_mask[:-1]


def _short_validation(data: AnchorData) -> None:
    data.val_mask = data.val_mask[:-1]


def _nan(data: AnchorData) -> None:
    data.incidence_attr = data.incidence_attr.clone()
    data.incidence_attr[7, 3] = float('nan')


def _infinite_x(data: AnchorData) -> None:
    data.x = torch.full((int(data.num_nodes or 0), 2), float('inf'))


def _infinite_time(data: AnchorData) -> None:
    data.hyperedge_time = torch.full((data.num_hyperedges,), float('inf'))


def _short_time(data: AnchorData) -> None:
    data.hyperedge_time = torch.zeros(5)


def _listed_time(data: AnchorData) -> None:
    data.hyperedge_time = [0.0] * data.num_hyperedges


def _unsorted(data: AnchorData) -> None:
    data.hyperedge_index = data.hyperedge_index.flip(1)


@pytest.mark.parametrize(
    ('spoil', 'names'),
    [
        (_no_anchors, ('known anchor', "'data.y'")),
        (_no_y, ("'data.y'",)),
        (_no_choice, ('known anchor', 'another member')),
        (_nobody, ("'train_mask'", 'known anchor')),
        (_unknown_anchor, ("'train_mask'", 'known anchor', 'hyperedge')),
        (_unknown_validation, ("'val_mask'", 'known anchor', 'hyperedge')),
        (_short_mask, ("'train_mask'", '200', '199')),
        (_short_validation, ("'val_mask'", '200', '199')),
        (_nan, ("'incidence_attr'", 'finite')),
        (_infinite_x, ("'x'", 'finite')),
        (_infinite_time, ('hyperedge_time', 'inf')),
        (_short_time, ('hyperedge_time', '5')),
        (_listed_time, ('hyperedge_time', 'list')),
        (_unsorted, ("'hyperedge_index", 'unsorted')),
    ],
)
def test_failed_fit_leaves_the_model_as_it_was(
    fitted: StackedAnchorRadar,
    spoil: Callable[[AnchorData], None],
    names: tuple[str, ...],
) -> None:
    model, before = copy.deepcopy(fitted), state_of(fitted)
    bad = planted(1)
    spoil(bad)
    steps: list[dict[str, float]] = []
    with one_line_error(*names):
        model.fit(bad, callback=steps.append)
    assert is_state(model, before)
    assert model.history == fitted.history
    # Before anything is learnt.
    assert steps == []
    fresh = quick()
    with one_line_error(*names):
        fresh.fit(bad)
    with one_line_error('StackedAnchorRadar', 'fitted'):
        fresh.predict(planted())


def test_must_be_fitted_first() -> None:
    data = planted()
    for name in ('predict', 'predict_proba', 'rank_score', 'score', 'evidence'):
        with one_line_error('StackedAnchorRadar', 'fitted'):
            getattr(quick(), name)(data)
    for name in ('predictions', 'doubts', 'suggest'):
        with one_line_error('StackedAnchorRadar', 'fitted'):
            getattr(quick(), name)(data)
    with one_line_error('StackedAnchorRadar', 'fitted'):
        _ = quick().strength


@pytest.mark.parametrize('learner', ['boosting', 'both'])
def test_lightgbm_is_missing(
    fitted: StackedAnchorRadar, monkeypatch: pytest.MonkeyPatch, learner: str
) -> None:
    real = builtins.__import__

    def fake(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith('lightgbm'):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    data = planted()
    monkeypatch.setattr(builtins, '__import__', fake)
    with one_line_error('LightGBM', "'mlp'", 'pip install'):
        quick(learner=learner).fit(data)
    assert torch.isfinite(fitted.predict_proba(planted(1))).all()


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    data = planted()
    quick(views='AB').fit(data)
    assert capsys.readouterr().err == ''
    quick(views='AB').fit(data, progress=True)
    assert 'fitting: 100%' in capsys.readouterr().err


def test_history_and_callback() -> None:
    data = planted()
    seen: list[dict[str, float]] = []
    model = StackedAnchorRadar(num_folds=3).fit(data, callback=seen.append)
    assert all(a is b for a, b in zip(seen, model.history, strict=True))
    places = [(record['stage'], record['epoch']) for record in seen]
    assert places == [(1, 1), (1, 2), (1, 3), (1, 4), (2, 5)]
    assert {record['num_epochs'] for record in seen} == {5}
    assert all(record['seconds'] > 0 for record in seen)
    assert not model.interrupted
    assert len(quick(views='ABCF').fit(data).history) == 1


def interrupt_at(epoch: int) -> Callable[[dict[str, float]], None]:
    def callback(record: dict[str, float]) -> None:
        if record['epoch'] == epoch:
            raise KeyboardInterrupt

    return callback


@pytest.mark.parametrize('epoch', [1, 2, 4])
def test_interrupted(fitted: StackedAnchorRadar, epoch: int) -> None:
    # There is nothing to predict with before the end: it raises, whatever was asked.
    model, before = copy.deepcopy(fitted), state_of(fitted)
    for on_interrupt in ('raise', 'keep_best'):
        with pytest.raises(KeyboardInterrupt):
            model.fit(
                planted(1),
                callback=interrupt_at(epoch),
                on_interrupt=on_interrupt,
            )
        assert is_state(model, before)
        assert model.history == fitted.history


def test_error_in_a_callback(fitted: StackedAnchorRadar) -> None:
    model, before = copy.deepcopy(fitted), state_of(fitted)

    def callback(record: dict[str, float]) -> None:
        raise RuntimeError('stop')

    with pytest.raises(RuntimeError, match='stop'):
        model.fit(planted(1), callback=callback)
    assert is_state(model, before)


def test_interrupted_while_groups_are_held_out(
    fitted: StackedAnchorRadar, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = planted(1)
    del data.val_mask
    calls = []
    fit_predict = StackedAnchorRadar._fit_predict

    def stop(self: StackedAnchorRadar, part: AnchorData, _: None) -> Tensor:
        calls.append(part)
        if len(calls) % 2 == 0:
            raise KeyboardInterrupt
        return fit_predict(self, part)

    monkeypatch.setattr(StackedAnchorRadar, '_fit_predict', stop)
    model, before = copy.deepcopy(fitted), state_of(fitted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data, on_interrupt='raise')
    assert is_state(model, before)
    # The model itself is complete.
    with pytest.warns(UserWarning, match='interrupted'):
        model.fit(data)
    assert model.interrupted
    assert not model.calibrated
    whole = quick(calibration=None).fit(data)
    assert torch.equal(model.predict_proba(data), whole.predict_proba(data))


@pytest.mark.parametrize('name', ['all', 'one pass', 'nothing known'])
def test_second_device(name: str) -> None:
    options = {**VARIANTS[name], 'calibration': None}
    small = planted(0, 90)
    expected = quick(**options).fit(small).predict_proba(small)
    with second_device() as device:
        data = small.to(device)
        model = quick(**options).to(device).fit(data)
        proba = model.predict_proba(data)
        assert proba.device == device
        assert {value.device for value in model.state_dict().values()} == {device}
        model.predict(data, k=2)
        assert model.predict_proba(planted(1, 90).to(device)).device == device
        # Groups of known people.
        part = data.hyperedge_subgraph(data.hyperedge_size > 1)
        assert model.predict_proba(part).device == device
        assert model.predictions(part).num_rows == part.num_hyperedges
        model.reset_parameters()
        assert {value.device for value in model.state_dict().values()} == {device}
    torch.testing.assert_close(proba.cpu(), expected, rtol=0, atol=1e-3)


@pytest.mark.slow
def test_second_device_without_validation() -> None:
    with second_device() as device:
        data = planted(0, 70, 0.6).to(device)
        del data.val_mask
        model = quick(views='B').to(device).fit(data)
        assert model.calibrated
        assert {value.device for value in model.state_dict().values()} == {device}
        assert model.predict_proba(data).device == device


def test_trees_on_a_second_device() -> None:
    expected = quick(learner='boosting').fit(for_trees()).predict_proba(for_trees())
    with second_device() as device:
        data = for_trees().to(device)
        model = quick(learner='boosting').to(device).fit(data)
        proba = model.predict_proba(data)
        assert proba.device == device
        assert {value.device for value in model.state_dict().values()} == {device}
    torch.testing.assert_close(proba.cpu(), expected, rtol=0, atol=1e-6)


# Predicting ######################################################################


@pytest.mark.parametrize('name', VARIANTS)
def test_probabilities(name: str, device: torch.device) -> None:
    data = planted().to(device)
    model = quick(**VARIANTS[name]).to(device).fit(data)
    proba = model.predict_proba(data)
    assert proba.device.type == device.type
    assert proba.dtype == torch.double
    assert proba.size() == (data.num_incidences,)
    assert proba.min() >= 0
    torch.testing.assert_close(
        group_sums(data, proba), torch.ones_like(group_sums(data, proba))
    )
    assert not proba.requires_grad
    # It has learnt something.
    assert model.score(data, data.test_mask) > RandomHeuristic().score(data) + 0.1
    other = model.predict_proba(planted(1).to(device))
    assert other.dtype == torch.double
    assert not other.requires_grad


@pytest.mark.parametrize('learner', LEARNERS)
def test_planted_anchors_are_found(learner: str) -> None:
    data = for_trees()
    model = quick(learner=learner).fit(data)
    found = model.score(data, data.test_mask)
    assert found > DegreeHeuristic().fit(data).score(data, data.test_mask) + 0.03
    assert found > RandomHeuristic().score(data, data.test_mask) + 0.2


@SETTINGS
@given(hypergraphs(2), st.sampled_from(['all', 'nothing known', 'strength']))
def test_any_hypergraph(data: AnchorData, name: str) -> None:
    model = quick(**VARIANTS[name])
    if not (data.known_mask & data.choice_mask).any():
        with one_line_error('no hyperedge to learn from'):
            model.fit(data)
        return
    model.fit(data)
    for each in (data, without_labels(data)):
        proba = model.predict_proba(each, same_people=False)
        torch.testing.assert_close(
            group_sums(data, proba), torch.ones_like(group_sums(data, proba))
        )
    proba = model.predict_proba(data)
    torch.testing.assert_close(
        group_sums(data, proba), torch.ones_like(group_sums(data, proba))
    )
    assert torch.equal(model.predict(data) < 0, data.hyperedge_size == 0)


def test_same_hypergraph_in_another_order(fitted: StackedAnchorRadar) -> None:
    data = planted()
    data.incidence_proba = fitted.predict_proba(data)
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(data.num_incidences, generator=generator)
    order = order[torch.argsort(data.hyperedge_index[1][order], stable=True)]
    twin = data.clone()
    for key in ('hyperedge_index', 'y', 'role', 'incidence_attr', 'incidence_proba'):
        value = data[key]
        twin[key] = value[:, order] if key == 'hyperedge_index' else value[order]
    assert not torch.equal(twin.hyperedge_index, data.hyperedge_index)
    torch.testing.assert_close(
        fitted.predict_proba(twin), twin.incidence_proba, rtol=1e-12, atol=0
    )


def test_tables(fitted: StackedAnchorRadar) -> None:
    data = planted()
    best, proba = fitted.predict(data), fitted.predict_proba(data)
    table = fitted.predictions(data)
    assert table.num_rows == data.num_hyperedges
    rows = table.to_pylist()
    for number, row in enumerate(rows):
        if not data.train_mask[number]:
            assert row['source'] == 'predicted'
            assert row['anchor'] == best[number]
        else:
            assert (row['source'], row['probability']) == ('known', 1.0)
    model = fitted.predictions(data, known='model')
    assert set(model['source'].to_pylist()) == {'predicted'}
    top = scatter(proba, data.hyperedge_index[1], 0, data.num_hyperedges, 'max')
    assert model['probability'].to_pylist() == pytest.approx(top.tolist())
    # Known anchors that it would not have chosen.
    doubts = fitted.doubts(data)
    wrong = {row['group'] for row in doubts.to_pylist()}
    y, hyperedge = data['y'], data.hyperedge_index[1]
    node = data.hyperedge_index[0]
    right = {
        int(hyperedge[i]) for i in y.nonzero().view(-1) if node[i] == best[hyperedge[i]]
    }
    known = set(data.train_mask.nonzero().view(-1).tolist())
    assert wrong == known - right
    suggested = fitted.suggest(data, n=5)
    assert suggested.num_rows == 5
    assert not set(suggested['group'].to_pylist()) & known


def test_assess(fitted: StackedAnchorRadar) -> None:
    data = planted()
    assessment = fitted.assess(data)
    held_out = data.val_mask & data.choice_mask
    assert len(fitted.held_out) == int(held_out.sum())
    found = fitted.score(data, held_out)
    assert fitted.held_out.mean('correct') == pytest.approx(found, abs=0.02)
    assert assessment.sentences()


def test_several_anchors() -> None:
    data = planted()
    node, hyperedge = data.hyperedge_index
    value = data.node_strength[node]
    # The two strongest members of each group, where there are three.
    rival = (value[:, None] < value[None]) & (hyperedge[:, None] == hyperedge[None])
    data.y = (rival.sum(1) < 2) & (data.hyperedge_size > 2)[hyperedge]
    data = RandomHyperedgeSplit(0.5, 0.1)(data)
    model = quick().fit(data)
    assert int(model.num_anchors) == 2
    chance = AnchorEvaluator(chance=True).eval(
        torch.zeros(data.num_incidences), data, data.test_mask
    )
    assert model.score(data, data.test_mask) > chance['chance'] + 0.1
    best = model.predict(data, k=2)
    assert best.size() == (200, 2)
    assert torch.equal(best[:, 1] == -1, data.hyperedge_size < 2)
    assert torch.equal(best[:, 0], model.predict(data))
    torch.testing.assert_close(
        group_sums(data, model.predict_proba(data)),
        torch.ones(int((data.hyperedge_size > 0).sum()), dtype=torch.double),
    )
    del data.val_mask
    assert quick(views='AB').fit(data).calibrated


def test_empty_tables_and_singletons(fitted: StackedAnchorRadar) -> None:
    data = planted()
    nothing = data.hyperedge_subgraph(torch.zeros(200, dtype=torch.bool))
    for same_people in (True, False):
        assert fitted.predict_proba(nothing, same_people).size() == (0,)
        assert fitted.predict(nothing, same_people=same_people).tolist() == []
    is_single = data.hyperedge_size == 1
    alone = data.hyperedge_subgraph(is_single, relabel_nodes=True)
    assert alone.num_hyperedges > 5
    for same_people in (True, False):
        proba = fitted.predict_proba(alone, same_people)
        assert proba.tolist() == [1.0] * alone.num_hyperedges
    assert torch.equal(fitted.predict(alone), alone.hyperedge_index[0])
    # Nothing to choose, nothing to learn, but for who asks for it.
    with one_line_error('another member'):
        quick().fit(without_masks(alone))
    alone.train_mask = torch.ones(alone.num_hyperedges, dtype=torch.bool)
    model = quick().fit(alone)
    assert model.predict_proba(alone).tolist() == [1.0] * alone.num_hyperedges
    assert torch.isfinite(model.predict_proba(data)).all()


def without_masks(data: AnchorData) -> AnchorData:
    out = copy.copy(data)
    for name in ('train_mask', 'val_mask', 'test_mask'):
        out[name] = None
    return out


def test_empty_hyperedges_and_repeated_members() -> None:
    source = planted()
    groups: list[list[int]] = [[] for _ in range(200)]
    for node, hyperedge in source.hyperedge_index.t().tolist():
        groups[hyperedge].append(node)
    anchors = [
        [
            v
            for v, y in zip(g, source['y'][source.hyperedge_index[1] == e], strict=True)
            if y
        ]
        for e, g in enumerate(groups)
    ]
    plain = to_data(groups, int(source.num_nodes or 0), anchors)
    # Each tenth group is followed by an empty one, each fifth lists a member twice.
    spoilt = [
        group
        for e, g in enumerate(groups)
        for group in ([[*g, g[0]] if e % 5 == 0 else g] + [[]] * (e % 10 == 0))
    ]
    known = [
        group for e, a in enumerate(anchors) for group in ([a] + [[]] * (e % 10 == 0))
    ]
    data = to_data(spoilt, int(source.num_nodes or 0), known)
    is_real = data.hyperedge_size > 0
    for name in ('train_mask', 'val_mask'):
        plain[name] = source[name]
        data[name] = torch.zeros(data.num_hyperedges, dtype=torch.bool)
        data[name][is_real] = source[name]
    for kwargs in ({}, {'calibration': None}):
        model, twin = quick(**kwargs).fit(data), quick(**kwargs).fit(plain)
        proba = model.predict_proba(data)
        torch.testing.assert_close(
            group_sums(data, proba), torch.ones_like(group_sums(data, proba))
        )
        assert torch.equal(model.predict(data) < 0, ~is_real)
        assert model.score(data) == pytest.approx(twin.score(plain), abs=0.05)
        other = model.predict_proba(data, same_people=False)
        torch.testing.assert_close(
            group_sums(data, other), torch.ones_like(group_sums(data, other))
        )
    del data.val_mask
    assert model.fit(data).predict(data).size() == (data.num_hyperedges,)


def test_repeated_members_are_as_likely_on_each_line() -> None:
    data = planted()
    first = torch.cat(
        [torch.tensor([0]), data.hyperedge_index[1].diff().nonzero().view(-1) + 1]
    )
    keep = torch.cat([torch.arange(data.num_incidences), first[:20]]).sort().values
    twin = AnchorData(
        hyperedge_index=data.hyperedge_index[:, keep],
        num_nodes=data.num_nodes,
        num_hyperedges=200,
        y=data['y'][keep],
        train_mask=data.train_mask,
    )
    model = quick(views='AB', calibration=None).fit(twin)
    proba = model.predict_proba(twin)
    again = keep.diff().eq(0).nonzero().view(-1)
    assert again.numel() == 20
    assert torch.equal(proba[again], proba[again + 1])


def test_batch(fitted: StackedAnchorRadar) -> None:
    # Without ids, since equal ids of two tables of a batch may be different people.
    parts: list[Any] = [planted(1), planted(2)]
    alone = torch.cat([fitted.predict_proba(part, False) for part in parts])
    for part in parts:
        part.source = None
    batch: Any = Batch.from_data_list(parts)
    proba = fitted.predict_proba(batch)
    assert proba.size() == (batch.num_incidences,)
    # The topology of each part stays, and so does its evidence.
    torch.testing.assert_close(proba, alone, rtol=0, atol=1e-3)
    model = quick(views='AB').fit(batch)
    assert model.predict(batch).size() == (400,)
    assert model.score(batch, batch.test_mask) > 0.5


def test_attributes_join_the_features() -> None:
    data = planted()
    generator = torch.Generator().manual_seed(0)
    data.hyperedge_attr = torch.rand(200, 2, generator=generator)
    data.x = 1e4 + 50 * data.node_strength.unsqueeze(1)
    model = quick(views='A').fit(data)
    assert int(model.num_features) == 33 + 53 + 3
    assert model.feature_names(data)[-3:] == data.names('x') + data.names(
        'hyperedge_attr'
    )
    # The scale is that of the fitted table.
    part: Any = data.hyperedge_subgraph(torch.arange(3), relabel_nodes=True)
    assert torch.isfinite(model.predict_proba(part)).all()
    assert torch.equal(model.scale[0, :1], data.x.double().mean(0))
    raised = copy.copy(part)
    raised.x = part.x + torch.arange(int(part.num_nodes or 0)).unsqueeze(1)
    twin = copy.copy(raised)
    twin.x = raised.x * 2
    assert not torch.equal(model.predict_proba(raised), model.predict_proba(twin))
    plain = copy.copy(part)
    plain.x = None
    with one_line_error("'data'", '89', '88'):
        model.predict(plain)
    plain.hyperedge_attr = None
    with one_line_error("'data'", '89', '86'):
        model.predict(plain)


def test_informative_attributes_help() -> None:
    # Few groups per person, so that the topology does not tell people apart.
    data: Any = PlantedAnchorDataset(400, 600, correlation=0.0)[0]
    data = RandomHyperedgeSplit(0.4, 0.2)(quick().required_transform()(data))
    plain = quick(views='A').fit(data).score(data, data.test_mask)
    data.x = data.node_strength.unsqueeze(1)
    told = quick(views='A').fit(data).score(data, data.test_mask)
    assert told > plain + 0.05


def test_copies_that_differ_by_attributes() -> None:
    # Then each group is scored on its own.
    data = planted()
    generator = torch.Generator().manual_seed(0)
    data.hyperedge_attr = torch.rand(200, 1, generator=generator)
    model = quick(views='ABD').fit(data)
    proba = model.predict_proba(data)
    torch.testing.assert_close(
        group_sums(data, proba), torch.ones_like(group_sums(data, proba))
    )
    assert model.score(data, data.test_mask) > 0.5


def test_other_number_of_features(fitted: StackedAnchorRadar) -> None:
    other = planted(1)
    other.x = torch.zeros(65, 2)
    with one_line_error("'x'", 'columns', '2'):
        fitted.predict(other)
    other = planted(1)
    other.incidence_attr = other.incidence_attr[:, :30]
    other.column_names = {}
    with one_line_error("'data'", '86', '30'):
        fitted.predict(other)


@pytest.mark.parametrize('kind', [dict, list])
def test_no_hypergraph(fitted: StackedAnchorRadar, kind: type) -> None:
    with one_line_error("'data'", kind.__name__):
        fitted.predict(kind())


# On other hypergraphs ############################################################


def halves(num_groups: int = 250) -> tuple[AnchorData, AnchorData]:
    """Two tables of groups among the same people, which know nothing of each other."""
    # The topology tells little, people tell more.
    data: Any = PlantedAnchorDataset(80, 2 * num_groups, correlation=0.1)[0]
    is_old = torch.arange(2 * num_groups) < num_groups
    transform = StackedAnchorRadar().required_transform()
    old, new = (
        transform(data.hyperedge_subgraph(mask, relabel_nodes=True))
        for mask in (is_old, ~is_old)
    )
    return old, new


@pytest.fixture(scope='module')
def old_model() -> StackedAnchorRadar:
    """Fitted on the first half, not to be changed."""
    return quick(calibration=None).fit(halves()[0])


@pytest.mark.parametrize('name', VARIANTS)
def test_inductive(name: str) -> None:
    data, other = planted(), planted(1)
    model = quick(**VARIANTS[name]).fit(data)
    before = state_of(model)
    blind = without_labels(other)
    proba = model.predict_proba(blind)
    assert proba.size() == (other.num_incidences,)
    torch.testing.assert_close(
        group_sums(other, proba), torch.ones_like(group_sums(other, proba))
    )
    assert torch.equal(proba, model.predict_proba(blind))
    assert model.score(other) > RandomHeuristic().score(other) + 0.08
    assert is_state(model, before)


@pytest.mark.parametrize('views', ['ABCDF', 'AB'])
def test_each_group_counts_once(views: str) -> None:
    # A table of strangers, in one step from its own node sets and known anchors.
    model = quick(views=views, calibration=None).fit(planted())
    other = planted(1)
    index, num_nodes, size = other.hyperedge_index, 65, other.num_hyperedges
    sets = node_sets(index, num_nodes, size)
    stack = Stack(sets, num_nodes, other.incidence_attr, index, size, 64, views)
    known = known_sets(sets, index, other['y'], other.train_mask)
    result = model.passes(stack, known, lambda belief: belief)
    score = model.blend(result.column)[stack.units.place]
    proba = softmax(score, index[1], num_nodes=size)
    # No group of its own node set is known, but for itself and its known copies.
    unknown = ~other.train_mask[index[1]]
    torch.testing.assert_close(model.predict_proba(other)[unknown], proba[unknown])


def test_known_people_are_known_again(old_model: StackedAnchorRadar) -> None:
    new = halves()[1]
    before = state_of(old_model)
    blind = without_labels(new)
    inductive = old_model.predict_proba(blind, same_people=False)
    carried = old_model.predict_proba(blind)
    evaluator = AnchorEvaluator()
    found = [evaluator.eval(proba, new)['accuracy'] for proba in (inductive, carried)]
    assert found[1] > found[0] + 0.05
    # 'score' shows no answers.
    assert old_model.score(new) == found[1]
    assert is_state(old_model, before)


def test_who_is_the_same(old_model: StackedAnchorRadar) -> None:
    new = without_labels(halves()[1])
    carried, inductive = (
        old_model.predict_proba(new, same_people) for same_people in (True, False)
    )
    assert torch.equal(old_model.predict_proba(new), carried)
    assert not torch.equal(carried, inductive)
    # Numbers or texts.
    new.node_id = [str(number) for number in new.node_id.tolist()]
    assert torch.equal(old_model.predict_proba(new), carried)
    # Other people.
    strangers = copy.copy(new)
    strangers.source = 'elsewhere'
    assert torch.equal(old_model.predict_proba(strangers), inductive)
    assert torch.equal(old_model.predict_proba(strangers, True), carried)
    nameless = copy.copy(new)
    nameless.node_id = None
    assert torch.equal(old_model.predict_proba(nameless), inductive)
    with one_line_error("'same_people'", "'data.node_id'"):
        old_model.predict_proba(nameless, True)


def test_ids_that_are_texts(old_model: StackedAnchorRadar) -> None:
    old, new = halves()
    for data in (old, new):
        data.node_id = [f'Zoë {number}' for number in data.node_id.tolist()]
        data.hyperedge_id = [f'meeting {n}' for n in data.hyperedge_id.tolist()]
    model = quick(calibration=None).fit(old)
    plain = halves()[1]
    assert torch.equal(model.predict_proba(new), old_model.predict_proba(plain))
    anchors = model.predictions(new)['anchor'].to_pylist()
    assert all(anchor.startswith('Zoë ') for anchor in anchors)


def test_fitted_table_with_other_people(fitted: StackedAnchorRadar) -> None:
    # The same numbers, but other persons: not the table that was fitted.
    data = planted()
    other = copy.copy(data)
    other.node_id = data.node_id.flip(0)
    known = fitted.predict_proba(data)
    assert not torch.equal(fitted.predict_proba(other), known)
    other.node_id = None
    assert torch.equal(fitted.predict_proba(other), known)
    # Nobody is known, whatever the table.
    strangers = fitted.predict_proba(data, same_people=False)
    assert torch.equal(strangers, fitted.predict_proba(other, same_people=False))
    assert not torch.equal(strangers, known)


def with_steady_anchors(data: AnchorData, seed: int) -> AnchorData:
    """All copies of a group have the same anchor, drawn at random."""
    out = copy.copy(data)
    num_nodes, size = int(data.num_nodes or 0), data.num_hyperedges
    sets = node_sets(data.hyperedge_index, num_nodes, size)
    generator = torch.Generator().manual_seed(seed)
    draw = torch.rand(sets.num_rows, generator=generator)
    number = sets.hyperedge_index[1]
    best = scatter(draw, number, 0, sets.num_sets, 'max')
    out.y = (draw == best[number])[sets.row]
    return out


def test_remembered_copies_decide() -> None:
    # Anchors that nothing but copies can tell.
    data: Any = PlantedAnchorDataset(60, 300, repeat=0.5)[0]
    data = with_steady_anchors(data, 0)
    is_old = torch.arange(300) < 200
    old, new = data.hyperedge_subgraph(is_old), data.hyperedge_subgraph(~is_old)
    model = quick(calibration=None, views='AD').fit(old)
    # What a prediction is worth was learnt from copies that agree.
    assert float(model.kappa) < 1
    number = distinct_hyperedges(data.hyperedge_index, 60, 300)
    is_copy = torch.isin(number[~is_old], number[is_old])
    mask = is_copy & new.choice_mask
    assert int(mask.sum()) > 20
    assert model.score(new, mask) == 1.0
    stranger = model.predict_proba(without_labels(new), same_people=False)
    assert AnchorEvaluator().eval(stranger, new, mask)['accuracy'] < 0.8
    # The same in the fitted table.
    old.train_mask = torch.arange(200) < 100
    model = quick(calibration=None, views='AD').fit(old)
    number = number[:200]
    is_copy = torch.isin(number, number[old.train_mask]) & old.choice_mask
    assert model.score(old, is_copy & ~old.train_mask) == 1.0


def test_copy_by_hand() -> None:
    # One known copy of two: with the weight of a prediction, kappa.
    old, _ = halves()
    model = quick(calibration=None, views='AB').fit(old)
    model.kappa = torch.full_like(model.kappa, 3.0)
    size = old.hyperedge_size
    number = distinct_hyperedges(old.hyperedge_index, int(old.num_nodes or 0), 250)
    count = torch.bincount(number)[number]
    one = int(((count == 1) & (size == 3)).nonzero()[0])
    new = old.hyperedge_subgraph(torch.tensor([one]))
    y = new['y'].double()
    for same_people, others in ((True, 1.0), (False, 0.0)):
        # Under another name, so that it is a copy and not the same group again.
        new.hyperedge_id = torch.tensor([10**6])
        blind = without_labels(new)
        with_copy = model.predict_proba(blind, same_people)
        model.kappa.fill_(1e12)
        plain = model.predict_proba(blind, same_people)
        model.kappa.fill_(3.0)
        expected = (3 * plain + others * y) / (3 + others)
        torch.testing.assert_close(with_copy, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize('marked', [(True, True), (True, False), (False, True)])
def test_no_group_is_evidence_of_itself(
    old_model: StackedAnchorRadar, marked: tuple[bool, bool]
) -> None:
    # Also if it lists its anchor twice.
    data = to_data([[0, 0, 1], [2, 3], [1, 3, 4]], 5, [[], [2], [1]])
    y: Tensor = data['y'].clone()
    y[0], y[1] = marked
    data.y = y
    model = copy.deepcopy(old_model)
    model.kappa.fill_(1e-6)
    proba = model.predict_proba(data, same_people=False)
    model.kappa.fill_(1e6)
    plain = model.predict_proba(data, same_people=False)
    torch.testing.assert_close(proba, plain, rtol=0, atol=1e-9)
    assert proba[0] == proba[1]


def test_groups_that_come_again_count_once() -> None:
    # The table has grown: old rows, and new ones.
    data = planted()
    model = quick(views='AB').fit(data)
    one_less = data.hyperedge_subgraph(torch.arange(200) < 199)
    memory, number = model.evidence(one_less)
    assert memory.num_groups == 200
    assert torch.equal(memory.known_mask.sum(), data.train_mask.sum())
    assert torch.equal(number, torch.arange(60))
    assert torch.equal(model.evidence(data)[0].y, model.memory.y)
    # Without names of groups, nobody knows.
    again = model.predict_proba(without_labels(one_less))
    one_less.hyperedge_id = None
    assert model.evidence(one_less)[0].num_groups == 399
    assert not torch.equal(model.predict_proba(without_labels(one_less)), again)
    # Strangers bring their own groups only.
    assert model.evidence(one_less, same_people=False)[0].num_groups == 199


def test_remembered_anchor_of_the_same_group() -> None:
    # It is not shown again, but known.
    data = with_steady_anchors(planted(), 1)
    model = quick(views='AD', calibration=None).fit(data)
    model.kappa.fill_(0.1)
    part = without_labels(data.hyperedge_subgraph(torch.arange(200) < 199))
    mask = (data.train_mask & data.choice_mask)[:199]
    proba = model.predict_proba(part)
    found = data.hyperedge_subgraph(torch.arange(200) < 199)
    assert AnchorEvaluator().eval(proba, found, mask)['accuracy'] == 1.0


def test_anchors_of_strangers_are_evidence() -> None:
    model = quick(calibration=None).fit(planted(0, 500, 0.5))
    gain = []
    for seed in (1, 2, 3):
        other = planted(seed, 500, 0.6)
        other.source = 'elsewhere'
        memory, _ = model.evidence(other)
        assert memory.num_groups == 500
        assert torch.equal(memory.known_mask, other.train_mask)
        mask = other.test_mask
        blind = copy.copy(other)
        blind.train_mask = torch.zeros_like(other.train_mask)
        gain.append(model.score(other, mask) - model.score(blind, mask))
    assert sum(gain) / 3 > 0.02


def test_predictions_of_another_table(old_model: StackedAnchorRadar) -> None:
    new = without_labels(halves()[1])
    before = state_of(old_model)
    table = old_model.predictions(new)
    assert set(table['source'].to_pylist()) == {'predicted'}
    assert table['group'].to_pylist() == new.hyperedge_id.tolist()
    people = set(new.node_id.tolist())
    assert set(table['anchor'].to_pylist()) <= people
    assert old_model.doubts(halves()[1]).num_rows > 0
    assert old_model.suggest(new, n=3).num_rows == 3
    assert old_model.predict(new, k=2).size() == (250, 2)
    assert is_state(old_model, before)


# Time ############################################################################


def with_time(num_groups: int = 300, seed: int = 0) -> AnchorData:
    """The anchor is the member whose history is most of the way through."""
    data: Any = PlantedAnchorDataset(60, num_groups, seed=seed)[0]
    generator = torch.Generator().manual_seed(seed)
    data.hyperedge_time = torch.randperm(num_groups, generator=generator).double()
    data = AddTemporalFeatures()(data)
    position = data.incidence_attr[:, data.names('incidence_attr').index(POSITION)]
    # The first one among equals.
    position = position - 1e-4 * torch.arange(position.numel()) / position.numel()
    best = scatter(position, data.hyperedge_index[1], 0, num_groups, 'max')
    data.y = position == best[data.hyperedge_index[1]]
    data.incidence_attr = None
    data.column_names = {}
    out: AnchorData = RandomHyperedgeSplit(0.4, 0.2)(data)
    return out


def without_time(data: AnchorData) -> AnchorData:
    out = copy.copy(data)
    out.hyperedge_time = None
    return out


@pytest.mark.parametrize('learner', ['mlp', 'boosting'])
def test_time_is_used(learner: str) -> None:
    data = with_time(600)
    model = quick(learner=learner).fit(data)
    assert bool(model.has_time)
    assert int(model.num_features) == 33 + 53 + 28
    blind = quick(learner=learner, time=False).fit(data)
    assert not bool(blind.has_time)
    found = model.score(data, data.test_mask)
    assert found > blind.score(data, data.test_mask) + 0.1
    # The same as if there were none, also where its features are there.
    for each in (without_time(data), AddTemporalFeatures()(data)):
        assert same_state(quick(learner=learner, time=False).fit(each), blind)
    assert same_state(quick(learner=learner).fit(without_time(data)), blind)


def test_integer_and_unknown_times() -> None:
    data = with_time()
    model = quick(views='AB').fit(data)
    whole = copy.copy(data)
    whole.hyperedge_time = data.hyperedge_time.long()
    assert same_state(quick(views='AB').fit(whole), model)
    # Some times are unknown.
    some = copy.copy(data)
    some.hyperedge_time = data.hyperedge_time.clone()
    some.hyperedge_time[::3] = float('nan')
    part = quick(views='AB').fit(some)
    assert bool(part.has_time)
    assert torch.isfinite(part.predict_proba(some)).all()
    assert not same_state(part, model)
    # All are: that is no time at all.
    some.hyperedge_time = torch.full((300,), float('nan'))
    none = quick(views='AB').fit(some)
    assert not bool(none.has_time)
    assert same_state(none, quick(views='AB').fit(without_time(data)))


def test_tables_with_and_without_time() -> None:
    data, other = with_time(), with_time(seed=1)
    model = quick(views='AB').fit(data)
    told, blind = model.predict_proba(other), model.predict_proba(without_time(other))
    assert not torch.equal(told, blind)
    for proba in (told, blind):
        torch.testing.assert_close(
            group_sums(other, proba), torch.ones_like(group_sums(other, proba))
        )
    assert 'hyperedge_time' not in without_time(other)
    unknown = copy.copy(other)
    unknown.hyperedge_time = torch.full((300,), float('nan'))
    assert torch.equal(model.predict_proba(unknown), blind)
    # A model that has learnt nothing of time does not look at it.
    timeless = quick(views='AB').fit(without_time(data))
    expected = timeless.predict_proba(without_time(other))
    assert torch.equal(timeless.predict_proba(other), expected)


# Names ###########################################################################


def renamed(
    data: AnchorData, hyperedges: bool, seed: int = 1
) -> tuple[Renaming, AnchorData]:
    """Nodes and incidences in another order, and hyperedges as well."""
    generator = torch.Generator().manual_seed(seed)
    size = data.num_hyperedges
    order = torch.randperm(size, generator=generator) if hyperedges else None
    out = Renaming(
        data,
        torch.randperm(int(data.num_nodes or 0), generator=generator).tolist(),
        (torch.arange(size) if order is None else order).tolist(),
        torch.randperm(data.num_incidences, generator=generator).tolist(),
    )
    for name in ('train_mask', 'val_mask', 'test_mask'):
        out.data[name] = out.hyperedges(data[name])
    return out, out.data


@pytest.mark.usefixtures('double_precision')
@pytest.mark.parametrize(
    ('kwargs', 'hyperedges'),
    [
        ({}, False),
        ({'views': 'ABCF', 'calibration': None}, True),
        ({'views': 'A', 'last_step': 'strength'}, True),
    ],
)
def test_names_do_not_matter(kwargs: dict[str, Any], hyperedges: bool) -> None:
    # Folds of node sets are drawn in the order of the hyperedges: with the view D or a
    # calibration, they must stay where they are.
    data = planted()
    other, twin = renamed(data, hyperedges)
    model, again = quick(**kwargs).fit(data), quick(**kwargs).fit(twin)
    for same_people in (None, False):
        torch.testing.assert_close(
            again.predict_proba(twin, same_people),
            other.incidences(model.predict_proba(data, same_people)),
            rtol=0,
            atol=1e-9,
        )
    torch.testing.assert_close(
        again.strength, other.nodes(model.strength), rtol=0, atol=1e-9
    )
    assert again.score(twin, twin.test_mask) == pytest.approx(
        model.score(data, data.test_mask), abs=1e-9
    )


@pytest.mark.parametrize('learner', ['mlp', 'boosting'])
def test_names_hardly_matter_in_single_precision(learner: str) -> None:
    data = for_trees()
    other, twin = renamed(data, hyperedges=False)
    model, again = quick(learner=learner).fit(data), quick(learner=learner).fit(twin)
    difference = again.predict_proba(twin) - other.incidences(model.predict_proba(data))
    assert difference.abs().mean() < 0.02


def test_order_of_groups_is_a_draw_of_folds() -> None:
    # It changes as much as another seed does.
    data = planted(0, 500)
    other, twin = renamed(data, hyperedges=True)
    proba = quick().fit(data).predict_proba(data)
    moved = quick().fit(twin).predict_proba(twin) - other.incidences(proba)
    seeded = quick(seed=1).fit(data).predict_proba(data) - proba
    assert moved.abs().mean() < 2 * seeded.abs().mean()
    assert moved.abs().mean() < 0.1


# Files ###########################################################################


@pytest.fixture(scope='module')
def saved(
    tmp_path_factory: pytest.TempPathFactory, fitted: StackedAnchorRadar
) -> tuple[StackedAnchorRadar, bytes]:
    path = tmp_path_factory.mktemp('saved') / 'model.tgx'
    fitted.save(path)
    return fitted, path.read_bytes()


@pytest.mark.parametrize(
    'kwargs', [{}, {'learner': 'both'}, {'learner': 'boosting'}, {'views': 'AC'}]
)
def test_save_and_load(kwargs: dict[str, Any], tmp_path: Path) -> None:
    data, other, path = for_trees(), planted(1), tmp_path / 'model.tgx'
    model = quick(seed=3, **kwargs).fit(data)
    model.save(path)
    for kind in (StackedAnchorRadar, AnchorModel):
        twin = kind.load(path)
        assert type(twin) is StackedAnchorRadar
        assert repr(twin) == repr(model)
        assert same_state(model, twin)
        assert torch.equal(model.predict_proba(data), twin.predict_proba(data))
        assert torch.equal(model.predict_proba(other), twin.predict_proba(other))
        assert torch.equal(model.predict(data, 2), twin.predict(data, 2))
        found = [each.assess(data).sentences() for each in (twin, model)]
        assert found[0] == found[1]
        assert all(value.device.type == 'cpu' for value in twin.state_dict().values())
    assert list(tmp_path.iterdir()) == [path]
    # It may be fitted again.
    assert same_state(StackedAnchorRadar.load(path).fit(data), model)
    with one_line_error("'AnchorRadar'", "'StackedAnchorRadar'"):
        AnchorRadar.load(path)


def test_save_before_fit(tmp_path: Path) -> None:
    quick(views='AB').save(tmp_path / 'model')
    twin = StackedAnchorRadar.load(str(tmp_path / 'model'))
    assert repr(twin) == repr(quick(views='AB'))
    with one_line_error('fitted'):
        twin.predict(planted())


def test_memory_is_saved(tmp_path: Path, old_model: StackedAnchorRadar) -> None:
    old_model.save(tmp_path / 'model')
    twin = StackedAnchorRadar.load(tmp_path / 'model')
    new = without_labels(halves()[1])
    assert torch.equal(twin.predict_proba(new), old_model.predict_proba(new))


def test_equal_ids(tmp_path: Path) -> None:
    # Two nodes of the same id are one person in memory, in the same group, too.
    data = planted()
    data.node_id = torch.arange(60) % 40
    model = quick(views='AB').fit(data)
    assert model.memory.num_people == 40
    model.save(tmp_path / 'model')
    twin = StackedAnchorRadar.load(tmp_path / 'model')
    part = data.hyperedge_subgraph(torch.arange(150))
    for each in (data, part):
        proba = twin.predict_proba(each)
        assert torch.equal(proba, model.predict_proba(each))
        torch.testing.assert_close(
            group_sums(each, proba), torch.ones_like(group_sums(each, proba))
        )


def test_other_precision(fitted: StackedAnchorRadar, tmp_path: Path) -> None:
    twin, other = copy.deepcopy(fitted).double(), planted(1)
    torch.testing.assert_close(
        twin.predict_proba(other), fitted.predict_proba(other), rtol=0, atol=1e-4
    )
    twin.save(tmp_path / 'model')
    assert same_state(StackedAnchorRadar.load(tmp_path / 'model'), twin)


def test_time_is_saved(tmp_path: Path) -> None:
    data, other = with_time(), without_time(with_time(seed=1))
    model = quick(views='AB').fit(data)
    model.save(tmp_path / 'model')
    twin = StackedAnchorRadar.load(tmp_path / 'model')
    assert torch.equal(twin.predict_proba(other), model.predict_proba(other))


def test_trees_need_lightgbm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(learner='boosting').fit(for_trees()).save(tmp_path / 'model')
    monkeypatch.setitem(sys.modules, 'lightgbm', None)
    with one_line_error('LightGBM', 'pip install'):
        AnchorModel.load(tmp_path / 'model')


def test_truncated(saved: tuple[StackedAnchorRadar, bytes], tmp_path: Path) -> None:
    path, (_, content) = tmp_path / 'model', saved
    for size in (*range(0, 80, 7), *range(80, len(content), len(content) // 20)):
        path.write_bytes(content[:size])
        word = 'not a saved model' if size == 0 else 'not complete'
        assert word in refusal(path)


def test_flipped(saved: tuple[StackedAnchorRadar, bytes], tmp_path: Path) -> None:
    path, (model, content) = tmp_path / 'model', saved
    for byte in range(0, len(content), len(content) // 50):
        damaged = bytearray(content)
        damaged[byte] ^= 1 << (byte % 8)
        path.write_bytes(damaged)
        refusal(path)
    path.write_bytes(content)
    assert same_state(StackedAnchorRadar.load(path), model)


@pytest.mark.parametrize(
    ('change', 'word'),
    [
        (set_param('learner', 'trees'), "'learner'"),
        (set_param('learner', 'both'), 'whole model'),
        (set_param('learner', 'boosting'), 'whole model'),
        (set_param('views', 'AB'), "'first'"),
        (set_param('num_folds', 0), "'num_folds'"),
        (set_param('depth', 3), 'depth'),
        (set_param('seed', 10**40), 'whole model'),
        (lambda head: head.update(model='AnchorRadar'), 'whole model'),
        (lambda head: head.update(model='StackedPasses'), 'StackedPasses'),
        (lambda head: head.pop('state'), 'does not fit'),
        (lambda head: head['state'].pop(0), 'whole model'),
        (lambda head: head.update(state=[]), 'whole model'),
        (set_entry('proba', 2, [10**12]), 'does not fit'),
        (set_entry('proba', 2, [10]), "'proba'"),
        (set_entry('proba', 2, [2, 5]), "'proba'"),
        (set_entry('proba', 1, 'int64'), "'proba'"),
        (set_entry('node_strengths', 2, [3]), "'node_strengths'"),
        (set_entry('fitted_on', 1, 'float64'), "'fitted_on'"),
        (set_entry('num_features', 1, 'float64'), "'num_features'"),
        (set_entry('has_time', 1, 'uint8'), "'has_time'"),
        (set_entry('kappa', 1, 'int64'), "'kappa'"),
        (set_entry('blend.weight', 2, [2]), "'blend.weight'"),
        (set_entry('blend.weight', 1, 'int64'), "'blend.weight'"),
        (set_entry('passes.first.0.weight', 2, [1, 2, 3]), 'whole model'),
        (set_entry('passes.first.0.weight', 2, [64, 1]), 'whole model'),
        (set_entry('passes.first.0.mean', 2, [7]), 'whole model'),
        (set_entry('passes.second.0.std', 2, [1]), 'whole model'),
        (set_entry('memory.known_mask', 2, [0, 5]), 'whole model'),
        (set_entry('memory.reference', 1, 'int32'), 'whole groups'),
        (set_entry('memory.people.ids.code', 2, [3]), 'whole model'),
    ],
)
def test_hostile(
    change: Callable[[dict[str, Any]], object],
    word: str,
    saved: tuple[StackedAnchorRadar, bytes],
    tmp_path: Path,
) -> None:
    path = tmp_path / 'model'
    path.write_bytes(forge(saved[1], change))
    with one_line_error(str(path), word):
        AnchorModel.load(path)


@pytest.mark.parametrize(
    'text', [b'', b'tree', bytes(range(256)), b'num_class=9\n' * 9]
)
def test_hostile_trees(text: bytes, tmp_path: Path) -> None:
    model = quick(learner='boosting').fit(for_trees())
    trees: Any = model.passes.first[0]
    trees.text = torch.tensor(list(text) or [0], dtype=torch.uint8)
    model.save(tmp_path / 'model')
    with one_line_error(str(tmp_path / 'model'), 'whole model'):
        AnchorModel.load(tmp_path / 'model')


def test_numbers_out_of_range(
    saved: tuple[StackedAnchorRadar, bytes], tmp_path: Path
) -> None:
    path = tmp_path / 'model'
    for place, value in ((0, 10**6), (0, -1), (1, 10**6)):
        twin = copy.deepcopy(saved[0])
        twin.memory.hyperedge_index[place, -1] = value
        twin.save(path)
        with one_line_error(str(value)):
            AnchorModel.load(path)


def test_state_dict(fitted: StackedAnchorRadar) -> None:
    data, other = planted(), planted(1)
    twin = quick(seed=5)
    twin.load_state_dict(fitted.state_dict())
    assert same_state(fitted, twin)
    for each in (data, other):
        assert torch.equal(fitted.predict_proba(each), twin.predict_proba(each))
    # Back to where it was.
    twin.load_state_dict(quick().state_dict())
    with one_line_error('fitted'):
        twin.predict(data)
    assert len(twin.passes.second) == 0
    # Over a model with trees, or with one pass only.
    trees = quick(learner='boosting').fit(for_trees())
    fresh = quick(learner='boosting')
    fresh.load_state_dict(trees.state_dict())
    assert torch.equal(fresh.predict_proba(other), trees.predict_proba(other))
    one = quick(views='ABCF').fit(data)
    fresh = quick(views='ABCF')
    fresh.load_state_dict(one.state_dict())
    assert torch.equal(fresh.predict_proba(other), one.predict_proba(other))
    # A state that does not fit leaves no trace.
    model, before = copy.deepcopy(fitted), state_of(fitted)
    strange = quick(seed=1).fit(other).state_dict()
    for wrong in (
        trees.state_dict(),
        {k: v for k, v in strange.items() if k != 'kappa'},
        {},
    ):
        with pytest.raises((KeyError, RuntimeError)):
            model.load_state_dict(wrong)
        assert is_state(model, before)
        assert torch.equal(model.predict_proba(other), fitted.predict_proba(other))


def test_as_part_of_another_module(fitted: StackedAnchorRadar) -> None:
    whole = torch.nn.ModuleDict({'first': copy.deepcopy(fitted), 'second': quick()})
    twin = torch.nn.ModuleDict({'first': quick(), 'second': copy.deepcopy(fitted)})
    twin.load_state_dict(whole.state_dict())
    assert same_state(whole, twin)


def test_copies_and_pickles(fitted: StackedAnchorRadar) -> None:
    trees = quick(learner='boosting').fit(for_trees())
    for model in (fitted, trees):
        for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301
            assert same_state(model, twin)
            other = planted(1)
            assert torch.equal(model.predict_proba(other), twin.predict_proba(other))


# Choosing arguments ##############################################################

GRID: dict[str, tuple[Any, ...]] = {
    'views': ('A', 'AB'),
    'last_step': ('blend', 'belief'),
}


def test_tune(tmp_path: Path) -> None:
    data, path = planted(), tmp_path / 'search.csv'
    result = StackedAnchorRadar.tune(data, GRID, path, progress=False, num_folds=2)
    assert [row['views'] for row in result.table] == ['A', 'A', 'AB', 'AB']
    for row in result.table:
        point = {name: row[name] for name in GRID}
        model = quick(**point).fit(data)
        assert row['val_accuracy'] == model.score(data, data.val_mask)
    assert same_state(result.model, quick(**result.best).fit(data))
    content = path.read_text()
    assert len(content.splitlines()) == 5
    # It goes on where it stopped.
    path.write_text('\n'.join(content.splitlines()[:3]) + '\n')
    again = StackedAnchorRadar.tune(data, GRID, path, progress=False, num_folds=2)
    assert again.table == result.table
    assert path.read_text() == content


def test_tune_takes_all_learners_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    data = planted()
    result = StackedAnchorRadar.tune(data, progress=False, views='A')
    assert [row['learner'] for row in result.table] == LEARNERS
    monkeypatch.setitem(sys.modules, 'lightgbm', None)
    with one_line_error('LightGBM'):
        StackedAnchorRadar.tune(data, progress=False, views='A')


# Leaks ###########################################################################


def mean_and_error(values: list[float]) -> tuple[float, float]:
    value = torch.tensor(values, dtype=torch.double)
    return float(value.mean()), float(value.std()) / len(values) ** 0.5


@pytest.mark.parametrize('learner', ['mlp', 'boosting'])
def test_random_anchors_teach_nothing(learner: str) -> None:
    # Neither about the true anchors of others, nor about random ones.
    gains: dict[str, list[float]] = {'true': [], 'random': [], 'assessed': []}
    evaluator = AnchorEvaluator(chance=True)
    for seed in range(6):
        data = planted(seed, 400, 0.4)
        random = data.clone()
        random.y = shuffled_anchors(data, seed)
        model = quick(learner=learner).fit(random)
        proba = model.predict_proba(random)
        for name, judged in (('true', data), ('random', random)):
            found = evaluator.eval(proba, judged, data.test_mask)
            gains[name].append(found['accuracy'] - found['chance'])
        assessed = model.held_out.mean('correct') - model.held_out.mean('chance')
        gains['assessed'].append(assessed)
    for values in gains.values():
        mean, error = mean_and_error(values)
        assert abs(mean) < 3 * error
        assert error < 0.08


@pytest.mark.parametrize('learner', ['mlp', 'boosting'])
@pytest.mark.parametrize('has_validation', [True, False])
def test_anchors_outside_of_the_masks_are_not_seen(
    learner: str, has_validation: bool
) -> None:
    data = for_trees() if has_validation else planted()
    seen = data.train_mask | data.val_mask
    if not has_validation:
        del data.val_mask
        seen = data.train_mask
    blind = data.clone()
    blind.y = data['y'] & seen[data.hyperedge_index[1]]
    model = quick(learner=learner).fit(data)
    assert same_state(model, quick(learner=learner).fit(blind))


def moved_validation(data: AnchorData) -> AnchorData:
    """The anchors of validation groups are given to the next member."""
    out: AnchorData = data.clone()
    y: Tensor = data['y'].clone()
    for hyperedge in data.val_mask.nonzero().view(-1).tolist():
        rows = (data.hyperedge_index[1] == hyperedge).nonzero().view(-1)
        y[rows] = y[rows].roll(1)
    out.y = y
    return out


@pytest.mark.parametrize('learner', LEARNERS)
def test_validation_anchors_choose_weights_only(learner: str) -> None:
    data = planted() if learner == 'mlp' else for_trees()
    other = moved_validation(data)
    assert not torch.equal(other['y'], data['y'])
    model, twin = quick(learner=learner), quick(learner=learner)
    # What the last step adds up, before it is forgotten.
    columns = []
    for each, part in ((model, data), (twin, other)):
        each._fit(part, FitRun())
        assert each._scored is not None
        columns.append(each._scored.column)
        each._hold_out(part, FitRun())
    assert torch.equal(*columns)
    mine, yours = model.state_dict(), twin.state_dict()
    different = {key for key in mine if not torch.equal(mine[key], yours[key])}
    chosen = {'blend.weight', 'proba', 'held_out.table'}
    assert chosen <= different
    assert all(key in chosen or key.startswith('calibrator') for key in different)
    if learner == 'both':
        return
    # Nothing at all, where there is nothing to choose.
    fixed = {'learner': learner, 'last_step': 'belief', 'calibration': None}
    model, twin = quick(**fixed).fit(data), quick(**fixed).fit(other)
    mine, yours = model.state_dict(), twin.state_dict()
    different = {key for key in mine if not torch.equal(mine[key], yours[key])}
    assert different == {'held_out.table'}
    assert torch.equal(model.predict_proba(data), twin.predict_proba(other))
    # Unless they are to be learnt from.
    model = quick(learner=learner, views='AB').fit(data, use_val=True)
    twin = quick(learner=learner, views='AB').fit(other, use_val=True)
    assert not same_state(model.passes, twin.passes)


def test_groups_are_judged_blind() -> None:
    # By weights of the last step that were fitted to other groups.
    data = planted()
    model = quick(views='AB')
    model._fit(data, FitRun())
    mask = data.val_mask & data.choice_mask
    before = model._validated_proba(data, mask)
    hyperedge = data.hyperedge_index[1]
    for number in mask.nonzero().view(-1).tolist()[:3]:
        one = data.clone()
        one.val_mask = torch.arange(200) == number
        after = model._validated_proba(moved_validation(one), mask)
        row = hyperedge == number
        assert torch.equal(after[row], before[row])
        assert not torch.equal(after[~row], before[~row])


@pytest.mark.parametrize(
    'has_validation', [True, pytest.param(False, marks=pytest.mark.slow)]
)
def test_assessed_accuracy_is_that_of_others(has_validation: bool) -> None:
    # Although the last step is fitted to the groups that it is measured on.
    differences = []
    for seed in range(6):
        data = planted(seed, 300, 0.4)
        if not has_validation:
            del data.val_mask
        model = quick(views='ABD').fit(data)
        found = model.score(data, data.test_mask & data.choice_mask)
        differences.append(model.held_out.mean('correct') - found)
    mean, error = mean_and_error(differences)
    assert abs(mean) < 3 * error
    assert error < 0.06


def shuffled_time(data: AnchorData, seed: int) -> AnchorData:
    out = copy.copy(data)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(data.num_hyperedges, generator=generator)
    out.hyperedge_time = data.hyperedge_time[order]
    return out


def test_shuffled_time_tells_nothing() -> None:
    gains = []
    for seed in range(6):
        data = planted(seed, 300, 0.4)
        data.hyperedge_time = torch.arange(300)
        data = shuffled_time(data, seed)
        told, blind = (quick(time=time).fit(data) for time in (True, False))
        gains.append(
            told.score(data, data.test_mask) - blind.score(data, data.test_mask)
        )
    mean, error = mean_and_error(gains)
    assert mean < 3 * error
    assert error < 0.03


@pytest.mark.slow
@pytest.mark.mirror
def test_shuffled_time_tells_nothing_about_emails(mirror: Path, tmp_path: Path) -> None:
    data: Any = AnchorDataset('emER', root=tmp_path)[0]
    assert 'hyperedge_time' in data
    data = RandomHyperedgeSplit(num_splits=3)(data)
    gains: dict[str, list[float]] = {'time': [], 'shuffled': []}
    for split in range(3):
        part = column(data, split)
        blind = StackedAnchorRadar('both', time=False).fit(part)
        before = blind.score(part, part.test_mask)
        for name, told in (('time', part), ('shuffled', shuffled_time(part, split))):
            model = StackedAnchorRadar('both').fit(told)
            gains[name].append(model.score(told, part.test_mask) - before)
    mean, error = mean_and_error(gains['shuffled'])
    assert mean < 3 * error
    # True times do tell: a point more than none, and than shuffled ones.
    assert mean_and_error(gains['time'])[0] > max(mean, 0)


# How good it is ##################################################################


@pytest.mark.slow
@pytest.mark.mirror
@pytest.mark.parametrize(('name', 'least'), [('emER', 66.0), ('qaBI', 87.3)])
def test_accuracy_on_real_data(
    mirror: Path, tmp_path: Path, name: str, least: float
) -> None:
    data: Any = AnchorDataset(name, root=tmp_path)[0]
    model = StackedAnchorRadar(time=False)
    data = RandomHyperedgeSplit(num_splits=3)(model.required_transform()(data))
    found = []
    for split in range(3):
        part = column(data, split)
        found.append(100 * model.fit(part).score(part, part.test_mask))
    assert sum(found) / 3 > least
