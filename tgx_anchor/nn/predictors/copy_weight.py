"""Weights of hyperedges that are copies of each other."""

import torch
from torch import Tensor

# The assumed correlation between copies. The weight of all copies together approaches
# its inverse, ten.
_CORRELATION = 0.1


def copy_weight(number: Tensor) -> Tensor:
    r"""Computes the weights of hyperedges of which some are copies of the same node
    set,

    .. math::
        w_e = \frac{1}{1 + \rho (c_e - 1)},

    where :math:`c_e` is the number of copies of :math:`e`, and :math:`\rho = 0.1` the
    assumed correlation between them. So a group that occurs a thousand times counts
    more than one that occurs once, but not a thousand times as much.

    Args:
        number (torch.Tensor): The number of the node set of each hyperedge, as in
            :func:`~tgx_anchor.utils.distinct_hyperedges`.

    Shapes:
        - **number:** :math:`(H)`
        - **output:** :math:`(H)`, in double precision
    """
    copies = torch.bincount(number)[number].double()
    return 1 / (1 + _CORRELATION * (copies - 1))
