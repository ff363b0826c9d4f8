"""Numbers of node sets."""

import torch
from hypothesis import given

from tests.strategies import SETTINGS, Groups, groupings, to_data
from tgx_anchor.nn.predictors.set_numbers import set_numbers
from tgx_anchor.utils import Ranks


class TwoRanks(Ranks):
    """The first of two processes, of which the second has nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 2

    def gather(self, value: torch.Tensor) -> torch.Tensor:
        return value

    def gather_equal(self, value: torch.Tensor) -> torch.Tensor:
        return torch.stack([value, torch.zeros_like(value)])


@SETTINGS
@given(groupings(repeated_members=True))
def test_order_of_first_appearance(drawn: tuple[Groups, int]) -> None:
    groups, num_nodes = drawn
    data = to_data(groups, num_nodes, [[] for _ in groups])
    mask = torch.arange(len(groups)) % 3 != 1
    seen: dict[frozenset[int], int] = {}
    expected = [
        seen.setdefault(frozenset(group), len(seen)) if chosen else -1
        for group, chosen in zip(groups, mask.tolist(), strict=True)
    ]
    assert set_numbers(data, mask).tolist() == expected
    # By their hash, as between processes.
    from tgx_anchor.data.rank_part import RankPart

    data.part = RankPart(TwoRanks(), range(1), 0, 0)
    assert set_numbers(data, mask).tolist() == expected
