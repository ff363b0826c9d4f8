import copy
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.utils import scatter, softmax

from tests.devices import second_device
from tests.nn.predictors.radar import GRID, column, planted, quick, same_state
from tests.strategies import (
    SETTINGS,
    Renaming,
    hypergraphs,
    one_line_error,
    to_data,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import AnchorDataset, PlantedAnchorDataset
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import (
    AnchorRadar,
    AnchorStrength,
    DegreeHeuristic,
    RandomHeuristic,
)
from tgx_anchor.nn.predictors.stages import alignment_problem, strength_epochs
from tgx_anchor.transforms import AddTopologicalFeatures, RandomHyperedgeSplit

VARIANTS: dict[str, dict[str, Any]] = {
    'both': {},
    'no aggregation': {'w': None},
    'no weight': {'w': 0.0},
    'first': {'stages': 'first'},
    'second': {'stages': 'second'},
    'second, no aggregation': {'stages': 'second', 'w': None},
    'known': {'alignment': 'known'},
    'cross entropy': {'alignment': 'cross_entropy'},
}


def group_sums(data: AnchorData, value: Tensor) -> Tensor:
    sums = scatter(value, data.hyperedge_index[1], 0, data.num_hyperedges, 'sum')
    return sums[data.hyperedge_size > 0]


@pytest.fixture
def double_precision() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.double)
    yield
    torch.set_default_dtype(before)


# The model #######################################################################


@pytest.mark.parametrize('hidden', [1, 8, 64])
def test_parameter_count(hidden: int) -> None:
    data = planted()
    model = quick(hidden_channels=hidden, num_epochs=1).fit(data)
    count = sum(p.numel() for p in model.parameters())
    assert count == hidden * (33 + 2) + 1 + 120
    assert all(p.requires_grad for p in model.parameters())


def test_repr_and_params() -> None:
    model = AnchorRadar()
    assert repr(model) == (
        'AnchorRadar(hidden_channels=64, lr_stage1=0.01, lr_stage2=0.1, alpha=0.06, '
        "w=4.0, num_epochs=100, alignment='all', stages='both', seed=0, "
        "calibration='auto')"
    )
    params: dict[str, Any] = {
        'hidden_channels': 3,
        'lr_stage1': 0.5,
        'lr_stage2': 0.25,
        'alpha': 0.0,
        'w': None,
        'num_epochs': 7,
        'alignment': 'known',
        'stages': 'second',
        'seed': 9,
        'calibration': None,
    }
    assert AnchorRadar(**params).get_params() == params


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('hidden_channels', 0),
        ('hidden_channels', 2.5),
        ('num_epochs', 0),
        ('num_epochs', '9'),
        ('lr_stage1', None),
        ('lr_stage2', '0.1'),
        ('alpha', '0.1'),
        ('w', 'none'),
        ('seed', 1.5),
        ('seed', None),
        ('lr_stage1', 0.0),
        ('lr_stage1', float('nan')),
        ('lr_stage2', -0.1),
        ('lr_stage2', float('inf')),
        ('alpha', -0.1),
        ('alpha', float('nan')),
        ('alpha', float('inf')),
        ('w', -1.0),
        ('w', float('inf')),
        ('alignment', 'none'),
        ('stages', 'third'),
    ],
)
def test_bad_arguments(name: str, value: Any) -> None:
    with one_line_error(f"'{name}'", str(value)):
        AnchorRadar(**{name: value})


def test_from_paper() -> None:
    model = AnchorRadar.from_paper('emER', alpha=0.5, seed=3)
    assert (model.lr_stage1, model.alpha, model.w, model.seed) == (0.01, 0.5, 3, 3)
    moml = AnchorRadar.from_paper('moML')
    assert (moml.lr_stage1, moml.lr_stage2, moml.alpha, moml.w) == (0.1, 0.1, 1, None)
    with one_line_error("'setting'", 'qaBI', "'coDB'"):
        AnchorRadar.from_paper('coDB')


# Learning ########################################################################


@pytest.mark.parametrize('name', VARIANTS)
def test_same_seed_same_model(name: str) -> None:
    data = planted()
    model, twin = (quick(**VARIANTS[name]).fit(data) for _ in range(2))
    assert same_state(model, twin)
    assert torch.equal(model.predict_proba(data), twin.predict_proba(data))
    assert torch.equal(model.predict(data), twin.predict(data))
    # To fit again is to start again.
    assert same_state(model.fit(data), twin)


def test_other_seed_other_model() -> None:
    data = planted()
    model, other = quick(w=None).fit(data), quick(w=None, seed=1).fit(data)
    assert not torch.equal(model.strength, other.strength)
    assert not torch.equal(model.predict_proba(data), other.predict_proba(data))


def test_global_random_state(tmp_path: Path) -> None:
    data, other = planted(), planted(1)
    state = torch.get_rng_state()
    model = quick().fit(data)
    model.predict(data)
    model.predict(other)
    model.save(tmp_path / 'model')
    AnchorRadar.load(tmp_path / 'model')
    model.reset_parameters()
    AnchorRadar.tune(data, GRID, progress=False, num_epochs=2)
    assert torch.equal(torch.get_rng_state(), state)


def test_reset_parameters(device: torch.device) -> None:
    data = planted().to(device)
    model = quick().fit(data)
    fitted = {name: value.clone() for name, value in model.state_dict().items()}
    model.reset_parameters()
    assert {p.device.type for p in model.parameters()} == {device.type}
    key = 'scorer.mlp.lins.0.weight'
    assert not torch.equal(model.state_dict()[key], fitted[key])
    assert torch.equal(model.strength, torch.ones_like(model.strength))
    with one_line_error('fitted'):
        model.predict(data)
    model.fit(data)
    assert all(torch.equal(fitted[k], v) for k, v in model.state_dict().items())


