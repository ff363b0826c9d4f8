"""The layer of HNHN."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from tgx_anchor.nn.conv.aggregate import Aggregate, count_degree, count_hyperedges


class HNHNConv(torch.nn.Module):
    r"""The layer of HNHN from the `"HNHN: Hypergraph Networks with Hyperedge Neurons"
    <https://arxiv.org/abs/2006.12278>`_ paper:

    .. math::
        \mathbf{e}'_e &= \mathrm{ReLU} \left( \mathbf{W}_E \, \frac{
        \sum_{v \in e} d_v^{a} \, \mathbf{x}_v}{\sum_{v \in e} d_v^{a}}
        + \mathbf{b}_E \right)

        \mathbf{x}'_v &= \mathrm{ReLU} \left( \mathbf{W}_V \, \frac{
        \sum_{e \ni v} |e|^{b} \, \mathbf{e}'_e}{\sum_{e \ni v} |e|^{b}}
        + \mathbf{b}_V \right),

    where :math:`d_v` is the degree of :math:`v`. With both exponents zero, as in the
    baseline, these are plain means. Weights are drawn from Xavier's normal
    distribution with gain :math:`\sqrt{2}`.

    .. note::
        A node that receives from some of its hyperedges only divides by what the sum
        of :math:`|e|^b` would be if the others were like these on average: by its
        degree, if :math:`b = 0`. The public implementation divides by sums to which it
        adds the weight of the last node or hyperedge, not of each one's own, and is
        right with exponents of zero only.

    Args:
        in_channels (int): The number of features of a node.
        out_channels (int): The width of the output.
        rescale (bool, optional): If set to :obj:`True`, what nodes receive from drawn
            incidences is multiplied by how many more there are, so that sums are as
            large in a mini-batch as in the whole. (default: :obj:`False`)
        node_exponent (float, optional): The exponent :math:`a` of degrees: members of
            many hyperedges count more if it is positive. (default: :obj:`0.0`)
        hyperedge_exponent (float, optional): The exponent :math:`b` of sizes: large
            hyperedges count more if it is positive. (default: :obj:`0.0`)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        rescale: bool = False,
        node_exponent: float = 0.0,
        hyperedge_exponent: float = 0.0,
    ) -> None:
        super().__init__()
        for name, value in (
            ('node_exponent', node_exponent),
            ('hyperedge_exponent', hyperedge_exponent),
        ):
            if not math.isfinite(value):
                raise ValueError(f"'{name}' must be finite (got {value})")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.rescale = rescale
        self.node_exponent = node_exponent
        self.hyperedge_exponent = hyperedge_exponent
        self.lin_hyperedge = torch.nn.Linear(in_channels, out_channels)
        self.lin_node = torch.nn.Linear(out_channels, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        for lin in (self.lin_hyperedge, self.lin_node):
            lin.reset_parameters()
            torch.nn.init.xavier_normal_(lin.weight, gain=math.sqrt(2))

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
        mean = _mean(members.to_hyperedge, x, degree, self.node_exponent, size)
        hyperedge = self.lin_hyperedge(mean).relu()
        received = members.select(drawn_mask, num_out_nodes)
        degree = degree[: received.num_nodes]
        mean = _mean(received.to_node, hyperedge, size, self.hyperedge_exponent, degree)
        if self.rescale:
            mean = received.rescale(mean, degree)
        return self.lin_node(mean).relu(), hyperedge

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.in_channels}, {self.out_channels})'


def _mean(
    add_up: Callable[[Tensor], Tensor],
    value: Tensor,
    count: Tensor,
    exponent: float,
    number: Tensor,
) -> Tensor:
    # The mean of 'number' values, of which those are added up that are here, weighted
    # by a power of their counts.
    if exponent == 0:
        return add_up(value) / number.unsqueeze(-1)
    weight = count.pow(exponent).unsqueeze(-1)
    here = add_up(torch.ones_like(weight))
    share = torch.where(here > 0, add_up(weight) / here.clamp(min=1), 1)
    return add_up(value * weight) / (number.unsqueeze(-1) * share)
