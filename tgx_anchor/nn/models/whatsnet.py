"""The encoder WHATsNet."""

from torch import Tensor

from tgx_anchor.data.hyperedge_index import HyperedgeIndex, as_hyperedge_index
from tgx_anchor.nn.conv.whatsnet_conv import WHATsNetConv
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder


class WHATsNet(HypergraphEncoder):
    r"""WHATsNet from the `"Classification of Edge-dependent Labels of Nodes in
    Hypergraphs" <https://arxiv.org/abs/2306.03032>`_ paper: layers of
    :class:`~tgx_anchor.nn.conv.WHATsNetConv`, the states of hyperedges zero before the
    first one, without activations between them. Dropout is active in all layers.

    As the first states are zero, all hyperedges have the same query in the first layer:
    only the bias of its map learns. The biases of the maps of keys never learn.

    Args:
        in_channels (int): The number of features of a node; :obj:`44` in the paper,
            :obj:`48` without ranks.
        hidden_channels (int): The width between two layers; :obj:`64` in the paper.
        num_layers (int): The number of layers.
        out_channels (int, optional): The width of the output; :obj:`128` in the
            paper. :obj:`hidden_channels` if :obj:`None`. (default: :obj:`None`)
        dropout (float, optional): The probability of dropout. (default: :obj:`0.0`)
        use_rank (bool, optional): If set to :obj:`False`, will leave out the ranks of
            nodes in their hyperedges. (default: :obj:`True`)
        within_attention (bool, optional): If set to :obj:`False`, will leave out the
            attention among the members of a hyperedge and among the hyperedges of a
            node, and the ranks with it. (default: :obj:`True`)
        attention_channels (int, optional): The width of attention, in all layers.
            (default: :obj:`128`)
        heads (int, optional): The number of heads. (default: :obj:`4`)
        num_inducing (int, optional): The number of inducing points.
            (default: :obj:`4`)
        num_isabs (int, optional): The number of blocks of attention among members in
            each direction. (default: :obj:`2`)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.0,
        use_rank: bool = True,
        within_attention: bool = True,
        attention_channels: int = 128,
        heads: int = 4,
        num_inducing: int = 4,
        num_isabs: int = 2,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_layers, out_channels, dropout
        )
        self.use_rank = use_rank
        self.within_attention = within_attention
        self.attention_channels = attention_channels
        self.heads = heads
        self.num_inducing = num_inducing
        self.num_isabs = num_isabs
        widths = self.channel_list
        for i in range(num_layers):
            self.convs.append(
                WHATsNetConv(
                    widths[i],
                    widths[i + 1],
                    # The zero states have the width of the published code.
                    attention_channels if i == 0 else widths[i],
                    4 if use_rank and within_attention else 0,
                    attention_channels,
                    heads,
                    num_inducing,
                    num_isabs if within_attention else 0,
                    dropout=dropout,
                )
            )

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor | HyperedgeIndex,
        num_hyperedges: int | None = None,
        incidence_rank: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass, see :class:`HypergraphEncoder`. The ranks of
        nodes, :math:`(P, 4)`, are required unless :obj:`use_rank` is :obj:`False`.
        """
        index = as_hyperedge_index(hyperedge_index, x.size(0), num_hyperedges)
        hyperedge, rank = x.new_empty(0), incidence_rank
        for i, (conv, part) in enumerate(self._layers(index)):
            x, hyperedge = conv(
                x[: part.num_nodes],
                part,
                hyperedge_attr=hyperedge[: part.num_hyperedges] if i > 0 else None,
                incidence_rank=None if rank is None else part.take(rank),
            )
        return x, hyperedge[: index.num_targets]
