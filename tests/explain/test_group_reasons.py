from typing import Any

import pytest

from tgx_anchor.explain.candidate import Candidate
from tgx_anchor.explain.group_reasons import group_reasons
from tgx_anchor.explain.reason import Reason, ReasonKind

ANN = Candidate('ann', 0, 0.7, 9, 5, 4, share=0.8)
BOB = Candidate('bob', 1, 0.3, 9, 3, 0, share=0.2)
DEGREE = Reason('degree', 'centrality', 0.1, value=4, runner_up_value=3)


def given(**parts: float) -> list[Reason]:
    kinds: dict[str, ReasonKind] = {
        'record': 'record',
        'rivals': 'rivals',
        'belief': 'belief',
    }
    return [Reason(kind, kinds[kind], value) for kind, value in parts.items()]


def sums(reasons: tuple[Reason, ...]) -> Any:
    return pytest.approx({reason.name: reason.contribution for reason in reasons})


def test_values_are_shares() -> None:
    ann = Candidate('ann', 0, 0.7, 9, 5, 4, (), (), None, None, 0.8, 3, 2, 2, 1)
    bob = Candidate('bob', 1, 0.3, 9, 3, 0, (), (), None, None, None, 0, 0, 2, 0)
    parts = given(record=0.1, rivals=0.2, belief=0.05)
    out = group_reasons([DEGREE, *parts], 0.15, ann, bob, 4)
    assert [reason.name for reason in out] == [
        *('rivals', 'copies', 'degree', 'record', 'belief')
    ]
    # With one more group of four members, which is anchored by chance.
    values = {reason.kind: (reason.value, reason.runner_up_value) for reason in out}
    assert values == {
        'rivals': (2.25 / 4, 0.25),
        'copies': (1.25 / 3, 0.25 / 3),
        'centrality': (4, 3),
        'record': (4.25 / 6, 0.25 / 4),
        'belief': (0.8, 0.25),
    }


def test_record_and_belief_are_told_apart_if_they_agree() -> None:
    out = group_reasons(given(record=0.1, belief=0.2), 0.0, ANN, BOB, 3)
    assert sums(out) == {'belief': 0.2, 'record': 0.1}


def test_one_stands_for_both_if_they_do_not() -> None:
    # Too much of the one is taken back by the other.
    out = group_reasons(given(record=-0.1, belief=0.3), 0.0, ANN, BOB, 3)
    assert sums(out) == {'record': 0.2}
    out = group_reasons(given(record=0.3, belief=-0.1), 0.0, ANN, BOB, 3)
    assert sums(out) == {'record': 0.2}
    # Of the two, only beliefs are higher.
    alike = Candidate('bob', 1, 0.3, 9, 5, 4, share=0.2)
    out = group_reasons(given(record=0.1, belief=0.1), 0.0, ANN, alike, 3)
    assert sums(out) == {'belief': 0.2}
    # Neither is.
    out = group_reasons(given(record=0.1, belief=0.1), 0.0, BOB, ANN, 3)
    assert sums(out) == {'belief': 0.2}
    out = group_reasons(given(record=-0.1, belief=-0.2), 0.0, BOB, ANN, 3)
    assert sums(out) == {'record': -0.1, 'belief': -0.2}


def test_rest() -> None:
    # Without groups of the same people, it is a matter of beliefs.
    out = group_reasons(given(belief=0.1), 0.2, ANN, BOB, 3)
    assert sums(out) == {'belief': 0.3}
    ann = Candidate('ann', 0, 0.7, 9, 0, 0, num_copies=2, num_anchored_copies=1)
    bob = Candidate('bob', 1, 0.3, 9, 0, 0, num_copies=2, num_anchored_copies=0)
    assert sums(group_reasons([], 0.2, ann, bob, 3)) == {'copies': 0.2}
    assert sums(group_reasons([], -0.2, ann, bob, 3)) == {'belief': -0.2}
    assert sums(group_reasons([], -0.2, bob, ann, 3)) == {'copies': -0.2}
    assert group_reasons([], 0.0, ann, bob, 3) == ()


def test_nothing_is_lost() -> None:
    parts = given(record=-0.1, rivals=0.2, belief=0.3)
    out = group_reasons([DEGREE, *parts], -0.05, BOB, ANN, 3)
    assert sum(reason.contribution for reason in out) == pytest.approx(0.45)
