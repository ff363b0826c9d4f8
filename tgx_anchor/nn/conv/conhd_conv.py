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
        wanted_mask: Tensor | None = None,
    ) -> Tensor:
        r"""Runs the forward pass.

        Args:
            x (torch.Tensor): The representations of incidences.
            x_0 (torch.Tensor): The representations before the first layer.
            hyperedge_index (torch.Tensor or HyperedgeIndex): The incidences.
            incidence_rank (torch.Tensor, optional): The ranks of nodes in their
                hyperedges; required unless :obj:`rank_channels` is :obj:`0`.
                (default: :obj:`None`)
            wanted_mask (torch.Tensor, optional): The incidences to return, all if
                :obj:`None`; nothing is computed that they do not depend on.
                (default: :obj:`None`)

        Shapes:
            - **x, x_0:** :math:`(P, F)`
            - **hyperedge_index:** :math:`(2, P)`
            - **incidence_rank:** :math:`(P, R)`
            - **wanted_mask:** :math:`(P)`
            - **output:** :math:`(P, F)`, or one row per wanted incidence
        """
        if self.rank_channels > 0 and incidence_rank is None:
            raise ValueError(
                "'incidence_rank' is missing: add it with 'AddWithinOrderRank', or "
                "set 'rank_channels' to 0"
            )
        index = as_hyperedge_index(hyperedge_index)
        # Four maps instead of one avoid the copy that concatenates their inputs.
        own, of_hyperedge, of_node, start = self.lin.weight.chunk(4, dim=1)
        row = None if wanted_mask is None else wanted_mask.nonzero().view(-1)
        out = linear(_take(x, row), own, self.lin.bias)
        out = out + linear(_take(x_0, row), start)
        for blocks, lin_rank, weight, sets, size, drawn in (
            (
                self.hyperedge_blocks,
                self.hyperedge_rank,
                of_hyperedge,
                index.hyperedge,
                index.num_hyperedges,
                None,
            ),
            (
                self.node_blocks,
                self.node_rank,
                of_node,
                index.node,
                index.num_nodes,
                index.drawn_mask,
            ),
        ):
            member, asked, place = _parts(sets, size, drawn, wanted_mask)
            u = _take(x, member)
            if lin_rank is not None and incidence_rank is not None:
                u = u + lin_rank(_take(incidence_rank, member).to(x.dtype))
            number, count = nonempty_sets(_take(sets, member), size)
            for block in blocks[:-1]:
                u = block(u, number, count)
            u = blocks[-1](u, number, count, asked)
            u = linear(dropout(u, self.dropout, self.training), weight)
            out = out + u if place is None else out.index_add(0, place, u)
        return out

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.channels}, operator={self.operator!r})'


def reached_mask(index: HyperedgeIndex, wanted_mask: Tensor) -> Tensor:
    r"""Returns the incidences that :class:`CoNHDConv` reads to compute some of them.

    Args:
        index (HyperedgeIndex): The incidences.
        wanted_mask (torch.Tensor): The incidences to compute.

    Shapes:
        - **wanted_mask, output:** :math:`(P)`
    """
    out = wanted_mask | _members(
        index.hyperedge, index.num_hyperedges, None, wanted_mask
    )
    return out | _members(index.node, index.num_nodes, index.drawn_mask, wanted_mask)


def _members(sets: Tensor, size: int, drawn: Tensor | None, wanted: Tensor) -> Tensor:
    # The drawn incidences of all sets that a wanted one receives from: only drawn ones
    # receive.
    asked = wanted if drawn is None else wanted & drawn
    is_asked = torch.zeros(size, dtype=torch.bool, device=sets.device)
    is_asked[sets[asked]] = True
    return is_asked[sets] if drawn is None else is_asked[sets] & drawn


def _parts(
    sets: Tensor, size: int, drawn: Tensor | None, wanted: Tensor | None
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    # The members of the sets to compute, the places among them of those that are asked
    # for, and the places of the latter in the output; each None for all.
    if wanted is None and drawn is None:
        return None, None, None
    if wanted is None:
        wanted = torch.ones_like(sets, dtype=torch.bool)
    asked = wanted if drawn is None else wanted & drawn
    member = _members(sets, size, drawn, wanted).nonzero().view(-1)
    place = asked[wanted].nonzero().view(-1)
    return member, asked[member].nonzero().view(-1), place


def _take(value: Tensor, row: Tensor | None) -> Tensor:
    return value if row is None else value.index_select(0, row)