@pytest.mark.usefixtures('double_precision')
def test_both_stages_by_hand() -> None:
    # The same steps with plain autograd.
    data = planted()
    model = quick(alpha=0.3, w=2.0).fit(data)
    node, hyperedge = data.hyperedge_index
    size, mask, y = data.num_hyperedges, data.train_mask, data['y']

    def log_p(value: Tensor) -> Tensor:
        top = scatter(value.detach(), hyperedge, 0, size, 'max')[hyperedge]
        total = scatter((value - top).exp(), hyperedge, 0, size, 'sum')
        return value - top - total.log()[hyperedge]

    fresh = quick().fit(data)
    fresh.reset_parameters()
    assert fresh.scorer is not None
    optimizer = torch.optim.Adam(fresh.scorer.parameters(), lr=0.01)
    known = y & mask[hyperedge]
    for _ in range(15):
        optimizer.zero_grad()
        (-log_p(fresh(data.incidence_attr))[known].sum()).backward()
        optimizer.step()
    with torch.no_grad():
        reference = log_p(fresh(data.incidence_attr)).exp()
        score = model(data.incidence_attr)
    torch.testing.assert_close(log_p(score).exp(), reference, rtol=0, atol=1e-9)

    strength = torch.ones(120, requires_grad=True)
    optimizer = torch.optim.Adam([strength], lr=0.1)
    several = (data.hyperedge_size > 1)[hyperedge]
    for _ in range(15):
        optimizer.zero_grad()
        p = log_p(strength[node])
        loss = -p[known].sum() - 0.3 * (p.exp() * reference)[several].sum()
        loss.backward()
        optimizer.step()
    torch.testing.assert_close(model.strength, strength.detach(), rtol=0, atol=1e-9)


def test_alpha_zero_is_the_second_stage_alone() -> None:
    data = planted()
    model, alone = quick(alpha=0.0).fit(data), quick(stages='second').fit(data)
    torch.testing.assert_close(model.strength, alone.strength, rtol=1e-12, atol=1e-12)
    assert alone.scorer is None
    # The second stage needs no features.
    data.incidence_attr = None
    assert same_state(quick(stages='second').fit(data), alone)


def test_anchors_outside_of_the_mask_are_not_seen() -> None:
    data = planted()
    for calibration, seen in (
        (None, data.train_mask),
        ('auto', data.train_mask | data.val_mask),
    ):
        blind = data.clone()
        blind.y = data['y'] & seen[data.hyperedge_index[1]]
        if calibration is None:
            del blind.val_mask
        for name in ('both', 'known', 'second'):
            options = {**VARIANTS[name], 'calibration': calibration}
            model, twin = quick(**options).fit(data), quick(**options).fit(blind)
            for key, value in twin.state_dict().items():
                # How well it does on the validation anchors is kept, too.
                if calibration is not None or not key.startswith('held_out'):
                    assert torch.equal(model.state_dict()[key], value)


def test_use_val() -> None:
    data = planted()
    both = data.clone()
    both.train_mask = data.train_mask | data.val_mask
    model = quick().fit(data, use_val=True)
    assert same_state(model, quick().fit(both))
    assert not same_state(model, quick().fit(data))
    del data.val_mask
    with one_line_error("'val_mask'", 'RandomHyperedgeSplit'):
        quick().fit(data, use_val=True)
    data.val_mask = torch.zeros(5, dtype=torch.bool)
    with one_line_error("'val_mask'", '5'):
        quick().fit(data, use_val=True)


def test_without_a_mask_all_known_choices_count() -> None:
    data = planted()
    del data.train_mask
    model = quick().fit(data)
    data.train_mask = data.known_mask & data.choice_mask
    assert same_state(model, quick().fit(data))


def _no_anchors(data: AnchorData) -> None:
    data.y = torch.zeros_like(data['y'])
    del data.train_mask


def _unknown_anchor(data: AnchorData) -> None:
    first = int(data.train_mask.nonzero()[0])
    data.y = data['y'] & (data.hyperedge_index[1] != first)


def _short_mask(data: AnchorData) -> None:
    data.train_mask = data.train_mask[:-1]


def _wide_mask(data: AnchorData) -> None:
    data.train_mask = data.train_mask.unsqueeze(1).repeat(1, 2)


def _nan(data: AnchorData) -> None:
    data.incidence_attr = data.incidence_attr.clone()
    data.incidence_attr[7, 3] = float('nan')


def _too_large(data: AnchorData) -> None:
    data.incidence_attr = data.incidence_attr.double()
    data.incidence_attr[7, 3] = 1e300


def _infinite_x(data: AnchorData) -> None:
    data.x = torch.zeros(int(data.num_nodes or 0), 2)
    data.x[5, 1] = float('inf')


def _unsorted(data: AnchorData) -> None:
    data.hyperedge_index = data.hyperedge_index.flip(1)


def _many_rows(data: AnchorData) -> None:
    data.x = torch.zeros(130, 2)


def _short_features(data: AnchorData) -> None:
    data.incidence_attr = data.incidence_attr[:-1]


def _deep_attribute(data: AnchorData) -> None:
    data.hyperedge_attr = torch.zeros(600, 2, 2)


def _numpy_mask(data: AnchorData) -> None:
    data.train_mask = data.train_mask.numpy()


def _integer_y(data: AnchorData) -> None:
    data.y = 2 * data['y'].long()


def _wide_y(data: AnchorData) -> None:
    data.y = data['y'].unsqueeze(1)


def _no_y(data: AnchorData) -> None:
    data.y = None


def _few_nodes(data: AnchorData) -> None:
    data.num_nodes = 60


