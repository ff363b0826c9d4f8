"""The layer of WHATsNet."""

import torch
from torch import Tensor

from tgx_anchor.data.hyperedge_index import (
    Copies,
    HyperedgeIndex,
    as_hyperedge_index,
)
from tgx_anchor.nn.conv.set_encoder import SetEncoder


class WHATsNetConv(torch.nn.Module):
    r"""The layer of WHATsNet from the `"Classification of Edge-dependent Labels of
    Nodes in Hypergraphs" <https://arxiv.org/abs/2306.03032>`_ paper: attention within
    each hyperedge, then within the hyperedges of each node,

    .. math::
        \mathbf{e}^{\prime}_e &= \mathbf{W}_1 \, \mathrm{MAB} \left( \mathbf{e}_e,
        \mathrm{WithinATT} \left( \left\{ \mathbf{x}_v + \mathbf{R}_1
        \mathbf{r}_{v;e} \right\}_{v \in e} \right) \right)

        \mathbf{x}^{\prime}_v &= \mathbf{W}_2 \, \mathrm{MAB} \left( \mathbf{x}_v,
        \mathrm{WithinATT} \left( \left\{ \mathbf{e}^{\prime}_e + \mathbf{R}_2
        \mathbf{r}_{v;e} \right\}_{e \ni v} \right) \right)

    where :math:`\mathrm{WithinATT}` are two
    :class:`~tgx_anchor.nn.conv.InducedSetAttention` blocks and
    :math:`\mathbf{r}_{v;e}` are the ranks of :math:`v` in :math:`e` by four
    centralities (:class:`~tgx_anchor.transforms.AddWithinOrderRank`). All maps have
    biases. There is dropout after :math:`\mathrm{WithinATT}` and after
    :math:`\mathrm{MAB}`, and no activation at the end
    (:class:`~tgx_anchor.nn.conv.SetEncoder`).

    Args:
        in_channels (int): The size of the states :math:`\mathbf{x}_v` of nodes.
        out_channels (int): The size of the new states of nodes and of hyperedges.
        hyperedge_channels (int, optional): The size of the states :math:`\mathbf{e}_e`
            of hyperedges; :obj:`None` for learned seeds in place of both states, as in
            set transformers. (default: :obj:`128`)
        rank_channels (int, optional): The number of ranks, :obj:`0` to leave them
            out. (default: :obj:`4`)
        channels (int, optional): The width of attention. (default: :obj:`128`)
        heads (int, optional): The number of heads. (default: :obj:`4`)
        num_inducing (int, optional): The number of inducing points.
            (default: :obj:`4`)
        num_isabs (int, optional): The number of blocks of :math:`\mathrm{WithinATT}`
            in each direction. (default: :obj:`2`)
        num_layers (int, optional): The number of maps after the attention of
            :math:`\mathrm{MAB}`. (default: :obj:`1`)
        dropout (float, optional): The probability of dropout. (default: :obj:`0.0`)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hyperedge_channels: int | None = 128,
        rank_channels: int = 4,
        channels: int = 128,
        heads: int = 4,
        num_inducing: int = 4,
        num_isabs: int = 2,
        num_layers: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.hyperedge_channels = hyperedge_channels
        seeded = hyperedge_channels is None
        options = (
            rank_channels,
            channels,
            heads,
            num_inducing,
            num_isabs,
            num_layers,
            dropout,
        )
        self.to_hyperedge = SetEncoder(
            in_channels, out_channels, hyperedge_channels, *options
        )
        self.to_node = SetEncoder(
            out_channels, out_channels, None if seeded else in_channels, *options
        )

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        self.to_hyperedge.reset_parameters()
        self.to_node.reset_parameters()

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor | HyperedgeIndex,
        num_hyperedges: int | None = None,
        hyperedge_attr: Tensor | None = None,
        incidence_rank: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass.

        Args:
            x (torch.Tensor): The states of nodes.
            hyperedge_index (torch.Tensor or HyperedgeIndex): The incidences.
            num_hyperedges (int, optional): The number of hyperedges :math:`M` of a
                tensor; the largest hyperedge plus one if :obj:`None`.
                (default: :obj:`None`)
            hyperedge_attr (torch.Tensor, optional): The states of hyperedges, zeros
                if :obj:`None`. (default: :obj:`None`)
            incidence_rank (torch.Tensor, optional): The ranks of nodes in their
                hyperedges; required unless :obj:`rank_channels` is :obj:`0`.
                (default: :obj:`None`)

        Returns:
            The new states of nodes and of hyperedges.

        Shapes:
            - **x:** :math:`(N, F)`
            - **hyperedge_index:** :math:`(2, P)`
            - **hyperedge_attr:** :math:`(M, F_E)`
            - **incidence_rank:** :math:`(P, R)`
            - **output:** :math:`(N, F')` and :math:`(M, F')`
        """
        index = as_hyperedge_index(hyperedge_index, x.size(0), num_hyperedges)
        if self.to_node.lin_rank is None:
            incidence_rank = None
        elif incidence_rank is None:
            raise ValueError(
                "'incidence_rank' is missing: add it with 'AddWithinOrderRank', or "
                "set 'rank_channels' to 0"
            )
        member, rank = index.node, incidence_rank
        copies = self._copies(index, rank)
        if copies is not None:
            member = member.index_select(0, copies.incidence)
            if rank is not None:
                rank = rank.index_select(0, copies.incidence)
        hyperedge = self.to_hyperedge(
            x.index_select(0, member),
            index.hyperedge,
            index.num_hyperedges,
            hyperedge_attr,
            rank,
            copies,
        )
        received = index.received
        if received is not index and incidence_rank is not None:
            incidence_rank = received.take(incidence_rank)
        node = self.to_node(
            hyperedge.index_select(0, received.hyperedge),
            received.node,
            received.num_nodes,
            x[: received.num_nodes],
            incidence_rank,
        )
        return node, hyperedge

    def _copies(self, index: HyperedgeIndex, rank: Tensor | None) -> Copies | None:
        # Attention among members sees nothing else of a hyperedge than their states
        # and ranks. Ranks are the user's: they may differ between copies.
        if len(self.to_hyperedge.isabs) == 0 or index.copies is None:
            return None
        copies = index.copies
        if rank is not None:
            first = copies.incidence.index_select(0, copies.row)
            if not torch.equal(rank.index_select(0, first), rank):
                return None
        return copies

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.in_channels}, {self.out_channels})'
