"""The three terms of the loss of VilLain."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

_EPS = 1e-10
# The least length of a column, as in 'torch.nn.functional.cosine_similarity'.
_MIN_NORM = 1e-8
# Blocks fit into the cache of a CPU, and are large enough to keep a GPU busy.
_BLOCK_CPU = 2**17
_BLOCK_GPU = 2**27


class VirtualLabelLoss(NamedTuple):
    r"""The terms of the loss of VilLain, one number each.

    Args:
        local (torch.Tensor): The mean entropy of rows, in :math:`[0, \log c]`.
        balance (torch.Tensor): Minus the entropy of the mean row, in
            :math:`[-\log c, 0]`.
        distinct (torch.Tensor): The similarity of labels.
    """

    local: Tensor
    balance: Tensor
    distinct: Tensor


def virtual_label_loss(prob: Tensor, weight: Tensor | None = None) -> VirtualLabelLoss:
    r"""Computes the loss of virtual labels from the `"VilLain: Self-Supervised
    Learning on Homogeneous Hypergraphs without Features via Virtual Label Propagation"
    <https://doi.org/10.1145/3589334.3645454>`_ paper.

    The rows of :obj:`prob` are nodes or hyperedges. In each of :math:`S` subspaces, a
    row is a distribution over :math:`c` labels, :math:`M_{r,l,s}`. The terms are means
    over subspaces of

    .. math::
        \mathcal{L}_{\mathrm{local}} &= - \sum_r w_r \sum_l M_{r,l,s} \log M_{r,l,s}

        \mathcal{L}_{\mathrm{balance}} &= \sum_l \bar{M}_{l,s} \log \bar{M}_{l,s}
        \quad \text{with} \quad \bar{M}_{l,s} = \sum_r w_r M_{r,l,s}

        \mathcal{L}_{\mathrm{distinct}} &= - \frac{1}{c} \sum_l \log
        \frac{\exp C_{l,l}}{\sum_k \exp C_{l,k}}

    where :math:`C_{l,k}` is the cosine of the columns :math:`M_{:,l,s}` and
    :math:`M_{:,k,s}`. They make each row confident, use all labels evenly, and
    keep labels apart. Logarithms are those of :math:`M + 10^{-10}`.

    All terms come from one sweep over blocks of rows. A row with weight :math:`w_r`
    counts as that many copies of it.

    Args:
        prob (torch.Tensor): The distributions. Labels come before subspaces, since
            a softmax over the last dimension is slow if it has few entries.
        weight (torch.Tensor, optional): The weight of each row, which is divided by
            the sum of all; one if :obj:`None`. (default: :obj:`None`)

    Shapes:
        - **prob:** :math:`(n, c, S)`
        - **weight:** :math:`(n)`
    """
    if prob.dim() != 3:
        raise ValueError(
            f"'prob' must have the shape [rows, labels, subspaces] "
            f'(got {list(prob.size())})'
        )
    if weight is None:
        weight = prob.new_ones(prob.size(0))
    if list(weight.size()) != [prob.size(0)]:
        raise ValueError(
            f"'weight' must have the shape [{prob.size(0)}] (got {list(weight.size())})"
        )
    # Without rows, all terms are those of zeros.
    weight = weight / weight.sum().clamp(min=torch.finfo(weight.dtype).tiny)
    entropy, mean, gram = _moments(prob, weight.to(prob.dtype))
    balance = (mean * (mean + _EPS).log()).sum(dim=0).mean()
    norm = gram.diagonal(dim1=1, dim2=2).clamp(min=_MIN_NORM**2).sqrt()
    cosine = gram / (norm.unsqueeze(1) * norm.unsqueeze(2))
    own = cosine.log_softmax(dim=-1).diagonal(dim1=1, dim2=2)
    return VirtualLabelLoss(entropy, balance, -own.mean())


def _blocks(prob: Tensor) -> Iterator[slice]:
    size = _BLOCK_CPU if prob.device.type == 'cpu' else _BLOCK_GPU
    step = max(size // max(prob[:1].numel(), 1), 1)
    for start in range(0, prob.size(0), step):
        yield slice(start, start + step)


def _by_subspace(block: Tensor) -> Tensor:
    # [b, c, S] -> [S, c, b], in which rows are contiguous.
    num_rows, *size = block.size()
    return block.flatten(1).t().contiguous().view(*size, num_rows).transpose(0, 1)


class _Moments(torch.autograd.Function):
    # The weighted mean entropy of rows, their mean [c, S], and the products of columns
    # within each subspace [S, c, c]. Blocks of rows stay in the cache, and nothing of
    # the size of 'prob' is stored. Sums are in double precision.

    @staticmethod
    def forward(ctx: Any, prob: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(prob, weight)
        num_labels, num_subspaces = prob.size()[1:]
        option: Any = {'dtype': torch.double, 'device': prob.device}
        entropy = torch.zeros((), **option)
        mean = torch.zeros(num_labels * num_subspaces, **option)
        gram = torch.zeros(num_subspaces, num_labels, num_labels, **option)
        for rows in _blocks(prob):
            block, share = prob[rows], weight[rows]
            term = (block + _EPS).log_().mul_(block)
            entropy -= share @ term.sum(dim=(1, 2))
            mean += share @ block.flatten(1)
            column = _by_subspace(block)
            gram += (column * share) @ column.transpose(1, 2)
        mean = mean.view(num_labels, num_subspaces)
        return entropy / num_subspaces, mean, gram

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        prob, weight = ctx.saved_tensors
        to_entropy, to_mean, to_gram = (grad.to(prob.dtype) for grad in grads)
        to_entropy = to_entropy / prob.size(2)
        to_gram = to_gram + to_gram.transpose(1, 2)
        out = torch.empty_like(prob, memory_format=torch.contiguous_format)
        for rows in _blocks(prob):
            block, part = prob[rows], out[rows]
            product = (to_gram @ _by_subspace(block)).transpose(0, 1)
            # A transposed matrix is copied fast, an array of three dimensions is not.
            part.flatten(1).copy_(product.reshape(-1, block.size(0)).t())
            part += to_mean
            shifted = block + _EPS
            slope = block / shifted
            slope += shifted.log_()
            part -= slope.mul_(to_entropy)
            part *= weight[rows].view(-1, 1, 1)
        return out, None


_moments: Callable[..., tuple[Tensor, Tensor, Tensor]] = _Moments.apply
