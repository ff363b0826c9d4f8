from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from tests.nn.predictors.stacked import planted, same_state, shuffled_anchors
from tests.strategies import one_line_error, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn.predictors import stacked_passes as module
from tgx_anchor.nn.predictors.known_sets import KnownSets, known_sets
from tgx_anchor.nn.predictors.known_views import KnownViews
from tgx_anchor.nn.predictors.learning_rows import LearningRows
from tgx_anchor.nn.predictors.mlp_learner import MLPLearner
from tgx_anchor.nn.predictors.stack import Stack
from tgx_anchor.nn.predictors.stacked_passes import (
    VIEWS,
    LastStep,
    LearnerName,
    PassResult,
    StackedPasses,
)
from tgx_anchor.utils import node_sets

LAST_STEPS: list[LastStep] = ['blend', 'belief', 'share', 'strength']


class Call(NamedTuple):
    """The views that learners learn from, and the node sets that they do not see."""

    views: list[Tensor]
    without: Tensor | None
    rows: LearningRows


class SpyStack(Stack):
    """Keeps what learners are shown."""

    calls: list[Call]

    def learning_rows(
        self,
        views: Any,
        target: Tensor,
        weight: Tensor,
        without: Tensor | None = None,
    ) -> LearningRows:
        rows = super().learning_rows(views, target, weight, without)
        self.calls.append(Call([view.clone() for view in views], without, rows))
        return rows


def stack_of(data: AnchorData, views: str = VIEWS) -> SpyStack:
    num_nodes, size = int(data.num_nodes or 0), data.num_hyperedges
    index = data.hyperedge_index
    sets = node_sets(index, num_nodes, size)
    feature = data.incidence_attr
    out = SpyStack(sets, num_nodes, feature, index, size, 64, views)
    out.calls = []
    return out


def known_of(
    stack: Stack, data: AnchorData, y: Tensor | None = None, mask: Tensor | None = None
) -> KnownSets:
    y = data['y'] if y is None else y
    mask = data.train_mask if mask is None else mask
    return known_sets(stack.sets, data.hyperedge_index, y, mask)


def run(records: Iterable[object]) -> list[Any]:
    return list(records)


def learnt(
    data: AnchorData,
    learner: LearnerName = 'mlp',
    views: str = VIEWS,
    num_folds: int = 2,
    seed: int = 0,
) -> tuple[StackedPasses, SpyStack, PassResult]:
    stack = stack_of(data, views)
    passes = StackedPasses(learner, views, num_folds, seed)
    known = known_of(stack, data)
    run(passes.learn(stack, known, *stack.labels(data['y'], data.train_mask)))
    return passes, stack, passes.result


def fold_of(stack: Stack, calls: list[Call]) -> Tensor:
    """The fold of each node set, from what each model was not shown."""
    fold = torch.full((stack.sets.num_sets,), -1)
    for number, call in enumerate(calls):
        assert call.without is not None
        assert (fold[call.without] == -1).all()
        fold[call.without] = number
    return fold


# The parts #######################################################################


def test_weights() -> None:
    one, two = (StackedPasses(name, VIEWS, 2, 0) for name in ('mlp', 'both'))
    assert (one.num_learners, two.num_learners) == (1, 2)
    # First pass, second pass, share, strengths of the second and of the first pass.
    assert one.weights('blend') == [0, 1, 0.5, 0, 0]
    assert two.weights('blend') == [0, 0, 0.5, 0.5, 0.5, 0, 0]
    assert two.weights('belief') == [0, 0, 0.5, 0.5, 0, 0, 0]
    assert two.weights('share') == [0, 0, 0, 0, 1, 0, 0]
    assert two.weights('strength') == [0, 0, 0, 0, 0, 1, 0]


