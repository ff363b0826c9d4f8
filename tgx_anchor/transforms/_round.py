"""Centralities as numbers that can be compared."""

import torch
from torch import Tensor


def round_centrality(value: Tensor) -> tuple[Tensor, Tensor]:
    r"""Rounds to 32 significant bits, since further digits of a centrality depend on
    the order of summation.

    Returns:
        The rounded values, and the number of each among the distinct ones in their
        order.

    Shapes:
        - **value:** :math:`(N)`
        - **output:** :math:`(N)` and :math:`(N)`
    """
    mantissa, exponent = torch.frexp(value.double())
    value = torch.ldexp(torch.round(mantissa * 2.0**32), exponent - 32)
    value, level = torch.unique(value, return_inverse=True)
    return value[level], level
