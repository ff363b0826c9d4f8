"""Rounding of centralities, so that equal ones compare as equal."""

import torch
from torch import Tensor


def round_centrality(value: Tensor) -> tuple[Tensor, Tensor]:
    r"""Rounds to 32 significant bits, since further digits of a centrality depend on
    the order of summation.

    Returns:
        The rounded values, and the rank of each among the distinct rounded values,
        from zero for the smallest.

    Shapes:
        - **value:** :math:`(N)`
        - **output:** :math:`(N)` and :math:`(N)`
    """
    mantissa, exponent = torch.frexp(value.double())
    value = torch.ldexp(torch.round(mantissa * 2.0**32), exponent - 32)
    value, level = torch.unique(value, return_inverse=True)
    return value[level], level
