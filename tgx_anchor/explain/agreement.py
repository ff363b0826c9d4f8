"""Agreement of known anchors with the order of members by a feature."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.utils import distinct_hyperedges

# A feature counts as far as it agrees by more than this number of standard errors.
_ERRORS = 2.0


class Agreement(NamedTuple):
    r"""How often the anchors of known groups are the members with the highest value.

    Args:
        rate (float): The share of groups in which they are.
        highest (bool): :obj:`False` if it is about the lowest value.
        skill (float): The rate above chance, zero for chance and one for a feature
            that always tells the anchor.
    """

    rate: float
    highest: bool
    skill: float


def agreement(
    value: Tensor, groups: AnchorData, mask: Tensor | None = None
) -> Agreement:
    r"""Measures how often a feature alone tells the known anchor of a group.

    Its highest or its lowest value is taken, whichever is more often right. Equal
    values share a group, and so do the copies of a repeated group. With rate :math:`r`
    in :math:`n` distinct groups and the rate :math:`c` of a random choice, the skill is
    :math:`(r - c - 2 \sqrt{c (1 - c) / n}) / (1 - c)`, and at least zero.

    Args:
        value (torch.Tensor): The value of each incidence.
        groups (AnchorData): The hypergraph.
        mask (torch.Tensor, optional): The hyperedges with known anchors that leave a
            choice; all if :obj:`None`. (default: :obj:`None`)

    Shapes:
        - **value:** :math:`(P)`
        - **mask:** :math:`(M)`
    """
    number = distinct_hyperedges(
        groups.hyperedge_index, int(groups.num_nodes or 0), groups.num_hyperedges
    )
    if mask is None:
        mask = torch.ones_like(number, dtype=torch.bool)
    number = torch.unique(number[mask], return_inverse=True)[1]
    weight = 1 / torch.bincount(number)[number].double()
    count = float(weight.sum())

    def rate(score: Tensor) -> float:
        found = AnchorEvaluator().per_hyperedge(score, groups, mask)['accuracy']
        return float((weight * found).sum()) / count

    chance = rate(torch.zeros_like(value))
    rates = rate(value), rate(-value)
    best, highest = max(rates), rates[0] >= rates[1]
    error = math.sqrt(chance * (1 - chance) / count)
    skill = (best - chance - _ERRORS * error) / (1 - chance) if chance < 1 else 0.0
    return Agreement(best, highest, max(skill, 0.0))
