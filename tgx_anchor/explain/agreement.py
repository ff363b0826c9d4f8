"""Agreement of known anchors with the order of members by a feature."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.utils import distinct_hyperedges

# A feature counts only to the extent that it exceeds chance by more than this number of
# standard errors.
_ERRORS = 2.0
# The number of parts of the known groups for the record of people.
_PARTS = 10


class Agreement(NamedTuple):
    r"""The agreement of known anchors with the highest value of a feature.

    Args:
        rate (float): The share of groups in which they are.
        highest (bool): :obj:`False` if it is about the lowest value.
        skill (float): The rate above chance, zero for chance and one for a feature
            that always tells the anchor.
        error (float): The standard error of the rate.
    """

    rate: float
    highest: bool
    skill: float
    error: float


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
    if mask is None:
        mask = torch.ones_like(groups.hyperedge_size, dtype=torch.bool)
    weight = 1 / _copies(groups, mask)[1].double()
    count = float(weight.sum())
    chance = _rate(torch.zeros_like(value), groups, mask, weight)
    rates = [_rate(score, groups, mask, weight) for score in (value, -value)]
    best, highest = max(rates), rates[0] >= rates[1]
    margin = _ERRORS * math.sqrt(chance * (1 - chance) / count)
    skill = (best - chance - margin) / (1 - chance) if chance < 1 else 0.0
    error = math.sqrt(best * (1 - best) / count)
    return Agreement(best, highest, max(skill, 0.0), error)


def record_skill(groups: AnchorData) -> float:
    r"""Measures how well the record of people tells the anchor of a known group: the
    share of other known groups that each member anchors. The groups are divided into
    ten parts, and the record for each part is taken from the others, so that no group
    is evidence of itself.

    Args:
        groups (AnchorData): The hypergraph, with known anchors that leave a choice.

    Returns:
        The rate above chance, between zero and one.
    """
    node, hyperedge = groups.hyperedge_index
    y, num_nodes = groups['y'], int(groups.num_nodes or 0)
    mask = torch.ones_like(groups.hyperedge_size, dtype=torch.bool)
    number, copies = _copies(groups, mask)
    part = (number % _PARTS)[hyperedge]
    # People without a record get that of the mean.
    mean = y.double().mean()
    value = torch.zeros_like(node, dtype=torch.double)
    for each in range(_PARTS):
        other = part != each
        anchored = torch.bincount(node[other & y], minlength=num_nodes)
        total = torch.bincount(node[other], minlength=num_nodes)
        record = (anchored + mean) / (total + 1)
        value = torch.where(other, value, record[node])
    weight = 1 / copies.double()
    chance = _rate(torch.zeros_like(value), groups, mask, weight)
    rate = _rate(value, groups, mask, weight)
    return max((rate - chance) / (1 - chance), 0.0) if chance < 1 else 0.0


def _copies(groups: AnchorData, mask: Tensor) -> tuple[Tensor, Tensor]:
    # The number of each hyperedge in the mask among distinct ones, and of its copies.
    number = distinct_hyperedges(
        groups.hyperedge_index, int(groups.num_nodes or 0), groups.num_hyperedges
    )
    number = torch.unique(number[mask], return_inverse=True)[1]
    return number, torch.bincount(number)[number]


def _rate(score: Tensor, groups: AnchorData, mask: Tensor, weight: Tensor) -> float:
    found = AnchorEvaluator().per_hyperedge(score, groups, mask)['accuracy']
    return float((weight * found).sum() / weight.sum())
