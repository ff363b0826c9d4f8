"""Stage 2 with contexts: a shared strength per node, and a part for each context."""

import torch
from torch import Tensor
from torch_geometric.utils import scatter


class ContextStrength(torch.nn.Module):
    r"""Stage 2 of :class:`~tgx_anchor.nn.ContextAnchorRadar`: the strength of a node
    depends on the context in which it is a member, such as the side of a directed
    hyperedge or the type of the hyperedge,

    .. math::
        s_{v,c} = s_v + \delta_{v,c} + b_{g(v,c)},

    where :math:`s_v`, started at one, is shared by all contexts, the parts
    :math:`\delta_{v,c}` belong to one node in one context, and the offsets
    :math:`b_g` to a kind of node in one context; both are started at zero. Only pairs
    of nodes and contexts that occur have parameters.

    Args:
        pair (torch.Tensor): The node and the context of each pair, distinct and in
            ascending order.
        cell (torch.Tensor): The number :math:`g(v,c)` of the offset of each pair.
        num_nodes (int): The number of nodes :math:`N`.
        num_cells (int): The number of offsets :math:`G`.
        num_variants (int, optional): If given, the number of strengths per pair, which
            are learned at once with different penalties. (default: :obj:`None`)

    Shapes:
        - **pair:** :math:`(2, Q)`
        - **cell:** :math:`(Q)`
        - **strength, own, offset:** :math:`(N)`, :math:`(Q)` and :math:`(G)`, with a
          last dimension of size :math:`K` if there are several variants
    """

    pair: Tensor
    cell: Tensor
    strength: torch.nn.Parameter
    own: torch.nn.Parameter
    offset: torch.nn.Parameter

    def __init__(
        self,
        pair: Tensor,
        cell: Tensor,
        num_nodes: int,
        num_cells: int,
        num_variants: int | None = None,
    ) -> None:
        super().__init__()
        self.register_buffer('pair', pair)
        self.register_buffer('cell', cell)
        last = () if num_variants is None else (num_variants,)
        for name, size in (
            ('strength', num_nodes),
            ('own', cell.numel()),
            ('offset', num_cells),
        ):
            value = torch.empty((size, *last), dtype=torch.double, device=cell.device)
            self.register_parameter(name, torch.nn.Parameter(value))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        torch.nn.init.ones_(self.strength)
        torch.nn.init.zeros_(self.own)
        torch.nn.init.zeros_(self.offset)

    def forward(self) -> Tensor:
        r"""Computes the strengths :math:`s_{v,c}` of all pairs.

        Shapes:
            - **output:** :math:`(Q)` or :math:`(Q, K)`
        """
        node, offset = self.pair[0], self.offset
        return self.strength[node] + self.own + offset[self.cell]

    def set_gradient(self, grad: Tensor, penalty: Tensor) -> None:
        r"""Sets the gradients of all parameters from that of the strengths of pairs,
        and of the penalty :math:`\frac{\lambda}{2} (\sum \delta_{v,c}^2 + \sum b_g^2)`.

        Args:
            grad (torch.Tensor): The gradient of the loss with respect to
                :math:`s_{v,c}`.
            penalty (torch.Tensor): The penalty :math:`\lambda`; with an infinite one,
                only the shared strengths are learned.

        Shapes:
            - **grad:** :math:`(Q)` or :math:`(Q, K)`
            - **penalty:** scalar or :math:`(K)`
        """
        is_free = torch.isfinite(penalty)
        weight = torch.where(is_free, penalty, 0.0)
        by_cell = scatter(grad, self.cell, 0, self.offset.size(0), 'sum')
        size = self.strength.size(0)
        self.strength.grad = scatter(grad, self.pair[0], 0, size, 'sum')
        for part, slope in ((self.own, grad), (self.offset, by_cell)):
            part.grad = torch.where(is_free, slope + weight * part.detach(), 0.0)

    def find(self, node: Tensor, context: Tensor) -> Tensor:
        r"""Returns the number of each pair of a node and a context that occurs.

        Args:
            node (torch.Tensor): The nodes.
            context (torch.Tensor): The context of each.

        Shapes:
            - **node, context, output:** :math:`(P)`
        """
        both = torch.cat([self.pair[1], context])
        width = 1 + (int(both.max()) if both.numel() else 0)
        key = self.pair[0] * width + self.pair[1]
        return torch.searchsorted(key, node * width + context)

    def variant(self, number: int) -> 'ContextStrength':
        r"""Returns one of several variants.

        Args:
            number (int): The number of the variant.
        """
        sizes = self.strength.size(0), self.offset.size(0)
        out = ContextStrength(self.pair, self.cell, *sizes)
        for name, value in self.named_parameters():
            getattr(out, name).data = value.detach()[:, number].clone()
        return out

    def __repr__(self) -> str:
        sizes = [self.strength.size(0), self.own.size(0), self.offset.size(0)]
        return f'{self.__class__.__name__}({", ".join(map(str, sizes))})'
