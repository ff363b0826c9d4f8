import math
from typing import Any

import pytest

from tgx_anchor.explain.candidate import Candidate
from tgx_anchor.explain.feature import TIMES
from tgx_anchor.explain.reason import Reason
from tgx_anchor.explain.wording import (
    against_sentence,
    is_plain,
    percent_text,
    person_text,
    reason_sentence,
    record_sentence,
)


def person(name: Any, **kwargs: Any) -> Candidate:
    values = {
        'number': 0,
        'probability': 0.5,
        'num_groups': 41,
        'num_known': 0,
        'num_anchored': 0,
    }
    return Candidate(name, **{**values, **kwargs})


def reason(
    name: str, kind: Any, value: float, rival: float, *others: float, **kwargs: Any
) -> Reason:
    low, high = others
    return Reason(
        name,
        kind,
        0.2,
        value=value,
        runner_up_value=rival,
        others=(low, high),
        **kwargs,
    )


ANN, BOB = person('ann'), person('bob')


@pytest.mark.parametrize(
    ('share', 'text'),
    [
        (0.0, '0 %'),
        (0.004, 'under 1 %'),
        (0.01, '1 %'),
        (0.714, '71 %'),
        (0.996, 'over 99 %'),
        (1.0, '100 %'),
    ],
)
def test_percentages(share: float, text: str) -> None:
    assert percent_text(share) == text


def test_names() -> None:
    assert person_text('ann') == 'ann'
    assert person_text(7) == 'person 7'
    assert person_text('</script>') == '</script>'


@pytest.mark.parametrize(
    ('given', 'size', 'text'),
    [
        (
            reason('degree', 'centrality', 41, 7, 3, 7),
            4,
            'ann is in 41 groups, the others in 3 to 7.',
        ),
        (
            reason('degree', 'centrality', 1, 7, 7, 7),
            3,
            'ann is in 1 group, the others in 7.',
        ),
        (
            reason('degree', 'centrality', 41, 7, 7, 7),
            2,
            'ann is in 41 groups, bob in 7.',
        ),
        (
            reason('degree', 'centrality', 41, 7, 3, 7, agreement=0.92),
            4,
            'ann is in 41 groups, the others in 3 to 7 (in 92 % of the known groups, '
            'the anchor is the member in the most).',
        ),
        (
            reason('degree', 'centrality', 1, 7, 3, 7, agreement=0.6, highest=False),
            4,
            'ann is in 1 group, the others in 3 to 7 (in 60 % of the known groups, '
            'the anchor is the member in the fewest).',
        ),
        # A rule that speaks of the other end is not told.
        (
            reason('degree', 'centrality', 41, 7, 3, 7, agreement=0.6, highest=False),
            4,
            'ann is in 41 groups, the others in 3 to 7.',
        ),
        (
            reason('degree', 'centrality', 41, 7, 3, 7, also=('pagerank', 'coreness')),
            4,
            'ann is in 41 groups, the others in 3 to 7, and has the highest PageRank '
            'and coreness.',
        ),
        (
            reason('pagerank', 'centrality', 0.4, 0.2, 0.1, 0.2, agreement=0.85),
            4,
            'ann has the highest PageRank of the group (in 85 % of the known groups, '
            'the anchor has the highest).',
        ),
        (
            reason('eigenvector', 'centrality', 0.1, 0.2, 0.2, 0.3, also=('coreness',)),
            4,
            'ann has the lowest eigenvector centrality and coreness of the group.',
        ),
        (
            reason('age', 'attribute', 54, 47, 31, 47.5),
            3,
            'ann has the highest age of the group: 54, the others have 31 to 47.5.',
        ),
        # Neither the highest nor the lowest.
        (
            reason('degree', 'centrality', 9, 7, 3, 12),
            4,
            'ann is in 9 groups, bob in 7.',
        ),
        (
            reason('pagerank', 'centrality', 0.2, 0.1, 0.1, 0.3),
            4,
            'ann has a higher PageRank than bob.',
        ),
        (
            reason('age', 'attribute', 1.23456, 2, 0, 3),
            4,
            'ann has the age 1.235, bob 2.',
        ),
        (
            reason('degree', 'centrality', 7, 7, 3, 7),
            4,
            'ann and bob have the same degree, but differ in how they compare with the '
            'members of their other groups.',
        ),
        (Reason('age', 'attribute', 0.2), 4, 'ann differs from bob in age.'),
        # An attribute may have the name of a centrality.
        (
            reason('degree', 'attribute', 3, 2, 1, 2),
            3,
            'ann has the highest degree of the group: 3, the others have 1 to 2.',
        ),
    ],
)
def test_reasons(given: Reason, size: int, text: str) -> None:
    assert reason_sentence(given, ANN, BOB, size) == text


STRENGTH = Reason('strength', 'strength', 0.3)


