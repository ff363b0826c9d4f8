"""Strengths by context, where contexts matter and where they do not."""

import math
from pathlib import Path

import pytest
import torch

from tests.nn.predictors.contexts import quick_context, sided
from tests.nn.predictors.radar import planted, quick, same_state
from tests.strategies import one_line_error, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.explain import Explainer
from tgx_anchor.nn import AnchorModel, AnchorRadar, ContextAnchorRadar
from tgx_anchor.nn.predictors.context_anchor_radar import PENALTIES, _best_penalty
from tgx_anchor.utils import distinct_hyperedges, swap_sides


def test_without_contexts_it_is_anchor_radar() -> None:
    data = planted()
    model, plain = quick_context().fit(data), quick().fit(data)
    assert model.chosen_penalty == math.inf
    assert torch.allclose(model.strength, plain.strength, atol=1e-6)
    assert torch.allclose(model.predict_proba(data), plain.predict_proba(data))


def test_infinite_penalty_is_anchor_radar() -> None:
    data = sided(num_types=2)
    data.x = torch.arange(60.0)
    model = quick_context(penalty=math.inf).fit(data)
    bare = data.clone()
    bare.incidence_attr = data.incidence_attr[:, :33]
    plain = quick().fit(bare)
    assert torch.allclose(model.strength, plain.strength, atol=1e-6)
    assert torch.allclose(model.predict_proba(data), plain.predict_proba(bare))
    part = data.hyperedge_subgraph(torch.arange(300))
    other = bare.hyperedge_subgraph(torch.arange(300))
    found = model.predict_proba(part, same_people=False)
    assert torch.allclose(found, plain.predict_proba(other, same_people=False))


@pytest.mark.parametrize('shape', [{'seed': 3}, {'directed': False, 'num_types': 3}])
def test_contexts_help_where_they_matter(shape: dict[str, int]) -> None:
    data = sided(**shape, context=1.0)  # type: ignore[arg-type]
    mask = data.test_mask
    plain = AnchorRadar(calibration=None).fit(data).score(data, mask)
    model = ContextAnchorRadar(calibration=None).fit(data)
    assert model.chosen_penalty < math.inf
    assert model.score(data, mask) > plain + 0.02
    # The planted strengths, up to an offset in each group.
    index = data.hyperedge_index[1]
    centred = []
    for value in (model.context_strength(data), data.incidence_strength.double()):
        mean = (
            torch.zeros(data.num_hyperedges)
            .double()
            .scatter_reduce(0, index, value, 'mean', include_self=False)
        )
        centred.append(value - mean[index])
    shared = model.node_strength(data)[data.hyperedge_index[0]]
    right = float(torch.corrcoef(torch.stack(centred))[0, 1])
    assert right > 0.3
    assert not torch.allclose(shared, model.context_strength(data))


def test_penalty_is_given_or_chosen() -> None:
    data = sided(context=0.0)
    assert quick_context(penalty=2).fit(data).chosen_penalty == 2
    model = quick_context()
    assert model.fit(data).chosen_penalty in PENALTIES
    # Too few known groups to choose with.
    few = torch.zeros_like(data.train_mask)
    few[data.train_mask.nonzero()[:10]] = True
    data.train_mask, data.val_mask = few, None
    assert model.fit(data).chosen_penalty == math.inf


def test_best_penalty() -> None:
    data = sided()
    number = distinct_hyperedges(
        data.hyperedge_index, int(data.num_nodes or 0), data.num_hyperedges
    )
    hyperedge = data.hyperedge_index[1]
    even = 1 / data.hyperedge_size[hyperedge].double()
    proba = even.unsqueeze(1).repeat(1, len(PENALTIES))
    assert _best_penalty(proba, data, data.val_mask, number) == math.inf
    proba[:, 3] = torch.where(data['y'], 0.9, 0.1 * even)
    assert _best_penalty(proba, data, data.val_mask, number) == PENALTIES[3]
    # One lucky group is no reason: its gain is as large as the standard error.
    one = data.val_mask.nonzero()[0]
    lucky = proba.clone()
    lucky[:, 3] = torch.where(hyperedge == one, proba[:, 3], even)
    assert _best_penalty(lucky, data, data.val_mask, number) == math.inf


@pytest.mark.parametrize(
    ('right', 'wrong', 'expected'),
    [(0.9, 0.1, PENALTIES[3]), (0.55, 0.0, math.inf)],
)
def test_more_accurate_but_less_likely(
    right: float, wrong: float, expected: float
) -> None:
    # Of 100 pairs, the plain model finds 80 anchors, and another one 90. It is as sure
    # of them, or it excludes the others.
    pairs = [[2 * i, 2 * i + 1] for i in range(100)]
    data = to_data(pairs, 200, [pair[:1] for pair in pairs])
    number = torch.arange(100)
    value = torch.where(number < 80, 0.9, 0.1).double()
    value = value.unsqueeze(1).repeat(1, len(PENALTIES))
    value[:, 3] = torch.where(number < 90, right, wrong)
    proba = torch.stack([value, 1 - value], dim=1).view(200, -1)
    mask = torch.ones(100, dtype=torch.bool)
    assert _best_penalty(proba, data, mask, number) == expected


