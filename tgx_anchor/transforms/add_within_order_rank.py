"""Ranks of nodes among the members of their groups, by four centralities."""

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform

from tgx_anchor.data import AnchorData
from tgx_anchor.transforms._round import round_centrality
from tgx_anchor.utils import (
    coreness,
    degree,
    eigenvector_centrality,
    group_order,
    pagerank,
)


@functional_transform('add_within_order_rank')
class AddWithinOrderRank(BaseTransform):
    r"""Adds the ranks of nodes in their hyperedges of the `"Classification of
    Edge-dependent Labels of Nodes in Hypergraphs" <https://arxiv.org/abs/2306.03032>`_
    paper as :obj:`incidence_rank` (functional name: :obj:`add_within_order_rank`).

    For degree, eigenvector centrality, PageRank and coreness, in this order, it is

    .. math::
        r_{v;e} = \frac{1}{|e|} \left| \left\{ x_u : u \in e, x_u \leq x_v \right\}
        \right|,

    the number of *distinct* values up to that of :math:`v` among the members of
    :math:`e`: the smallest has the rank one, equal ones share a rank, and there are no
    gaps. Repeated members count in :math:`|e|`.

    Centralities that agree to 32 significant bits count as equal, since further
    digits depend on the order of summation: ranks do not change when nodes or
    hyperedges are renamed.

    Args:
        weighted (bool, optional): If set to :obj:`True`, the eigenvector centrality is
            that of the weighted clique expansion, which needs less memory and is not
            the one of the paper. (default: :obj:`False`)

    Shapes:
        - **incidence_rank:** :math:`(P, 4)`
    """

    def __init__(self, weighted: bool = False) -> None:
        self.weighted = weighted

    def forward(self, data: AnchorData) -> AnchorData:
        r"""Adds the ranks to :obj:`data`."""
        node, hyperedge = data.hyperedge_index
        size = (data.num_nodes, data.num_hyperedges)
        index = data.hyperedge_index
        centralities = {
            'degree': degree(index, *size),
            'eigenvector': eigenvector_centrality(index, *size, weighted=self.weighted),
            'pagerank': pagerank(index, *size),
            'coreness': coreness(index, *size),
        }
        out = torch.empty((node.numel(), len(centralities)), device=node.device)
        count = data.hyperedge_size[hyperedge]
        for i, value in enumerate(centralities.values()):
            _, level = round_centrality(value)
            rank = _dense_rank(level[node], hyperedge, data.num_hyperedges)
            out[:, i] = rank.to(out.dtype) / count
        data.incidence_rank = out
        names = [f'{name}_within_order_rank' for name in centralities]
        return data.name_columns('incidence_rank', names)

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}(weighted={self.weighted})'


def _dense_rank(level: Tensor, hyperedge: Tensor, num_hyperedges: int) -> Tensor:
    order = group_order(-level, hyperedge, num_hyperedges)
    position = torch.arange(level.numel(), device=level.device)
    distinct = (order.first == position).long().cumsum(0)
    return order.by_incidence(distinct - distinct[order.ptr[hyperedge]] + 1)
