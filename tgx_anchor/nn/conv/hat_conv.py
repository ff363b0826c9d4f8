"""The layer of HAT."""

import math

import torch
from torch import Tensor
from torch_geometric.utils import softmax

from tgx_anchor.data.hyperedge_index import HyperedgeIndex, as_hyperedge_index
from tgx_anchor.nn.conv.aggregate import incidence_dot, sum_to_hyperedge, sum_to_node


class HATConv(torch.nn.Module):
    r"""The layer of HAT, the hypergraph attention network that is a baseline of the
    `"Classification of Edge-dependent Labels of Nodes in Hypergraphs"
    <https://arxiv.org/abs/2306.03032>`_ paper,

    .. math::
        \hat{\mathbf{x}}_v &= f(\mathbf{x}_v)

        \alpha(v, e) &= \underset{v \in e}{\mathrm{softmax}} \; \frac{1}{\sqrt{q}}
        \mathrm{LeakyReLU} \left( k_V(\hat{\mathbf{x}}_v)^{\top} q_E(\mathbf{e}_e)
        \right)

        \mathbf{e}'_e &= \mathrm{ReLU} \left( \sum_{v \in e} \alpha(v, e) \,
        u_V(\hat{\mathbf{x}}_v) \right)

        \gamma(v, e) &= \underset{e \ni v}{\mathrm{softmax}} \; \frac{1}{\sqrt{q}}
        \mathrm{LeakyReLU} \left( k_E(\mathbf{e}'_e)^{\top} q_V(\hat{\mathbf{x}}_v)
        \right)

        \mathbf{x}'_v &= \mathrm{ReLU} \left( \sum_{e \ni v} \gamma(v, e) \,
        u_E(\mathbf{e}'_e) \right),

    where all maps are affine, those named :math:`k` and :math:`q` to :math:`q`
    channels, and the slope of LeakyReLU is 0.01.

    Args:
        in_channels (int): The number of features of a node.
        out_channels (int): The width of the output.
        hyperedge_channels (int): The width of the states of hyperedges.
        query_channels (int, optional): The width :math:`q` of keys and queries.
            (default: :obj:`64`)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hyperedge_channels: int,
        query_channels: int = 64,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.hyperedge_channels = hyperedge_channels
        self.query_channels = query_channels
        self.lin = torch.nn.Linear(in_channels, out_channels)
        self.key_node = torch.nn.Linear(out_channels, query_channels)
        self.query_hyperedge = torch.nn.Linear(hyperedge_channels, query_channels)
        self.value_node = torch.nn.Linear(out_channels, out_channels)
        self.key_hyperedge = torch.nn.Linear(out_channels, query_channels)
        self.query_node = torch.nn.Linear(out_channels, query_channels)
        self.value_hyperedge = torch.nn.Linear(out_channels, out_channels)

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        self.lin.reset_parameters()
        self.key_node.reset_parameters()
        self.query_hyperedge.reset_parameters()
        self.value_node.reset_parameters()
        self.key_hyperedge.reset_parameters()
        self.query_node.reset_parameters()
        self.value_hyperedge.reset_parameters()

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
            - **hyperedge_attr:** :math:`(M, F_E)`
            - **output:** :math:`(N, F')` and :math:`(M, F')`
        """
        index = as_hyperedge_index(hyperedge_index, x.size(0), num_hyperedges)
        x = self.lin(x)
        if hyperedge_attr is None:
            # The map of a state of zeros is its bias.
            query = self.query_hyperedge.bias.expand(index.num_hyperedges, -1)
        else:
            query = self.query_hyperedge(hyperedge_attr)
        score = self._score(incidence_dot(self.key_node(x), query, index))
        alpha = softmax(score, index.hyperedge, num_nodes=index.num_hyperedges)
        hyperedge = sum_to_hyperedge(self.value_node(x), index, alpha).relu()

        received = index.received
        key = self.key_hyperedge(hyperedge)
        query = self.query_node(x[: received.num_nodes])
        score = self._score(incidence_dot(query, key, received))
        gamma = softmax(score, received.node, num_nodes=received.num_nodes)
        node = sum_to_node(self.value_hyperedge(hyperedge), received, gamma).relu()
        return node, hyperedge

    def _score(self, product: Tensor) -> Tensor:
        return torch.nn.functional.leaky_relu(product, 0.01) / math.sqrt(
            self.query_channels
        )

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.in_channels}, {self.out_channels})'
