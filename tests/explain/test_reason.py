from dataclasses import FrozenInstanceError

import pytest

from tgx_anchor.explain import Reason


def test_reasons_do_not_change() -> None:
    reason = Reason('degree', 'centrality', 0.25, others=(3.0, 7.0))
    assert (reason.agreement, reason.also) == (None, ())
    with pytest.raises(FrozenInstanceError):
        reason.contribution = 1.0  # type: ignore[misc]
