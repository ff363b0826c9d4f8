"""The encoder HAT."""

from itertools import pairwise

from torch import Tensor

from tgx_anchor.nn.conv import HATConv
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder


class HAT(HypergraphEncoder):
    r"""The hypergraph attention network in the form in which it is a baseline of the
    `"Classification of Edge-dependent Labels of Nodes in Hypergraphs"
    <https://arxiv.org/abs/2306.03032>`_ paper: layers
    :class:`~tgx_anchor.nn.conv.HATConv`.

    Hyperedges begin with states of zeros, so that all of them have the same query in
    the first layer, and the weights that would make it of their states have no effect.
    The public implementation drops out in evaluation, too; this one does not.

    Args:
        in_channels (int): The number of features of a node.
        hidden_channels (int): The width between two layers.
        num_layers (int): The number of layers :math:`L`.
        out_channels (int, optional): The width of the output; that between two layers
            if :obj:`None`. (default: :obj:`None`)
        dropout (float, optional): The dropout probability of the nodes that a layer
            returns; the first layer has none. (default: :obj:`0.7`)
        query_channels (int, optional): The width of keys and queries.
            (default: :obj:`64`)
        hyperedge_channels (int, optional): The width of the first states of
            hyperedges. (default: :obj:`128`)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.7,
        query_channels: int = 64,
        hyperedge_channels: int = 128,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_layers, out_channels, dropout
        )
        for name, value in (
            ('query_channels', query_channels),
            ('hyperedge_channels', hyperedge_channels),
        ):
            if value < 1:
                raise ValueError(f"'{name}' must be at least 1 (got {value})")
        self.query_channels = query_channels
        self.hyperedge_channels = hyperedge_channels
        for width, next_width in pairwise(self.channel_list):
            self.convs.append(
                HATConv(width, next_width, hyperedge_channels, query_channels)
            )
            hyperedge_channels = next_width

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor,
        num_hyperedges: int | None = None,
        drawn_mask: Tensor | None = None,
        num_targets: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass, as :class:`HypergraphEncoder` says."""
        layers = self._layers(
            x, hyperedge_index, num_hyperedges, drawn_mask, num_targets
        )
        state = x.new_empty(0)
        for i, (conv, scope) in enumerate(layers):
            x, state = conv(
                scope.nodes(x),
                scope.hyperedge_index,
                scope.num_hyperedges,
                hyperedge_attr=scope.hyperedges(state) if i > 0 else None,
                drawn_mask=scope.drawn_mask,
                num_out_nodes=scope.num_out_nodes,
            )
            x = self._drop(x, i)
        return x, state[:num_targets]
