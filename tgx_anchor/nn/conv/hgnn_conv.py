"""The layer of HGNN."""

import torch
from torch import Tensor

from tgx_anchor.data.hyperedge_index import HyperedgeIndex, as_hyperedge_index
from tgx_anchor.nn.conv.aggregate import (
    divisor,
    rescale_received,
    sum_to_hyperedge,
    sum_to_node,
)


class HGNNConv(torch.nn.Module):
    r"""The layer of HGNN from the `"Hypergraph Neural Networks"
    <https://arxiv.org/abs/1809.09401>`_ paper,

    .. math::
        \mathbf{e}'_e &= \sum_{v \in e} d_v^{-1/2}
        (\mathbf{W} \mathbf{x}_v + \mathbf{b})

        \mathbf{x}'_v &= \mathrm{ReLU} \left( d_v^{-1/2} \sum_{e \ni v} |e|^{-1} \,
        \mathbf{e}'_e \right),

    where :math:`d_v` is the degree of :math:`v`. Unlike in
    :class:`torch_geometric.nn.conv.HypergraphConv`, the normalisation is symmetric, and
    the bias is added before propagation.

    Args:
        in_channels (int): The number of features of a node.
        out_channels (int): The width of the output.
        rescale (bool, optional): If set to :obj:`True`, the sum over the drawn
            incidences of a node in a mini-batch is scaled up to the number of all its
            incidences. (default: :obj:`False`)
    """

    def __init__(
        self, in_channels: int, out_channels: int, rescale: bool = False
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.rescale = rescale
        self.lin = torch.nn.Linear(in_channels, out_channels)

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        self.lin.reset_parameters()

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor | HyperedgeIndex,
        num_hyperedges: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass.

        Args:
            x (torch.Tensor): The features of nodes.
            hyperedge_index (torch.Tensor or HyperedgeIndex): The incidences.
            num_hyperedges (int, optional): The number of hyperedges :math:`M` of a
                tensor; the largest hyperedge plus one if :obj:`None`.
                (default: :obj:`None`)

        Returns:
            The representations of nodes and hyperedges.

        Shapes:
            - **x:** :math:`(N, F)`
            - **hyperedge_index:** :math:`(2, P)`
            - **output:** :math:`(N, F')` and :math:`(M, F')`
        """
        index = as_hyperedge_index(hyperedge_index, x.size(0), num_hyperedges)
        norm = divisor(index.node_degree, x.dtype).rsqrt()
        hyperedge = sum_to_hyperedge(norm * self.lin(x), index)
        message = hyperedge / divisor(index.hyperedge_size, x.dtype)
        received = index.received
        node = norm[: received.num_nodes] * sum_to_node(message, received)
        if self.rescale:
            node = rescale_received(node, received)
        return node.relu(), hyperedge

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.in_channels}, {self.out_channels})'
