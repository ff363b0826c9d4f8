"""The layer of WHATsNet."""

import torch
from torch import Tensor

from tgx_anchor.nn.conv.aggregate import count_hyperedges
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
        dropout (float, optional): The probability of dropout. (default: :obj:`0.7`)
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
        dropout: float = 0.7,
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
        hyperedge_index: Tensor,
        num_hyperedges: int | None = None,
        hyperedge_attr: Tensor | None = None,
        drawn_mask: Tensor | None = None,
        num_out_nodes: int | None = None,
        incidence_rank: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass.

        Args:
            x (torch.Tensor): The states of nodes.
            hyperedge_index (torch.Tensor): The incidences.
            num_hyperedges (int, optional): The number of hyperedges :math:`M`; the
                largest one that occurs, plus one, if :obj:`None`.
                (default: :obj:`None`)
            hyperedge_attr (torch.Tensor, optional): The states of hyperedges, zeros
                if :obj:`None`. (default: :obj:`None`)
            drawn_mask (torch.Tensor, optional): The incidences that nodes receive
                from, all if :obj:`None`. (default: :obj:`None`)
            num_out_nodes (int, optional): If given, only the first so many nodes are
                returned, and none but they may receive. (default: :obj:`None`)
            incidence_rank (torch.Tensor, optional): The ranks of nodes in their
                hyperedges, unless they are left out. (default: :obj:`None`)

        Returns:
            The new states of nodes and of hyperedges.

        Shapes:
            - **x:** :math:`(N, F)`
            - **hyperedge_index:** :math:`(2, P)`
            - **hyperedge_attr:** :math:`(M, F_E)`
            - **drawn_mask:** :math:`(P)`
            - **incidence_rank:** :math:`(P, R)`
            - **output:** :math:`(N, \mathrm{out})`, :math:`(M, \mathrm{out})`
        """
        if self.to_node.lin_rank is None:
            incidence_rank = None
        elif incidence_rank is None:
            raise ValueError(
                "'incidence_rank' must be given, 'AddWithinOrderRank' adds it "
                '(got None)'
            )
        node, hyperedge = hyperedge_index
        num_hyperedges = count_hyperedges(hyperedge_index, num_hyperedges)
        if hyperedge_attr is None and self.hyperedge_channels is not None:
            hyperedge_attr = x.new_zeros(num_hyperedges, self.hyperedge_channels)
        out = self.to_hyperedge(
            x.index_select(0, node),
            hyperedge,
            num_hyperedges,
            hyperedge_attr,
            incidence_rank,
        )
        if drawn_mask is not None:
            node, hyperedge = hyperedge_index[:, drawn_mask]
            if incidence_rank is not None:
                incidence_rank = incidence_rank[drawn_mask]
        x = x if num_out_nodes is None else x[:num_out_nodes]
        x = self.to_node(
            out.index_select(0, hyperedge), node, x.size(0), x, incidence_rank
        )
        return x, out

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.in_channels}, {self.out_channels})'
