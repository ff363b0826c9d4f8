"""Sums whose bits do not depend on the order of their terms."""

import torch
from torch import Tensor

# The bits of a number that hold its exponent.
_EXPONENT = 0x7FF0000000000000
# The number of terms that are added at a time, so that they stay in the cache.
BLOCK_TERMS = 1 << 17


def sum_base_(bound: Tensor) -> Tensor:
    r"""Replaces bounds of sums by the bases that :func:`add_terms_` starts from: powers
    of two that are two to four times as large.

    Args:
        bound (torch.Tensor): Upper bounds of the sums, at least zero, in double
            precision.

    Shapes:
        - **bound:** :math:`(*)`
    """
    bound.view(torch.long).bitwise_and_(_EXPONENT)
    return bound.mul_(4)


def add_terms_(out: Tensor, index: Tensor, term: Tensor) -> Tensor:
    r"""Adds terms to sums that start from :func:`sum_base_`; the caller subtracts the
    base at the end. Added to such a large number, each term is rounded to a multiple of
    its last digit, and the sum of the rounded terms is exact: it has the same bits in
    any order, and so has the sum over the parts of several processes.

    Args:
        out (torch.Tensor): The sums, changed in place, in double precision.
        index (torch.Tensor): The sum that each term belongs to.
        term (torch.Tensor): The terms, at least zero, in double precision.

    Shapes:
        - **out:** :math:`(N)`
        - **index:** :math:`(P)`
        - **term:** :math:`(P)`
    """
    for place, part in zip(
        index.split(BLOCK_TERMS), term.split(BLOCK_TERMS), strict=True
    ):
        # A term half way between two multiples would be rounded to either of them,
        # depending on what was added before. With its last bit set, no term is.
        odd = part.view(torch.long).bitwise_or(1).view(torch.double)
        out.scatter_add_(0, place.long(), odd)
    return out
