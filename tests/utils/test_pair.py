from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.strategies import SETTINGS, Groups, groupings, to_index
from tgx_anchor.utils import MemberPairs, member_pairs

Pairs = list[tuple[int, int]]


def slow_pairs(groups: Groups, max_size: int) -> Pairs:
    # Ordered pairs of incidences of different members of the same hyperedge.
    out, begin = [], 0
    for group in groups:
        places = range(begin, begin + len(group))
        if len(group) <= max_size:
            out += list(permutations(places, 2))
        begin += len(group)
    return out


def listed(block: MemberPairs) -> Pairs:
    return list(zip(block.first.tolist(), block.second.tolist(), strict=True))


def joined(blocks: list[MemberPairs]) -> list[list[int]]:
    # All blocks as one.
    out: list[list[int]] = [[], [], [], [], []]
    for block in blocks:
        pair = block.pair + len(out[3])
        parts = (block.first, block.second, pair, *block.node)
        for held, part in zip(out, parts, strict=True):
            held += part.tolist()
    return out


@SETTINGS
@given(groupings(), st.integers(1, 8))
def test_all_pairs(drawn: tuple[Groups, int], max_size: int) -> None:
    groups, num_nodes = drawn
    index = to_index(groups)
    before = index.clone()
    blocks = list(member_pairs(index, num_nodes, len(groups), max_size))
    assert len(blocks) <= 1
    found = [pair for block in blocks for pair in listed(block)]
    assert sorted(found) == slow_pairs(groups, max_size)
    assert torch.equal(index, before)


@SETTINGS
@given(groupings(), st.integers(1, 60))
def test_pairs_of_nodes(drawn: tuple[Groups, int], size: int) -> None:
    groups, num_nodes = drawn
    index = to_index(groups)
    for block in member_pairs(index, num_nodes, len(groups), 7, size):
        nodes = torch.stack([index[0, block.first], index[0, block.second]])
        assert torch.equal(block.node[:, block.pair], nodes)
        # Each pair of nodes once, in order.
        pairs = list(map(tuple, nodes.t().tolist()))
        assert list(map(tuple, block.node.t().tolist())) == sorted(set(pairs))


@SETTINGS
@given(groupings(), st.integers(1, 60))
def test_equal_first_incidences_follow_each_other(
    drawn: tuple[Groups, int], size: int
) -> None:
    groups, num_nodes = drawn
    index = to_index(groups)
    blocks = list(member_pairs(index, num_nodes, len(groups), 7, size))
    first = torch.tensor(joined(blocks)[0], dtype=torch.long)
    runs = torch.unique_consecutive(first)
    assert runs.numel() == torch.unique(first).numel()
    node = index[0, runs]
    assert node.tolist() == sorted(node.tolist())


