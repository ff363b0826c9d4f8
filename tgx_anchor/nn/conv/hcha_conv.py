"""The layer of HCHA."""

import math

import torch
from torch import Tensor
from torch_geometric.utils import softmax

from tgx_anchor.data.hyperedge_index import HyperedgeIndex, as_hyperedge_index
from tgx_anchor.nn.conv.aggregate import divisor, sum_to_hyperedge, sum_to_node


class HCHAConv(torch.nn.Module):
    r"""The layer of HCHA from the `"Hypergraph Convolution and Hypergraph Attention"
    <https://arxiv.org/abs/1901.08150>`_ paper, with :math:`K` heads,

    .. math::
        \alpha_k(v, e) &= \underset{e \ni v}{\mathrm{softmax}} \; \mathrm{ReLU} \left(
        \mathbf{a}_k^{\top} \mathbf{P}_k \mathbf{x}_v +
        \mathbf{b}_k^{\top} \mathbf{P}_k \mathbf{e}_e \right)

        \mathbf{e}'_e &= \frac{1}{K} \sum_k \sum_{v \in e} \alpha_k(v, e) \, d_v^{-1/2}
        \, \mathbf{\Theta}_k \mathbf{x}_v

        \mathbf{x}'_v &= d_v^{-1/2} \, \frac{1}{K} \sum_k \sum_{e \ni v}
        \alpha_k(v, e) \, |e|^{-1} \, \mathbf{e}'_e,

    where :math:`d_v` is the degree of :math:`v`, and the softmax runs over the
    hyperedges of a node. Where all hyperedges of a node have the same state, as in the
    first layer of a model, the attention is uniform, and :math:`\mathbf{P}`,
    :math:`\mathbf{a}` and :math:`\mathbf{b}` have no effect.

    Hyperedges weigh a member by its attention over all of its incidences in
    :obj:`hyperedge_index`, so that even nodes that do not receive need all of theirs.

    Args:
        in_channels (int): The number of features of a node, and of a hyperedge.
        out_channels (int): The width of the output.
        heads (int, optional): The number of heads :math:`K`. (default: :obj:`1`)
    """

    def __init__(self, in_channels: int, out_channels: int, heads: int = 1) -> None:
        super().__init__()
        if heads < 1:
            raise ValueError(f"'heads' must be at least 1 (got {heads})")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.heads = heads
        size = (heads, out_channels, in_channels)
        self.projection = torch.nn.Parameter(torch.empty(size))
        self.weight = torch.nn.Parameter(torch.empty(size))
        self.att_node = torch.nn.Parameter(torch.empty(1, heads, out_channels))
        self.att_hyperedge = torch.nn.Parameter(torch.empty(1, heads, out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        gain, bound = math.sqrt(2), 1 / math.sqrt(self.in_channels)
        # Xavier's normal distribution with the same gain, head by head.
        std = gain * math.sqrt(2 / (self.in_channels + self.out_channels))
        torch.nn.init.normal_(self.projection, std=std)
        torch.nn.init.uniform_(self.weight, -bound, bound)
        torch.nn.init.xavier_normal_(self.att_node, gain)
        torch.nn.init.xavier_normal_(self.att_hyperedge, gain)

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor | HyperedgeIndex,
        num_hyperedges: int | None = None,
        hyperedge_attr: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass.

        Args:
            x (torch.Tensor): The features of nodes.
            hyperedge_index (torch.Tensor or HyperedgeIndex): The incidences.
            num_hyperedges (int, optional): The number of hyperedges :math:`M` of a
                tensor; the largest hyperedge plus one if :obj:`None`.
                (default: :obj:`None`)
            hyperedge_attr (torch.Tensor, optional): The states
                :math:`\mathbf{e}_e` of hyperedges, zeros if :obj:`None`.
                (default: :obj:`None`)

        Returns:
            The representations of nodes and hyperedges.

        Shapes:
            - **x:** :math:`(N, F)`
            - **hyperedge_index:** :math:`(2, P)`
            - **hyperedge_attr:** :math:`(M, F)`
            - **output:** :math:`(N, F')` and :math:`(M, F')`
        """
        index = as_hyperedge_index(hyperedge_index, x.size(0), num_hyperedges)
        norm = divisor(index.node_degree, x.dtype).rsqrt()

        # Projecting the attention vectors is cheaper than projecting every node.
        score = (x @ self._attend(self.att_node))[index.node]
        if hyperedge_attr is not None:
            other = hyperedge_attr @ self._attend(self.att_hyperedge)
            score = score + other[index.hyperedge]
        score = score.relu()
        alpha = softmax(score, index.node, num_nodes=index.num_nodes)
        value = (norm * x) @ self.weight.transpose(1, 2) / self.heads
        hyperedge = value.new_zeros(index.num_hyperedges, self.out_channels)
        for message, weight in zip(value, alpha.t(), strict=True):
            hyperedge = hyperedge + sum_to_hyperedge(message, index, weight)
        received = index.received
        if received is not index:
            score = received.take(score)
            alpha = softmax(score, received.node, num_nodes=received.num_nodes)
        message = hyperedge / divisor(index.hyperedge_size, x.dtype)
        node = sum_to_node(message, received, alpha.mean(-1))
        return norm[: received.num_nodes] * node, hyperedge

    def _attend(self, att: Tensor) -> Tensor:
        return (att.transpose(0, 1) @ self.projection).squeeze(1).t()

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}({self.in_channels}, {self.out_channels}, '
            f'heads={self.heads})'
        )