def test_swapped_sides_are_the_same_contexts() -> None:
    data = sided()
    other = data.clone()
    other.incidence_side = swap_sides(data.incidence_side)
    one = quick_context(penalty=1, stages='second').fit(data)
    two = quick_context(penalty=1, stages='second').fit(other)
    assert torch.allclose(one.predict_proba(data), two.predict_proba(other))


def test_renamed_types_are_the_same_contexts() -> None:
    data = sided(False, 3)
    model = quick_context(penalty=1).fit(data)
    other = data.clone()
    other.hyperedge_type = 2 - data.hyperedge_type
    other.hyperedge_type_names = data.hyperedge_type_names[::-1]
    assert not model._is_same(model.fitted_on, model._fingerprint(other))
    found = model.context_strength(other)
    # Learnt again, from the same groups by the ids of their people.
    expected = model.context_strength(data)
    assert float(torch.corrcoef(torch.stack([found, expected]))[0, 1]) > 0.95


def test_other_groups_of_the_same_people() -> None:
    data = sided(num_types=2)
    half = torch.arange(data.num_hyperedges) < 350
    old, new = data.hyperedge_subgraph(half), data.hyperedge_subgraph(~half)
    for part in (old, new):
        part.train_mask = part.val_mask = part.test_mask = None
    model = quick_context(penalty=1).fit(old)
    proba = model.predict_proba(new, same_people=True)
    alone = model.predict_proba(new, same_people=False)
    assert not torch.allclose(proba, alone)
    total = torch.zeros(new.num_hyperedges).double()
    total.scatter_add_(0, new.hyperedge_index[1], proba.double())
    assert torch.allclose(total[new.hyperedge_size > 0], torch.ones(1).double())
    model.update(new)
    assert model.memory.num_groups == data.num_hyperedges
    assert model.memory.context.numel() == data.num_incidences
    assert model.predict(old).size() == (350,)


@pytest.mark.parametrize('stages', ['both', 'first', 'second'])
@pytest.mark.parametrize('w', [4.0, None])
def test_save_and_load(tmp_path: Path, stages: str, w: float | None) -> None:
    data = sided(num_types=2)
    model = quick_context(stages=stages, w=w, penalty=1).fit(data)
    model.save(tmp_path / 'model.tgx')
    for kind in (ContextAnchorRadar, AnchorModel):
        again = kind.load(tmp_path / 'model.tgx')
        assert isinstance(again, ContextAnchorRadar)
        assert same_state(again, model)
        assert again.chosen_penalty == model.chosen_penalty
        assert torch.equal(again.predict_proba(data), model.predict_proba(data))
    part = data.hyperedge_subgraph(torch.arange(20))
    assert torch.equal(again.predict(part), model.predict(part))


def test_reset() -> None:
    model = quick_context(penalty=1).fit(sided())
    model.reset_parameters()
    assert model.chosen_penalty == math.inf
    with one_line_error('not fitted yet'):
        model.predict(sided())


def test_required_transform() -> None:
    for data, count in ((sided(), 99), (sided(False, 2), 33)):
        bare = data.clone()
        bare.incidence_attr = None
        data = quick_context().required_transform()(bare)
        assert data.incidence_attr.size(1) == count
        again = quick_context().required_transform()(data)
        assert again.incidence_attr.size(1) == count


def test_predictions_and_explanations() -> None:
    data = sided(num_types=2)
    model = quick_context(penalty=1).fit(data)
    table = model.predictions(data)
    assert table.num_rows == data.num_hyperedges
    group = int(data.test_mask.nonzero()[0])
    explanation = Explainer(model, data).explain(group)
    assert explanation.anchor is not None
    anchor = table['anchor'][group].as_py()
    assert str(explanation.anchor.id) == str(anchor)


def test_refuses() -> None:
    with one_line_error("'penalty' must be positive", 'got 0'):
        ContextAnchorRadar(penalty=0)
    with one_line_error("'penalty' must be a number", "got 'x'"):
        ContextAnchorRadar(penalty='x')  # type: ignore[arg-type]
    data = sided()
    model = quick_context(penalty=1).fit(data)
    bare: AnchorData = data.clone()
    del bare.incidence_side
    with one_line_error("'incidence_side' is missing", 'fitted with it'):
        model.predict(bare)
    with one_line_error("'context_strength' needs strengths"):
        quick_context(stages='first').fit(data).context_strength(data)
    other = data.clone()
    other.incidence_attr = data.incidence_attr[:, :5]
    other.column_names = {}
    with one_line_error('99 features per incidence', 'got 5'):
        model.predict(other.hyperedge_subgraph(torch.arange(20)))