def _no_features(data: AnchorData) -> None:
    data.incidence_attr = None


@pytest.mark.parametrize(
    ('spoil', 'names'),
    [
        (_no_anchors, ('known anchor', "'data.y'")),
        (_unknown_anchor, ("'train_mask'", 'known anchor', 'hyperedge')),
        (_short_mask, ("'train_mask'", '600', '599')),
        (_wide_mask, ("'train_mask'", '[600, 2]', 'column')),
        (_nan, ("'incidence_attr'", 'finite')),
        (_too_large, ("'incidence_attr'", 'finite')),
        (_infinite_x, ("'x'", 'finite')),
        (_no_features, ('features', 'AddTopologicalFeatures')),
        (_unsorted, ("'hyperedge_index", 'unsorted')),
        (_many_rows, ("'x'", '130')),
        (_short_features, ("'incidence_attr'", 'one row per incidence')),
        (_deep_attribute, ("'hyperedge_attr'", '[600, 2, 2]')),
        (_numpy_mask, ("'train_mask'", 'tensor')),
        (_integer_y, ("'y'", 'int64')),
        (_wide_y, ("'y'", 'dimension')),
        (_no_y, ("'data.y'",)),
        (_few_nodes, ("'hyperedge_index", '60')),
    ],
)
def test_failed_fit_leaves_the_model_as_it_was(
    spoil: Any, names: tuple[str, ...]
) -> None:
    data = planted()
    model, twin = quick().fit(data), quick().fit(data)
    bad = planted(1)
    spoil(bad)
    with one_line_error(*names):
        model.fit(bad)
    assert same_state(model, twin)
    assert torch.equal(model.predict_proba(data), twin.predict_proba(data))
    fresh = quick()
    with one_line_error(*names):
        fresh.fit(bad)
    with one_line_error('AnchorRadar', 'fitted'):
        fresh.predict(data)


def test_must_be_fitted_first() -> None:
    data = planted()
    for use in (quick().predict, quick().predict_proba, quick().score):
        with one_line_error('AnchorRadar', 'fitted'):
            use(data)
    with one_line_error('AnchorRadar', 'fitted'):
        quick()(data.incidence_attr)
    with one_line_error("'strength'", "'fit'"):
        _ = quick().strength
    with one_line_error("'strength'", "'first'"):
        _ = quick(stages='first').fit(data).strength


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    data = planted()
    quick().fit(data)
    assert capsys.readouterr().err == ''
    quick().fit(data, progress=True)
    shown = capsys.readouterr().err
    assert 'stage 1' in shown
    assert 'stage 2' in shown


def test_history_and_callback() -> None:
    data = planted()
    seen: list[dict[str, float]] = []
    model = quick().fit(data, callback=seen.append)
    assert all(a is b for a, b in zip(seen, model.history, strict=True))
    places = [(record['stage'], record['epoch']) for record in model.history]
    assert places == [(stage, epoch) for stage in (1, 2) for epoch in range(1, 16)]
    losses = [record['loss'] for record in model.history if record['stage'] == 1]
    assert losses == sorted(losses, reverse=True)
    assert {record['num_epochs'] for record in model.history} == {15}
    assert len(quick(stages='second').fit(data).history) == 15


def interrupt_at(stage: int, epoch: int) -> Callable[[dict[str, float]], None]:
    def callback(record: dict[str, float]) -> None:
        if (record['stage'], record['epoch']) == (stage, epoch):
            raise KeyboardInterrupt

    return callback


def test_interrupted_in_stage_2() -> None:
    data = planted()
    model = quick().fit(data)
    before = model.predict_proba(data)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data, callback=interrupt_at(2, 3), on_interrupt='raise')
    assert torch.equal(model.predict_proba(data), before)
    with pytest.warns(UserWarning, match='after epoch 3 of 15'):
        model.fit(data, callback=interrupt_at(2, 3))
    assert model.interrupted
    assert len(model.history) == 18
    # Stage 1 to its end, and three steps of stage 2.
    whole = quick().fit(data)
    assert torch.equal(model(data.incidence_attr), whole(data.incidence_attr))
    short = AnchorStrength(120)
    reference = softmax(whole(data.incidence_attr).detach(), data.hyperedge_index[1])
    problem = alignment_problem(reference, data, data['y'], data.train_mask, 'all')
    list(strength_epochs(short, problem, model.alpha, model.lr_stage2, 3))
    torch.testing.assert_close(model.strength, short.strength.detach())
    assert not model.fit(data).interrupted


def test_interrupted_in_stage_1() -> None:
    # There is nothing to predict with: it raises, whatever was asked for.
    data = planted()
    model = quick().fit(data)
    before = model.predict_proba(data)
    for on_interrupt in ('raise', 'keep_best'):
        with pytest.raises(KeyboardInterrupt):
            model.fit(data, callback=interrupt_at(1, 15), on_interrupt=on_interrupt)
        assert torch.equal(model.predict_proba(data), before)
    # But for a model that is stage 1 only.
    with pytest.warns(UserWarning, match='after epoch 5'):
        first = quick(stages='first').fit(data, callback=interrupt_at(1, 5))
    expected = quick(stages='first', num_epochs=5).fit(data)
    assert torch.equal(first.predict_proba(data), expected.predict_proba(data))


def test_required_transform() -> None:
    source: Any = PlantedAnchorDataset(30, 60)[0]
    data = quick().required_transform()(source)
    assert torch.equal(
        data.incidence_attr, AddTopologicalFeatures()(source.clone()).incidence_attr
    )
    assert 'incidence_attr' not in source
    assert 'incidence_attr' not in quick(stages='second').required_transform()(source)
    for model in (DegreeHeuristic(), RandomHeuristic()):
        assert set(model.required_transform()(source).keys()) == set(source.keys())
    assert quick().fit(data).required_transform()(data).incidence_attr.size(1) == 33


