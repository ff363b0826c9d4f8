import pytest
import torch

from tgx_anchor.metrics import expected_calibration_error


def test_expected_calibration_error_by_hand() -> None:
    probability = torch.tensor([0.9, 0.2, 0.6, 0.4, 0.8])
    correct = torch.tensor([True, False, False, True, True])
    # Bins 0.4 against 1/3 (three predictions), 0.85 against 1 (two).
    expected = 3 / 5 * (0.4 - 1 / 3) + 2 / 5 * 0.15
    assert expected_calibration_error(probability, correct, 2) == pytest.approx(
        expected
    )


def test_one_bin_is_the_difference_of_the_means() -> None:
    probability = torch.tensor([0.5, 0.7, 0.9])
    correct = torch.tensor([True, False, False])
    value = expected_calibration_error(probability, correct, 1)
    assert value == pytest.approx(0.7 - 1 / 3)


def test_naive_oracle() -> None:
    generator = torch.Generator().manual_seed(0)
    probability = torch.rand(100, generator=generator, dtype=torch.double)
    correct = torch.rand(100, generator=generator) < probability
    rows = sorted(zip(probability.tolist(), correct.tolist(), strict=True))
    error = 0.0
    for part in range(10):
        bin_ = rows[part * 10 : part * 10 + 10]
        mean = sum(p for p, _ in bin_) / 10
        share = sum(c for _, c in bin_) / 10
        error += abs(mean - share) / 10
    assert expected_calibration_error(probability, correct, 10) == pytest.approx(error)


def test_right_probabilities_have_a_small_error() -> None:
    generator = torch.Generator().manual_seed(1)
    probability = torch.rand(200_000, generator=generator)
    correct = torch.rand(200_000, generator=generator) < probability
    assert expected_calibration_error(probability, correct) < 0.005
    assert expected_calibration_error(probability, ~correct) > 0.3
