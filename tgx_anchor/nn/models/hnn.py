"""The encoder HNN."""

from itertools import pairwise

from torch import Tensor

from tgx_anchor.data.hyperedge_index import HyperedgeIndex, as_hyperedge_index
from tgx_anchor.nn.conv import HNNConv
from tgx_anchor.nn.conv.aggregate import divisor, sum_to_hyperedge
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder


class HNN(HypergraphEncoder):
    r"""The encoder of the `"A Hypergraph Neural Network Framework for Learning
    Hyperedge-Dependent Node Embeddings" <https://arxiv.org/abs/2212.14077>`_ paper, as
    compared in the `"Classification of Edge-dependent Labels
    of Nodes in Hypergraphs" <https://arxiv.org/abs/2306.03032>`_ paper: layers of
    :class:`~tgx_anchor.nn.conv.HNNConv`. The first states of hyperedges are

    .. math::
        \mathbf{y}_e = \sum_{v \in e} \frac{1}{d_v} \, \mathbf{x}_v.

    Args:
        in_channels (int): The number of features of a node.
        hidden_channels (int): The width between two layers.
        num_layers (int): The number of layers :math:`L`.
        out_channels (int, optional): The width of the output; :obj:`hidden_channels` if
            :obj:`None`. (default: :obj:`None`)
        dropout (float, optional): The dropout probability of the nodes and hyperedges
            that a layer gets; the first layer has none. (default: :obj:`0.0`)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_layers, out_channels, dropout
        )
        for width, next_width in pairwise(self.channel_list):
            self.convs.append(HNNConv(width, next_width))

    @property
    def num_hops(self) -> int:
        r"""The number of hops, see :class:`HypergraphEncoder`; two per layer."""
        return 2 * self.num_layers

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor | HyperedgeIndex,
        num_hyperedges: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass, see :class:`HypergraphEncoder`."""
        index = as_hyperedge_index(hyperedge_index, x.size(0), num_hyperedges)
        degree = divisor(index.node_degree, x.dtype)
        hyperedge = sum_to_hyperedge(x / degree, index)
        for i, conv in enumerate(self.convs):
            x, hyperedge = self._drop(x, i), self._drop(hyperedge, i)
            x, hyperedge = conv(x, index, hyperedge_attr=hyperedge)
        return x, hyperedge
