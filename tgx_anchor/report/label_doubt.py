"""Known anchors that the model contradicts."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.utils import scatter
from typing_extensions import Self

from tgx_anchor.data import AnchorData


@dataclass(frozen=True)
class LabelDoubt:
    r"""A known anchor that the model contradicts.

    Args:
        group (int): The number of the group.
        person (int): The number of the person whom the model would choose.
        probability (float): The probability the model gives to that person.
        label_probability (float): The probability the model gives to the known
            anchor, or to the likeliest of several.
    """

    group: int
    person: int
    probability: float
    label_probability: float

    @classmethod
    def find(
        cls, data: AnchorData, proba: Tensor, mask: Tensor, limit: int = 100
    ) -> tuple[Self, ...]:
        r"""Finds the groups in which another member is more likely than all known
        anchors, those with the largest difference first.

        Args:
            data (AnchorData): The hypergraph with its anchors in :obj:`y`.
            proba (torch.Tensor): The probability of each incidence.
            mask (torch.Tensor): The hyperedges whose anchors are known.
            limit (int, optional): The largest number of doubts to return.
                (default: :obj:`100`)

        Shapes:
            - **proba:** :math:`(P)`
            - **mask:** :math:`(M)`
        """
        y = data.get('y')
        if y is None or data.num_incidences == 0:
            return ()
        (node, hyperedge), size = data.hyperedge_index, data.num_hyperedges
        label = scatter(torch.where(y, proba, -1.0), hyperedge, 0, size, 'max')
        other = scatter(torch.where(y, -1.0, proba), hyperedge, 0, size, 'max')
        group = (mask & data.known_mask & (other > label)).nonzero().view(-1)
        order = torch.argsort((other - label)[group], descending=True, stable=True)
        group = group[order[:limit]]
        # The first member that reaches the highest probability.
        place = torch.arange(proba.numel(), device=proba.device)
        is_best = ~y & (proba == other[hyperedge])
        place = torch.where(is_best, place, proba.numel())
        best = scatter(place, hyperedge, 0, size, 'min')[group]
        rows = zip(
            group.tolist(),
            node[best].tolist(),
            other[group].tolist(),
            label[group].tolist(),
            strict=True,
        )
        return tuple(cls(*row) for row in rows)
