"""Sums over incidences, from nodes to hyperedges and back."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from tgx_anchor.data.hyperedge_index import HyperedgeIndex, Segments


def sum_to_hyperedge(
    x: Tensor, index: HyperedgeIndex, weight: Tensor | None = None
) -> Tensor:
    r"""Sums over the members of each hyperedge,

    .. math::
        \mathbf{y}_e = \sum_{v \in e} w_{v;e} \, \mathbf{x}_v,

    in one sweep over the sorted incidences that stores nothing per incidence, unlike
    :obj:`scatter` and :obj:`MessagePassing` of PyG. The gradient is the sum in the
    other direction. Repeated incidences count as often as they are listed, and empty
    sums are zero.

    Args:
        x (torch.Tensor): The vectors of nodes.
        index (HyperedgeIndex): The incidences.
        weight (torch.Tensor, optional): The weights :math:`w_{v;e}`, one if
            :obj:`None`. (default: :obj:`None`)

    Shapes:
        - **x:** :math:`(N, F)`
        - **weight:** :math:`(P)`
        - **output:** :math:`(M, F)`
    """
    return _sum_any(x, weight, index, False)


def sum_to_node(
    hyperedge: Tensor, index: HyperedgeIndex, weight: Tensor | None = None
) -> Tensor:
    r"""Sums over the hyperedges of each node,

    .. math::
        \mathbf{x}_v = \sum_{e \ni v} w_{v;e} \, \mathbf{y}_e,

    as :func:`sum_to_hyperedge` does in the other direction.

    Args:
        hyperedge (torch.Tensor): The vectors of hyperedges.
        index (HyperedgeIndex): The incidences.
        weight (torch.Tensor, optional): The weights :math:`w_{v;e}`, one if
            :obj:`None`. (default: :obj:`None`)

    Shapes:
        - **hyperedge:** :math:`(M, F)`
        - **weight:** :math:`(P)`
        - **output:** :math:`(N, F)`
    """
    return _sum_any(hyperedge, weight, index, True)


def incidence_dot(x: Tensor, hyperedge: Tensor, index: HyperedgeIndex) -> Tensor:
    r"""Computes the product :math:`\mathbf{x}_v^{\top} \mathbf{y}_e` of each incidence.

    Args:
        x (torch.Tensor): The vectors of nodes.
        hyperedge (torch.Tensor): The vectors of hyperedges.
        index (HyperedgeIndex): The incidences.

    Shapes:
        - **x:** :math:`(N, F)`
        - **hyperedge:** :math:`(M, F)`
        - **output:** :math:`(P)`
    """
    if torch.compiler.is_compiling():
        return (x[index.node] * hyperedge[index.hyperedge]).sum(dim=-1)
    dtype = torch.promote_types(x.dtype, hyperedge.dtype)
    wide = _wide(dtype)
    return _dot(x.to(wide), hyperedge.to(wide), index).to(dtype)


def rescale_received(total: Tensor, index: HyperedgeIndex) -> Tensor:
    r"""Scales the sums of nodes over their drawn incidences up to all their incidences:
    by the degree over the number of drawn ones.

    Args:
        total (torch.Tensor): The sums of nodes.
        index (HyperedgeIndex): The drawn incidences
            (:attr:`~tgx_anchor.data.HyperedgeIndex.received`).

    Shapes:
        - **total, output:** :math:`(N, F)`
    """
    drawn = index.count('node')
    ratio = divisor(index.node_degree, total.dtype) / divisor(drawn, total.dtype)
    return total * ratio


def divisor(count: Tensor, dtype: torch.dtype) -> Tensor:
    r"""Returns counts as a column of at least one, by which empty sums can be divided.

    Args:
        count (torch.Tensor): The degrees of nodes or the sizes of hyperedges.
        dtype (torch.dtype): The type of the output.

    Shapes:
        - **count:** :math:`(N)`
        - **output:** :math:`(N, 1)`
    """
    return count.to(dtype).clamp(min=1).unsqueeze(-1)


def _wide(dtype: torch.dtype) -> torch.dtype:
    # 'embedding_bag' has no gradients in half precision, and long sums need more.
    return torch.float if dtype.itemsize < 4 else dtype


def _sum_any(
    value: Tensor, weight: Tensor | None, index: HyperedgeIndex, to_node: bool
) -> Tensor:
    dtype = value.dtype
    if weight is not None:
        dtype = torch.promote_types(dtype, weight.dtype)
    if torch.compiler.is_compiling():
        # Sorting depends on values, which a traced graph lacks; scatter does not.
        ends = (index.hyperedge, index.node, index.num_nodes)
        if not to_node:
            ends = (index.node, index.hyperedge, index.num_hyperedges)
        source, target, size = ends
        term = value.index_select(0, source)
        term = term if weight is None else term * weight.unsqueeze(-1)
        return term.new_zeros(size, term.size(-1)).index_add(0, target, term)
    wide = _wide(dtype)
    weight = None if weight is None else weight.to(wide)
    return _sum(value.to(wide), weight, index, to_node).to(dtype)


def _bags(order: Segments, value: Tensor, weight: Tensor | None) -> Tensor:
    return embedding_bag(
        order.source,
        value.contiguous(),
        order.ptr,
        mode='sum',
        per_sample_weights=weight,
        include_last_offset=True,
    )


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        value: Tensor,
        weight: Tensor | None,
        index: HyperedgeIndex,
        to_node: bool,
    ) -> Tensor:
        ctx.index, ctx.to_node = index, to_node
        ctx.save_for_backward(None if weight is None else value, weight)
        order = index.by_node if to_node else index.by_hyperedge
        if weight is not None:
            perm = order.perm
            weight = weight.contiguous() if perm is None else weight[perm]
        return _bags(order, value, weight)

    @staticmethod
    def backward(
        ctx: Any, *grads: Tensor
    ) -> tuple[Tensor | None, Tensor | None, None, None]:
        value, weight = ctx.saved_tensors
        grad_value = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_value = _sum(grads[0], weight, ctx.index, not ctx.to_node)
        if ctx.needs_input_grad[1]:
            ends = (grads[0], value) if ctx.to_node else (value, grads[0])
            grad_weight = _dot(*ends, ctx.index)
        return grad_value, grad_weight, None, None


class _Dot(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, hyperedge: Tensor, index: HyperedgeIndex
    ) -> Tensor:
        ctx.index = index
        ctx.save_for_backward(x, hyperedge)
        # The derivative of a weighted sum with respect to its weights is the product of
        # the rows at both ends, for which PyTorch does not copy these rows.
        order = index.by_hyperedge
        weight = x.new_zeros(order.source.numel(), requires_grad=True)
        with torch.enable_grad():
            out = _bags(order, x.detach(), weight)
        (product,) = torch.autograd.grad(out, weight, hyperedge.contiguous())
        if order.perm is None:
            return product
        return torch.empty_like(product).scatter_(0, order.perm, product)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, hyperedge = ctx.saved_tensors
        grad_x = grad_hyperedge = None
        if ctx.needs_input_grad[0]:
            grad_x = _sum(hyperedge, grads[0], ctx.index, True)
        if ctx.needs_input_grad[1]:
            grad_hyperedge = _sum(x, grads[0], ctx.index, False)
        return grad_x, grad_hyperedge, None


_sum: Callable[..., Tensor] = _Sum.apply
_dot: Callable[..., Tensor] = _Dot.apply
