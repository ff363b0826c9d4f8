import pytest
import torch

from tests.strategies import one_line_error
from tgx_anchor.metrics import ExpectedAccuracy


def test_expected_accuracy_by_hand() -> None:
    correct = torch.tensor([True] * 8 + [False] * 2)
    expected = ExpectedAccuracy.from_correct(correct)
    assert (expected.value, expected.num_hyperedges) == (0.8, 10)
    assert expected.low == pytest.approx(0.4902, abs=1e-4)
    assert expected.high == pytest.approx(0.9433, abs=1e-4)


def test_ties_count_by_their_probability() -> None:
    half = ExpectedAccuracy.from_correct(torch.tensor([0.5, 0.5, 1.0, 0.0]))
    assert half == ExpectedAccuracy.from_correct(torch.tensor([1.0, 0.0, 1.0, 0.0]))


def test_confidence() -> None:
    correct = torch.tensor([True, False, True])
    wide = ExpectedAccuracy.from_correct(correct, 0.99)
    narrow = ExpectedAccuracy.from_correct(correct, 0.5)
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


def test_wrong_input() -> None:
    with one_line_error("'correct'", 'at least one hyperedge', 'got shape [0]'):
        ExpectedAccuracy.from_correct(torch.empty(0))
