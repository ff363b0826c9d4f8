"""Statistics of the groups that each node anchors."""

import torch
from torch import Tensor
from torch_geometric.utils import scatter


def anchor_degree(y: Tensor, hyperedge_index: Tensor, num_nodes: int) -> Tensor:
    r"""Counts the hyperedges that each node anchors, :math:`\delta_v`.

    Args:
        y (torch.Tensor): Whether the node of an incidence is the anchor.
        hyperedge_index (torch.Tensor): The incidences.
        num_nodes (int): The number of nodes :math:`N`.

    Shapes:
        - **y:** :math:`(P)`
        - **hyperedge_index:** :math:`(2, P)`
        - **output:** :math:`(N)`
    """
    return scatter(y.long(), hyperedge_index[0], 0, num_nodes, 'sum')


def anchor_proportion(y: Tensor, hyperedge_index: Tensor, num_nodes: int) -> Tensor:
    r"""Computes the share of its hyperedges that each node anchors,
    :math:`p_v = \delta_v / d_v`, and zero for a node without hyperedges.

    Args:
        y (torch.Tensor): Whether the node of an incidence is the anchor.
        hyperedge_index (torch.Tensor): The incidences.
        num_nodes (int): The number of nodes :math:`N`.

    Shapes:
        - **y:** :math:`(P)`
        - **hyperedge_index:** :math:`(2, P)`
        - **output:** :math:`(N)`
    """
    return scatter(y.double(), hyperedge_index[0], 0, num_nodes, 'mean')


def anchor_purity(y: Tensor, hyperedge_index: Tensor, num_nodes: int) -> Tensor:
    r"""Computes the probability that each node is the anchor in both or in neither of
    two of its hyperedges drawn at random,

    .. math::
        \rho_v = \left. \left( \binom{\delta_v}{2} +
        \binom{d_v - \delta_v}{2} \right) \middle/ \binom{d_v}{2} \right.

    Args:
        y (torch.Tensor): Whether the node of an incidence is the anchor.
        hyperedge_index (torch.Tensor): The incidences.
        num_nodes (int): The number of nodes :math:`N`.

    Shapes:
        - **y:** :math:`(P)`
        - **hyperedge_index:** :math:`(2, P)`
        - **output:** :math:`(N)`, NaN for nodes in fewer than two hyperedges
    """
    anchored = anchor_degree(y, hyperedge_index, num_nodes).double()
    total = torch.bincount(hyperedge_index[0], minlength=num_nodes).double()
    other = total - anchored
    pairs = anchored * (anchored - 1) + other * (other - 1)
    return torch.where(total > 1, pairs / (total * (total - 1)), torch.nan)
