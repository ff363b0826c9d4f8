"""Shares of features in a difference of two scores of stage 1."""

import torch
from torch import Tensor

from tgx_anchor.nn import IncidenceScorer


def integrated_gradients(
    scorer: IncidenceScorer, feature: Tensor, baseline: Tensor
) -> Tensor:
    r"""Computes the integrated gradients of the `"Axiomatic Attribution for Deep
    Networks" <https://arxiv.org/abs/1703.01365>`_ paper for the MLP
    :math:`s(\mathbf{x}) = \mathbf{a}^{\top} \mathrm{ReLU}(\mathbf{W} \mathbf{x} +
    \mathbf{b}) + c` of stage 1,

    .. math::
        \phi_i = (x_i - x'_i) \int_0^1 \frac{\partial s}{\partial x_i}
        \left( \mathbf{x}' + t (\mathbf{x} - \mathbf{x}') \right) \mathrm{d}t =
        (x_i - x'_i) \sum_j a_j W_{ji} \frac{\mathrm{ReLU}(h_j) +
        \mathrm{ReLU}(h'_j)}{|h_j| + |h'_j|},

    where :math:`\mathbf{h} = \mathbf{W} \mathbf{x} + \mathbf{b}`, and likewise
    :math:`\mathbf{h}'`. The integral is exact, since each hidden unit is active on one
    part of the straight line from the baseline :math:`\mathbf{x}'` to
    :math:`\mathbf{x}`. So :math:`\sum_i \phi_i = s(\mathbf{x}) - s(\mathbf{x}')`.

    Args:
        scorer (IncidenceScorer): The MLP of stage 1.
        feature (torch.Tensor): The features :math:`\mathbf{x}`.
        baseline (torch.Tensor): The features :math:`\mathbf{x}'`.

    Shapes:
        - **feature, baseline:** :math:`(B, F)`
        - **output:** :math:`(B, F)`, in double precision
    """
    first, second = scorer.mlp.lins
    weight = first.get_parameter('weight').detach().double()
    bias = first.get_parameter('bias').detach().double()
    out_weight = second.get_parameter('weight').detach().double()
    feature, baseline = feature.double(), baseline.double()
    high, low = feature @ weight.T + bias, baseline @ weight.T + bias
    length = high.abs() + low.abs()
    # The part of the line on which a unit is active.
    active = torch.where(length > 0, (high.relu() + low.relu()) / length, 0.0)
    return (feature - baseline) * ((active * out_weight) @ weight)
