"""Random small hypergraphs, and slow ways to what the package computes fast."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal, localcontext

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor

from tgx_anchor.data import AnchorData

Groups = list[list[int]]
SETTINGS = settings(max_examples=50, deadline=None)


@contextmanager
def one_line_error(*names: str) -> Iterator[None]:
    """Expects a :class:`ValueError` of one line that names all of `names`."""
    with pytest.raises(ValueError, match=re.escape(names[0])) as info:
        yield
    assert '\n' not in str(info.value)
    assert all(name in str(info.value) for name in names)


# Groups as lists, and back #######################################################


def to_index(groups: Iterable[Iterable[int]]) -> Tensor:
    """The incidences of groups given as lists of members."""
    pairs = [(node, e) for e, group in enumerate(groups) for node in group]
    return torch.tensor(pairs, dtype=torch.long).view(-1, 2).t().contiguous()


def to_data(
    groups: Sequence[Sequence[int]],
    num_nodes: int,
    anchors: Sequence[Iterable[int]] | None = None,
) -> AnchorData:
    """A hypergraph of groups, with `y` where the anchors of each are given."""
    y = None
    if anchors is not None:
        flags = [v in a for g, a in zip(groups, anchors, strict=True) for v in g]
        y = torch.tensor(flags, dtype=torch.bool)
    return AnchorData(
        hyperedge_index=to_index(groups),
        num_nodes=num_nodes,
        num_hyperedges=len(groups),
        y=y,
    )


def to_groups(data: AnchorData) -> Groups:
    """The members of each hyperedge, in the order of their incidences."""
    groups: Groups = [[] for _ in range(data.num_hyperedges)]
    for node, hyperedge in data.hyperedge_index.t().tolist():
        groups[hyperedge].append(node)
    return groups


def by_group(data: AnchorData, value: Tensor) -> list[list[float]]:
    """The values of the incidences of each hyperedge."""
    rows: list[list[float]] = [[] for _ in range(data.num_hyperedges)]
    for hyperedge, entry in zip(
        data.hyperedge_index[1].tolist(), value.tolist(), strict=True
    ):
        rows[hyperedge].append(entry)
    return rows


# Random hypergraphs ##############################################################


@st.composite
def groupings(
    draw: st.DrawFn,
    min_nodes: int = 0,
    max_nodes: int = 7,
    max_hyperedges: int = 8,
    repeated_members: bool = False,
) -> tuple[Groups, int]:
    """Groups with their number of nodes: repeated groups, singletons, empty groups
    and isolated nodes among them.
    """
    num_nodes = draw(st.integers(min_nodes, max_nodes))
    order = draw(st.permutations(range(num_nodes)))
    # The digits of one number say how often a group lists each node: unlike lists,
    # which are mostly short, all groups are then equally likely.
    base = 3 if repeated_members else 2
    code = st.integers(0, base**num_nodes - 1)
    pool = [
        [v for v in order for _ in range(digits // base**v % base)]
        for digits in draw(st.lists(code, min_size=1, max_size=5))
    ]
    # A second draw in place of a zero, which would come too often.
    count = draw(st.integers(0, max_hyperedges)) or draw(st.integers(0, max_hyperedges))
    chosen = draw(st.lists(st.sampled_from(pool), min_size=count, max_size=count))
    return [g[:: draw(st.sampled_from([1, -1]))] for g in chosen], num_nodes


@st.composite
def incidences(draw: st.DrawFn, min_nodes: int = 0) -> tuple[Tensor, Groups, int]:
    """Incidences in any order, with their groups, which may list a member several
    times, and the number of nodes.
    """
    groups, num_nodes = draw(groupings(min_nodes, 6, 6, repeated_members=True))
    index = to_index(groups)
    order = draw(st.permutations(range(index.size(1))))
    return index[:, torch.tensor(order, dtype=torch.long)], groups, num_nodes


@st.composite
def hypergraphs(
    draw: st.DrawFn,
    min_nodes: int = 0,
    max_nodes: int = 7,
    max_hyperedges: int = 8,
    min_anchors: int = 0,
    max_anchors: int | None = None,
) -> AnchorData:
    """A small :class:`AnchorData` with `y`.

    Repeated groups, singletons, empty groups, isolated nodes, groups without a known
    anchor and groups of several anchors are among them, where the bounds allow.
    """
    groups, num_nodes = draw(groupings(min_nodes, max_nodes, max_hyperedges))
    anchors = []
    for group in groups:
        most = len(group) if max_anchors is None else min(max_anchors, len(group))
        count = draw(st.integers(min(min_anchors, most), most))
        start = draw(st.integers(0, max(len(group) - 1, 0)))
        anchors.append((group[start:] + group[:start])[:count])
    return to_data(groups, num_nodes, anchors)


@st.composite
def scored_hypergraphs(
    draw: st.DrawFn, max_nodes: int = 5, min_anchors: int = 1
) -> tuple[AnchorData, Tensor]:
    """A hypergraph with at least one group to find the anchors of, and a score, often
    tied, for each incidence.
    """
    data = draw(
        hypergraphs(2, max_nodes, min_anchors=min_anchors).filter(
            lambda data: bool((data.known_mask & data.choice_mask).any())
        )
    )
    size = data.num_incidences
    values = st.sampled_from([-2.5, -1.0, 0.0, 0.5, 3.0])
    score = draw(st.lists(values, min_size=size, max_size=size))
    return data, torch.tensor(score)


class Renaming:
    """The same hypergraph under other names.

    Args:
        data: The hypergraph.
        node: The new number of each node.
        hyperedge: The new number of each hyperedge.
        shuffle: An order of the incidences, which decides the one inside hyperedges.
    """

    def __init__(
        self,
        data: AnchorData,
        node: Sequence[int],
        hyperedge: Sequence[int],
        shuffle: Sequence[int],
    ) -> None:
        self.node = torch.tensor(node, dtype=torch.long)
        self.hyperedge = torch.tensor(hyperedge, dtype=torch.long)
        order = torch.tensor(shuffle, dtype=torch.long)
        old_node, old_hyperedge = data.hyperedge_index[:, order]
        index = torch.stack([self.node[old_node], self.hyperedge[old_hyperedge]])
        by_hyperedge = torch.argsort(index[1], stable=True)
        self.incidence = order[by_hyperedge]
        self.data = AnchorData(
            hyperedge_index=index[:, by_hyperedge],
            num_nodes=data.num_nodes,
            num_hyperedges=data.num_hyperedges,
        )
        if data.get('y') is not None:
            self.data.y = data['y'][self.incidence]

    def nodes(self, value: Tensor) -> Tensor:
        """Values per node of the old hypergraph, in the order of the new one."""
        return value[torch.argsort(self.node)]

    def hyperedges(self, value: Tensor) -> Tensor:
        """Values per hyperedge of the old one, in the order of the new one."""
        return value[torch.argsort(self.hyperedge)]

    def incidences(self, value: Tensor) -> Tensor:
        """Values per incidence of the old one, in the order of the new one."""
        return value[self.incidence]


@st.composite
def renamings(draw: st.DrawFn, data: AnchorData) -> Renaming:
    """The hypergraph with nodes, hyperedges and incidences in another order."""
    return Renaming(
        data,
        draw(st.permutations(range(int(data.num_nodes or 0)))),
        draw(st.permutations(range(data.num_hyperedges))),
        draw(st.permutations(range(data.num_incidences))),
    )


# Centralities, to fifty digits ###################################################


def clique_weights(groups: Groups, num_nodes: int) -> list[list[int]]:
    """The clique expansion: how often two nodes meet, multiplicities multiplied."""
    weight = [[0] * num_nodes for _ in range(num_nodes)]
    for group in groups:
        count = Counter(group)
        for u in count:
            for v in count:
                if u != v:
                    weight[u][v] += count[u] * count[v]
    return weight


def slow_eigenvector(
    weight: list[list[int]], max_iter: int = 100, tol: float = 1e-6
) -> list[float]:
    """The shifted power iteration from `1 / N` on a dense matrix."""
    num_nodes = len(weight)
    with localcontext(prec=50):
        x = [Decimal(1) / num_nodes for _ in weight]
        for _ in range(max_iter):
            last = x
            x = [
                x[v] + sum((x[u] * w for u, w in enumerate(row)), Decimal(0))
                for v, row in enumerate(weight)
            ]
            norm = sum((a * a for a in x), Decimal(0)).sqrt()
            x = [a / norm for a in x]
            if sum(abs(a - b) for a, b in zip(x, last, strict=True)) < Decimal(tol):
                break
        return [float(a) for a in x]


def slow_pagerank(
    weight: list[list[int]],
    damping: float = 0.85,
    max_iter: int = 100,
    tol: float = 1e-6,
) -> list[float]:
    """A random walk along the weights, which starts anew now and then."""
    num_nodes = len(weight)
    with localcontext(prec=50):
        follow = Decimal(damping)
        strength = [sum(row) for row in weight]
        x = [Decimal(1) / num_nodes for _ in weight]
        for _ in range(max_iter):
            last, x = x, [(1 - follow) / num_nodes for _ in weight]
            for u, row in enumerate(weight):
                for v, w in enumerate(row):
                    if strength[u] == 0:
                        x[v] += follow * last[u] / num_nodes
                    else:
                        x[v] += follow * last[u] * w / strength[u]
            if sum(abs(a - b) for a, b in zip(x, last, strict=True)) < Decimal(tol):
                break
        return [float(a) for a in x]


def slow_coreness(groups: Groups, num_nodes: int) -> list[int]:
    """Peels one node at a time; a group dies with the first member it loses."""
    alive = [list(group) for group in groups]
    core, left, level = [0] * num_nodes, set(range(num_nodes)), 0
    while left:
        count = Counter(v for group in alive for v in group)
        node = min(left, key=lambda v: (count[v], v))
        level = max(level, count[node])
        core[node] = level
        left.remove(node)
        alive = [group for group in alive if node not in group]
    return core


def round_to_bits(value: float, bits: int = 32) -> float:
    """The nearest number with this number of significant bits."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, bits)), exponent - bits)