@pytest.mark.parametrize('name', VARIANTS)
def test_second_device(name: str) -> None:
    expected = quick(**VARIANTS[name]).fit(planted()).predict_proba(planted())
    with second_device() as device:
        data = planted().to(device)
        model = quick(**VARIANTS[name]).to(device).fit(data)
        proba = model.predict_proba(data)
        assert proba.device == device
        assert {value.device for value in model.state_dict().values()} == {device}
        model.predict(data, k=2)
        if model.scorer is not None:
            assert model.predict_proba(planted(1).to(device)).device == device
        if model.strengths is not None:
            # Groups of known people.
            part = data.hyperedge_subgraph(data.hyperedge_size > 1)
            assert model.predict_proba(part).device == device
            assert model.predictions(part).num_rows == part.num_hyperedges
            model.update(part)
            assert {value.device for value in model.state_dict().values()} == {device}
        model.reset_parameters()
    torch.testing.assert_close(proba.cpu(), expected, rtol=1e-4, atol=1e-5)


# Predicting ######################################################################


@pytest.mark.parametrize('name', VARIANTS)
def test_probabilities(name: str, device: torch.device) -> None:
    data = planted().to(device)
    model = quick(**VARIANTS[name]).to(device).fit(data)
    proba = model.predict_proba(data)
    assert proba.device.type == device.type
    assert proba.size() == (data.num_incidences,)
    assert proba.min() >= 0
    torch.testing.assert_close(
        group_sums(data, proba),
        torch.ones_like(group_sums(data, proba)),
        rtol=1e-5,
        atol=1e-5,
    )
    assert not proba.requires_grad
    # It has learnt something.
    assert model.score(data, data.train_mask) > RandomHeuristic().score(data) + 0.1


@SETTINGS
@given(hypergraphs(2), st.sampled_from(sorted(VARIANTS)))
def test_any_hypergraph(data: AnchorData, name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    data.incidence_attr = torch.rand(data.num_incidences, 3, generator=generator)
    model = AnchorRadar(4, num_epochs=2, **VARIANTS[name])
    if not (data.known_mask & data.choice_mask).any():
        with one_line_error('no hyperedge to learn from'):
            model.fit(data)
        return
    proba = model.fit(data).predict_proba(data)
    torch.testing.assert_close(
        group_sums(data, proba), torch.ones_like(group_sums(data, proba))
    )
    best = model.predict(data)
    assert torch.equal(best < 0, data.hyperedge_size == 0)


def test_first_stage_is_the_softmax_of_scores() -> None:
    data = planted()
    model = quick(stages='first', calibration=None).fit(data)
    score = model(data.incidence_attr).detach()
    expected = softmax(score, data.hyperedge_index[1], num_nodes=data.num_hyperedges)
    torch.testing.assert_close(model.predict_proba(data), expected)
    assert model.strengths is None


def test_no_aggregation_is_the_softmax_of_strengths() -> None:
    data = planted()
    model = quick(w=None, calibration=None).fit(data)
    expected = softmax(
        model.strength[data.hyperedge_index[0]],
        data.hyperedge_index[1],
        num_nodes=data.num_hyperedges,
    )
    torch.testing.assert_close(model.predict_proba(data), expected, rtol=0, atol=1e-15)
    assert torch.equal(model.strength, quick().fit(data).strength)


def test_aggregation_is_the_share() -> None:
    data = planted()
    model = quick(w=3.0, calibration=None).fit(data)
    node, hyperedge = data.hyperedge_index
    share = model.share
    # By the definition, since strengths are all different.
    strength = model.strength
    best = scatter(strength[node], hyperedge, 0, data.num_hyperedges, 'max')
    known = data.train_mask[hyperedge]
    value = 3.0 * (data['y'] & known) + ((strength[node] == best[hyperedge]) & ~known)
    count = torch.bincount(node, minlength=120)
    used = count > 0
    expected = scatter(value.double(), node, 0, 120, 'sum') / count.clamp(min=1)
    torch.testing.assert_close(share[used], expected[used], rtol=1e-12, atol=1e-12)
    total = scatter(share[node], hyperedge, 0, data.num_hyperedges, 'sum')[hyperedge]
    proba = model.predict_proba(data)
    torch.testing.assert_close(proba[total > 0], (share[node] / total)[total > 0])
    blind = RandomHeuristic().predict_proba(data).double()
    assert torch.equal(proba[total == 0].float(), blind[total == 0].float())


def test_several_anchors_per_group() -> None:
    data = planted()
    model = quick().fit(data)
    best = model.predict(data, k=2)
    assert best.size() == (600, 2)
    assert torch.equal(best[:, 1] == -1, data.hyperedge_size < 2)
    assert torch.equal(best[:, 0], model.predict(data))
    for k in (0, 1.5):
        with one_line_error("'k'", str(k)):
            model.predict(data, k=k)  # type: ignore[arg-type]


def test_two_anchors_to_learn_from() -> None:
    data = planted()
    node, hyperedge = data.hyperedge_index
    value = data.node_strength[node]
    # The two strongest members of each group, where there are three.
    rival = (value[:, None] < value[None]) & (hyperedge[:, None] == hyperedge[None])
    data.y = (rival.sum(1) < 2) & (data.hyperedge_size > 2)[hyperedge]
    data = RandomHyperedgeSplit(0.4, 0.1)(data)
    assert set(data['y'][data.train_mask[hyperedge]].tolist()) == {True, False}
    model = AnchorRadar(8).fit(data)
    chance = AnchorEvaluator(chance=True).eval(
        torch.zeros(data.num_incidences), data, data.test_mask
    )
    assert model.score(data, data.test_mask) > chance['chance'] + 0.15
    # Two guesses per unknown group, where there are two members to guess.
    quiet = AnchorRadar(8, w=0.0).fit(data)
    degree = torch.bincount(node, minlength=120)
    guesses = data.hyperedge_size[~data.train_mask].clamp(max=2).sum()
    assert float((quiet.share * degree).sum()) == pytest.approx(int(guesses))
    # On another hypergraph there are two anchors per group as well.
    other = planted(1)
    share = quiet._transfer(other)[1]
    degree = torch.bincount(other.hyperedge_index[0], minlength=125)
    guesses = other.hyperedge_size.clamp(max=2).sum()
    assert float((share * degree).sum()) == pytest.approx(int(guesses))


def test_attributes_join_the_features() -> None:
    data = planted()
    generator = torch.Generator().manual_seed(0)
    data.hyperedge_attr = torch.rand(600, 2, generator=generator)
    data.x = 1e4 + 50 * data.node_strength.unsqueeze(1)
    model = quick(num_epochs=1).fit(data)
    assert sum(p.numel() for p in model.parameters()) == 8 * (36 + 2) + 1 + 120
    # In any unit, from seconds since 1970 to parts of a day.
    twin = data.clone()
    data.x = 1.7e9 + data.node_strength.double().unsqueeze(1)
    twin.x = (data.x - 1.7e9) / 86400
    torch.testing.assert_close(
        quick(stages='first').fit(twin).predict_proba(twin),
        quick(stages='first').fit(data).predict_proba(data),
        rtol=0,
        atol=1e-2,
    )
    # Constant attributes, and attributes alone, work as well.
    twin.x = torch.full((120, 1), 0.1)
    twin.incidence_attr = None
    proba = quick().fit(twin).predict_proba(twin)
    assert torch.isfinite(proba).all()


def test_informative_attributes_help() -> None:
    data = planted()
    plain = AnchorRadar(16, stages='first').fit(data).score(data, data.test_mask)
    data.x = data.node_strength.unsqueeze(1)
    told = AnchorRadar(16, stages='first').fit(data).score(data, data.test_mask)
    assert told > plain + 0.05


# On other hypergraphs ############################################################


@pytest.mark.parametrize('name', [name for name in VARIANTS if 'second' not in name])
def test_inductive(name: str) -> None:
    data, other = planted(), planted(1)
    model = quick(num_epochs=60, **VARIANTS[name]).fit(data)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    proba = model.predict_proba(other)
    assert proba.size() == (other.num_incidences,)
    torch.testing.assert_close(
        group_sums(other, proba),
        torch.ones_like(group_sums(other, proba)),
        rtol=1e-5,
        atol=1e-5,
    )
    assert torch.equal(proba, model.predict_proba(other))
    assert model.score(other) > RandomHeuristic().score(other) + 0.08
    after = model.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before)
    # Anchors that are known there are not looked at.
    other.y = torch.zeros_like(other['y'])
    assert torch.equal(proba, model.predict_proba(other))


