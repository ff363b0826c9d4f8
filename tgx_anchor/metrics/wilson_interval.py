"""Confidence interval of a proportion."""

import math
from statistics import NormalDist


def wilson_interval(
    correct: float, count: int, confidence: float = 0.95
) -> tuple[float, float]:
    r"""Computes the score interval of a proportion from the `"Probable Inference, the
    Law of Succession, and Statistical Inference"
    <https://doi.org/10.1080/01621459.1927.10502953>`_ paper

    .. math::
        \frac{1}{1 + z^2 / n} \left( \hat{p} + \frac{z^2}{2 n} \pm z
        \sqrt{\frac{\hat{p} (1 - \hat{p})}{n} + \frac{z^2}{4 n^2}} \right),

    where :math:`\hat{p}` is the share of right predictions, :math:`n` their number and
    :math:`z` the quantile of the normal distribution.

    Args:
        correct (float): The number of right predictions; not an integer where ties
            count by their probability.
        count (int): The number of predictions :math:`n`.
        confidence (float, optional): The confidence level. (default: :obj:`0.95`)
    """
    if count < 1:
        raise ValueError(f"'count' must be positive (got {count})")
    if not 0 <= correct <= count:
        raise ValueError(f"'correct' must lie in [0, {count}] (got {correct})")
    if not 0 < confidence < 1:
        raise ValueError(f"'confidence' must lie in (0, 1) (got {confidence})")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = correct / count
    centre = share + z * z / (2 * count)
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    scale = 1 + z * z / count
    return max((centre - spread) / scale, 0.0), min((centre + spread) / scale, 1.0)