@pytest.mark.parametrize(('count', 'steps'), [(1, 1), (9, 1), (10, 5), (30, 5)])
def test_number_of_steps(count: int, steps: int) -> None:
    num_known = torch.zeros(40, dtype=torch.double)
    num_known[:count] = 2
    known = KnownSets(num_known, torch.empty(0), torch.empty(0))
    assert StackedPasses('mlp', VIEWS, 3, 0).num_steps(known) == steps
    assert StackedPasses('mlp', 'ABCF', 3, 0).num_steps(known) == 1


@pytest.mark.parametrize('num_folds', [2, 3, 5])
def test_folds(num_folds: int) -> None:
    data = planted()
    _, stack, _ = learnt(data, num_folds=num_folds)
    known = known_of(stack, data).num_known > 0
    assert len(stack.calls) == 1 + num_folds + 1
    fold = fold_of(stack, stack.calls[1:-1])
    # Every known node set is in one fold, with all its copies, and no other is.
    assert torch.equal(fold >= 0, known)
    count = torch.bincount(fold[known], minlength=num_folds)
    assert int(count.max() - count.min()) <= 1
    other = learnt(data, num_folds=num_folds, seed=1)[1]
    assert not torch.equal(fold_of(other, other.calls[1:-1]), fold)


def test_what_learners_are_shown() -> None:
    data = planted()
    passes, stack, _ = learnt(data)
    known = known_of(stack, data)
    first, *parts, last = stack.calls
    target, weight = stack.labels(data['y'], data.train_mask)
    unit = stack.units.unit

    def shown(call: Call) -> Tensor:
        # The node sets that a model learns from.
        chosen = weight > 0
        if call.without is not None:
            chosen &= ~call.without[stack.units.set_number]
        rows = chosen[unit]
        assert torch.equal(call.rows.target, target[rows])
        assert torch.equal(
            call.rows.feature, stack.table(call.views, rows.nonzero().view(-1))
        )
        return chosen

    # The first pass sees what is known of other sets, models of folds not their own.
    assert len(first.views) == 1
    assert first.without is None
    shown(first)
    assert torch.equal(first.views[0], stack.views(known))
    for call in parts:
        assert call.without is not None
        assert torch.equal(
            call.views[0], stack.views(known.without(call.without, stack.sets))
        )
        assert len(call.views) == 1
        assert int(shown(call).sum()) < int((weight > 0).sum())
    # The second pass sees beliefs as well.
    assert len(last.views) == 2
    assert last.without is None
    shown(last)
    assert torch.equal(last.views[0], first.views[0])
    for learner, call in ((passes.first[0], first), (passes.second[0], last)):
        assert isinstance(learner, MLPLearner)
        twin = MLPLearner(learner.num_networks, 0)
        twin.fit(call.rows)
        assert same_state(learner, twin)


@pytest.mark.parametrize('learner', ['mlp', 'both'])
def test_result(learner: LearnerName) -> None:
    data = planted(0, 500, 0.6)
    passes, stack, result = learnt(data, learner)
    count, sets = passes.num_learners, stack.sets
    rows = stack.units.unit.numel()
    assert result.column.size() == (rows, 2 * count + 3)
    assert torch.isfinite(result.column).all()
    assert result.strength.size() == (60,)
    ones = torch.ones(sets.num_sets, dtype=torch.double)
    torch.testing.assert_close(sets.total(result.belief), ones)
    # The belief is the geometric mean of the learners of the second pass.
    mean = result.column[:, count : 2 * count].mean(dim=1)
    torch.testing.assert_close(stack.by_set(mean), result.belief)
    assert result.kappa in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)


def test_share_and_strength_by_hand() -> None:
    data = planted()
    _, stack, result = learnt(data)
    known = known_of(stack, data)
    node, number = stack.sets.hyperedge_index
    total = [0.0] * 60
    degree = [0.0] * 60
    for row, (v, e) in enumerate(zip(node.tolist(), number.tolist(), strict=True)):
        copies, count = float(stack.sets.copies[e]), float(known.num_known[e])
        anchored = float(known.credit[row])
        total[v] += anchored + (copies - count) * float(result.belief[row])
        degree[v] += copies
    share = torch.tensor(total, dtype=torch.double) / torch.tensor(degree).clamp(min=1)
    person = node[stack.units.row]
    torch.testing.assert_close(result.column[:, 2], (share + 0.02).log()[person])
    strength = result.strength[person].exp()
    sums = torch.zeros(stack.units.num_units, dtype=torch.double)
    sums.index_add_(0, stack.units.unit, strength)
    torch.testing.assert_close(
        result.column[:, 3].exp(), strength / sums[stack.units.unit]
    )