def halves(num_groups: int = 300) -> tuple[AnchorData, AnchorData]:
    """Two tables of groups among the same people, which know nothing of each other."""
    data: Any = PlantedAnchorDataset(100, 2 * num_groups, correlation=0.4)[0]
    is_old = torch.arange(2 * num_groups) < num_groups
    old, new = (
        AddTopologicalFeatures()(data.hyperedge_subgraph(mask, relabel_nodes=True))
        for mask in (is_old, ~is_old)
    )
    return old, new


def test_known_people_are_known_again() -> None:
    old, new = halves()
    model = AnchorRadar(16).fit(old)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    inductive = model.predict_proba(new, same_people=False)
    carried = model.predict_proba(without_labels(new))
    assert not torch.equal(inductive, carried)
    evaluator = AnchorEvaluator()
    found = [evaluator.eval(proba, new)['accuracy'] for proba in (inductive, carried)]
    assert found[1] > found[0] + 0.05
    # 'score' shows no answers.
    assert model.score(new) == found[1]
    after = model.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before)


def without_labels(data: AnchorData) -> AnchorData:
    out = copy.copy(data)
    out.y = torch.zeros_like(data['y'])
    return out


def test_who_is_the_same() -> None:
    old, new = halves()
    model = quick().fit(old)
    new = without_labels(new)
    carried, inductive = (model.predict_proba(new, flag) for flag in (True, False))
    assert torch.equal(model.predict_proba(new), carried)
    # Numbers or texts.
    new.node_id = [str(number) for number in new.node_id.tolist()]
    assert torch.equal(model.predict_proba(new), carried)
    # Other people.
    strangers = copy.copy(new)
    strangers.source = 'elsewhere'
    assert torch.equal(model.predict_proba(strangers), inductive)
    assert torch.equal(model.predict_proba(strangers, True), carried)
    nameless = copy.copy(new)
    nameless.node_id = None
    assert torch.equal(model.predict_proba(nameless), inductive)
    with one_line_error("'same_people'", "'data.node_id'"):
        model.predict_proba(nameless, True)
    # Tables of one's own match.
    old.source = new.source = None
    own = quick().fit(old)
    assert torch.equal(own.predict_proba(new), carried)
    # Two tables without ids, of which the user knows that numbers are people.
    old.node_id = None
    own.fit(old)
    assert torch.equal(own.predict_proba(nameless), inductive)
    assert not torch.equal(own.predict_proba(nameless, True), inductive)


def test_strangers_with_known_anchors_are_not_learnt_from() -> None:
    old, new = halves()
    model = quick().fit(old)
    new.source = 'elsewhere'
    assert torch.equal(
        model.predict_proba(new), model.predict_proba(without_labels(new))
    )