@pytest.mark.parametrize(
    ('own', 'other', 'count', 'text'),
    [
        (
            {'strength': 3.104, 'num_strongest': 37},
            {'strength': 1.2, 'num_strongest': 0, 'num_groups': 12},
            1,
            'ann has the strength 3.10, bob 1.20; ann is the strongest in 37 of its 41 '
            'groups, bob in none of its 12 groups.',
        ),
        (
            {'strength': 3.0, 'num_strongest': 41},
            {'strength': 1.2, 'num_strongest': 0, 'num_groups': 1},
            2,
            'ann has the strength 3.00, bob 1.20; ann is among the 2 strongest in all '
            'of its 41 groups, bob not in its only group.',
        ),
        (
            {'strength': 1.0, 'num_strongest': 30, 'share': 0.7},
            {'strength': 1.2, 'num_strongest': 2, 'share': 0.1},
            1,
            'ann has the strength 1.00, less than bob with 1.20, but ann is the '
            'strongest in 30 of its 41 groups, bob in 2 of its 41 groups.',
        ),
        (
            {'strength': 1.0, 'num_strongest': 2, 'share': 0.1},
            {'strength': 1.2, 'num_strongest': 30, 'share': 0.7},
            1,
            'ann has the strength 1.00, less than bob with 1.20, but known anchors '
            'count more.',
        ),
        (
            {'strength': 2.0},
            {'strength': 1.0},
            1,
            'ann has the strength 2.00, bob 1.00.',
        ),
        ({}, {}, 1, 'ann is stronger than bob.'),
    ],
)
def test_strengths(
    own: dict[str, Any], other: dict[str, Any], count: int, text: str
) -> None:
    ann, bob = person('ann', **own), person('bob', **other)
    assert reason_sentence(STRENGTH, ann, bob, 3, count) == text


@pytest.mark.parametrize(
    ('given', 'text'),
    [
        (
            reason('degree', 'centrality', 7, 12, 3, 12),
            'Against it: bob is in 12 groups, ann in 7.',
        ),
        (
            reason('coreness', 'centrality', 7, 5, 3, 12),
            'Against it: bob has a lower coreness than ann.',
        ),
        (
            reason('age', 'attribute', 31, 54, 3, 54),
            'Against it: bob has the age 54, ann 31.',
        ),
        (
            reason('degree', 'centrality', 7, 7, 3, 12),
            'Against it: degree in their other groups.',
        ),
    ],
)
def test_reasons_against(given: Reason, text: str) -> None:
    assert against_sentence(given, ANN, BOB) == text


@pytest.mark.parametrize(
    ('known', 'anchored', 'for_', 'against', 'text'),
    [
        (0, 0, (), (), 'ann is in no other group with a known anchor.'),
        (1, 1, ('a',), (), 'ann anchored its only known group (a).'),
        (1, 0, (), ('b',), 'ann did not anchor its only known group (b).'),
        (2, 2, ('a', 'b'), (), 'ann anchored all its 2 known groups (a, b).'),
        (
            5,
            0,
            (),
            ('a', 'b', 'c'),
            'ann anchored none of its 5 known groups (a, b, c, ...).',
        ),
        (
            5,
            4,
            ('a', 'b', 'c'),
            ('d',),
            'ann anchored 4 of its 5 known groups (a, b, c, ...), and did not anchor 1 '
            '(d).',
        ),
        # Groups without names are only counted.
        (
            5,
            4,
            (),
            (),
            'ann anchored 4 of its 5 known groups, and did not anchor 1.',
        ),
    ],
)
def test_records(
    known: int,
    anchored: int,
    for_: tuple[str, ...],
    against: tuple[str, ...],
    text: str,
) -> None:
    ann = person(
        'ann',
        num_known=known,
        num_anchored=anchored,
        known_for=for_,
        known_against=against,
    )
    assert record_sentence(ann) == text


# Time ############################################################################


def timed(name: str, value: float, rival: float) -> Reason:
    return Reason(name, 'time', 0.2, value=value, runner_up_value=rival)


@pytest.mark.parametrize(
    ('given', 'text'),
    [
        (
            timed('time_earlier', math.log(13), math.log(4)),
            'ann had been in 12 groups before this one, bob in 3.',
        ),
        (
            timed('time_earlier', 0.0, math.log(2)),
            'ann had been in no group before this one, bob in 1.',
        ),
        (
            timed('time_later', math.log(2), 0.0),
            'ann is in 1 group after this one, bob in none.',
        ),
        (
            timed('time_is_first', 1, 0),
            'This is the first group of ann, and not that of bob.',
        ),
        (
            timed('time_is_last', 0, 1),
            'This is the last group of bob, and not that of ann.',
        ),
        (
            timed('time_since_start', 3.1, 3.0),
            'The first group of ann is longer ago than that of bob.',
        ),
        (
            timed('time_until_end', 3.0, 3.1),
            'The last group of bob is later than that of ann.',
        ),
        (
            timed('time_position', 0.5, 0.25),
            'This group is later among those of ann than among those of bob.',
        ),
        (
            Reason('time', 'time', 0.2),
            'ann differs from bob in the times of its groups.',
        ),
    ],
)
def test_times(given: Reason, text: str) -> None:
    assert reason_sentence(given, ANN, BOB, 3) == text
    if given.value is not None:
        small = text if text.startswith('ann') else f'{text[0].lower()}{text[1:]}'
        assert against_sentence(given, ANN, BOB) == f'Against it: {small}'


