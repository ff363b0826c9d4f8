"""The layer of HNN."""

import math

import torch
from torch import Tensor

from tgx_anchor.data.hyperedge_index import HyperedgeIndex, as_hyperedge_index
from tgx_anchor.nn.conv.aggregate import divisor, sum_to_hyperedge, sum_to_node


class HNNConv(torch.nn.Module):
    r"""The layer of HNN from the `"A Hypergraph Neural Network Framework for Learning
    Hyperedge-Dependent Node Embeddings" <https://arxiv.org/abs/2212.14077>`_ paper, as
    in its public implementation,

    .. math::
        \mathbf{A}_e &= \frac{1}{|e|} \sum_{v \in e} \frac{1}{d_v} \,
        \psi_1(\mathbf{x}_v \, \Vert \, \mathbf{y}_e), \qquad
        \hat{\mathbf{A}} = \mathbf{H}^{\top} \mathbf{D}_V^{-1} \mathbf{H} \,
        \mathbf{D}_E^{-2} \mathbf{A}

        \mathbf{x}'_v &= \mathrm{ReLU} \left( \mathbf{W}_V \, \frac{1}{d_v}
        \sum_{e \ni v} (\hat{\mathbf{A}}_e + \mathbf{y}_e) \right)

        \mathbf{B}_e &= \frac{1}{|e|} \sum_{v \in e}
        \psi_2(\mathbf{x}'_v \, \Vert \, \mathbf{y}_e)

        \mathbf{t}_v &= \frac{1}{d_v} \sum_{e \ni v} \frac{1}{|e|} \mathbf{y}_e, \qquad
        \hat{\mathbf{t}} = \mathbf{H} \mathbf{D}_E^{-1} \mathbf{H}^{\top}
        \mathbf{D}_V^{-2} \, \mathbf{t}

        \mathbf{y}'_e &= \mathrm{ReLU} \left( \mathbf{W}_E \left( \frac{1}{|e|}
        \sum_{v \in e} \hat{\mathbf{t}}_v + \mathbf{B}_e \right) \right),

    where :math:`\mathbf{H}` is the incidence matrix, :math:`\mathbf{D}_V` and
    :math:`\mathbf{D}_E` hold the degrees :math:`d_v` and the sizes :math:`|e|`, and
    :math:`\psi_1`, :math:`\psi_2` are affine. The paper has one factor
    :math:`\mathbf{D}_E^{-1}` and one :math:`\mathbf{D}_V^{-1}` less. The factors of the
    products are applied one after the other. Weights are drawn from Xavier's normal
    distribution with gain :math:`\sqrt{2}`.

    Args:
        in_channels (int): The number of features of a node, and of a hyperedge.
        out_channels (int): The width of the output.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.psi_1 = torch.nn.Linear(2 * in_channels, in_channels)
        self.psi_2 = torch.nn.Linear(out_channels + in_channels, in_channels)
        self.lin_node = torch.nn.Linear(in_channels, out_channels, bias=False)
        self.lin_hyperedge = torch.nn.Linear(in_channels, out_channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        for lin in (self.psi_1, self.psi_2, self.lin_node, self.lin_hyperedge):
            lin.reset_parameters()
            torch.nn.init.xavier_normal_(lin.weight, gain=math.sqrt(2))

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
                :math:`\mathbf{y}_e` of hyperedges, zeros if :obj:`None`.
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
        received = index.received
        degree = divisor(index.node_degree, x.dtype)
        size = divisor(index.hyperedge_size, x.dtype)
        y = hyperedge_attr
        if y is None:
            y = x.new_zeros(index.num_hyperedges, self.in_channels)

        total = sum_to_hyperedge(1 / degree, index)
        a = _sum_affine(self.psi_1, index, x / degree, y, total) / size
        a = self._mix(a, index)
        node = self.lin_node(sum_to_node(a + y, received) / degree).relu()

        total = sum_to_hyperedge(torch.ones_like(degree), index)
        b = _sum_affine(self.psi_2, index, node, y, total) / size
        t = sum_to_node(y / size, received) / degree
        t = sum_to_node(sum_to_hyperedge(t / degree.square(), index) / size, received)
        hyperedge = self.lin_hyperedge(sum_to_hyperedge(t, index) / size + b).relu()
        return node, hyperedge

    def _mix(self, a: Tensor, index: HyperedgeIndex) -> Tensor:
        # The product with the matrix of pairs of hyperedges. It has a method of its own
        # since the reference multiplies with another one ('reference_habits.py').
        a = a / divisor(index.hyperedge_size, a.dtype).square()
        a = sum_to_node(a, index.received) / divisor(index.node_degree, a.dtype)
        return sum_to_hyperedge(a, index)

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.in_channels}, {self.out_channels})'


def _sum_affine(
    psi: torch.nn.Linear, index: HyperedgeIndex, x: Tensor, y: Tensor, total: Tensor
) -> Tensor:
    # The weighted sum of psi(x_v || y_e) over the members of each hyperedge, from the
    # weighted x_v and the sum of the weights. As psi is affine, it is applied to sums
    # and nothing is computed per incidence.
    left, right = psi.weight.split([x.size(-1), y.size(-1)], dim=1)
    own = torch.nn.functional.linear(y, right, psi.bias)
    return sum_to_hyperedge(torch.nn.functional.linear(x, left), index) + total * own
