"""The encoder HGNN."""

from itertools import pairwise

import torch
from torch import Tensor

from tgx_anchor.nn.conv import HGNNConv
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder


class HGNN(HypergraphEncoder):
    r"""The encoder of the `"Hypergraph Neural Networks"
    <https://arxiv.org/abs/1809.09401>`_ paper, in the form in which it is a baseline of
    the `"Classification of Edge-dependent Labels of Nodes in Hypergraphs"
    <https://arxiv.org/abs/2306.03032>`_ paper: layers
    :class:`~tgx_anchor.nn.conv.HGNNConv`, and an affine map of what the last one
    returns for hyperedges.

    The public implementation drops out in evaluation, too; this one does not.

    Args:
        in_channels (int): The number of features of a node.
        hidden_channels (int): The width between two layers.
        num_layers (int): The number of layers :math:`L`.
        out_channels (int, optional): The width of the output; that between two layers
            if :obj:`None`. (default: :obj:`None`)
        dropout (float, optional): The dropout probability of the nodes that a layer
            returns; the first layer has none. (default: :obj:`0.7`)
        rescale (bool, optional): If set to :obj:`True`, what nodes receive in a
            mini-batch is multiplied by their degree over the number of incidences that
            they drew. The published models leave sums smaller than they are in the
            whole, in which they are tested. (default: :obj:`False`)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.7,
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
        hyperedge_index: Tensor,
        num_hyperedges: int | None = None,
        node_degree: Tensor | None = None,
        hyperedge_size: Tensor | None = None,
        drawn_mask: Tensor | None = None,
        num_targets: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass, as :class:`HypergraphEncoder` says."""
        x, hyperedge = self._propagate(
            x,
            hyperedge_index,
            num_hyperedges,
            node_degree,
            hyperedge_size,
            drawn_mask,
            num_targets,
        )
        return x, self.lin(hyperedge)