def test_every_time_has_words() -> None:
    for name in TIMES:
        text = reason_sentence(timed(name, 1.0, 0.5), ANN, BOB, 3)
        assert 'ann' in text
        assert 'bob' in text


# Shares of groups ################################################################


def here(name: str, anchored: int, known: int) -> Candidate:
    return person(name, num_anchored_here=anchored, num_known_here=known)


@pytest.mark.parametrize(
    ('own', 'other', 'size', 'text'),
    [
        (
            (3, 5),
            (1, 4),
            3,
            'ann anchored 3 of its 5 known groups with other members of this group, '
            'bob anchored 1 of its 4.',
        ),
        (
            (1, 1),
            (0, 3),
            4,
            'ann anchored its only known group with other members of this group, bob '
            'anchored none of its 3.',
        ),
        (
            (2, 2),
            (0, 1),
            4,
            'ann anchored all its 2 known groups with other members of this group, bob '
            'did not anchor its only one.',
        ),
        (
            (0, 0),
            (0, 2),
            3,
            'ann is in no known group with other members of this group, bob anchored '
            'none of its 2.',
        ),
        (
            (2, 3),
            (1, 3),
            2,
            'ann anchored 2 of the 3 other known groups with bob, bob anchored 1.',
        ),
        ((1, 1), (0, 1), 2, 'ann anchored the only other known group with bob.'),
    ],
)
def test_rivals(
    own: tuple[int, int], other: tuple[int, int], size: int, text: str
) -> None:
    ann, bob = here('ann', *own), here('bob', *other)
    given = Reason('rivals', 'rivals', 0.2, value=0.6, runner_up_value=0.2)
    assert reason_sentence(given, ann, bob, size) == text
    assert against_sentence(given, bob, ann, size) == f'Against it: {text}'


def test_copies() -> None:
    ann = person('ann', num_copies=3, num_anchored_copies=2)
    bob = person('bob', num_copies=3, num_anchored_copies=1)
    given = Reason('copies', 'copies', 0.2, value=0.6, runner_up_value=0.2)
    assert reason_sentence(given, ann, bob, 3) == (
        'ann anchored 2 of the 3 other known groups of the same people, bob anchored 1.'
    )
    ann = person('ann', num_copies=1, num_anchored_copies=1)
    assert reason_sentence(given, ann, person('bob', num_copies=1), 3) == (
        'ann anchored the only other known group of the same people.'
    )


def test_record_against() -> None:
    ann = person('ann', num_known=4, num_anchored=1)
    bob = person('bob', num_known=6, num_anchored=5)
    given = Reason('record', 'record', -0.2, value=0.3, runner_up_value=0.8)
    assert against_sentence(given, ann, bob) == (
        'Against it: bob anchored 5 of its 6 known groups, ann anchored 1 of its 4.'
    )


@pytest.mark.parametrize(
    ('own', 'other', 'text'),
    [
        (
            0.7,
            0.204,
            'ann anchors 70 % of its groups by known anchors and estimates, bob 20 %.',
        ),
        (
            0.7,
            None,
            'ann anchors 70 % of its groups by known anchors and estimates, bob is in '
            'no other group.',
        ),
        (
            None,
            0.05,
            'ann is in no other group, bob anchors 5 % of its groups by known anchors '
            'and estimates.',
        ),
    ],
)
def test_beliefs(own: float | None, other: float | None, text: str) -> None:
    ann, bob = person('ann', share=own), person('bob', share=other)
    given = Reason('belief', 'belief', 0.2, value=0.6, runner_up_value=0.2)
    assert reason_sentence(given, ann, bob, 3) == text


def test_plain_reasons() -> None:
    for kind in ('record', 'rivals', 'copies', 'belief'):
        for value, contribution, plain in (
            (0.6, 0.1, True),
            (0.6, -0.1, False),
            (0.2, -0.1, True),
            (0.2, 0.1, False),
            (0.4, 0.1, False),
        ):
            given = Reason(kind, kind, contribution, value=value, runner_up_value=0.4)
            assert is_plain(given) == plain
    # The same number in words.
    given = Reason('belief', 'belief', 0.1, value=0.401, runner_up_value=0.4)
    assert not is_plain(given)
    assert is_plain(reason('age', 'attribute', 1, 2, 1, 2))
    assert is_plain(Reason('strength', 'strength', 0.1))


def test_contacts() -> None:
    given = reason('contacts', 'centrality', 0.4, 0.2, 0.1, 0.2)
    assert reason_sentence(given, ANN, BOB, 3) == (
        'ann has the highest number of contacts of the group.'
    )
