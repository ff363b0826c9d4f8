"""The layer of HGNN."""

import torch
from torch import Tensor

from tgx_anchor.nn.conv.aggregate import Aggregate, count_degree, count_hyperedges


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
        rescale (bool, optional): If set to :obj:`True`, what nodes receive from drawn
            incidences is multiplied by how many more there are, so that sums are as
            large in a mini-batch as in the whole. (default: :obj:`False`)
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
        hyperedge_index: Tensor,
        num_hyperedges: int | None = None,
        node_degree: Tensor | None = None,
        hyperedge_size: Tensor | None = None,
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
            node_degree (torch.Tensor, optional): The degrees of nodes in the whole
                hypergraph; counted here if :obj:`None`. (default: :obj:`None`)
            hyperedge_size (torch.Tensor, optional): The sizes of hyperedges,
                likewise. (default: :obj:`None`)
            drawn_mask (torch.Tensor, optional): The incidences that nodes receive
                from; all if :obj:`None`. (default: :obj:`None`)
            num_out_nodes (int, optional): If given, only the first so many nodes are
                returned, and none but they may receive. (default: :obj:`None`)

        Returns:
            The representations of nodes and hyperedges.

        Shapes:
            - **x:** :math:`(N, F)`
            - **hyperedge_index:** :math:`(2, P)`
            - **node_degree:** :math:`(N)`
            - **hyperedge_size:** :math:`(M)`
            - **drawn_mask:** :math:`(P)`
            - **output:** :math:`(N, F')` and :math:`(M, F')`
        """
        num_hyperedges = count_hyperedges(hyperedge_index, num_hyperedges)
        members = Aggregate(hyperedge_index, x.size(0), num_hyperedges)
        degree = count_degree(members.node, x.size(0), x.dtype, node_degree)
        size = count_degree(members.hyperedge, num_hyperedges, x.dtype, hyperedge_size)
        norm = degree.rsqrt().unsqueeze(-1)
        hyperedge = members.to_hyperedge(norm * self.lin(x))
        message = hyperedge / size.unsqueeze(-1)
        received = members.select(drawn_mask, num_out_nodes)
        node = norm[: received.num_nodes] * received.to_node(message)
        if self.rescale:
            node = received.rescale(node, degree[: received.num_nodes])
        return node.relu(), hyperedge

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.in_channels}, {self.out_channels})'
