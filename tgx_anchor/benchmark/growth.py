"""Growth of a cost with the size of the input."""

import math
from collections.abc import Iterable


def growth_exponent(points: Iterable[tuple[float, float | None]]) -> float | None:
    r"""Returns the exponent :math:`k` of the power law :math:`c \, n^k` that fits the
    points best: the least-squares slope between their logarithms.

    Args:
        points (list[tuple[float, float]]): Sizes and costs. Costs that are missing or
            zero are left out.

    Returns:
        The exponent, or :obj:`None` with fewer than two sizes.
    """
    logs = [(math.log(size), math.log(cost)) for size, cost in points if cost]
    if len({x for x, _ in logs}) < 2:
        return None
    mean_x = math.fsum(x for x, _ in logs) / len(logs)
    mean_y = math.fsum(y for _, y in logs) / len(logs)
    products = math.fsum((x - mean_x) * (y - mean_y) for x, y in logs)
    return products / math.fsum((x - mean_x) ** 2 for x, _ in logs)
