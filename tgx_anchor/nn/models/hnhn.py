"""The encoder HNHN."""

from itertools import pairwise

from torch import Tensor

from tgx_anchor.data.hyperedge_index import HyperedgeIndex
from tgx_anchor.nn.conv import HNHNConv
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder


class HNHN(HypergraphEncoder):
    r"""The encoder of the `"HNHN: Hypergraph Networks with Hyperedge Neurons"
    <https://arxiv.org/abs/2006.12278>`_ paper, as compared in
    the `"Classification of Edge-dependent Labels of Nodes in Hypergraphs"
    <https://arxiv.org/abs/2306.03032>`_ paper: layers of
    :class:`~tgx_anchor.nn.conv.HNHNConv`.

    Args:
        in_channels (int): The number of features of a node.
        hidden_channels (int): The width between two layers.
        num_layers (int): The number of layers :math:`L`.
        out_channels (int, optional): The width of the output; :obj:`hidden_channels` if
            :obj:`None`. (default: :obj:`None`)
        dropout (float, optional): The dropout probability of the nodes that a layer
            returns; the first layer has none. (default: :obj:`0.0`)
        rescale (bool, optional): If set to :obj:`True`, the sum over the drawn
            incidences of a node in a mini-batch is scaled up to the number of all its
            incidences. The published models do not do so: their sums are smaller in
            training than in testing. (default: :obj:`False`)
        node_exponent (float, optional): The exponent of the degrees of nodes, by which
            hyperedges weigh their members. (default: :obj:`0.0`)
        hyperedge_exponent (float, optional): The exponent of the sizes of hyperedges,
            by which nodes weigh them. (default: :obj:`0.0`)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.0,
        rescale: bool = False,
        node_exponent: float = 0.0,
        hyperedge_exponent: float = 0.0,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_layers, out_channels, dropout
        )
        self.rescale = rescale
        self.node_exponent = node_exponent
        self.hyperedge_exponent = hyperedge_exponent
        options = rescale, node_exponent, hyperedge_exponent
        for width, next_width in pairwise(self.channel_list):
            self.convs.append(HNHNConv(width, next_width, *options))

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor | HyperedgeIndex,
        num_hyperedges: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass, see :class:`HypergraphEncoder`."""
        return self._propagate(x, hyperedge_index, num_hyperedges)
