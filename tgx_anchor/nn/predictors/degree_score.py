"""The score of the degree heuristic."""

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn.predictors.set_numbers import set_numbers
from tgx_anchor.utils import degree


def log_degree(data: AnchorData) -> Tensor:
    r"""Computes the logarithm of the degree of each member.

    Args:
        data (AnchorData): The hypergraph.

    Shapes:
        - **output:** :math:`(P)`
    """
    index = data.hyperedge_index
    count = degree(
        index, int(data.num_nodes or 0), data.num_hyperedges, ranks=data.ranks
    )
    return count.to(torch.get_default_dtype()).log()[index[0]]


def degree_sign(data: AnchorData, mask: Tensor) -> int:
    r"""Returns 1 if the anchors in :obj:`mask` are more often the members of highest
    degree, and -1 if they are more often those of lowest degree. The copies of a
    repeated hyperedge share one vote.

    Args:
        data (AnchorData): The hypergraph.
        mask (torch.Tensor): The hyperedges with known anchors.

    Shapes:
        - **mask:** :math:`(M)`
    """
    score = log_degree(data)
    number = set_numbers(data, mask)[mask]
    everything = data.ranks.gather(number)
    weight = 1 / torch.bincount(everything)[number].double()
    accuracy = {}
    for sign in (1, -1):
        figures = AnchorEvaluator().per_hyperedge(sign * score, data, mask)
        votes = data.ranks.total(float((weight * figures['accuracy']).sum()))
        # The order of summation must not break a tie.
        accuracy[sign] = round(votes, 6)
    return max(accuracy, key=accuracy.__getitem__)
