"""The cross-entropy of scores and known anchors in each hyperedge."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch_geometric.utils import scatter


class _AnchorCrossEntropy(torch.autograd.Function):
    # The gradient is the softmax minus the target: no graph over reductions is kept.

    @staticmethod
    def forward(
        ctx: Any, score: Tensor, target: Tensor, weight: Tensor, hyperedge: Tensor
    ) -> Tensor:
        size = weight.numel()
        shift = scatter(score, hyperedge, 0, size, 'max')
        exp = (score - shift[hyperedge]).exp()
        total = scatter(exp, hyperedge, 0, size, 'sum')
        log_total = torch.where(weight > 0, total.log() + shift, 0.0)
        ctx.save_for_backward(exp * (weight / total.clamp(min=1))[hyperedge] - target)
        return (weight * log_total).sum() - (target * score).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        (grad,) = ctx.saved_tensors
        return grad * grads[0], None, None, None


def anchor_target(y: Tensor, hyperedge: Tensor, mask: Tensor) -> Tensor:
    r"""Computes the target distribution over the members of each hyperedge: one for a
    single anchor, equal shares for several, zero outside of :obj:`mask`.

    Args:
        y (torch.Tensor): Whether each member anchors its hyperedge.
        hyperedge (torch.Tensor): The hyperedge of each incidence.
        mask (torch.Tensor): The hyperedges to learn from.

    Shapes:
        - **y, hyperedge:** :math:`(P)`
        - **mask:** :math:`(M)`
        - **output:** :math:`(P)`, in double precision
    """
    flag = (y & mask[hyperedge]).double()
    count = scatter(flag, hyperedge, 0, mask.numel(), 'sum')
    return flag / count.clamp(min=1)[hyperedge]


def anchor_cross_entropy(
    score: Tensor, y: Tensor, hyperedge: Tensor, mask: Tensor
) -> Tensor:
    r"""The loss of stage 1 from the `"Identifying Group Anchors in Real-World Group
    Interactions Under Label Scarcity" <https://arxiv.org/abs/2509.20762>`_ paper (Eq.
    1),

    .. math::
        \mathcal{L} = - \sum_{e \in E'} \frac{1}{|A(e)|} \sum_{a \in A(e)} \log
        \frac{\exp(s_{a;e})}{\sum_{u \in e} \exp(s_{u;e})},

    where :math:`E'` are the hyperedges to learn from and :math:`A(e)` the anchors of
    :math:`e`, one in the paper.

    Args:
        score (torch.Tensor): The score :math:`s_{v;e}` of each incidence.
        y (torch.Tensor): Whether each member anchors its hyperedge.
        hyperedge (torch.Tensor): The hyperedge of each incidence.
        mask (torch.Tensor): The hyperedges to learn from, each with an anchor.

    Shapes:
        - **score, y, hyperedge:** :math:`(P)`
        - **mask:** :math:`(M)`
        - **output:** scalar
    """
    target = anchor_target(y, hyperedge, mask).to(score.dtype)
    return target_cross_entropy(score, target, mask.to(score.dtype), hyperedge)


def target_cross_entropy(
    score: Tensor, target: Tensor, weight: Tensor, hyperedge: Tensor
) -> Tensor:
    r"""Computes :func:`anchor_cross_entropy` from tensors that stay the same in all
    epochs.

    Args:
        score (torch.Tensor): The score :math:`s_{v;e}` of each incidence.
        target (torch.Tensor): The :func:`anchor_target`.
        weight (torch.Tensor): One for the hyperedges to learn from, zero for others.
        hyperedge (torch.Tensor): The hyperedge of each incidence.

    Shapes:
        - **score, target, hyperedge:** :math:`(P)`
        - **weight:** :math:`(M)`
        - **output:** scalar
    """
    loss: Callable[..., Tensor] = _AnchorCrossEntropy.apply
    return loss(score, target, weight, hyperedge)
