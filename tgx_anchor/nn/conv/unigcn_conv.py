"""The layer of UniGCNII, and of UniGCN."""

import torch
from torch import Tensor

from tgx_anchor.data.hyperedge_index import HyperedgeIndex, as_hyperedge_index
from tgx_anchor.nn.conv.aggregate import (
    divisor,
    rescale_received,
    sum_to_hyperedge,
    sum_to_node,
)


class UniGCNConv(torch.nn.Module):
    r"""The layer of UniGCNII from the `"UniGNN: a Unified Framework for Graph and
    Hypergraph Neural Networks" <https://arxiv.org/abs/2105.00956>`_ paper,

    .. math::
        \mathbf{e}'_e &= \frac{1}{|e|} \sum_{v \in e} \mathbf{x}_v

        \mathbf{u}_v &= (1 - \alpha) \, d_v^{-1/2} \sum_{e \ni v} d_e^{-1/2} \,
        \mathbf{e}'_e + \alpha \, \mathbf{x}^{(0)}_v

        \mathbf{x}'_v &= \mathrm{ReLU} \left( (1 - \beta) \, \mathbf{u}_v +
        \beta \, \mathbf{W} \mathbf{u}_v \right),

    where :math:`d_v` is the degree of :math:`v`, :math:`d_e` is the mean degree of the
    members of :math:`e`, and :math:`\mathbf{x}^{(0)}` is the input of the first layer.
    If :obj:`beta` is :obj:`None`, it is the layer of plain UniGCN from the same paper,

    .. math::
        \mathbf{e}'_e &= \frac{1}{|e|} \sum_{v \in e} \mathbf{W} \mathbf{x}_v

        \mathbf{x}'_v &= \mathrm{ReLU} \left( d_v^{-1/2} \sum_{e \ni v} d_e^{-1/2} \,
        \mathbf{e}'_e \right).

    Args:
        in_channels (int): The number of features of a node.
        out_channels (int): The width of the output; that of the input in UniGCNII.
        alpha (float, optional): The share :math:`\alpha` of
            :math:`\mathbf{x}^{(0)}` in UniGCNII. (default: :obj:`0.1`)
        beta (float, optional): The share :math:`\beta` of the weights in UniGCNII;
            plain UniGCN if :obj:`None`. (default: :obj:`0.5`)
        rescale (bool, optional): If set to :obj:`True`, the sum over the drawn
            incidences of a node in a mini-batch is scaled up to the number of all its
            incidences. (default: :obj:`False`)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        alpha: float = 0.1,
        beta: float | None = 0.5,
        rescale: bool = False,
    ) -> None:
        super().__init__()
        if beta is not None and in_channels != out_channels:
            raise ValueError(
                f"'out_channels' must be 'in_channels' in UniGCNII "
                f'(got {out_channels} and {in_channels})'
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.alpha = alpha
        self.beta = beta
        self.rescale = rescale
        self.lin = torch.nn.Linear(in_channels, out_channels, bias=False)

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        self.lin.reset_parameters()

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor | HyperedgeIndex,
        num_hyperedges: int | None = None,
        x_0: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass.

        Args:
            x (torch.Tensor): The features of nodes.
            hyperedge_index (torch.Tensor or HyperedgeIndex): The incidences.
            num_hyperedges (int, optional): The number of hyperedges :math:`M` of a
                tensor; the largest hyperedge plus one if :obj:`None`.
                (default: :obj:`None`)
            x_0 (torch.Tensor, optional): The features :math:`\mathbf{x}^{(0)}` of
                UniGCNII; :obj:`x` if :obj:`None`. (default: :obj:`None`)

        Returns:
            The representations of nodes and hyperedges.

        Shapes:
            - **x, x_0:** :math:`(N, F)`
            - **hyperedge_index:** :math:`(2, P)`
            - **output:** :math:`(N, F')` and :math:`(M, F')`
        """
        index = as_hyperedge_index(hyperedge_index, x.size(0), num_hyperedges)
        degree = divisor(index.node_degree, x.dtype)
        size = divisor(index.hyperedge_size, x.dtype)
        # The mean degree of members is at least one, unless there are none.
        mean_degree = (sum_to_hyperedge(degree, index) / size).clamp(min=1)

        if self.beta is None:
            x = self.lin(x)
        hyperedge = sum_to_hyperedge(x, index) / size
        message = hyperedge * mean_degree.rsqrt()
        received = index.received
        num_nodes = received.num_nodes
        node = sum_to_node(message, received) * degree[:num_nodes].rsqrt()
        if self.rescale:
            node = rescale_received(node, received)
        if self.beta is not None:
            x_0 = x if x_0 is None else x_0
            node = torch.lerp(node, x_0[:num_nodes], self.alpha)
            node = torch.lerp(node, self.lin(node), self.beta)
        return node.relu(), hyperedge

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.in_channels}, {self.out_channels})'
