"""The encoder HGNN."""

from itertools import pairwise

import torch
from torch import Tensor

from tgx_anchor.data.hyperedge_index import HyperedgeIndex
from tgx_anchor.nn.conv import HGNNConv
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder


class HGNN(HypergraphEncoder):
    r"""The encoder of the `"Hypergraph Neural Networks"
    <https://arxiv.org/abs/1809.09401>`_ paper, as compared in
    the `"Classification of Edge-dependent Labels of Nodes in Hypergraphs"
    <https://arxiv.org/abs/2306.03032>`_ paper: layers of
    :class:`~tgx_anchor.nn.conv.HGNNConv`, and an affine map of the hyperedges that the
    last one returns.

    The public implementation also applies dropout in evaluation; this one does not.

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
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.0,
        rescale: bool = False,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_layers, out_channels, dropout
        )
        self.rescale = rescale
        for width, next_width in pairwise(self.channel_list):
            self.convs.append(HGNNConv(width, next_width, rescale))
        self.lin = torch.nn.Linear(self.out_channels, self.out_channels)

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor | HyperedgeIndex,
        num_hyperedges: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass, see :class:`HypergraphEncoder`."""
        x, hyperedge = self._propagate(x, hyperedge_index, num_hyperedges)
        return x, self.lin(hyperedge)
