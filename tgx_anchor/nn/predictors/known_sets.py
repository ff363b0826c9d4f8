"""Known anchors, counted per distinct node set."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.utils import NodeSets


class KnownSets(NamedTuple):
    r"""The known anchors of a hypergraph, counted over the copies of each node set.

    Shapes:
        - **num_known:** :math:`(S)`, the number of copies with known anchors
        - **anchored:** :math:`(R)`, the number of copies that each member anchors
    """

    num_known: Tensor
    anchored: Tensor

    def without(self, mask: Tensor, sets: NodeSets) -> 'KnownSets':
        r"""Returns the known anchors of the other sets.

        Args:
            mask (torch.Tensor): The sets whose anchors are left out.
            sets (NodeSets): The sets.

        Shapes:
            - **mask:** :math:`(S)`
        """
        keep = (~mask).double()
        return KnownSets(
            self.num_known * keep, self.anchored * keep[sets.hyperedge_index[1]]
        )

    def share(self, sets: NodeSets) -> Tensor:
        r"""Computes the share of its known copies that each member anchors, divided
        among the anchors if a copy has several; zero in sets without known anchors.

        Args:
            sets (NodeSets): The sets.

        Shapes:
            - **output:** :math:`(R)`, sums to one in each known set
        """
        total = sets.total(self.anchored)[sets.hyperedge_index[1]]
        return torch.where(total > 0, self.anchored / total, 0.0)


def known_sets(
    sets: NodeSets, hyperedge_index: Tensor, y: Tensor, mask: Tensor
) -> KnownSets:
    r"""Counts the known anchors of each node set.

    Args:
        sets (NodeSets): The sets of the hypergraph.
        hyperedge_index (torch.Tensor): The incidences of its first hyperedges.
        y (torch.Tensor): Whether each of these incidences is that of an anchor.
        mask (torch.Tensor): Those of these hyperedges whose anchors are known.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **y:** :math:`(P)`
        - **mask:** :math:`(M)`
    """
    number = sets.number[: mask.numel()]
    count = scatter(mask.double(), number, 0, sets.num_sets, 'sum')
    known = (y & mask[hyperedge_index[1]]).double()
    row = sets.row[: y.numel()]
    return KnownSets(count, scatter(known, row, 0, sets.num_rows, 'sum'))