def test_carried_strengths_by_hand() -> None:
    # Without scores: old groups say a > b, new ones c > d; the strengths are those of
    # all groups in one table.
    old = to_data([[0, 1], [0, 1], [1, 2]], 3, [[0], [0], [1]])
    old.node_id = ['a', 'b', 'x']
    new = to_data([[0, 1], [2, 3], [1, 3, 2]], 4, [[], [2], []])
    new.node_id = ['b', 'a', 'c', 'd']
    whole = to_data(
        [[0, 1], [0, 1], [1, 2], [1, 0], [3, 4], [0, 4, 3]],
        5,
        [[0], [0], [1], [], [3], []],
    )
    model = quick(stages='second', w=None).fit(old)
    reference = quick(stages='second', w=None).fit(whole)
    strength = reference.strength[[1, 0, 3, 4]]
    torch.testing.assert_close(model.node_strength(new), strength, rtol=0, atol=1e-12)
    a, b = math.exp(float(strength[1])), math.exp(float(strength[0]))
    proba = model.predict_proba(new)
    assert float(proba[1]) == pytest.approx(a / (a + b))
    # New known anchors are evidence, and not answers.
    assert model.predict(new).tolist() == [1, 2, 1]
    # With the aggregation, too: a anchors two known groups with the weight 3, and is
    # the strongest in two others; b anchors one of three known groups, and has lost
    # another one.
    model = quick(stages='second', w=3.0).fit(old)
    a, b = (3 * 2 + 2) / (3 * 2 + 2), 3 * 1 / (3 * 3 + 1)
    assert float(model.predict_proba(new)[1]) == pytest.approx(a / (a + b))


def test_newcomers_follow_the_scores() -> None:
    # Also where scores have no weight.
    old, new = halves()
    new = without_labels(new)
    new.node_id = new.node_id + 1000
    for alpha in (0.0, 0.06):
        model = quick(alpha=alpha, w=None, num_epochs=100).fit(old)
        strangers = model.node_strength(new, same_people=False)
        newcomers = model.node_strength(new)
        torch.testing.assert_close(newcomers, strangers, rtol=0.02, atol=0.02)


def test_order_and_names_do_not_matter_in_memory() -> None:
    old, new = halves()
    new = without_labels(new)
    model = quick(w=None, calibration=None).fit(old)
    proba = model.predict_proba(new)
    perm = torch.randperm(300, generator=torch.Generator().manual_seed(0))
    shuffled = copy.copy(old)
    shuffled.hyperedge_index = old.hyperedge_index.clone()
    shuffled.hyperedge_index[1] = perm[old.hyperedge_index[1]]
    shuffled.hyperedge_id = torch.empty(300, dtype=torch.long)
    shuffled.hyperedge_id[perm] = old.hyperedge_id
    shuffled = shuffled.sort()
    torch.testing.assert_close(
        quick(w=None, calibration=None).fit(shuffled).predict_proba(new),
        proba,
        rtol=0,
        atol=1e-4,
    )
    for data in (old, new):
        data.node_id = [f'person {number}' for number in data.node_id.tolist()]
    assert torch.equal(
        quick(w=None, calibration=None).fit(old).predict_proba(new), proba
    )


def test_known_groups_that_come_again_count_once() -> None:
    # The table has grown: old rows, and new ones.
    data = AddTopologicalFeatures()(PlantedAnchorDataset(100, 400)[0])
    data.train_mask = torch.arange(400) < 200
    model = quick().fit(data)
    one_less = data.hyperedge_subgraph(torch.arange(400) < 399)
    memory, number = model._remember(one_less)
    assert memory.num_groups == 400
    assert torch.equal(memory.known_mask.sum(), data.train_mask.sum())
    assert torch.equal(number, torch.arange(100))
    # Without names of groups, nobody knows.
    one_less.hyperedge_id = None
    assert model._remember(one_less)[0].num_groups == 799


def test_empty_tables_and_singletons() -> None:
    old, new = halves()
    model = quick().fit(old)
    nothing = new.hyperedge_subgraph(torch.zeros(300, dtype=torch.bool))
    assert model.predict_proba(nothing).size() == (0,)
    assert model.predict(nothing).tolist() == []
    alone = new.hyperedge_subgraph(new.hyperedge_size == 1, relabel_nodes=True)
    assert alone.num_hyperedges > 5
    assert model.predict_proba(alone).tolist() == [1.0] * alone.num_hyperedges
    assert torch.equal(model.predict(alone), alone.hyperedge_index[0])


def test_update() -> None:
    old, new = halves()
    is_first = torch.arange(300) < 150
    first, last = (new.hyperedge_subgraph(m) for m in (is_first, ~is_first))
    model = quick().fit(old)
    weights = [value.clone() for value in model.scorer.parameters()]  # type: ignore[union-attr]
    before = model.score(last)
    once = model.predict_proba(without_labels(last))
    assert model.update(first) is model
    # Stage 1 stays, the groups and their people are remembered.
    assert all(map(torch.equal, weights, model.scorer.parameters()))  # type: ignore[union-attr]
    assert model.memory.num_groups == 450
    assert model.strength.numel() == model.memory.num_people
    assert not torch.equal(model.predict_proba(without_labels(last)), once)
    assert model.score(last) > before - 0.02
    # The fitted table knows of them, too.
    fitted = quick().fit(old)
    assert not torch.equal(model.predict_proba(old), fitted.predict_proba(old))
    # The same groups again change nothing.
    strength = model.strength.clone()
    torch.testing.assert_close(model.update(first).strength, strength)
    assert model.memory.num_groups == 450


