import pytest
import torch
from hypothesis import given

from tests.explain.hypergraph import GROUPS, Given, radar_with_strengths, small
from tests.strategies import SETTINGS, hypergraphs, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.explain.known_groups import KnownGroups, SharedGroups
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


# Shared groups ###################################################################


def test_shared_groups_by_hand() -> None:
    groups = [[0, 1, 2], [0, 1], [2, 0], [0, 3], [2, 1, 0], [0, 1, 2, 3], [0, 1, 2]]
    anchors = [[0], [1], [0], [0], [2], [1], []]
    data = to_data(groups, 4, anchors)
    known = KnownGroups(DegreeHeuristic().fit(data), data)
    ((ann, bob),) = known.shared(data, torch.tensor([6]), torch.tensor([[0, 1]]))
    # With 1 or 2, but not with both of them and nobody else: groups 1, 2 and 5.
    assert ann == SharedGroups(3, 1, 2, 1)
    assert bob == SharedGroups(2, 2, 2, 0)
    assert ann.without_one(anchored=True) == SharedGroups(3, 1, 1, 0)
    assert bob.without_one(anchored=False) == SharedGroups(2, 2, 1, 0)
    assert known.num_groups == [7, 5, 5, 2]


def slowly(data: AnchorData, hyperedge: int, node: int) -> SharedGroups:
    groups: list[set[int]] = [set() for _ in range(data.num_hyperedges)]
    anchors: list[set[int]] = [set() for _ in range(data.num_hyperedges)]
    index = data.hyperedge_index.T.tolist()
    for (v, e), is_anchor in zip(index, data['y'].tolist(), strict=True):
        groups[e].add(v)
        if is_anchor:
            anchors[e].add(v)
    out = SharedGroups()
    for group, known in zip(groups, anchors, strict=True):
        # Groups that leave no choice are no evidence.
        if not known or known == group or node not in group:
            continue
        won = node in known
        if group == groups[hyperedge]:
            out = out._replace(
                num_copies=out.num_copies + 1,
                num_anchored_copies=out.num_anchored_copies + won,
            )
        elif len(group & groups[hyperedge]) > 1:
            out = out._replace(
                num_known_here=out.num_known_here + 1,
                num_anchored_here=out.num_anchored_here + won,
            )
    return out


@given(data=hypergraphs())
@SETTINGS
def test_shared_groups_against_a_loop(data: AnchorData) -> None:
    if not data.known_mask.any():
        return
    # Members may be listed twice.
    index = torch.cat([data.hyperedge_index, data.hyperedge_index[:, :1]], dim=1)
    order = torch.argsort(index[1], stable=True)
    y = torch.cat([data['y'], data['y'][:1]])
    twice = AnchorData(
        hyperedge_index=index[:, order],
        num_nodes=data.num_nodes,
        num_hyperedges=data.num_hyperedges,
        y=y[order],
    )
    known = KnownGroups(Given(torch.ones(0)), twice)
    node, hyperedge = data.hyperedge_index
    found = known.shared(twice, hyperedge, torch.stack([node, node.flip(0)], dim=1))
    for e, v, (one, _) in zip(hyperedge.tolist(), node.tolist(), found, strict=True):
        assert one == slowly(data, e, v)


def test_blocks_of_shared_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    data = small()
    known = KnownGroups(DegreeHeuristic().fit(data), data)
    nodes = torch.tensor([[0, 1], [1, 3], [1, 2]])
    arguments = data, torch.tensor([0, 4, 7]), nodes
    whole = known.shared(*arguments)
    monkeypatch.setattr('tgx_anchor.explain.known_groups._BLOCK_GROUPS', 2)
    assert known.shared(*arguments) == whole
    assert whole[0] == [SharedGroups(2, 2, 0, 0), SharedGroups(1, 0, 0, 0)]


def test_shared_groups_of_nobody() -> None:
    data = to_data([[], []], 0, [[], []])
    known = KnownGroups(Given(torch.ones(0)), data)
    nobody = torch.full((2, 2), -1)
    assert known.shared(data, torch.arange(2), nobody) == [[SharedGroups()] * 2] * 2
    data = small()
    known = KnownGroups(DegreeHeuristic().fit(data), data)
    assert known.shared(data, torch.tensor([], dtype=torch.long), nobody[:0]) == []


def test_remembered_groups_are_shared() -> None:
    data = small()
    model = radar_with_strengths(data, [1.0, 0.0, 0.0, 0.0, 0.0])
    later = to_data([[1, 0], [0, 1, 2]], 3, [[], []])
    later.node_id = ['bob', 'ann', 'zoe']
    later.hyperedge_id = ['h0', 'h1']
    known = KnownGroups(model, later)
    nodes = torch.tensor([[1, 0], [1, 0]])
    first, second = known.shared(later, torch.arange(2), nodes)
    # ann anchors the old group g1 of the two.
    assert first == [SharedGroups(0, 0, 1, 1), SharedGroups(0, 0, 1, 0)]
    assert second == [SharedGroups(1, 1, 0, 0), SharedGroups(1, 0, 0, 0)]
