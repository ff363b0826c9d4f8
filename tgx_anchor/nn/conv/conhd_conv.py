"""The layer of CoNHD."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import Linear, ModuleList
from torch.nn.functional import dropout, linear
from torch_geometric.nn.inits import reset

from tgx_anchor.data.hyperedge_index import HyperedgeIndex, as_hyperedge_index
from tgx_anchor.nn.conv._set_product import nonempty_sets
from tgx_anchor.nn.conv.induced_set_attention import InducedSetAttention
from tgx_anchor.nn.conv.unweighted_set_block import UnweightedSetBlock

Operator = Literal['unb', 'isab']
_OPERATORS: tuple[Operator, ...] = ('unb', 'isab')


class CoNHDConv(torch.nn.Module):
    r"""The layer of CoNHD from the `"Co-Representation Neural Hypergraph Diffusion for
    Edge-Dependent Node Classification" <https://arxiv.org/abs/2405.14286>`_ paper: a
    step of gradient descent on representations :math:`\mathbf{h}_{v;e}` of incidences,

    .. math::
        \mathbf{u}_{v;e} &= \mathrm{dropout} \left( \Phi_E \left( \left\{
        \mathbf{h}_{u;e} + \mathbf{R}_E \mathbf{r}_{u;e} \right\}_{u \in e} \right)_v
        \right)

        \mathbf{w}_{v;e} &= \mathrm{dropout} \left( \Phi_N \left( \left\{
        \mathbf{h}_{v;f} + \mathbf{R}_N \mathbf{r}_{v;f} \right\}_{f \ni v} \right)_e
        \right)

        \mathbf{h}^{\prime}_{v;e} &= \mathbf{W} \left[ \mathbf{h}_{v;e} \, \Vert \,
        \mathbf{u}_{v;e} \, \Vert \, \mathbf{w}_{v;e} \, \Vert \,
        \mathbf{h}^{(0)}_{v;e} \right] + \mathbf{b}

    where :math:`\Phi_E` and :math:`\Phi_N` are two blocks each that are equivariant to
    permutations, and :math:`\mathbf{r}_{v;e}` are the ranks of :math:`v` in
    :math:`e` by four centralities
    (:class:`~tgx_anchor.transforms.AddWithinOrderRank`); their maps have biases.

    In a mini-batch, :math:`\Phi_N` runs over the drawn incidences of a node only, and
    :math:`\mathbf{w}_{v;e} = \mathbf{0}` for the others.

    Args:
        channels (int, optional): The size of the representations.
            (default: :obj:`128`)
        operator (str, optional): The blocks: :obj:`"unb"` for
            :class:`~tgx_anchor.nn.conv.UnweightedSetBlock`, :obj:`"isab"` for
            :class:`~tgx_anchor.nn.conv.InducedSetAttention`.
            (default: :obj:`"unb"`)
        rank_channels (int, optional): The number of ranks, :obj:`0` to leave them
            out. (default: :obj:`4`)
        num_blocks (int, optional): The number of blocks in each operator.
            (default: :obj:`2`)
        heads (int, optional): The number of heads of :obj:`"isab"`.
            (default: :obj:`4`)
        num_inducing (int, optional): The number of inducing points of :obj:`"isab"`.
            (default: :obj:`4`)
        dropout (float, optional): The probability of dropout. (default: :obj:`0.0`)
    """

    def __init__(
        self,
        channels: int = 128,
        operator: Operator = 'unb',
        rank_channels: int = 4,
        num_blocks: int = 2,
        heads: int = 4,
        num_inducing: int = 4,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if operator not in _OPERATORS:
            raise ValueError(
                f"'operator' must be one of {', '.join(_OPERATORS)} (got {operator!r})"
            )
        if num_blocks < 1:
            raise ValueError(f"'num_blocks' must be positive (got {num_blocks})")
        if not 0 <= dropout < 1:
            raise ValueError(f"'dropout' must lie in [0, 1) (got {dropout})")
        self.channels = channels
        self.operator: Operator = operator
        self.rank_channels = rank_channels
        self.dropout = dropout

        def block() -> torch.nn.Module:
            if operator == 'unb':
                return UnweightedSetBlock(channels)
            return InducedSetAttention(channels, channels, heads, num_inducing)

        self.hyperedge_blocks = ModuleList(block() for _ in range(num_blocks))
        self.node_blocks = ModuleList(block() for _ in range(num_blocks))
        self.hyperedge_rank = Linear(rank_channels, channels) if rank_channels else None
        self.node_rank = Linear(rank_channels, channels) if rank_channels else None
        self.lin = Linear(4 * channels, channels)

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        for module in self.children():
            reset(module)

    def forward(
        self,
        x: Tensor,
        x_0: Tensor,
        hyperedge_index: Tensor | HyperedgeIndex,
        incidence_rank: Tensor | None = None,
    ) -> Tensor:
        r"""Runs the forward pass.

        Args:
            x (torch.Tensor): The representations of incidences.
            x_0 (torch.Tensor): The representations before the first layer.
            hyperedge_index (torch.Tensor or HyperedgeIndex): The incidences.
            incidence_rank (torch.Tensor, optional): The ranks of nodes in their
                hyperedges; required unless :obj:`rank_channels` is :obj:`0`.
                (default: :obj:`None`)

        Shapes:
            - **x, x_0:** :math:`(P, F)`
            - **hyperedge_index:** :math:`(2, P)`
            - **incidence_rank:** :math:`(P, R)`
            - **output:** :math:`(P, F)`
        """
        if self.rank_channels > 0 and incidence_rank is None:
            raise ValueError(
                "'incidence_rank' is missing: add it with 'AddWithinOrderRank', or "
                "set 'rank_channels' to 0"
            )
        index = as_hyperedge_index(hyperedge_index)
        weights = self.lin.weight.chunk(4, dim=1)
        # Four maps instead of one avoid the copy that concatenates their inputs.
        out = linear(x, weights[0], self.lin.bias)
        sets = index.hyperedge, index.num_hyperedges
        u = self._within(
            self.hyperedge_blocks, self.hyperedge_rank, x, incidence_rank, *sets
        )
        out = out + linear(u, weights[1]) + linear(x_0, weights[3])
        if index.drawn_mask is None:
            sets = index.node, index.num_nodes
            w = self._within(self.node_blocks, self.node_rank, x, incidence_rank, *sets)
            return out + linear(w, weights[2])
        drawn = index.drawn_mask.nonzero().view(-1)
        w = self._within(
            self.node_blocks,
            self.node_rank,
            x.index_select(0, drawn),
            None if incidence_rank is None else incidence_rank.index_select(0, drawn),
            index.node.index_select(0, drawn),
            index.num_nodes,
        )
        return out.index_add(0, drawn, linear(w, weights[2]))

    def _within(
        self,
        blocks: ModuleList,
        lin_rank: Linear | None,
        x: Tensor,
        rank: Tensor | None,
        index: Tensor,
        num_sets: int,
    ) -> Tensor:
        if lin_rank is not None and rank is not None:
            x = x + lin_rank(rank.to(x.dtype))
        index, num_sets = nonempty_sets(index, num_sets)
        for block in blocks:
            x = block(x, index, num_sets)
        return dropout(x, self.dropout, self.training)

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.channels}, operator={self.operator!r})'
