import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tgx_anchor.metrics import calibration_bins


def test_calibration_bins_by_hand() -> None:
    probability = torch.tensor([0.9, 0.2, 0.6, 0.4, 0.8])
    correct = torch.tensor([True, False, False, True, True])
    bins = calibration_bins(probability, correct, num_bins=2)
    # Sorted: 0.2, 0.4, 0.6 | 0.8, 0.9.
    assert bins.size.tolist() == [3, 2]
    assert bins.probability.tolist() == pytest.approx([0.4, 0.85])
    assert bins.accuracy.tolist() == pytest.approx([1 / 3, 1.0])


def test_equal_probabilities_share_their_accuracy() -> None:
    probability = torch.full((4,), 0.5)
    for correct in ([True, True, False, False], [False, True, False, True]):
        bins = calibration_bins(probability, torch.tensor(correct), num_bins=2)
        assert bins.accuracy.tolist() == [0.5, 0.5]


def test_fewer_predictions_than_bins() -> None:
    bins = calibration_bins(torch.tensor([0.3, 0.1]), torch.tensor([True, False]), 15)
    assert bins.size.tolist() == [1, 1]
    assert bins.accuracy.tolist() == [0.0, 1.0]


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60),
    st.integers(1, 20),
    st.randoms(use_true_random=False),
)
def test_counts_are_equal_and_order_does_not_matter(rows, num_bins, random) -> None:  # type: ignore[no-untyped-def]
    probability, correct = (torch.tensor(column) for column in zip(*rows, strict=True))
    probability = probability.double()
    bins = calibration_bins(probability, correct, num_bins)
    assert int(bins.size.sum()) == len(rows)
    assert int(bins.size.max() - bins.size.min()) <= 1
    assert (bins.probability.diff() >= -1e-12).all()
    mean = float((bins.accuracy * bins.size).sum() / len(rows))
    assert mean == pytest.approx(float(correct.double().mean()))
    perm = list(range(len(rows)))
    random.shuffle(perm)
    shuffled = calibration_bins(probability[perm], correct[perm], num_bins)
    assert shuffled.accuracy.tolist() == pytest.approx(bins.accuracy.tolist())


@pytest.mark.parametrize(
    ('probability', 'correct', 'num_bins', 'message'),
    [
        ([0.5], [True, False], 15, 'same length'),
        ([], [], 15, 'at least one prediction'),
        ([0.5, 1.5], [True, True], 15, r'\[0, 1\] \(got 1.5 at 1\)'),
        ([float('nan')], [True], 15, r'got nan at 0'),
        ([0.5], [True], 0, "'num_bins' must be positive"),
    ],
)
def test_wrong_input(
    probability: list[float], correct: list[bool], num_bins: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        calibration_bins(torch.tensor(probability), torch.tensor(correct), num_bins)
