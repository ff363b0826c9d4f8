"""Rows of features of known groups, for learners to learn from."""

from typing import NamedTuple

from torch import Tensor


class LearningRows(NamedTuple):
    r"""The members of known groups: features, and how often each is the anchor.

    Shapes:
        - **feature:** :math:`(L, F)`
        - **group:** :math:`(L)`, the sorted group of each row, from zero
        - **target:** :math:`(L)`, sums to one in each group
        - **weight:** :math:`(G)`, the weight of each group, one on average
    """

    feature: Tensor
    group: Tensor
    target: Tensor
    weight: Tensor