def test_one_pass() -> None:
    data = planted()
    passes, stack, result = learnt(data, views='ABCF')
    assert len(passes.second) == 0
    assert len(stack.calls) == 1
    # The first pass stands for the second.
    assert torch.equal(result.column[:, 0], result.column[:, 1])
    torch.testing.assert_close(result.column[:, 3], result.column[:, 4])
    assert result.kappa == 1.0


def test_records() -> None:
    data = planted()
    stack = stack_of(data)
    passes = StackedPasses('mlp', VIEWS, 2, 0)
    known = known_of(stack, data)
    records = run(passes.learn(stack, known, *stack.labels(data['y'], data.train_mask)))
    assert len(records) == passes.num_steps(known) == 4
    assert [(r['stage'], r['epoch']) for r in records] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 4),
    ]
    assert {r['num_epochs'] for r in records} == {4}


def test_number_of_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    data = planted()
    count = []
    for rows in (1, 400, 10**6):
        monkeypatch.setattr(module, '_LAST_ROWS', rows)
        passes: Any = learnt(data)[0]
        assert passes.first[0].num_networks == passes.second[0].num_networks
        count.append(passes.first[0].num_networks)
    assert count[0] == 1
    assert count == sorted(count)
    assert count[-1] == 5


# Predicting ######################################################################


@pytest.mark.parametrize('views', [VIEWS, 'ABCF', 'AD'])
def test_forward_is_what_was_learnt(views: str) -> None:
    data = planted()
    passes, stack, result = learnt(data, views=views)
    known = known_of(stack, data)
    again = passes(stack, known, lambda belief: belief)
    # Known sets see beliefs of other models while they are learnt from; all copies of a
    # set are known, or none, so that they change nothing else.
    assert torch.equal(known.num_known > 0, known.num_known == stack.sets.copies)
    unknown = (known.num_known == 0)[stack.sets.hyperedge_index[1][stack.units.row]]
    torch.testing.assert_close(again.column[unknown], result.column[unknown])
    torch.testing.assert_close(again.strength, result.strength)
    is_same = torch.allclose(again.column, result.column)
    assert is_same == ('D' not in views)


def test_fill_adds_what_is_remembered() -> None:
    data = planted()
    passes, stack, _ = learnt(data)
    known = known_of(stack, data)
    calls = []

    def uniform(belief: Tensor) -> Tensor:
        calls.append(belief)
        return 1 / stack.sets.size[stack.sets.hyperedge_index[1]]

    out = passes(stack, known, uniform)
    assert len(calls) == 2
    assert torch.equal(out.belief, uniform(out.belief))
    plain = passes(stack, known, lambda belief: belief)
    assert torch.equal(out.column[:, 0], plain.column[:, 0])
    assert not torch.equal(out.column[:, 1], plain.column[:, 1])


def test_hypergraph_without_groups() -> None:
    passes = learnt(planted())[0]
    empty = to_data([], 3, [])
    empty.incidence_attr = torch.empty(0, 86)
    stack = stack_of(empty)
    known = known_of(stack, empty, mask=torch.empty(0, dtype=torch.bool))
    out = passes(stack, known, lambda belief: belief)
    assert out.column.size() == (0, 5)
    assert out.strength.size() == (3,)


# Files ###########################################################################


