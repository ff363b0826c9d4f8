"""Node sets with known anchors, in tensors and in plain Python."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from hypothesis import strategies as st
from torch import Tensor

from tests.strategies import groupings, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.known_sets import KnownSets, known_sets
from tgx_anchor.utils import NodeSets, node_sets


class Group(NamedTuple):
    """A hyperedge, with its known anchors, none if they are unknown."""

    members: frozenset[int]
    anchors: frozenset[int]


@contextmanager
def double() -> Iterator[None]:
    """Computes in double precision."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.double)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@st.composite
def labelled(
    draw: st.DrawFn,
    max_nodes: int = 6,
    max_hyperedges: int = 8,
    max_anchors: int = 6,
    repeated_members: bool = False,
) -> tuple[AnchorData, Tensor]:
    """A hypergraph, and those of its hyperedges whose anchors are known: repeated
    groups with different anchors, groups of several anchors, singletons and empty
    groups are among them.
    """
    groups, num_nodes = draw(
        groupings(0, max_nodes, max_hyperedges, repeated_members=repeated_members)
    )
    anchors = [draw(anchor_sets(group, max_anchors)) for group in groups]
    size = len(groups)
    chosen = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    data = to_data(groups, num_nodes, anchors)
    return data, torch.tensor(chosen, dtype=torch.bool) & data.known_mask


@st.composite
def anchor_sets(
    draw: st.DrawFn, group: list[int], max_anchors: int, min_anchors: int = 1
) -> list[int]:
    """Some members, one if there are any."""
    members = draw(st.permutations(sorted(set(group))))
    # Mostly one: a large number of anchors is rare.
    most = min(len(members), max_anchors)
    count = draw(st.sampled_from([min_anchors, 1, 1, 2, 3]))
    return list(members[: min(max(count, min_anchors), most)])


def size(data: AnchorData) -> int:
    return int(data.num_nodes or 0)


def sets_of(data: AnchorData) -> NodeSets:
    return node_sets(data.hyperedge_index, size(data), data.num_hyperedges)


def known_of(data: AnchorData, mask: Tensor) -> KnownSets:
    return known_sets(sets_of(data), data.hyperedge_index, data['y'], mask)


def listed(data: AnchorData, mask: Tensor) -> list[Group]:
    """The groups in plain Python."""
    members: list[set[int]] = [set() for _ in range(data.num_hyperedges)]
    anchors: list[set[int]] = [set() for _ in range(data.num_hyperedges)]
    flags = data['y'].tolist()
    for (node, e), flag in zip(data.hyperedge_index.t().tolist(), flags, strict=True):
        members[e].add(node)
        if flag and mask[e]:
            anchors[e].add(node)
    return [
        Group(frozenset(m), frozenset(a)) for m, a in zip(members, anchors, strict=True)
    ]


def rows(sets: NodeSets) -> list[tuple[int, frozenset[int]]]:
    """The node and the whole set of each row."""
    pairs = sets.hyperedge_index.t().tolist()
    members: list[set[int]] = [set() for _ in range(sets.num_sets)]
    for node, number in pairs:
        members[number].add(node)
    return [(node, frozenset(members[number])) for node, number in pairs]


def random_beliefs(sets: NodeSets, seed: int = 0) -> Tensor:
    """Numbers that sum to one in each set."""
    generator = torch.Generator().manual_seed(seed)
    value = torch.rand(sets.num_rows, generator=generator, dtype=torch.double) + 0.01
    return value / sets.total(value)[sets.hyperedge_index[1]]
