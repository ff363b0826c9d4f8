"""Draws between equally likely members."""

import torch

from tests.strategies import to_data
from tgx_anchor.data.rank_part import RankPart
from tgx_anchor.nn.predictors.incidence_priority import incidence_priority
from tgx_anchor.utils import ALONE


def test_part_has_the_draws_of_the_whole() -> None:
    whole = to_data([[0, 1], [1, 2, 3], [0, 3]], 4, [[]] * 3)
    part = to_data([[1, 2, 3], [0, 3]], 4, [[]] * 2)
    part.part = RankPart(ALONE, range(1, 2), 1, 2)
    expected = incidence_priority(whole, 7)
    assert torch.equal(incidence_priority(part, 7), expected[2:])
    assert not torch.equal(incidence_priority(whole, 8), expected)