@pytest.mark.parametrize('views', [VIEWS, 'AB'])
@pytest.mark.parametrize('learner', ['mlp', 'both'])
def test_state_dict(views: str, learner: LearnerName) -> None:
    data = planted(0, 500, 0.6)
    passes, stack, _ = learnt(data, learner, views)
    known = known_of(stack, data)
    twin = StackedPasses(learner, views, 2, 0)
    twin.load_state_dict(passes.state_dict())
    assert same_state(passes, twin)
    assert len(twin.second) == len(passes.second)
    expected = passes(stack, known, lambda belief: belief)
    found = twin(stack, known, lambda belief: belief)
    assert torch.equal(found.column, expected.column)
    # One pass in the place of two.
    twin.load_state_dict(StackedPasses(learner, views, 2, 0).state_dict())
    assert len(twin.second) == 0


def test_check() -> None:
    passes = learnt(planted())[0]
    passes.check(86)
    with one_line_error("'first'", str(85 + len(KnownViews.names(VIEWS)))):
        passes.check(85)
    StackedPasses('both', VIEWS, 2, 0).check(0)
    with one_line_error("'first'", '0'):
        StackedPasses('mlp', VIEWS, 2, 0).check(86)
    # There may be no trees.
    StackedPasses('boosting', VIEWS, 2, 0).check(86)
    passes.second = passes.first
    with one_line_error("'second'"):
        passes.check(86)


# Leaks ###########################################################################


def moved_anchor(data: AnchorData, chosen: Tensor) -> AnchorData:
    """The anchors of some hyperedges are given to the next member."""
    out: AnchorData = data.clone()
    y: Tensor = data['y'].clone()
    for hyperedge in chosen.nonzero().view(-1).tolist():
        rows = (data.hyperedge_index[1] == hyperedge).nonzero().view(-1)
        y[rows] = y[rows].roll(1)
    out.y = y
    return out


@pytest.mark.parametrize('learner', ['mlp', 'both'])
def test_no_set_sees_its_own_anchor(learner: LearnerName) -> None:
    data = planted(0, 300, 0.6)
    _, stack, result = learnt(data, learner)
    before = stack.calls[-1].views
    number = stack.sets.number
    several = data.train_mask & (data.hyperedge_size > 2)
    copies = stack.sets.copies[number]
    # Two sets of a single hyperedge, and two with copies.
    single, repeated = several & (copies == 1), several & (copies > 1)
    for hyperedge in [*single.nonzero()[:2], *repeated.nonzero()[:2]]:
        own = number[hyperedge]
        other = moved_anchor(data, data.train_mask & (number == own))
        assert not torch.equal(other['y'], data['y'])
        _, twin, changed = learnt(other, learner)
        after = twin.calls[-1].views
        row = stack.sets.hyperedge_index[1] == own
        # Its own columns stay, bit for bit, and those of others do not.
        for mine, yours in zip(before, after, strict=True):
            assert torch.equal(mine[row], yours[row])
            assert not torch.equal(mine[~row], yours[~row])
        # The second pass has learnt from it, though.
        assert not torch.equal(changed.column, result.column)


@pytest.mark.parametrize('learner', ['mlp', 'both'])
@pytest.mark.parametrize('views', [VIEWS, 'AD'])
def test_beliefs_of_a_fold_are_blind_to_it(learner: LearnerName, views: str) -> None:
    data = planted(0, 300, 0.6)
    _, stack, _ = learnt(data, learner, views, num_folds=3)
    before = stack.calls[-1].views[1]
    fold = fold_of(stack, stack.calls[1:-1])
    number = stack.sets.number
    owner = fold[stack.sets.hyperedge_index[1]]
    for each in range(3):
        other = moved_anchor(data, data.train_mask & (fold[number] == each))
        _, twin, _ = learnt(other, learner, views, num_folds=3)
        after = twin.calls[-1].views[1]
        assert torch.equal(after[owner == each], before[owner == each])
        for rest in {-1, 0, 1, 2} - {each}:
            assert not torch.equal(after[owner == rest], before[owner == rest])


