"""Sums over incidences, from nodes to hyperedges and back."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tgx_anchor.utils.incidence import index_ptr, is_sorted


def count_hyperedges(hyperedge_index: Tensor, num_hyperedges: int | None = None) -> int:
    r"""Returns the given number of hyperedges, or the largest one that occurs, plus
    one.

    Args:
        hyperedge_index (torch.Tensor): The incidences.
        num_hyperedges (int, optional): The number of hyperedges :math:`M`.
            (default: :obj:`None`)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
    """
    if num_hyperedges is not None:
        return num_hyperedges
    if hyperedge_index.size(1) == 0:
        return 0
    return int(hyperedge_index[1].max()) + 1


def count_degree(
    index: Tensor, size: int, dtype: torch.dtype, degree: Tensor | None = None
) -> Tensor:
    r"""Returns the given degrees, or how often each number occurs in :obj:`index`; at
    least one, so that empty sums can be divided by them.

    Args:
        index (torch.Tensor): The nodes, or the hyperedges, of the incidences.
        size (int): The number of nodes or hyperedges.
        dtype (torch.dtype): The type of the output.
        degree (torch.Tensor, optional): The degrees in the whole hypergraph.
            (default: :obj:`None`)

    Shapes:
        - **index:** :math:`(P)`
        - **degree, output:** :math:`(\mathrm{size})`
    """
    if degree is None:
        degree = torch.bincount(index, minlength=size)
    return degree.to(dtype).clamp(min=1)


class _Segments(NamedTuple):
    # The incidences in the order of their targets: where the segment of each target
    # begins, the source of each incidence, and its place in the order given.
    ptr: Tensor
    source: Tensor
    perm: Tensor | None


def _segments(source: Tensor, target: Tensor, size: int) -> _Segments:
    perm = None
    if not is_sorted(target):
        target, perm = torch.sort(target, stable=True)
        source = source[perm]
    return _Segments(index_ptr(target, size), source, perm)


class Aggregate:
    r"""Sums over incidences :math:`(v, e)`, from nodes to hyperedges and back,

    .. math::
        \mathbf{y}_e = \sum_{v \in e} w_{v;e} \, \mathbf{x}_v
        \qquad \text{and} \qquad
        \mathbf{x}_v = \sum_{e \ni v} w_{v;e} \, \mathbf{y}_e,

    in which repeated incidences count as often as they are listed, and empty sums are
    zero. The incidences are put in order once; each sum is then one sweep over them
    that stores nothing per incidence, unlike :obj:`scatter` and :obj:`MessagePassing`
    of PyG, and its gradient is the sum in the other direction.

    Args:
        hyperedge_index (torch.Tensor): The incidences; faster if sorted by hyperedge.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
    """

    def __init__(
        self, hyperedge_index: Tensor, num_nodes: int, num_hyperedges: int
    ) -> None:
        self.node, self.hyperedge = hyperedge_index
        self.num_nodes = num_nodes
        self.num_hyperedges = num_hyperedges
        self._by_node = _segments(self.hyperedge, self.node, num_nodes)
        self._by_hyperedge = _segments(self.node, self.hyperedge, num_hyperedges)

    def select(self, mask: Tensor | None, num_nodes: int | None = None) -> 'Aggregate':
        r"""The sums over some of the incidences, or over all if :obj:`None`.

        Args:
            mask (torch.Tensor, optional): The incidences.
            num_nodes (int, optional): If given, only the first so many nodes, which
                all these incidences must be of. (default: :obj:`None`)

        Shapes:
            - **mask:** :math:`(P)`
        """
        if num_nodes is None:
            num_nodes = self.num_nodes
        if mask is None and num_nodes == self.num_nodes:
            return self
        index = torch.stack([self.node, self.hyperedge])
        if mask is not None:
            index = index[:, mask]
        return Aggregate(index, num_nodes, self.num_hyperedges)

    def rescale(self, total: Tensor, degree: Tensor) -> Tensor:
        r"""What a sum over some incidences of each node would be over all of them, if
        the others were like these on average.

        Args:
            total (torch.Tensor): The sums of nodes.
            degree (torch.Tensor): The degrees of nodes in the whole hypergraph.

        Shapes:
            - **total, output:** :math:`(N, F)`
            - **degree:** :math:`(N)`
        """
        here = count_degree(self.node, self.num_nodes, total.dtype)
        return total * (degree / here).unsqueeze(-1)

    def to_hyperedge(self, x: Tensor, weight: Tensor | None = None) -> Tensor:
        r"""The sum over the members of each hyperedge.

        Args:
            x (torch.Tensor): What nodes send.
            weight (torch.Tensor, optional): The weights :math:`w_{v;e}`, one if
                :obj:`None`. (default: :obj:`None`)

        Shapes:
            - **x:** :math:`(N, F)`
            - **weight:** :math:`(P)`
            - **output:** :math:`(M, F)`
        """
        return _sum(x, weight, self, False)

    def to_node(self, hyperedge: Tensor, weight: Tensor | None = None) -> Tensor:
        r"""The sum over the hyperedges of each node.

        Args:
            hyperedge (torch.Tensor): What hyperedges send.
            weight (torch.Tensor, optional): The weights :math:`w_{v;e}`, one if
                :obj:`None`. (default: :obj:`None`)

        Shapes:
            - **hyperedge:** :math:`(M, F)`
            - **weight:** :math:`(P)`
            - **output:** :math:`(N, F)`
        """
        return _sum(hyperedge, weight, self, True)

    def dot(self, x: Tensor, hyperedge: Tensor) -> Tensor:
        r"""The product :math:`\mathbf{x}_v^{\top} \mathbf{y}_e` of each incidence.

        Args:
            x (torch.Tensor): The vectors of nodes.
            hyperedge (torch.Tensor): The vectors of hyperedges.

        Shapes:
            - **x:** :math:`(N, F)`
            - **hyperedge:** :math:`(M, F)`
            - **output:** :math:`(P)`
        """
        return _dot(x, hyperedge, self)


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, value: Tensor, weight: Tensor | None, sums: Aggregate, to_node: bool
    ) -> Tensor:
        ctx.sums, ctx.to_node = sums, to_node
        ctx.save_for_backward(None if weight is None else value, weight)
        ptr, source, perm = sums._by_node if to_node else sums._by_hyperedge
        if weight is not None:
            weight = weight.contiguous() if perm is None else weight[perm]
        return torch.nn.functional.embedding_bag(
            source,
            value.contiguous(),
            ptr,
            mode='sum',
            per_sample_weights=weight,
            include_last_offset=True,
        )

    @staticmethod
    def backward(
        ctx: Any, *grads: Tensor
    ) -> tuple[Tensor | None, Tensor | None, None, None]:
        value, weight = ctx.saved_tensors
        grad_value = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_value = _sum(grads[0], weight, ctx.sums, not ctx.to_node)
        if ctx.needs_input_grad[1]:
            ends = (grads[0], value) if ctx.to_node else (value, grads[0])
            grad_weight = _dot(*ends, ctx.sums)
        return grad_value, grad_weight, None, None


class _Dot(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, hyperedge: Tensor, sums: Aggregate) -> Tensor:
        ctx.sums = sums
        ctx.save_for_backward(x, hyperedge)
        # The derivative of a weighted sum by its weights is the product of the rows at
        # both ends, for which PyTorch does not copy these rows.
        ptr, source, perm = sums._by_hyperedge
        weight = x.new_zeros(source.numel(), requires_grad=True)
        with torch.enable_grad():
            out = torch.nn.functional.embedding_bag(
                source,
                x.detach().contiguous(),
                ptr,
                mode='sum',
                per_sample_weights=weight,
                include_last_offset=True,
            )
        (product,) = torch.autograd.grad(out, weight, hyperedge.contiguous())
        if perm is None:
            return product
        return torch.empty_like(product).scatter_(0, perm, product)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, hyperedge = ctx.saved_tensors
        grad_x = grad_hyperedge = None
        if ctx.needs_input_grad[0]:
            grad_x = _sum(hyperedge, grads[0], ctx.sums, True)
        if ctx.needs_input_grad[1]:
            grad_hyperedge = _sum(x, grads[0], ctx.sums, False)
        return grad_x, grad_hyperedge, None


_sum: Callable[..., Tensor] = _Sum.apply
_dot: Callable[..., Tensor] = _Dot.apply