def test_update_takes_known_people_only() -> None:
    old, new = halves()
    model = quick().fit(old)
    new.source = 'elsewhere'
    with one_line_error("'source'", "'same_people=True'"):
        model.update(new)
    model.update(new, same_people=True)
    assert model.memory.num_groups == 600
    with one_line_error("'update'", "'stages'"):
        quick(stages='first').fit(old).update(old)
    with one_line_error('fitted'):
        quick().update(old)


def test_fitted_table_with_other_people() -> None:
    # The same numbers, but other persons: not the table that was fitted.
    old, _ = halves()
    model = quick(w=None).fit(old)
    other = copy.copy(old)
    other.node_id = old.node_id.flip(0)
    assert not torch.equal(model.node_strength(other), model.strength)
    other.node_id = None
    assert torch.equal(model.node_strength(other), model.strength)
    # Nobody is known, whatever the table.
    assert torch.equal(
        model.node_strength(old, same_people=False),
        model.node_strength(other, same_people=False),
    )
    strangers = model.node_strength(old, same_people=False)
    assert not torch.equal(strangers, model.strength)


def test_memory_is_saved(tmp_path: Path) -> None:
    old, new = halves()
    old.node_id = [f'Zoë {number}' for number in old.node_id.tolist()]
    new.node_id = [f'Zoë {number}' for number in new.node_id.tolist()]
    model = quick().fit(old)
    model.save(tmp_path / 'model')
    twin = AnchorRadar.load(tmp_path / 'model')
    assert torch.equal(twin.predict_proba(new), model.predict_proba(new))
    assert same_state(twin.update(new), model.update(new))
    model.save(tmp_path / 'model')
    assert same_state(AnchorRadar.load(tmp_path / 'model'), model)


def test_inductive_keeps_the_scale_of_attributes() -> None:
    data = planted()
    data.x = data.node_strength.unsqueeze(1)
    model = quick(stages='first').fit(data)
    whole = model.predict_proba(data)
    keep = torch.arange(600) < 3
    part = data.hyperedge_subgraph(keep, relabel_nodes=True)
    assert int(part.num_nodes or 0) < 20
    row = keep[data.hyperedge_index[1]]
    torch.testing.assert_close(model.predict_proba(part), whole[row])


def test_inductive_needs_the_same_features() -> None:
    model, other = quick().fit(planted()), planted(1)
    other.incidence_attr = other.incidence_attr[:, :30]
    with one_line_error("'data'", '33', '30'):
        model.predict(other)


def test_second_stage_knows_one_hypergraph() -> None:
    data = planted()
    model = quick(stages='second').fit(data)
    with one_line_error("'stages'", "'second'"):
        model.predict(planted(1))
    nameless = data.hyperedge_subgraph(torch.arange(600) < 599)
    nameless.node_id = None
    with one_line_error("'stages'", "'second'"):
        model.predict(nameless)
    # The same hypergraph, however its incidences are ordered, is no other.
    proba = model.predict_proba(data)
    data.incidence_proba = proba
    shuffled = data.sort(sort_by_row=True)
    torch.testing.assert_close(
        model.predict_proba(shuffled), shuffled.incidence_proba, rtol=1e-12, atol=0
    )


# Names ###########################################################################


@pytest.mark.usefixtures('double_precision')
def test_names_do_not_matter() -> None:
    source: Any = PlantedAnchorDataset(100, 400)[0]
    generator = torch.Generator().manual_seed(1)
    other = Renaming(
        source,
        torch.randperm(100, generator=generator).tolist(),
        torch.randperm(400, generator=generator).tolist(),
        torch.randperm(source.num_incidences, generator=generator).tolist(),
    )
    data = RandomHyperedgeSplit(0.3, 0.2)(AddTopologicalFeatures()(source))
    twin = AddTopologicalFeatures()(other.data)
    twin.train_mask = other.hyperedges(data.train_mask)
    mask = other.hyperedges(data.test_mask)
    for name in ('first', 'no aggregation'):
        # The folds of a calibration are drawn in the order of the hyperedges.
        options = {**VARIANTS[name], 'num_epochs': 30, 'calibration': None}
        model = quick(**options).fit(data)
        renamed = quick(**options).fit(twin)
        torch.testing.assert_close(
            renamed.predict_proba(twin),
            other.incidences(model.predict_proba(data)),
            rtol=0,
            atol=1e-6,
        )
        assert renamed.score(twin, mask) == pytest.approx(
            model.score(data, data.test_mask), abs=1e-9
        )
    torch.testing.assert_close(
        renamed.strength, other.nodes(model.strength), rtol=0, atol=1e-6
    )
    # With aggregation, up to draws between equals.
    full, again = quick(num_epochs=30).fit(data), quick(num_epochs=30).fit(twin)
    assert again.score(twin, mask) == pytest.approx(
        full.score(data, data.test_mask), abs=0.02
    )


# Files ###########################################################################


@pytest.mark.parametrize('name', VARIANTS)
def test_save_and_load(name: str, tmp_path: Path) -> None:
    data, path = planted(), tmp_path / 'model.pt'
    model = quick(seed=3, **VARIANTS[name]).fit(data)
    model.save(path)
    twin = AnchorRadar.load(path)
    assert repr(twin) == repr(model)
    assert same_state(model, twin)
    assert torch.equal(model.predict_proba(data), twin.predict_proba(data))
    assert torch.equal(model.predict(data, 2), twin.predict(data, 2))
    if 'second' not in name:
        other = planted(1)
        assert torch.equal(model.predict_proba(other), twin.predict_proba(other))
    assert list(tmp_path.iterdir()) == [path]


