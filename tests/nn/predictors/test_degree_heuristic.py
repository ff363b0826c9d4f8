from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.devices import second_device
from tests.strategies import (
    SETTINGS,
    by_group,
    hypergraphs,
    one_line_error,
    renamings,
    to_data,
    to_groups,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import AnchorDataset
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import DegreeHeuristic
from tgx_anchor.transforms import RandomHyperedgeSplit


def learnable() -> st.SearchStrategy[AnchorData]:
    return hypergraphs(2, max_anchors=1).filter(
        lambda data: bool((data.known_mask & data.choice_mask).any())
    )


def slow_sign(data: AnchorData) -> int:
    # The share of right guesses, where copies of a group share one vote.
    groups = to_groups(data)
    flags = by_group(data, data['y'])
    degree = Counter(v for group in groups for v in group)
    used = [e for e, row in enumerate(flags) if any(row) and not all(row)]
    copies = Counter(frozenset(groups[e]) for e in used)
    votes = {1: Fraction(0), -1: Fraction(0)}
    for e in used:
        anchor = groups[e][flags[e].index(True)]
        for sign in votes:
            best = max(sign * degree[v] for v in groups[e])
            tied = [v for v in groups[e] if sign * degree[v] == best]
            if anchor in tied:
                votes[sign] += Fraction(1, copies[frozenset(groups[e])] * len(tied))
    return 1 if votes[1] >= votes[-1] else -1


@SETTINGS
@given(learnable())
def test_by_definition(data: AnchorData) -> None:
    model = DegreeHeuristic()
    assert model.fit(data) is model
    sign = slow_sign(data)
    assert int(model.sign) == sign
    groups = to_groups(data)
    degree = Counter(v for group in groups for v in group)
    proba = model.predict_proba(data)
    for group, row in zip(groups, by_group(data, proba), strict=True):
        weight = [float(degree[v]) ** sign for v in group]
        assert row == pytest.approx([w / sum(weight) for w in weight], rel=1e-5)
        if group:
            assert sum(row) == pytest.approx(1, rel=1e-5)


@SETTINGS
@given(learnable(), st.data())
def test_names_do_not_matter(data: AnchorData, draw: st.DataObject) -> None:
    other = draw.draw(renamings(data))
    model, twin = DegreeHeuristic().fit(data), DegreeHeuristic().fit(other.data)
    assert model.sign == twin.sign
    torch.testing.assert_close(
        twin.predict_proba(other.data), other.incidences(model.predict_proba(data))
    )


def test_sign(device: torch.device) -> None:
    groups = [[0, 1], [0, 2], [0, 3], [4, 5]]
    data = to_data(groups, 6, [[0], [0], [3], [4]]).to(device)
    model = DegreeHeuristic().to(device).fit(data)
    assert repr(model) == 'DegreeHeuristic(sign=+1, seed=0)'
    expected = [3 / 4, 1 / 4, 3 / 4, 1 / 4, 3 / 4, 1 / 4, 1 / 2, 1 / 2]
    torch.testing.assert_close(model.predict_proba(data).cpu(), torch.tensor(expected))
    assert model.predict(data)[:3].tolist() == [0, 0, 0]
    data.train_mask = torch.tensor([False, False, True, True], device=device)
    model.fit(data)
    assert repr(model) == 'DegreeHeuristic(sign=-1, seed=0)'
    expected = [1 / 4, 3 / 4, 1 / 4, 3 / 4, 1 / 4, 3 / 4, 1 / 2, 1 / 2]
    torch.testing.assert_close(model.predict_proba(data).cpu(), torch.tensor(expected))
    assert model.predict(data)[:3].tolist() == [1, 2, 3]


def test_copies_of_a_group_share_one_vote() -> None:
    # Five copies speak for the member of fewer groups, two groups for the other.
    groups = [[0, 1]] * 5 + [[0, 2], [3, 0]]
    data = to_data(groups, 4, [[1]] * 5 + [[0], [0]])
    assert DegreeHeuristic().fit(data).sign == 1
    # Only copies that are learned from count; of the others nothing is known.
    data.train_mask = torch.tensor([False] * 4 + [True] * 3)
    assert DegreeHeuristic().fit(data).sign == 1
    data.train_mask[5:] = False
    assert DegreeHeuristic().fit(data).sign == -1


def test_equal_votes_are_equal_in_any_order() -> None:
    # Three thirds on one side, a whole on the other, and so on.
    for copies in (1, 3, 6, 7, 11, 49):
        groups = [[0, 1]] * copies + [[0, 2]]
        data = to_data(groups, 3, [[1]] * copies + [[0]])
        assert DegreeHeuristic().fit(data).sign == 1
        data = to_data(groups[::-1], 3, [[2]] + [[0]] * copies)
        assert DegreeHeuristic().fit(data).sign == 1


def test_k_and_ties() -> None:
    data = to_data([[0, 1, 2], [0, 1], [0], [3, 4], []], 5, [[0], [0], [], [], []])
    model = DegreeHeuristic(seed=1).fit(data)
    assert model.predict(data, k=3).tolist()[:3] == [[0, 1, 2], [0, 1, -1], [0, -1, -1]]
    assert model.predict(data, k=3).tolist()[4] == [-1, -1, -1]
    draws = {int(DegreeHeuristic(s).fit(data).predict(data)[3]) for s in range(20)}
    assert draws == {3, 4}
    assert torch.equal(model.predict(data), model.predict(data))


def test_must_be_fitted_first() -> None:
    data = to_data([[0, 1]], 2, [[0]])
    for predict in (DegreeHeuristic().predict, DegreeHeuristic().predict_proba):
        with one_line_error('DegreeHeuristic', 'fitted'):
            predict(data)
    assert repr(DegreeHeuristic()) == 'DegreeHeuristic(sign=+0, seed=0)'
    with one_line_error("'data.y'"):
        DegreeHeuristic().fit(to_data([[0, 1]], 2))


def test_sign_is_saved() -> None:
    data = to_data([[0, 1], [0, 2]], 3, [[1], [2]])
    model = DegreeHeuristic().fit(data)
    twin = DegreeHeuristic()
    twin.load_state_dict(model.state_dict())
    assert torch.equal(twin.predict_proba(data), model.predict_proba(data))
    assert int(twin.sign) == -1


def test_second_device() -> None:
    data = to_data([[0, 1], [0, 2], [1, 2, 3], []], 4, [[1], [2], [3], []])
    expected = DegreeHeuristic().fit(data)
    proba, best = expected.predict_proba(data), expected.predict(data)
    with second_device() as device:
        moved = data.clone().to(device)
        model = DegreeHeuristic().to(device).fit(moved)
        assert model.predict_proba(moved).device == device
        assert torch.equal(model.predict_proba(moved).cpu(), proba)
        assert torch.equal(model.predict(moved).cpu(), best)


@pytest.mark.mirror
@pytest.mark.parametrize(
    ('name', 'accuracy'),
    [
        ('qaBI', 76.1),
        ('qaPH', 77.2),
        ('emEU', 49.0),
        ('coDB_first', 42.5),
        ('coDB_last', 45.6),
    ],
)
def test_published_data(
    mirror: Path, tmp_path: Path, name: str, accuracy: float
) -> None:
    data = RandomHyperedgeSplit(num_splits=5)(AnchorDataset(name, root=tmp_path)[0])
    found = []
    for split in range(5):
        part = data.clone()
        part.train_mask = data.train_mask[:, split]
        model = DegreeHeuristic().fit(part)
        score = model.predict_proba(data)
        out = AnchorEvaluator().eval(score, data, data.test_mask[:, split])
        found.append(100 * out['accuracy'])
    assert sum(found) / 5 == pytest.approx(accuracy, abs=0.3)
