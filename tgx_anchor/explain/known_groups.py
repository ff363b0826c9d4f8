"""Known groups that speak for and against people."""

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.nn import AnchorModel
from tgx_anchor.nn.predictors.known_anchors import evidence_mask

_EXAMPLES = 3


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
        person = torch.full((memory.num_people,), -1, device=device)
        person[number] = torch.arange(num_nodes, device=device)
        person, group = person[memory.hyperedge_index[0]], memory.hyperedge_index[1]
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
