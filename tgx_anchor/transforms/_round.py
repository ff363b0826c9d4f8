"""Rounding, so that values do not depend on the order of summation."""

import torch
from torch import Tensor

STEP = 2.0**-30


def round_centrality(value: Tensor) -> tuple[Tensor, Tensor]:
    r"""Rounds to 32 significant bits, since further digits of a centrality depend on
    the order of summation.

    Returns:
        The distinct rounded values in ascending order, and the place of each value
        among them.

    Shapes:
        - **value:** :math:`(N)`
        - **output:** :math:`(L)` and :math:`(N)`
    """
    mantissa, exponent = torch.frexp(value.double())
    value = torch.ldexp(torch.round(mantissa * 2.0**32), exponent - 32)
    distinct, level = torch.unique(value, return_inverse=True)
    return distinct, level


def round_to_step(value: Tensor) -> Tensor:
    r"""Rounds to multiples of :math:`2^{-30}`. Their sums, up to :math:`2^{23}`, are
    exact in double precision, and do not depend on the order of members.

    Shapes:
        - **value:** :math:`(*)`, in double precision
        - **output:** :math:`(*)`
    """
    return value.div(STEP).round_().mul_(STEP)