def test_worth_of_predictions_is_learnt_blind(monkeypatch: pytest.MonkeyPatch) -> None:
    data = planted(0, 300, 0.6)
    beliefs: list[Tensor] = []

    def spy(sets: Any, known: KnownSets, belief: Tensor) -> float:
        beliefs.append(belief)
        return 1.0

    monkeypatch.setattr(module, 'copy_prior', spy)
    _, stack, _ = learnt(data)
    number = stack.sets.number
    several = data.train_mask & data.choice_mask & (stack.sets.copies[number] > 1)
    own = number[several.nonzero()[0]]
    learnt(moved_anchor(data, data.train_mask & (number == own)))
    row = stack.sets.hyperedge_index[1] == own
    assert torch.equal(beliefs[0][row], beliefs[1][row])
    assert not torch.equal(beliefs[0], beliefs[1])


def test_known_anchors_that_tell_nothing() -> None:
    # Views of shuffled anchors are worth no more than none at all, and do no harm.
    gain = []
    for seed in range(6):
        data = planted(seed, 500)
        shuffled = shuffled_anchors(data, seed)
        found = []
        for views in ('A', VIEWS):
            stack = stack_of(data, views)
            known = known_of(stack, data, shuffled)
            passes = StackedPasses('mlp', views, 3, 0)
            run(passes.learn(stack, known, *stack.labels(data['y'], data.train_mask)))
            # The beliefs of the last pass: with 'A' there is one.
            score = passes.result.column[:, 1][stack.units.place]
            accuracy = AnchorEvaluator().eval(score, data, data.test_mask)['accuracy']
            found.append(accuracy)
        gain.append(found[1] - found[0])
    value = torch.tensor(gain, dtype=torch.double)
    error = float(value.std()) / len(gain) ** 0.5
    assert abs(float(value.mean())) < 3 * error
    assert error < 0.03


# Tables without unknown groups #####################################################


def all_known(data: AnchorData) -> AnchorData:
    out: AnchorData = data.clone()
    out.train_mask = torch.ones_like(data.train_mask)
    return out


def forgotten_sets(data: AnchorData) -> Tensor:
    stack = stack_of(data)
    _, weight = stack.labels(data['y'], data.train_mask)
    return StackedPasses('mlp', VIEWS, 2, 0)._forgotten(stack, weight)


def test_records_are_forgotten_if_all_groups_are_known() -> None:
    data = planted()
    assert not forgotten_sets(data).any()
    share = float(forgotten_sets(all_known(data)).double().mean())
    assert share == pytest.approx(0.5, abs=0.1)


def test_single_members_are_no_unknown_groups() -> None:
    data = all_known(planted())
    index, size = data.hyperedge_index, data.num_hyperedges
    extra = torch.arange(size, dtype=torch.long)
    more = AnchorData(
        torch.cat([index, torch.stack([extra % int(data.num_nodes), extra + size])], 1),
        num_nodes=data.num_nodes,
        num_hyperedges=2 * size,
        y=torch.cat([data['y'], torch.ones(size, dtype=torch.bool)]),
        incidence_attr=torch.cat([data.incidence_attr, data.incidence_attr[:size]]),
        # As 'RandomHyperedgeSplit' leaves them out.
        train_mask=torch.arange(2 * size) < size,
    )
    assert forgotten_sets(more).any()


def test_forgotten_rows_have_no_records() -> None:
    data = all_known(planted())
    _, stack, _ = learnt(data)
    forgotten = forgotten_sets(data)[stack.sets.hyperedge_index[1]]
    nothing = known_of(stack, data).without(
        torch.ones(stack.sets.num_sets, dtype=torch.bool), stack.sets
    )
    blank, full = stack.views(nothing), stack.views(known_of(stack, data))
    first, last = stack.calls[0], stack.calls[-1]
    for view in (first.views[0], last.views[0]):
        assert torch.equal(view[forgotten], blank[forgotten])
        assert torch.equal(view[~forgotten], full[~forgotten])
    assert len(last.views) == 2
