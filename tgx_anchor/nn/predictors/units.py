"""Groups that a learner cannot tell apart, scored once."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.utils import softmax

from tgx_anchor.utils import NodeSets, collapse_incidences

_CHUNK_ROWS = 1 << 18


class Units(NamedTuple):
    r"""The groups to score. Copies of a hyperedge are one unit if all their features
    are equal; if any copies differ, such as by time, each hyperedge is a unit.

    Shapes:
        - **unit:** :math:`(L)`, the sorted unit of each row
        - **row:** :math:`(L)`, the member of a node set that the row stands for
        - **incidence:** :math:`(L)`, an incidence with the features of the row
        - **place:** :math:`(P)`, the row of each incidence
        - **number:** :math:`(M)`, the unit of each hyperedge
        - **set_number:** :math:`(U)`, the node set of each unit
    """

    unit: Tensor
    row: Tensor
    incidence: Tensor
    place: Tensor
    number: Tensor
    set_number: Tensor

    @property
    def num_units(self) -> int:
        r"""The number of units :math:`U`."""
        return self.set_number.numel()

    def log_softmax(self, score: Tensor) -> Tensor:
        r"""Computes the logarithms of probabilities within each unit, averaged over
        columns of scores.

        Args:
            score (torch.Tensor): The scores.

        Shapes:
            - **score:** :math:`(L, I)`
            - **output:** :math:`(L)`, in double precision
        """
        proba = softmax(score.double(), self.unit, num_nodes=self.num_units)
        return proba.clamp(min=1e-9).log().mean(dim=1)


def make_units(
    feature: Tensor,
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    sets: NodeSets,
) -> Units:
    r"""Finds the groups to score among the last hyperedges of :obj:`sets`.

    Args:
        feature (torch.Tensor): The features of the incidences.
        hyperedge_index (torch.Tensor): The incidences of the hyperedges to score,
            sorted by hyperedge.
        num_nodes (int): The number of nodes.
        num_hyperedges (int): The number of hyperedges to score.
        sets (NodeSets): The node sets, of these and maybe of further hyperedges before
            them.

    Shapes:
        - **feature:** :math:`(P, F)`
        - **hyperedge_index:** :math:`(2, P)`
    """
    index, place = collapse_incidences(hyperedge_index, num_nodes)
    num_incidences = place.numel()
    device = place.device
    row = sets.row[sets.row.numel() - num_incidences :]
    order = torch.arange(num_incidences, device=device)
    number = sets.number[sets.number.numel() - num_hyperedges :]
    source = torch.zeros(sets.num_rows, dtype=torch.long, device=device)
    source[row] = order
    if _is_shared(feature, source[row]):
        used, unit = torch.unique(number, return_inverse=True)
        rows, place = torch.unique(row, return_inverse=True)
        first = torch.full((sets.num_sets,), -1, device=device)
        first[used] = torch.arange(used.numel(), device=device)
        return Units(
            unit=first[sets.hyperedge_index[1][rows]],
            row=rows,
            incidence=source[rows],
            place=place,
            number=unit,
            set_number=used,
        )
    incidence = torch.zeros(index.size(1), dtype=torch.long, device=device)
    incidence[place] = order
    return Units(
        unit=index[1],
        row=row[incidence],
        incidence=incidence,
        place=place,
        number=torch.arange(num_hyperedges, device=device),
        set_number=number,
    )


def _is_shared(feature: Tensor, source: Tensor) -> bool:
    # Whether all incidences have the features of those that stand for them.
    return all(
        torch.equal(mine, feature.index_select(0, other))
        for mine, other in zip(
            feature.split(_CHUNK_ROWS), source.split(_CHUNK_ROWS), strict=True
        )
    )
