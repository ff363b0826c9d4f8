import numpy as np
import pytest

from tgx_anchor.benchmark.growth import growth_exponent


def test_power_law() -> None:
    points = [(size, 3e-7 * size**1.25) for size in (10**5, 10**6, 10**7)]
    assert growth_exponent(points) == pytest.approx(1.25)
    # Missing costs do not count.
    assert growth_exponent([*points, (10**8, None)]) == pytest.approx(1.25)


def test_least_squares() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(1, 100, (7, 2))
    logs = np.log(points)
    slope = np.polyfit(logs[:, 0], logs[:, 1], 1)[0]
    assert growth_exponent([(x, y) for x, y in points.tolist()]) == pytest.approx(slope)


def test_one_size_has_no_exponent() -> None:
    assert growth_exponent([(10, 1.0), (10, 2.0)]) is None
    assert growth_exponent([]) is None
