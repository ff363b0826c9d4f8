"""The layer of HNHN."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from tgx_anchor.data.hyperedge_index import HyperedgeIndex, as_hyperedge_index
from tgx_anchor.nn.conv.aggregate import (
    divisor,
    rescale_received,
    sum_to_hyperedge,
    sum_to_node,
)


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
        rescale (bool, optional): If set to :obj:`True`, the sum over the drawn
            incidences of a node in a mini-batch is scaled up to the number of all its
            incidences. (default: :obj:`False`)
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
        degree = divisor(index.node_degree, x.dtype)
        size = divisor(index.hyperedge_size, x.dtype)
        add_up = partial(sum_to_hyperedge, index=index)
        mean = _mean(add_up, x, degree, self.node_exponent, size)
        hyperedge = self.lin_hyperedge(mean).relu()
        received = index.received
        degree = degree[: received.num_nodes]
        add_up = partial(sum_to_node, index=received)
        mean = _mean(add_up, hyperedge, size, self.hyperedge_exponent, degree)
        if self.rescale:
            mean = rescale_received(mean, received)
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
    # The mean of 'number' values, weighted by a power of their counts, of which the
    # drawn ones are added up.
    if exponent == 0:
        return add_up(value) / number
    weight = count.pow(exponent)
    drawn = add_up(torch.ones_like(weight))
    share = torch.where(drawn > 0, add_up(weight) / drawn.clamp(min=1), 1)
    return add_up(value * weight) / (number * share)
