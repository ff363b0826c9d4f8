"""Distinct node sets: hyperedges of the same nodes, held once."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.utils.incidence import (
    arange_by_ptr,
    collapse_incidences,
    distinct_hyperedges,
    index_ptr,
)


class NodeSets(NamedTuple):
    r"""The distinct node sets of a hypergraph. Values that are the same for all copies
    of a hyperedge are computed once per set, and then read by :obj:`row`.

    Shapes:
        - **hyperedge_index:** :math:`(2, R)`, the members of each set, sorted by set,
          then by node
        - **ptr:** :math:`(S + 1)`, where each set begins
        - **size:** :math:`(S)`, the number of members, in double precision
        - **copies:** :math:`(S)`, the number of hyperedges, in double precision
        - **number:** :math:`(M)`, the set of each hyperedge, in order of first
          appearance
        - **row:** :math:`(P)`, the column of :obj:`hyperedge_index` that holds the set
          and the node of each incidence
    """

    hyperedge_index: Tensor
    ptr: Tensor
    size: Tensor
    copies: Tensor
    number: Tensor
    row: Tensor

    @property
    def num_sets(self) -> int:
        r"""The number of sets :math:`S`."""
        return self.size.numel()

    @property
    def num_rows(self) -> int:
        r"""The number of members of all sets :math:`R`."""
        return self.hyperedge_index.size(1)

    def total(self, value: Tensor) -> Tensor:
        r"""Sums the values of the members of each set.

        Args:
            value (torch.Tensor): The values.

        Shapes:
            - **value:** :math:`(R)`
            - **output:** :math:`(S)`
        """
        return scatter(value, self.hyperedge_index[1], 0, self.num_sets, 'sum')


def node_sets(
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    weight: Tensor | None = None,
) -> NodeSets:
    r"""Finds the distinct node sets of a hypergraph.

    Args:
        hyperedge_index (torch.Tensor): The incidences, sorted by hyperedge. Members
            repeated in a hyperedge count once.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        weight (torch.Tensor, optional): How often each hyperedge counts among the
            copies of its set; once if :obj:`None`. (default: :obj:`None`)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **weight:** :math:`(M)`
    """
    index, place = collapse_incidences(hyperedge_index, num_nodes)
    node, hyperedge = index
    number = distinct_hyperedges(index, num_nodes, num_hyperedges)
    num_sets = int(number.max()) + 1 if number.numel() > 0 else 0
    ptr = index_ptr(hyperedge, num_hyperedges)
    order = torch.arange(num_hyperedges, device=node.device)
    first = scatter(order, number, 0, num_sets, 'min')
    source, owner = arange_by_ptr(ptr[first], torch.diff(ptr)[first])
    set_ptr = index_ptr(owner, num_sets)
    offset = torch.arange(node.numel(), device=node.device) - ptr[hyperedge]
    if weight is None:
        weight = torch.ones(num_hyperedges, device=node.device)
    return NodeSets(
        hyperedge_index=torch.stack([node[source], owner]),
        ptr=set_ptr,
        size=torch.diff(set_ptr).double(),
        copies=scatter(weight.double(), number, 0, num_sets, 'sum'),
        number=number,
        row=(set_ptr[number[hyperedge]] + offset)[place],
    )