def test_save_before_fit(tmp_path: Path) -> None:
    quick(w=None).save(tmp_path / 'model')
    twin = AnchorRadar.load(str(tmp_path / 'model'))
    assert repr(twin) == repr(quick(w=None))
    with one_line_error('fitted'):
        twin.predict(planted())


def test_numbers_of_numpy(tmp_path: Path) -> None:
    params: dict[str, Any] = {
        'alpha': np.float64(0.5),
        'w': np.float32(2),
        'hidden_channels': np.int64(3),
        'seed': np.int64(2),
    }
    AnchorRadar(**params).fit(planted()).save(tmp_path / 'model')
    twin = AnchorRadar.load(tmp_path / 'model')
    assert (twin.alpha, twin.w, twin.hidden_channels) == (0.5, 2.0, 3)


def test_save_needs_a_folder(tmp_path: Path) -> None:
    path = tmp_path / 'nowhere' / 'model'
    with one_line_error(str(path), 'folder'):
        quick().save(path)


def test_as_part_of_another_module() -> None:
    data = planted()
    whole = torch.nn.ModuleDict({'first': quick().fit(data), 'second': quick()})
    twin = torch.nn.ModuleDict({'first': quick(), 'second': quick().fit(data)})
    twin.load_state_dict(whole.state_dict())
    assert same_state(whole['first'], twin['first'])  # type: ignore[arg-type]
    assert same_state(whole['second'], twin['second'])  # type: ignore[arg-type]


def test_other_precision() -> None:
    data = planted()
    for stages in ('first', 'both'):
        model = quick(stages=stages).fit(data)
        proba = model.predict_proba(data)
        twin = quick(stages=stages).fit(data).double()
        torch.testing.assert_close(
            twin.predict_proba(data).double(), proba.double(), rtol=1e-4, atol=1e-5
        )


def test_weight_that_was_not_fitted() -> None:
    data = planted()
    model = quick(w=None).fit(data)
    model.w = 3.0
    with one_line_error("'w'", '3.0'):
        model.predict(data)


@pytest.mark.parametrize(('name', 'rate'), [('lr_stage1', 1e30), ('lr_stage2', 1e308)])
def test_divergence_is_told(name: str, rate: float) -> None:
    data = planted()
    model = quick().fit(data)
    before = model.predict_proba(data)
    setattr(model, name, rate)
    with one_line_error(f"'{name}'", 'smaller'):
        model.fit(data)
    assert torch.equal(model.predict_proba(data), before)


def test_use_val_needs_train_mask() -> None:
    data = planted()
    del data.train_mask
    with one_line_error("'train_mask'", 'RandomHyperedgeSplit'):
        quick().fit(data, use_val=True)


def test_state_dict() -> None:
    data = planted()
    model, twin = quick().fit(data), quick(seed=5).fit(data)
    assert not same_state(model, twin)
    twin.load_state_dict(model.state_dict())
    assert same_state(model, twin)
    assert torch.equal(model.predict_proba(data), twin.predict_proba(data))


def test_state_dict_of_an_unfitted_model() -> None:
    data, other = planted(), planted(1)
    for name, kwargs in VARIANTS.items():
        model, twin = quick(**kwargs).fit(data), quick(**kwargs)
        twin.load_state_dict(model.state_dict())
        assert same_state(model, twin), name
        assert torch.equal(model.predict_proba(data), twin.predict_proba(data))
        # Back to where it was, in the other direction.
        model.load_state_dict(quick(**kwargs).state_dict())
        with one_line_error('fitted'):
            model.predict(data)
    model = quick().fit(data)
    before = model.predict_proba(data), model.predict_proba(other)
    for wrong in (
        quick(hidden_channels=9).fit(data).state_dict(),
        {k: v for k, v in model.state_dict().items() if k != 'num_anchors'},
        {},
    ):
        with pytest.raises((KeyError, RuntimeError)):
            model.load_state_dict(wrong)
        after = model.predict_proba(data), model.predict_proba(other)
        assert all(map(torch.equal, before, after))


def test_other_class_and_no_file(tmp_path: Path) -> None:
    path = tmp_path / 'model'
    DegreeHeuristic().save(path)
    with one_line_error("'AnchorRadar'", "'DegreeHeuristic'"):
        AnchorRadar.load(path)
    with pytest.raises(FileNotFoundError):
        AnchorRadar.load(tmp_path / 'nothing')


# How good it is ##################################################################


def test_planted_anchors_are_found() -> None:
    data = AddTopologicalFeatures()(PlantedAnchorDataset()[0])
    data = RandomHyperedgeSplit()(data)
    found = {
        type(model).__name__: model.fit(data).score(data, data.test_mask)
        for model in (AnchorRadar(), DegreeHeuristic(), RandomHeuristic())
    }
    assert found['AnchorRadar'] > found['DegreeHeuristic'] + 0.03
    assert found['AnchorRadar'] > found['RandomHeuristic'] + 0.2


@pytest.mark.mirror
@pytest.mark.parametrize(
    ('name', 'use_val', 'least'),
    # On emER splits differ by four points: with the training anchors alone, the mean of
    # five is 65.4 and that of twenty 65.9, where the paper has 67.8.
    [('qaBI', False, 87.1), ('emER', False, 64.0), ('emER', True, 66.0)],
)
def test_published_accuracy(
    mirror: Path, tmp_path: Path, name: str, use_val: bool, least: float
) -> None:
    data = AddTopologicalFeatures()(AnchorDataset(name, root=tmp_path)[0])
    data = RandomHyperedgeSplit(num_splits=5)(data)
    found = []
    for split in range(5):
        part = column(data, split)
        model = AnchorRadar.from_paper(name).fit(part, use_val=use_val)
        found.append(100 * model.score(part, part.test_mask))
    assert np.mean(found) >= least
