import pytest
import torch

from tests.explain.hypergraph import GROUPS, Given, radar_with_strengths, small
from tests.strategies import to_data
from tgx_anchor.explain.known_groups import KnownGroups
from tgx_anchor.nn import DegreeHeuristic


def test_counts_and_examples() -> None:
    data = small()
    known = KnownGroups(DegreeHeuristic().fit(data), data)
    assert [known.count(i) for i in range(5)] == [
        (2, 1),
        (0, 1),
        (0, 1),
        (1, 0),
        (0, 0),
    ]
    assert known.examples(0, anchored=True) == ('g1', 'g2')
    assert known.examples(0, anchored=False) == ('g3',)
    assert known.examples(0, anchored=True, without='g1') == ('g2',)
    assert known.examples(4, anchored=True) == ()
    assert known.known_mask.tolist() == [False, True, True, True] + [False] * 4
    assert known.hypergraph.num_hyperedges == 3


def test_at_most_three_examples() -> None:
    data = to_data([[0, i] for i in range(1, 6)], 6, [[0]] * 5)
    known = KnownGroups(DegreeHeuristic().fit(data), data)
    assert known.count(0) == (5, 0)
    # Without ids, groups are named by their numbers.
    assert known.examples(0, anchored=True) == ('0', '1', '2')


def test_train_mask_hides_other_anchors() -> None:
    data = small()
    data.train_mask = torch.tensor([False, True] + [False] * 6)
    known = KnownGroups(DegreeHeuristic().fit(data), data)
    assert known.count(0) == (1, 0)
    assert known.count(3) == (0, 0)


def test_no_labels() -> None:
    data = to_data(GROUPS, 5)
    known = KnownGroups(Given(torch.ones(14)), data)
    assert known.count(0) == (0, 0)
    assert known.hypergraph.num_hyperedges == 0


def test_remembered_groups_count() -> None:
    data = small()
    model = radar_with_strengths(data, [1.0, 0.0, 0.0, 0.0, 0.0])
    later = to_data([[1, 0], [0, 2]], 3, [[], [1]])
    later.y = torch.tensor([False, False, False, True])
    later.node_id = ['bob', 'ann', 'zoe']
    later.hyperedge_id = ['h0', 'h1']
    known = KnownGroups(model, later)
    # ann has two old groups that she anchors, and one that she does not.
    assert known.count(1) == (2, 1)
    assert known.examples(1, anchored=True) == ('g1', 'g2')
    # The new known group counts for bob and zoe.
    assert known.count(0) == (0, 2)
    assert known.count(2) == (1, 0)
    assert known.known_mask.tolist() == [False, True]
    # Of old groups, only the one whose members are all here can be compared.
    assert known.hypergraph.num_hyperedges == 2


def test_other_people_bring_nothing() -> None:
    data = small()
    model = radar_with_strengths(data, [1.0, 0.0, 0.0, 0.0, 0.0])
    known = KnownGroups(model, data, same_people=False)
    assert known.count(0) == (0, 0)
    with pytest.raises(IndexError):
        known.count(5)
