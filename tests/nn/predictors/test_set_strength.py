import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.nn.predictors.radar import planted, quick
from tests.nn.predictors.sets import (
    double,
    known_of,
    labelled,
    random_beliefs,
    sets_of,
    size,
)
from tests.strategies import SETTINGS, renamings, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import AnchorStrength
from tgx_anchor.nn.functional import strength_problem
from tgx_anchor.nn.predictors.known_sets import known_sets
from tgx_anchor.nn.predictors.set_strength import set_strengths
from tgx_anchor.nn.predictors.stages import strength_epochs
from tgx_anchor.utils import NodeSets, node_sets

Labelled = tuple[AnchorData, Tensor]


def stage_2(data: AnchorData, mask: Tensor, reference: Tensor, alpha: float) -> Tensor:
    """Strengths of AnchorRadar, in which each copy is a hyperedge."""
    problem = strength_problem(
        reference,
        data.hyperedge_index,
        size(data),
        data.num_hyperedges,
        data['y'],
        mask,
        'cross_entropy',
    )
    strengths = AnchorStrength(size(data))
    list(strength_epochs(strengths, problem, alpha, 0.1, 100))
    return strengths.strength.detach()


def same(found: Tensor, expected: Tensor, atol: float = 1e-6) -> None:
    # Where the gradient is zero, each step of Adam is up to 1e7 times its rounding
    # error.
    torch.testing.assert_close(found, expected, rtol=0, atol=atol)


@SETTINGS
@given(labelled(), st.sampled_from([0.0, 0.3, 1.0, 7.5]))
def test_equal_to_stage_2(drawn: Labelled, alpha: float) -> None:
    data, mask = drawn
    sets = sets_of(data)
    belief = random_beliefs(sets)
    known = known_of(data, mask)
    found = set_strengths(sets, size(data), [belief], [known], [alpha])
    assert found.size() == (size(data), 1, 1)
    assert found.dtype == torch.double
    assert not found.requires_grad
    same(found[:, 0, 0], stage_2(data, mask, belief[sets.row], alpha))


def test_equal_to_stage_2_of_a_model() -> None:
    # Beliefs, known groups and copies of a whole hypergraph.
    with double():
        data = planted()
        model = quick(
            num_epochs=100, alignment='cross_entropy', lr_stage2=0.1, alpha=0.3
        ).fit(data)
        sets = sets_of(data)
        assert sets.num_sets < data.num_hyperedges
        # The model keeps the references of all incidences: the same for all copies.
        belief = torch.zeros(sets.num_rows, dtype=torch.double)
        belief[sets.row] = model.memory.reference.double()
        torch.testing.assert_close(belief[sets.row], model.memory.reference)
    known = known_of(data, data.train_mask)
    found = set_strengths(sets, size(data), [belief], [known], [0.3])[:, 0, 0]
    same(found, model.strength, 1e-9)


@settings(SETTINGS, max_examples=20)
@given(labelled(), st.data())
def test_columns_are_independent(drawn: Labelled, draw: st.DataObject) -> None:
    data, mask = drawn
    sets = sets_of(data)
    flag = st.lists(st.booleans(), min_size=sets.num_sets, max_size=sets.num_sets)
    left_out = torch.tensor(draw.draw(flag), dtype=torch.bool)
    known = known_of(data, mask)
    beliefs = [random_beliefs(sets, 1), random_beliefs(sets, 2)]
    knowns = [known, known.without(left_out, sets)]
    alphas = [0.3, 1.0, 0.0]
    found = set_strengths(sets, size(data), beliefs, knowns, alphas)
    assert found.size() == (size(data), 2, 3)
    for i in range(2):
        for j, alpha in enumerate(alphas):
            alone = set_strengths(sets, size(data), [beliefs[i]], [knowns[i]], [alpha])
            same(found[:, i, j], alone[:, 0, 0])


def test_by_hand() -> None:
    # At the optimum, the strengths of {0, 1} give the mean of beliefs and anchors.
    data = to_data([[0, 1], [0, 1], [0, 1]], 2, [[0], [0], [1]])
    mask = torch.tensor([True, False, False])
    sets = sets_of(data)
    belief = torch.tensor([0.4, 0.6], dtype=torch.double)
    found = set_strengths(sets, 2, [belief], [known_of(data, mask)], [0.5])[:, 0, 0]
    # One known group, and three that count one half.
    proba = (1 + 0.5 * 3 * 0.4) / (1 + 0.5 * 3)
    assert float(found[0] - found[1]) == pytest.approx(
        math.log(proba / (1 - proba)), abs=5e-3
    )


def test_sets_that_do_not_count() -> None:
    # A group to predict pulls nobody.
    data = to_data([[0, 1], [1, 2]], 3, [[0], [1]])
    weight = torch.tensor([1, 0])
    sets = node_sets(data.hyperedge_index, 3, 2, weight)
    mask = torch.tensor([True, False])
    known = known_sets(sets, data.hyperedge_index, data['y'], mask)
    found = []
    for last in (0.1, 0.9):
        values = [0.5, 0.5, last, 1 - last]
        belief = torch.tensor(values, dtype=torch.double)
        found.append(set_strengths(sets, 3, [belief], [known], [1.0])[:, 0, 0])
    assert torch.equal(found[0], found[1])
    assert float(found[0][2]) == 1
    assert found[0][0] > 1 > found[0][1]


@settings(SETTINGS, max_examples=20)
@given(labelled(), st.data())
def test_names_do_not_matter(drawn: Labelled, draw: st.DataObject) -> None:
    data, mask = drawn
    other = draw.draw(renamings(data))
    sets, twins = sets_of(data), sets_of(other.data)
    belief = random_beliefs(sets)
    theirs = torch.empty(twins.num_rows, dtype=torch.double)
    theirs[twins.row] = other.incidences(belief[sets.row])

    def strengths(data: AnchorData, sets: NodeSets, q: Tensor, mask: Tensor) -> Tensor:
        return set_strengths(sets, size(data), [q], [known_of(data, mask)], [0.3])

    found = strengths(other.data, twins, theirs, other.hyperedges(mask))
    same(found, other.nodes(strengths(data, sets, belief, mask)))


@settings(SETTINGS, max_examples=5)
@given(labelled())
def test_second_device(drawn: Labelled) -> None:
    data, mask = drawn
    sets = sets_of(data)
    belief = random_beliefs(sets)
    known = known_of(data, mask)
    expected = set_strengths(sets, size(data), [belief], [known], [0.3, 1.0])
    with second_device() as device:
        index = data.hyperedge_index.to(device)
        there = node_sets(index, size(data), data.num_hyperedges)
        known = known_sets(there, index, data['y'].to(device), mask.to(device))
        out = set_strengths(there, size(data), [belief.to(device)], [known], [0.3, 1.0])
        assert out.device == device
    same(out.cpu(), expected)
