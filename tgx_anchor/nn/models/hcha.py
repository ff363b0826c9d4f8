"""The encoder HCHA."""

from itertools import pairwise

from torch import Tensor

from tgx_anchor.data.hyperedge_index import HyperedgeIndex, as_hyperedge_index
from tgx_anchor.nn.conv import HCHAConv
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder


class HCHA(HypergraphEncoder):
    r"""The encoder of the `"Hypergraph Convolution and Hypergraph Attention"
    <https://arxiv.org/abs/1901.08150>`_ paper, as compared in
    the `"Classification of Edge-dependent Labels of Nodes in Hypergraphs"
    <https://arxiv.org/abs/2306.03032>`_ paper: layers of
    :class:`~tgx_anchor.nn.conv.HCHAConv`, with ReLU on the nodes between them.

    The first states of hyperedges are zeros, so that the attention of the first layer
    is uniform: with one layer, more than half of the parameters have no effect.

    Args:
        in_channels (int): The number of features of a node.
        hidden_channels (int): The width between two layers.
        num_layers (int): The number of layers :math:`L`.
        out_channels (int, optional): The width of the output; :obj:`hidden_channels` if
            :obj:`None`. (default: :obj:`None`)
        dropout (float, optional): The dropout probability of the nodes and hyperedges
            that a layer gets; the first layer has none. (default: :obj:`0.0`)
        heads (int, optional): The number of heads in all layers but the last, which
            has one. (default: :obj:`4`)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.0,
        heads: int = 4,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_layers, out_channels, dropout
        )
        if heads < 1:
            raise ValueError(f"'heads' must be at least 1 (got {heads})")
        self.heads = heads
        for i, (width, next_width) in enumerate(pairwise(self.channel_list)):
            last = i == num_layers - 1
            self.convs.append(HCHAConv(width, next_width, 1 if last else heads))

    @property
    def num_hops(self) -> int:
        r"""The number of hops, see :class:`HypergraphEncoder`; one more than layers, as
        the attention of a node runs over all of its hyperedges.
        """
        return self.num_layers + 1

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor | HyperedgeIndex,
        num_hyperedges: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass, see :class:`HypergraphEncoder`."""
        index = as_hyperedge_index(hyperedge_index, x.size(0), num_hyperedges)
        state: Tensor | None = None
        for i, conv in enumerate(self.convs):
            x, hyperedge = conv(x, index, hyperedge_attr=state)
            if i < self.num_layers - 1:
                x, state = self._drop(x.relu(), i + 1), self._drop(hyperedge, i + 1)
        return x, hyperedge
