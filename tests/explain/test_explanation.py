import json
from dataclasses import FrozenInstanceError, replace

import pytest

from tgx_anchor.explain import Candidate, Explanation, Reason

ANN = Candidate('ann', 0, 0.71, 41, 5, 4, ('g1', 'g2', 'g3'), ('g9',), 3.1, 37, 0.9)
BOB = Candidate('bob', 1, 0.2, 12, 0, 0, strength=1.2, num_strongest=3, share=0.2)
DEGREE = Reason('degree', 'centrality', 0.2, 0.92, True, 41.0, 7.0, (3.0, 7.0))
STRENGTH = Reason('strength', 'strength', 0.1)
AGE = Reason('age', 'attribute', -0.05, None, True, 31.0, 54.0, (31.0, 54.0))
WHOLE = Explanation('g7', 6, 4, 'AnchorRadar', ANN, BOB, 0.75, (DEGREE, STRENGTH, AGE))
LINES = [
    'ann is the predicted anchor of group g7 with 71 %; the runner-up is bob with '
    '20 %.',
    'ann is in 41 groups, the others in 3 to 7 (in 92 % of the known groups, the '
    'anchor is the member in the most).',
    'ann has the strength 3.10, bob 1.20; ann is the strongest in 37 of its 41 groups, '
    'bob in 3 of its 12 groups.',
    'ann anchored 4 of its 5 known groups (g1, g2, g3, ...), and did not anchor 1 '
    '(g9).',
    'bob is in no other group with a known anchor.',
    'Against it: bob has the age 54, ann 31.',
]


def test_sentences() -> None:
    assert WHOLE.sentences() == LINES
    assert str(WHOLE) == '\n'.join(LINES)


def test_reasons_keep_their_order() -> None:
    other = replace(WHOLE, reasons=(STRENGTH, DEGREE, AGE))
    first, degree, strength, *rest = LINES
    assert other.sentences() == [first, strength, degree, *rest]


def test_small_reasons_are_left_out_and_strengths_are_not() -> None:
    small = replace(DEGREE, contribution=0.001)
    told = replace(WHOLE, reasons=(STRENGTH, small)).sentences()
    assert LINES[1] not in told
    other = replace(WHOLE, reasons=(DEGREE, replace(STRENGTH, contribution=-0.3)))
    assert other.sentences() == LINES[:5]


def test_at_most_four_reasons() -> None:
    many = tuple(replace(DEGREE, contribution=0.5 - i / 20) for i in range(6))
    assert replace(WHOLE, reasons=many).sentences().count(LINES[1]) == 4


def test_known_anchors() -> None:
    told = replace(WHOLE, known_anchors=('ann',)).sentences()
    assert told[:2] == [
        'The known anchor of group g7 is ann.',
        'The model chooses ann as well, with 71 %; the runner-up is bob with 20 %.',
    ]
    told = replace(WHOLE, known_anchors=('bob', 'cat')).sentences()
    assert told[:2] == [
        'The known anchors of group g7 are bob, cat.',
        'The model chooses ann, with 71 %; the runner-up is bob with 20 %.',
    ]


def test_ties() -> None:
    assert not WHOLE.is_tie
    tie = replace(
        WHOLE,
        anchor=replace(ANN, probability=0.5),
        runner_up=replace(BOB, probability=0.5),
        reasons=(),
    )
    assert tie.is_tie
    assert tie.sentences()[1:] == [
        'The two are equally likely: one of them was drawn.',
        *LINES[3:5],
    ]


def test_no_reasons() -> None:
    bare = replace(WHOLE, model='AnchorPredictor', reasons=())
    bare = replace(bare, anchor=replace(ANN, strength=None))
    assert (
        bare.sentences()[1] == 'AnchorPredictor does not tell which features decided.'
    )


def test_no_choice() -> None:
    one = Explanation('g1', 0, 1, 'AnchorRadar', replace(ANN, probability=1.0))
    assert one.sentences() == [
        'ann is the only member of group g1: there is no choice.'
    ]
    empty = Explanation('g2', 1, 0, 'AnchorRadar')
    assert empty.sentences() == ['There are no members in group g2.']
    assert not one.is_tie
    assert not empty.is_tie


def test_plain_values() -> None:
    out = json.loads(json.dumps(WHOLE.to_dict()))
    assert out['group'] == 'g7'
    assert out['anchor']['known_for'] == ['g1', 'g2', 'g3']
    assert out['reasons'][0]['name'] == 'degree'
    assert out['sentences'] == LINES
    assert out['is_tie'] is False


def test_explanations_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        WHOLE.number = 1  # type: ignore[misc]


# Reasons about groups ############################################################

RECORD = Reason('record', 'record', 0.2, value=0.7, runner_up_value=0.3)
RIVALS = Reason('rivals', 'rivals', 0.1, value=0.6, runner_up_value=0.2)
STACKED = replace(
    WHOLE,
    model='StackedAnchorRadar',
    anchor=replace(ANN, strength=None, num_known_here=3, num_anchored_here=2),
    runner_up=replace(BOB, strength=None),
    reasons=(RECORD, RIVALS),
)
SHARED = (
    'ann anchored 2 of its 3 known groups with other members of this group, bob is in '
    'none.'
)


def test_the_record_is_told_once_at_its_place() -> None:
    first, *_ = LINES
    assert STACKED.sentences() == [first, *LINES[3:5], SHARED]
    other = replace(STACKED, reasons=(RIVALS, replace(RECORD, contribution=0.05)))
    assert other.sentences() == [first, SHARED, *LINES[3:5]]


def test_values_that_show_the_opposite_are_not_told() -> None:
    odd = replace(RIVALS, value=0.1)
    first, *_ = LINES
    assert replace(STACKED, reasons=(RECORD, odd)).sentences() == [first, *LINES[3:5]]
    assert replace(STACKED, reasons=(odd,)).sentences() == [
        first,
        'What decided cannot be put into a sentence.',
        *LINES[3:5],
    ]
    against = replace(odd, contribution=-0.1)
    told = replace(STACKED, reasons=(RECORD, against)).sentences()
    assert told[-1] == (
        'Against it: bob is in no known group with other members of this group, ann '
        'anchored 2 of its 3.'
    )
    # In favour of the anchor by its values, but not in the eyes of the model.
    against = replace(RIVALS, contribution=-0.1)
    assert len(replace(STACKED, reasons=(RECORD, against)).sentences()) == 3


def test_what_has_no_values_is_not_told_against() -> None:
    place = Reason('centrality', 'centrality', 0.1)
    told = replace(STACKED, reasons=(RECORD, place)).sentences()
    assert told[-1] == 'ann differs from bob in its place among all groups.'
    against = replace(place, contribution=-0.1)
    assert len(replace(STACKED, reasons=(RECORD, against)).sentences()) == 3
