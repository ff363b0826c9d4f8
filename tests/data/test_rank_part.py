"""Part of a hypergraph that a process holds."""

import copy

from tests.strategies import to_data
from tgx_anchor.data.rank_part import RankPart
from tgx_anchor.utils import ALONE, Ranks


def test_part_of_a_hypergraph() -> None:
    data = to_data([[0, 1]], 2, [[0]])
    assert data.part is None
    assert data.ranks is ALONE
    part = RankPart(Ranks(), range(2, 4), 10, 25)
    data.part = part
    # A copy is the same part: what was computed for one is there for the other.
    other = copy.copy(data)
    assert other.part is part
    assert copy.deepcopy(data).part is part
    assert data.ranks is part.ranks
    calls: list[int] = []
    make = calls.append
    for owner in (data, other):
        assert owner.part is not None
        owner.part.cached('features', lambda: make(1) or 'made')
    assert len(calls) == 1
    assert data.validate()
    assert 'first_hyperedge=10, first_incidence=25' in repr(part)
