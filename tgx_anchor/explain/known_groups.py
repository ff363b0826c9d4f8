"""Known groups that speak for and against people."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.nn import AnchorModel
from tgx_anchor.nn.predictors.known_anchors import evidence_mask
from tgx_anchor.utils import arange_by_ptr, collapse_incidences

_EXAMPLES = 3
# The number of groups that are compared with all known ones at once.
_BLOCK_GROUPS = 256


class SharedGroups(NamedTuple):
    r"""Known groups that a member of a group shares with its other members, and other
    known groups with the same members.
    """

    num_known_here: int = 0
    num_anchored_here: int = 0
    num_copies: int = 0
    num_anchored_copies: int = 0

    def without_one(self, anchored: bool) -> 'SharedGroups':
        r"""Returns the numbers without one group of the same members.

        Args:
            anchored (bool): Whether the member anchors it.
        """
        return self._replace(
            num_copies=self.num_copies - 1,
            num_anchored_copies=self.num_anchored_copies - anchored,
        )


class KnownGroups:
    r"""The groups with known anchors that a model takes into account for a hypergraph,
    also those that it remembers from other hypergraphs.

    Args:
        model (AnchorModel): The fitted model.
        data (AnchorData): The hypergraph.
        same_people (bool, optional): As in :meth:`AnchorModel.predict_proba`.
            (default: :obj:`None`)
    """

    def __init__(
        self, model: AnchorModel, data: AnchorData, same_people: bool | None = None
    ) -> None:
        memory, number = model.evidence(data, same_people)
        num_nodes, device = int(data.num_nodes or 0), number.device
        people = torch.full((memory.num_people,), -1, device=device)
        people[number] = torch.arange(num_nodes, device=device)
        self._memory, self._people = memory, people
        person, group = people[memory.hyperedge_index[0]], memory.hyperedge_index[1]
        is_same = memory.num_groups == data.num_hyperedges and torch.equal(
            torch.stack([person, group]), data.hyperedge_index
        )
        #: Whether the anchor of each hyperedge of the data is known, (M).
        self.known_mask = memory.known_mask if is_same else evidence_mask(data)
        #: The known groups all of whose members are in the data.
        self.hypergraph = _inside(person, group, memory.y, memory.known_mask, num_nodes)

        names = memory.groups.array().to_pylist()
        if is_same:
            names = [name or str(i) for i, name in enumerate(names)]
        self._names: list[str] = names
        row = (memory.known_mask[group] & (person >= 0)).nonzero().view(-1)
        key = 2 * person[row] + memory.y[row].long()
        order = torch.argsort(key, stable=True)
        self._group = group[row[order]].tolist()
        count = torch.bincount(key, minlength=2 * num_nodes)
        self._ptr = torch.cat([count.new_zeros(1), count.cumsum(0)]).tolist()
        self._missed, self._anchored = count.view(-1, 2).T.tolist()

    def count(self, node: int) -> tuple[int, int]:
        r"""Returns the numbers of known groups that a node anchors, and that it does
        not.

        Args:
            node (int): The number of the node.
        """
        return self._anchored[node], self._missed[node]

    def examples(self, node: int, anchored: bool, without: str = '') -> tuple[str, ...]:
        r"""Returns the ids of at most three known groups of a node.

        Args:
            node (int): The number of the node.
            anchored (bool): Whether it anchors them.
            without (str, optional): The id of a group that is left out.
                (default: :obj:`""`)
        """
        begin, end = self._ptr[2 * node + anchored : 2 * node + anchored + 2]
        out: list[str] = []
        for place in self._group[begin:end]:
            name = self._names[place]
            if name and name != without and name not in out:
                out.append(name)
                if len(out) == _EXAMPLES:
                    break
        return tuple(out)

    @cached_property
    def _members(self) -> tuple[csr_array, csr_array, Any]:
        # The known groups of all nodes, and those that they anchor, (N, G), with ones,
        # and the number of members of each group.
        memory, num_nodes = self._memory, len(self._anchored)
        kept, place = collapse_incidences(memory.hyperedge_index, memory.num_people)
        anchors = torch.zeros_like(kept[0], dtype=torch.bool)
        anchors[place[memory.y]] = True
        person, group = self._people[kept[0]], kept[1]
        row = memory.known_mask[group] & (person >= 0)
        size = torch.bincount(group, minlength=memory.num_groups).cpu().numpy()
        shape = (num_nodes, memory.num_groups)
        return (
            _ones(person[row], group[row], shape),
            _ones(person[row & anchors], group[row & anchors], shape),
            size,
        )

    @cached_property
    def num_groups(self) -> list[int]:
        r"""The number of groups of each node, known or not."""
        person = self._people[self._memory.hyperedge_index[0]]
        count = torch.bincount(person[person >= 0], minlength=len(self._anchored))
        return [int(each) for each in count.tolist()]

    def shared(
        self, data: AnchorData, hyperedges: Tensor, nodes: Tensor
    ) -> list[list[SharedGroups]]:
        r"""Counts the known groups that members of some hyperedges share with their
        other members. Known groups among these hyperedges count as well.

        Args:
            data (AnchorData): The hypergraph.
            hyperedges (torch.Tensor): The numbers of the hyperedges.
            nodes (torch.Tensor): Two members of each, or :obj:`-1`.

        Shapes:
            - **hyperedges:** :math:`(B)`
            - **nodes:** :math:`(B, 2)`
        """
        if not self._anchored:
            return [[SharedGroups()] * 2] * hyperedges.numel()
        out: list[list[SharedGroups]] = []
        for part, asked in zip(
            hyperedges.split(_BLOCK_GROUPS), nodes.split(_BLOCK_GROUPS), strict=True
        ):
            out += self._shared(data, part, asked)
        return out

    def _shared(
        self, data: AnchorData, hyperedges: Tensor, nodes: Tensor
    ) -> list[list[SharedGroups]]:
        known, anchored, sizes = self._members
        ptr = data.hyperedge_ptr
        begin = ptr[hyperedges]
        incidence, row = arange_by_ptr(begin, ptr[hyperedges + 1] - begin)
        shape = (hyperedges.numel(), known.shape[0])
        here = _ones(row, data.hyperedge_index[0][incidence], shape)
        size = here.sum(axis=1)
        both = (here @ known).tocoo()
        is_copy = (both.data == size[both.row]) & (both.data == sizes[both.col])
        counts = []
        for mask in ((both.data > 1) & ~is_copy, is_copy):
            chosen = _ones(both.row[mask], both.col[mask], both.shape)
            for groups in (known, anchored):
                counts += [
                    groups[node].multiply(chosen).sum(axis=1).astype(int).tolist()
                    for node in nodes.cpu().numpy().T
                ]
        # By hyperedge, then by member.
        return [
            [SharedGroups(*found[place::2]) for place in range(2)]
            for found in zip(*counts, strict=True)
        ]


def _ones(row: Any, column: Any, shape: tuple[int, int]) -> csr_array:
    row, column = (
        part.cpu().numpy() if isinstance(part, Tensor) else part
        for part in (row, column)
    )
    out = csr_array((np.ones(len(row)), (row, column)), shape)
    # Members may be listed twice.
    out.data[:] = 1
    return out


def _inside(
    person: Tensor, group: Tensor, y: Tensor, known_mask: Tensor, num_nodes: int
) -> AnchorData:
    keep = known_mask.clone()
    keep[group[person < 0]] = False
    row = keep[group]
    number = keep.long().cumsum(0) - 1
    out = AnchorData(
        hyperedge_index=torch.stack([person[row], number[group[row]]]),
        num_nodes=num_nodes,
        num_hyperedges=int(keep.sum()),
        y=y[row],
    )
    return out.hyperedge_subgraph(out.known_mask & out.choice_mask)
