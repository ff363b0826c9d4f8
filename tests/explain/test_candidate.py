from dataclasses import FrozenInstanceError

import pytest

from tgx_anchor.explain import Candidate


def test_candidates_do_not_change() -> None:
    person = Candidate('ann', 0, 0.75, num_groups=4, num_known=3, num_anchored=2)
    assert person.strength is None
    assert person.known_for == ()
    with pytest.raises(FrozenInstanceError):
        person.probability = 1.0  # type: ignore[misc]
