"""The encoder HAT."""

from itertools import pairwise

from torch import Tensor

from tgx_anchor.data.hyperedge_index import HyperedgeIndex, as_hyperedge_index
from tgx_anchor.nn.conv import HATConv
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder


class HAT(HypergraphEncoder):
    r"""The hypergraph attention network HAT, as compared in the
    `"Classification of Edge-dependent Labels of Nodes in Hypergraphs"
    <https://arxiv.org/abs/2306.03032>`_ paper: layers of
    :class:`~tgx_anchor.nn.conv.HATConv`.

    The first states of hyperedges are zeros, so that all hyperedges have the same query
    in the first layer, and the weights of this query have no effect. The public
    implementation also applies dropout in evaluation; this one does not.

    Args:
        in_channels (int): The number of features of a node.
        hidden_channels (int): The width between two layers.
        num_layers (int): The number of layers :math:`L`.
        out_channels (int, optional): The width of the output; :obj:`hidden_channels` if
            :obj:`None`. (default: :obj:`None`)
        dropout (float, optional): The dropout probability of the nodes that a layer
            returns; the first layer has none. (default: :obj:`0.0`)
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
        dropout: float = 0.0,
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
        hyperedge_index: Tensor | HyperedgeIndex,
        num_hyperedges: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass, see :class:`HypergraphEncoder`."""
        index = as_hyperedge_index(hyperedge_index, x.size(0), num_hyperedges)
        state = x.new_empty(0)
        for i, (conv, part) in enumerate(self._layers(index)):
            given = state[: part.num_hyperedges] if i > 0 else None
            x, state = conv(x[: part.num_nodes], part, hyperedge_attr=given)
            x = self._drop(x, i)
        return x, state[: index.num_targets]
