"""Steps that commands share."""

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from tests.strategies import one_line_error
from tgx_anchor.cli.learning import (
    assess,
    count_anchors,
    describe,
    fit_model,
    least_certain,
)
from tgx_anchor.cli.table_options import TableOptions
from tgx_anchor.cli.talk import Talk
from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import ExpectedAccuracy
from tgx_anchor.utils import Ranks


def predictions() -> pa.Table:
    return pa.table(
        {
            'group': ['a', 'b', 'c', 'd', 'e'],
            'anchor': ['x', 'y', None, 'z', 'x'],
            'margin': [1.0, 0.1, None, 0.05, 0.3],
            'source': ['known', 'predicted', 'predicted', 'known', 'predicted'],
        }
    )


def test_counts() -> None:
    data = AnchorData.from_incidence({'group': [1, 1], 'member': ['x', 'y']})
    counts, line = count_anchors(data, predictions())
    assert counts == {
        'num_groups': 5,
        'num_people': 2,
        'num_known': 2,
        'num_predicted': 2,
        'num_empty': 1,
    }
    assert line == (
        '5 groups of 2 people: 2 anchors known, 2 predicted, 1 groups without members'
    )


def test_least_certain_groups() -> None:
    assert least_certain(predictions(), 2).tolist() == [1, 4]
    assert least_certain(predictions(), 9).tolist() == [1, 4, 2, 3, 0]


def test_a_process_without_known_anchors_assesses_with_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = AnchorData.from_incidence({'group': [1, 1], 'member': ['x', 'y']})
    talk = Talk(TableOptions(quiet=True))
    found: Any = SimpleNamespace(warnings=[])
    model: Any = SimpleNamespace(assess=lambda _: found)
    assert assess(talk, model, data) is None
    # It would leave them waiting.
    monkeypatch.setattr(Ranks, 'any', lambda *_: True)
    assert assess(talk, model, data) is found


def test_describe() -> None:
    assert describe(None) == ({'expected_accuracy': None}, [])
    found: Any = SimpleNamespace(
        expected_accuracy=ExpectedAccuracy(0.75, 0.7, 0.8, 1200),
        chance=0.25,
        degree_accuracy=0.5,
    )
    figures, (line,) = describe(found)
    assert figures['expected_accuracy_interval'] == [0.7, 0.8]
    assert line == (
        'expected accuracy 75.0% (70.0% to 80.0% with 95 % confidence, on 1,200 '
        'held-out known groups); by chance 25.0%, by degree 50.0%'
    )


def test_warnings_of_the_assessment_are_printed(capsys: Any) -> None:
    data = AnchorData.from_incidence(
        {'group': [1, 1], 'member': ['x', 'y'], 'is_anchor': [True, None]}
    )
    model: Any = SimpleNamespace(
        assess=lambda _: SimpleNamespace(warnings=['too few'], expected_accuracy=None)
    )
    found = assess(Talk(TableOptions()), model, data)
    assert found is not None
    assert list(found.warnings) == ['too few']
    assert capsys.readouterr().err == 'warning: too few\n'
    unknown = AnchorData.from_incidence({'group': [1, 1], 'member': ['x', 'y']})
    assert assess(Talk(TableOptions()), model, unknown) is None


def test_nothing_to_learn_from() -> None:
    data = AnchorData.from_incidence({'group': [1, 1], 'member': ['x', 'y']})
    with one_line_error('no anchor is known', "'--anchor'", "'--known'"):
        fit_model(Talk(TableOptions()), data)
