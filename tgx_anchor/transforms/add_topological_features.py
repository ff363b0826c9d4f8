"""Topological features of incidences."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform

from tgx_anchor.data import AnchorData
from tgx_anchor.transforms._topology import (
    CENTRALITIES,
    Topology,
    check_centralities,
)

GLOBAL_COLUMNS = (
    'minmax',
    'rank',
    'local_minmax_mean',
    'local_minmax_std',
    'local_rank_mean',
    'local_rank_std',
)
LOCAL_COLUMNS = ('local_minmax', 'local_rank')
SIZE_COLUMN = 'hyperedge_size'


@functional_transform('add_topological_features')
class AddTopologicalFeatures(BaseTransform):
    r"""Appends the topological features of the `"Identifying Group Anchors in
    Real-World Group Interactions Under Label Scarcity"
    <https://arxiv.org/abs/2509.20762>`_ paper to :obj:`incidence_attr` (functional
    name: :obj:`add_topological_features`).

    For each node centrality :math:`x_v` (degree, eigenvector centrality and PageRank
    of the weighted clique expansion, coreness) there are six *global* columns, the
    same in all hyperedges of :math:`v`, and two *local* ones:

    * :obj:`minmax`: :math:`(x_v - \min_u x_u) / (\max_u x_u - \min_u x_u)`
    * :obj:`rank`: :math:`|\{ u : x_u > x_v \}| / (N - 1)`
    * :obj:`local_minmax`: the first of these inside :math:`e`
    * :obj:`local_rank`: the second of these inside :math:`e`, over :math:`|e| - 1`
    * :obj:`local_minmax_mean`, :obj:`local_minmax_std`, :obj:`local_rank_mean`,
      :obj:`local_rank_std`: mean and population standard deviation of the local
      values over the hyperedges of :math:`v`

    and last the size :math:`|e|`, which is local: with all four centralities
    :math:`4 \cdot 6 + 4 \cdot 2 + 1 = 33` columns, in the order of
    :obj:`feature_names`. Where all values are equal, normalised values are zero.

    Centralities that agree to 32 significant bits count as equal, since further
    digits depend on the order of summation: features do not change when nodes or
    hyperedges are renamed.

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
        - **incidence_attr:** :math:`(P, F + 33)`
    """

    def __init__(
        self,
        local: bool = True,
        global_: bool = True,
        centralities: Sequence[str] = tuple(CENTRALITIES),
        cat: bool = True,
    ) -> None:
        check_centralities(centralities, CENTRALITIES)
        if not (local or global_):
            raise ValueError("'local' or 'global_' must be set (got neither)")
        self.local = local
        self.global_ = global_
        self.centralities = tuple(centralities)
        self.cat = cat

    @property
    def feature_names(self) -> list[str]:
        r"""The names of the columns that are added, in their order."""
        names = []
        if self.global_:
            names += [f'{c}_{g}' for c in self.centralities for g in GLOBAL_COLUMNS]
        if self.local:
            names += [f'{c}_{g}' for c in self.centralities for g in LOCAL_COLUMNS]
            names.append(SIZE_COLUMN)
        return names

    def forward(self, data: AnchorData) -> AnchorData:
        r"""Adds the features to :obj:`data`. A part of a hypergraph in shards stays as
        it is: the features of its incidences are computed when they are needed.
        """
        if data.part is not None:
            self.topology(data)
            return data
        names, previous = self.feature_names, data.get('incidence_attr')
        size = (data.num_incidences, len(names))
        out = torch.empty(size, device=data.hyperedge_index.device)
        self._topology(data, out)
        if self.cat and previous is not None:
            out = torch.cat([previous.to(out.dtype), out], dim=1)
            names = data.names('incidence_attr') + names
        data.incidence_attr = out
        return data.name_columns('incidence_attr', names)

    def topology(self, data: AnchorData) -> Topology:
        r"""Returns the vectors over nodes from which the features are computed. Those
        of a part of a hypergraph in shards are computed once.

        Args:
            data (AnchorData): The hypergraph.
        """
        if data.part is None:
            return self._topology(data)
        return data.part.cached(repr(self), lambda: self._topology(data))

    def _topology(self, data: AnchorData, out: Tensor | None = None) -> Topology:
        return Topology(
            data.hyperedge_index,
            data.num_nodes,
            data.num_hyperedges,
            self.centralities,
            self.local,
            self.global_,
            data.ranks,
            out,
        )

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}(local={self.local}, global_={self.global_}, '
            f'centralities={list(self.centralities)}, cat={self.cat})'
        )
