"""Topological features of incidences in directed hyperedges."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform

from tgx_anchor.data import AnchorData
from tgx_anchor.transforms._topology import NodeVectors, check_centralities
from tgx_anchor.transforms.add_topological_features import (
    GLOBAL_COLUMNS,
    LOCAL_COLUMNS,
)
from tgx_anchor.utils import (
    ALONE,
    authority,
    directed_pagerank,
    in_coreness,
    in_degree,
    swap_sides,
)

# Each is computed twice: along the direction ('in'), and against it ('out').
DIRECTED: dict[str, Callable[[Tensor, Tensor, int, int], Tensor]] = {
    'degree': in_degree,
    'eigenvector': authority,
    'pagerank': directed_pagerank,
    'coreness': in_coreness,
}
SIDE_COLUMNS = ('side_tail', 'side_head')


@functional_transform('add_directed_features')
class AddDirectedFeatures(BaseTransform):
    r"""Appends the topological features of a directed hypergraph to
    :obj:`incidence_attr`, as appendix A of the `"Identifying Group Anchors in
    Real-World Group Interactions Under Label Scarcity"
    <https://arxiv.org/abs/2509.20762>`_ paper proposes (functional name:
    :obj:`add_directed_features`).

    The directions are :obj:`data.incidence_side`. There are two columns for the side of
    the member, and for each of

    * :obj:`degree`: the number of heads that hold the node
    * :obj:`eigenvector`: its authority (:func:`~tgx_anchor.utils.authority`)
    * :obj:`pagerank`: of a walk from tails to heads
      (:func:`~tgx_anchor.utils.directed_pagerank`)
    * :obj:`coreness`: in heads (:func:`~tgx_anchor.utils.in_coreness`)

    once as it is (:obj:`in_...`) and once with all directions reversed
    (:obj:`out_...`), the six global and two local columns of
    :class:`~tgx_anchor.transforms.AddTopologicalFeatures`:
    :math:`2 + 8 \cdot (6 + 2) = 66` columns, in the order of :obj:`feature_names`. With
    all sides swapped, the columns :obj:`in_...` and :obj:`out_...` are swapped.

    Args:
        local (bool, optional): If set to :obj:`False`, will leave out the local
            columns. (default: :obj:`True`)
        global_ (bool, optional): If set to :obj:`False`, will leave out the global
            columns. (default: :obj:`True`)
        centralities (list[str], optional): The centralities to use.
            (default: :obj:`("degree", "eigenvector", "pagerank", "coreness")`)
        cat (bool, optional): If set to :obj:`False`, will replace an existing
            :obj:`incidence_attr` instead of appending to it.
            (default: :obj:`True`)

    Shapes:
        - **incidence_side:** :math:`(P)`
        - **incidence_attr:** :math:`(P, F + 66)`
    """

    #: The attribute that the features are made of.
    source = 'incidence_side'

    def __init__(
        self,
        local: bool = True,
        global_: bool = True,
        centralities: Sequence[str] = tuple(DIRECTED),
        cat: bool = True,
    ) -> None:
        check_centralities(centralities, DIRECTED)
        self.local = local
        self.global_ = global_
        self.centralities = tuple(centralities)
        self.cat = cat

    @property
    def feature_names(self) -> list[str]:
        r"""The names of the columns that are added, in their order."""
        kinds = [
            *(GLOBAL_COLUMNS if self.global_ else ()),
            *(LOCAL_COLUMNS if self.local else ()),
        ]
        return [
            *SIDE_COLUMNS,
            *(
                f'{way}_{name}_{kind}'
                for name in self.centralities
                for way in ('in', 'out')
                for kind in kinds
            ),
        ]

    def forward(self, data: AnchorData) -> AnchorData:
        r"""Adds the features to :obj:`data`."""
        side = data.get('incidence_side')
        if side is None:
            raise ValueError(
                "'incidence_side' is missing: set it to 0 for members in the tail and "
                "1 for those in the head ('AnchorData.from_incidence' reads it from "
                "the column 'side')"
            )
        node = data.hyperedge_index[0]
        count = torch.bincount(node, minlength=data.num_nodes).clamp(min=1)
        names = self.feature_names
        out = torch.empty((node.numel(), len(names)), device=node.device)
        for place in range(len(SIDE_COLUMNS)):
            out[:, place] = side == place
        column = len(SIDE_COLUMNS)
        for name in self.centralities:
            for sides in (side, swap_sides(side)):
                value = DIRECTED[name](
                    data.hyperedge_index, sides, data.num_nodes, data.num_hyperedges
                )
                for part in self._columns(value, data, count):
                    out[:, column] = part
                    column += 1
        previous = data.get('incidence_attr')
        if self.cat and previous is not None:
            out = torch.cat([previous.to(out.dtype), out], dim=1)
            names = data.names('incidence_attr') + names
        data.incidence_attr = out
        return data.name_columns('incidence_attr', names)

    def _columns(self, value: Tensor, data: AnchorData, count: Tensor) -> list[Tensor]:
        index = data.hyperedge_index
        vectors = NodeVectors.of(value)
        local = vectors.local_columns(index, data.num_hyperedges)
        columns: list[Tensor] = []
        if self.global_:
            vectors = vectors.with_moments(local, index[0], count, ALONE)
            columns += vectors.global_columns(index[0]).unbind(1)
        return [*columns, *(local if self.local else ())]

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}(local={self.local}, global_={self.global_}, '
            f'centralities={list(self.centralities)}, cat={self.cat})'
        )
