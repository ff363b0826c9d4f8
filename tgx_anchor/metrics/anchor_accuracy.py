"""Accuracy of one or several scores per incidence."""

import torch
from torch import Tensor
from torch_geometric.utils import scatter


def anchor_accuracy(
    score: Tensor, y: Tensor, hyperedge: Tensor, num_hyperedges: int
) -> Tensor:
    r"""Computes for each hyperedge the probability that the members of highest score
    are exactly the anchors, over all ways of ordering equal scores.

    Args:
        score (torch.Tensor): The score of each incidence, in one or several columns.
        y (torch.Tensor): Whether this member anchors this hyperedge.
        hyperedge (torch.Tensor): The hyperedge of each incidence.
        num_hyperedges (int): The number of hyperedges :math:`M`.

    Shapes:
        - **score:** :math:`(P)` or :math:`(P, K)`
        - **y, hyperedge:** :math:`(P)`
        - **output:** :math:`(M)` or :math:`(M, K)`, in double precision; only
          the rows of hyperedges with an anchor have a meaning
    """
    table = score.unsqueeze(1) if score.dim() == 1 else score
    low, high = torch.finfo(table.dtype).min, torch.finfo(table.dtype).max
    flag = y.unsqueeze(1)

    def per_group(value: Tensor, reduce: str) -> Tensor:
        return scatter(value, hyperedge, 0, num_hyperedges, reduce)

    # The weakest anchor against the strongest of the others.
    weakest = per_group(torch.where(flag, table, high), 'min')
    has_other = per_group((~y).long(), 'sum').unsqueeze(1) > 0
    strongest = per_group(torch.where(flag, low, table), 'max')
    strongest = torch.where(has_other, strongest, low)
    tied = (table == weakest[hyperedge]).to(torch.double)
    anchors = per_group(tied * flag, 'sum')
    others = per_group(tied * ~flag, 'sum')
    ways = (
        torch.lgamma(anchors + others + 1)
        - torch.lgamma(anchors + 1)
        - torch.lgamma(others + 1)
    )
    out = torch.where(strongest > weakest, 0.0, (-ways).exp())
    return out.squeeze(1) if score.dim() == 1 else out
