import builtins
import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch
from torch_geometric.utils import scatter

from tests.devices import second_device
from tests.nn.predictors.stacked import (
    planted,
    quick,
    same_state,
)
from tests.strategies import SETTINGS, hypergraphs, one_line_error, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import (
    DegreeHeuristic,
    RandomHeuristic,
    StackedAnchorRadar,
)
from tgx_anchor.transforms import (
    AddPairFeatures,
    AddTemporalFeatures,
    AddTopologicalFeatures,
    RandomHyperedgeSplit,
)

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
    model = quick().fit(data)
    del data.val_mask
    cross = quick().fit(data)
    for key, value in model.passes.state_dict().items():
        assert torch.equal(value, cross.passes.state_dict()[key])
    prior = cross.passes.weights('blend')
    assert not torch.equal(cross.blend.weight, model.blend.weight)
    assert (cross.blend.weight - torch.tensor(prior)).abs().max() > 0.01
    assert cross.calibrated
    assert len(cross.held_out) == int((data.train_mask & data.choice_mask).sum())
    # Without a calibration, there are no further models.
    plain = quick(calibration=None).fit(data)
    assert plain.blend.weight.tolist() == pytest.approx(prior)
    assert (plain.calibrated, len(plain.held_out)) == (False, 0)
    # Few groups to validate with are not enough.
    few = planted()
    few.val_mask &= few.val_mask.long().cumsum(0) < 9
    assert torch.equal(quick().fit(few).blend.weight, cross.blend.weight)


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

    def stop(self: StackedAnchorRadar, part: AnchorData) -> Tensor:
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
    expected = quick(**VARIANTS[name]).fit(planted()).predict_proba(planted())
    with second_device() as device:
        data = planted().to(device)
        model = quick(**VARIANTS[name]).to(device).fit(data)
        proba = model.predict_proba(data)
        assert proba.device == device
        assert {value.device for value in model.state_dict().values()} == {device}
        model.predict(data, k=2)
        assert model.predict_proba(planted(1).to(device)).device == device
        # Groups of known people.
        part = data.hyperedge_subgraph(data.hyperedge_size > 1)
        assert model.predict_proba(part).device == device
        assert model.predictions(part).num_rows == part.num_hyperedges
        model.reset_parameters()
        assert {value.device for value in model.state_dict().values()} == {device}
    torch.testing.assert_close(proba.cpu(), expected, rtol=0, atol=1e-3)


def test_second_device_without_validation() -> None:
    with second_device() as device:
        data = planted().to(device)
        del data.val_mask
        model = quick(views='AB').to(device).fit(data)
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
    for each in (data, without_labels(data)):
        proba = model.fit(data).predict_proba(each, same_people=False)
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
    assert model.fit(data).calibrated


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
    # What decides the anchors helps.
    told = model.score(data, data.test_mask)
    assert told > quick(views='A').fit(planted()).score(data, data.test_mask) + 0.03
    # The scale is that of the fitted table.
    part = data.hyperedge_subgraph(torch.arange(3), relabel_nodes=True)
    assert torch.isfinite(model.predict_proba(part)).all()
    assert torch.equal(model.scale[0, :1], data.x.double().mean(0))
    plain = copy.copy(part)
    plain.x = None
    with one_line_error("'data'", '89', '88'):
        model.predict(plain)
    plain.hyperedge_attr = None
    with one_line_error("'data'", '89', '86'):
        model.predict(plain)


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