@SETTINGS
@given(groupings(), st.integers(1, 60), st.integers(2, 7))
def test_blocks(drawn: tuple[Groups, int], size: int, max_size: int) -> None:
    groups, num_nodes = drawn
    index = to_index(groups)
    sizes = (num_nodes, len(groups), max_size)
    blocks = list(member_pairs(index, *sizes, size))
    assert joined(blocks) == joined(list(member_pairs(index, *sizes)))

    pairs = slow_pairs(groups, max_size)
    node = index[0].tolist()
    of_node = [sum(node[i] == v for i, _ in pairs) for v in range(num_nodes)]
    owners = [set(index[0, block.first].tolist()) for block in blocks]
    # All pairs of a first node are in one block.
    assert sum(map(len, owners)) == sum(n > 0 for n in of_node)
    for block, nodes in zip(blocks, owners, strict=True):
        count = block.first.numel()
        assert count == sum(of_node[v] for v in nodes) > 0
        assert count <= size + of_node[min(nodes)]
    assert len(blocks) <= -(-len(pairs) // size)


@SETTINGS
@given(groupings(), st.data())
def test_order_of_hyperedges_does_not_matter(
    drawn: tuple[Groups, int], draw: st.DataObject
) -> None:
    groups, num_nodes = drawn
    other = [draw.draw(st.permutations(g)) for g in groups]
    other = draw.draw(st.permutations(other))
    name = draw.draw(st.permutations(range(num_nodes)))

    def counts(groups: Groups) -> dict[tuple[int, int], int]:
        out: dict[tuple[int, int], int] = {}
        for block in member_pairs(to_index(groups), num_nodes, len(groups), 5, 6):
            times = torch.bincount(block.pair)
            for (v, u), n in zip(block.node.t().tolist(), times.tolist(), strict=True):
                assert (v, u) not in out
                out[v, u] = n
        return out

    expected = {(name[v], name[u]): n for (v, u), n in counts(groups).items()}
    assert counts([[name[v] for v in g] for g in other]) == expected


def test_by_hand(device: torch.device) -> None:
    # The incidences of 3 are 0 and 6, those of 1 are 1, 3 and 5.
    groups = [[3, 1], [2], [1, 0], [], [1, 3]]
    index = to_index(groups).to(device)
    (block,) = member_pairs(index, 4, 5, 64)
    assert all(part.device.type == device.type for part in block)
    assert listed(block) == [(4, 3), (1, 0), (3, 4), (5, 6), (0, 1), (6, 5)]
    assert block.node.tolist() == [[0, 1, 1, 3], [1, 0, 3, 1]]
    assert block.pair.tolist() == [0, 2, 1, 2, 3, 3]


def test_blocks_by_hand() -> None:
    # Nodes 0 to 5 have 4, 3, 2, 1, 1 and 1 pairs.
    index = to_index([[0, 1, 2], [0, 3], [1, 0], [4, 5]])

    def firsts(size: int) -> list[list[int]]:
        blocks = member_pairs(index, 6, 4, 3, size)
        return [torch.unique(index[0, block.first]).tolist() for block in blocks]

    # The last pairs of the nodes have the numbers 4, 7, 9, 10, 11 and 12.
    assert firsts(100) == [[0, 1, 2, 3, 4, 5]]
    assert firsts(12) == [[0, 1, 2, 3, 4, 5]]
    assert firsts(11) == [[0, 1, 2, 3, 4], [5]]
    assert firsts(7) == [[0, 1], [2, 3, 4, 5]]
    assert firsts(5) == [[0], [1, 2, 3], [4, 5]]
    assert firsts(1) == [[0], [1], [2], [3], [4], [5]]


@pytest.mark.parametrize('max_size', [2, 64, 882])
def test_large_hyperedges_are_not_listed(max_size: int) -> None:
    groups = [[0, 1], list(range(883)), [882, 5, 7]]
    blocks = list(member_pairs(to_index(groups), 883, 3, max_size))
    assert sum(block.first.numel() for block in blocks) == (2 if max_size == 2 else 8)


def test_the_limit_is_listed() -> None:
    (block,) = member_pairs(to_index([list(range(64)), list(range(65))]), 65, 2, 64)
    assert block.first.numel() == 64 * 63


def test_many_nodes() -> None:
    # The square of the number of nodes is just below the largest integer.
    num_nodes = 3_037_000_499
    last = num_nodes - 1
    (block,) = member_pairs(to_index([[last, 0], [last - 1, last]]), num_nodes, 2, 2)
    assert block.node.tolist() == [[0, last - 1, last, last], [last, last, 0, last - 1]]
    assert listed(block) == [(1, 0), (2, 3), (0, 1), (3, 2)]


@pytest.mark.parametrize(
    'groups', [[], [[]], [[], []], [[0]], [[0], [1], [0], []], [[0, 1, 2]]]
)
def test_no_pairs(groups: Groups) -> None:
    num_nodes = 3 if any(groups) else 0
    assert list(member_pairs(to_index(groups), num_nodes, len(groups), 2)) == []


@settings(SETTINGS, max_examples=10)
@given(groupings(), st.integers(1, 30))
def test_second_device(drawn: tuple[Groups, int], size: int) -> None:
    groups, num_nodes = drawn
    index = to_index(groups)
    sizes = (num_nodes, len(groups), 5, size)
    expected = list(member_pairs(index, *sizes))
    with second_device() as device:
        blocks = list(member_pairs(index.to(device), *sizes))
        assert all(part.device == device for block in blocks for part in block)
    parts = [part.cpu() for block in blocks for part in block]
    held: list[Tensor] = [part for block in expected for part in block]
    assert len(parts) == len(held)
    assert all(torch.equal(a, b) for a, b in zip(parts, held, strict=True))
