import pytest

from tgx_anchor.metrics import wilson_interval


def test_wilson_interval_by_hand() -> None:
    # Eight of ten, a textbook case.
    assert wilson_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_bounds_stay_in_the_unit_interval() -> None:
    low, high = wilson_interval(0, 5)
    assert low == pytest.approx(0.0)
    assert high == pytest.approx(0.4345, abs=1e-4)
    assert wilson_interval(5, 5) == pytest.approx((1 - high, 1.0))


def test_higher_confidence_is_wider() -> None:
    low, high = wilson_interval(30, 50, 0.9)
    wide_low, wide_high = wilson_interval(30, 50, 0.99)
    assert wide_low < low < 0.6 < high < wide_high


@pytest.mark.parametrize(
    ('correct', 'count', 'confidence', 'message'),
    [
        (0, 0, 0.95, "'count' must be positive"),
        (6, 5, 0.95, r"'correct' must lie in \[0, 5\]"),
        (1, 5, 1.0, "'confidence' must lie in"),
    ],
)
def test_wrong_input(correct: int, count: int, confidence: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wilson_interval(correct, count, confidence)
