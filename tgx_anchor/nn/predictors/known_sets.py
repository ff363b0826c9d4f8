"""Known anchors, counted per distinct node set."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.nn.functional import anchor_target
from tgx_anchor.utils import NodeSets, collapse_incidences


class KnownSets(NamedTuple):
    r"""The known anchors of a hypergraph, counted over the copies of each node set.

    Shapes:
        - **num_known:** :math:`(S)`, the number of copies with known anchors
        - **anchored:** :math:`(R)`, the number of copies that each member anchors
        - **credit:** :math:`(R)`, the same, where the anchors of a copy with several
          have equal shares in it; sums to :obj:`num_known` in each set
    """

    num_known: Tensor
    anchored: Tensor
    credit: Tensor

    def without(self, mask: Tensor, sets: NodeSets) -> 'KnownSets':
        r"""Returns the known anchors of the other sets.

        Args:
            mask (torch.Tensor): The sets whose anchors are left out.
            sets (NodeSets): The sets.

        Shapes:
            - **mask:** :math:`(S)`
        """
        keep = (~mask).double()
        rows = keep[sets.hyperedge_index[1]]
        return KnownSets(
            self.num_known * keep, self.anchored * rows, self.credit * rows
        )

    def share(self, sets: NodeSets) -> Tensor:
        r"""Computes the share of its known copies that each member anchors, divided
        among the anchors if a copy has several; zero in sets without known anchors.

        Args:
            sets (NodeSets): The sets.

        Shapes:
            - **output:** :math:`(R)`, sums to one in each known set
        """
        count = self.num_known[sets.hyperedge_index[1]]
        return torch.where(count > 0, self.credit / count, 0.0)


def known_sets(
    sets: NodeSets, hyperedge_index: Tensor, y: Tensor, mask: Tensor
) -> KnownSets:
    r"""Counts the known anchors of each node set.

    Args:
        sets (NodeSets): The sets of the hypergraph.
        hyperedge_index (torch.Tensor): The incidences of its first hyperedges.
        y (torch.Tensor): Whether each of these incidences is that of an anchor.
        mask (torch.Tensor): Those of these hyperedges whose anchors are known, each
            with an anchor.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **y:** :math:`(P)`
        - **mask:** :math:`(M)`
    """
    number = sets.number[: mask.numel()]
    count = scatter(mask.double(), number, 0, sets.num_sets, 'sum')
    row = sets.row[: y.numel()]
    return KnownSets(
        count, *anchored_rows(row, hyperedge_index[1], y, mask, sets.num_rows)
    )


def anchored_rows(
    row: Tensor, hyperedge: Tensor, y: Tensor, mask: Tensor, num_rows: int
) -> tuple[Tensor, Tensor]:
    r"""Counts the known hyperedges that each row anchors, in full, and divided by the
    number of anchors of the hyperedge.

    Args:
        row (torch.Tensor): The row that each incidence belongs to. A row that occurs
            twice in a hyperedge counts once.
        hyperedge (torch.Tensor): The hyperedge of each incidence.
        y (torch.Tensor): Whether each incidence is that of an anchor.
        mask (torch.Tensor): The hyperedges with known anchors.
        num_rows (int): The number of rows.

    Shapes:
        - **row, hyperedge, y:** :math:`(P)`
        - **mask:** :math:`(M)`
        - **output:** :math:`(R)` and :math:`(R)`
    """
    index, place = collapse_incidences(torch.stack([row, hyperedge]), num_rows)
    known = (y & mask[hyperedge]).double()
    known = scatter(known, place, 0, index.size(1), 'max')
    credit = anchor_target(known > 0, index[1], mask)
    return (
        scatter(known, index[0], 0, num_rows, 'sum'),
        scatter(credit, index[0], 0, num_rows, 'sum'),
    )
