"""The layer of HAT."""

import math

import torch
from torch import Tensor
from torch_geometric.utils import softmax

from tgx_anchor.nn.conv.aggregate import Aggregate, count_hyperedges


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
        hyperedge_index: Tensor,
        num_hyperedges: int | None = None,
        hyperedge_attr: Tensor | None = None,
        drawn_mask: Tensor | None = None,
        num_out_nodes: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass.

        Args:
            x (torch.Tensor): The features of nodes.
            hyperedge_index (torch.Tensor): The incidences, sorted by hyperedge.
            num_hyperedges (int, optional): The number of hyperedges :math:`M`; the
                largest one that occurs, plus one, if :obj:`None`.
                (default: :obj:`None`)
            hyperedge_attr (torch.Tensor, optional): The states
                :math:`\mathbf{e}_e` of hyperedges; zeros if :obj:`None`.
                (default: :obj:`None`)
            drawn_mask (torch.Tensor, optional): The incidences that nodes receive
                from; all if :obj:`None`. (default: :obj:`None`)
            num_out_nodes (int, optional): If given, only the first so many nodes are
                returned, and none but they may receive. (default: :obj:`None`)

        Returns:
            The representations of nodes and hyperedges.

        Shapes:
            - **x:** :math:`(N, F)`
            - **hyperedge_index:** :math:`(2, P)`
            - **hyperedge_attr:** :math:`(M, F_E)`
            - **drawn_mask:** :math:`(P)`
            - **output:** :math:`(N, F')` and :math:`(M, F')`
        """
        num_hyperedges = count_hyperedges(hyperedge_index, num_hyperedges)
        members = Aggregate(hyperedge_index, x.size(0), num_hyperedges)
        drawn = members.select(drawn_mask, num_out_nodes)
        x = self.lin(x)
        if hyperedge_attr is None:
            # Of a state of zeros, the bias is left.
            query = self.query_hyperedge.bias.expand(num_hyperedges, -1)
        else:
            query = self.query_hyperedge(hyperedge_attr)
        score = self._score(members.dot(self.key_node(x), query))
        alpha = softmax(score, members.hyperedge, num_nodes=num_hyperedges)
        hyperedge = members.to_hyperedge(self.value_node(x), alpha).relu()

        key = self.key_hyperedge(hyperedge)
        query = self.query_node(x[: drawn.num_nodes])
        score = self._score(drawn.dot(query, key))
        gamma = softmax(score, drawn.node, num_nodes=drawn.num_nodes)
        node = drawn.to_node(self.value_hyperedge(hyperedge), gamma).relu()
        return node, hyperedge

    def _score(self, product: Tensor) -> Tensor:
        return torch.nn.functional.leaky_relu(product, 0.01) / math.sqrt(
            self.query_channels
        )

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.in_channels}, {self.out_channels})'
