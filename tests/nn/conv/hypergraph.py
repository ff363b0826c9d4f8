"""A hypergraph with everything that is legal in it, as layers see it."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tests.strategies import to_index
from tgx_anchor.data import HyperedgeIndex

# Repeated groups, repeated members, a singleton, an empty group at the end and within,
# and the isolated nodes 4 and 9.
GROUPS = [
    [0, 1, 2],
    [3, 1],
    [0, 1, 2],
    [5],
    [],
    [2, 2, 6],
    [7, 8, 6, 0, 1],
    [8, 8],
    [1, 3],
    [],
]
NUM_NODES = 10


@dataclass
class Hypergraph:
    """Incidences, with the degrees and sizes that a layer may be given."""

    index: Tensor
    num_nodes: int
    num_hyperedges: int
    degree: Tensor
    size: Tensor
    drawn: Tensor

    def members(self, hyperedge: int) -> list[int]:
        """The nodes of a hyperedge."""
        return self.index[0][self.index[1] == hyperedge].tolist()

    def hyperedges(self, node: int, drawn: bool = True) -> list[int]:
        """The hyperedges of a node, the drawn ones only or all."""
        chosen = self.index[0] == node
        return self.index[1][chosen & self.drawn if drawn else chosen].tolist()

    def tell(self, *names: str) -> HyperedgeIndex:
        """The index, with everything or only some of it told."""
        told: dict[str, Any] = {
            'node_degree': self.degree,
            'hyperedge_size': self.size,
            'drawn_mask': self.drawn,
        }
        chosen = {name: told[name] for name in names or told}
        return HyperedgeIndex(self.index, self.num_nodes, self.num_hyperedges, **chosen)


def whole() -> Hypergraph:
    """All groups, and everything drawn."""
    index = to_index(GROUPS)
    count = Counter(index[0].tolist())
    return Hypergraph(
        index,
        NUM_NODES,
        len(GROUPS),
        torch.tensor([count[v] for v in range(NUM_NODES)]),
        torch.tensor([len(group) for group in GROUPS]),
        torch.ones(index.size(1), dtype=torch.bool),
    )


def part() -> Hypergraph:
    """The same as a batch: degrees and sizes of something larger, and few drawn."""
    graph = whole()
    graph.degree = graph.degree + torch.arange(NUM_NODES) % 3
    graph.size = graph.size + torch.arange(len(GROUPS)) % 2
    graph.drawn = torch.arange(graph.drawn.numel()) % 3 != 1
    # Node 5 is only in one group, and receives nothing.
    graph.drawn[graph.index[0] == 5] = False
    return graph


def features(rows: int, channels: int, seed: int = 0) -> Tensor:
    """Random numbers in double precision."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, channels, generator=generator, dtype=torch.double)


def total(rows: list[Tensor], channels: int) -> Tensor:
    """A sum that may be empty."""
    return sum(rows, torch.zeros(channels, dtype=torch.double))
