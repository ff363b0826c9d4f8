"""Topological features of incidences."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import scatter

from tgx_anchor.data import AnchorData
from tgx_anchor.transforms._round import round_centrality
from tgx_anchor.utils import (
    coreness,
    degree,
    eigenvector_centrality,
    group_order,
    pagerank,
)

CENTRALITIES: dict[str, Callable[[Tensor, int, int], Tensor]] = {
    'degree': degree,
    'eigenvector': eigenvector_centrality,
    'pagerank': pagerank,
    'coreness': coreness,
}
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
        unknown = [name for name in centralities if name not in CENTRALITIES]
        if unknown:
            raise ValueError(
                f"'centralities' must be among {', '.join(CENTRALITIES)} "
                f'(got {unknown[0]!r})'
            )
        if len(set(centralities)) < len(centralities):
            raise ValueError(
                f"'centralities' must not repeat a name (got {list(centralities)})"
            )
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
        r"""Adds the features to :obj:`data`."""
        node, hyperedge = data.hyperedge_index
        num_nodes, num_hyperedges = data.num_nodes, data.num_hyperedges
        column = {name: i for i, name in enumerate(self.feature_names)}
        out = torch.empty((node.numel(), len(column)), device=node.device)
        count = torch.bincount(node, minlength=num_nodes).clamp(min=1)

        for name in self.centralities:
            value = CENTRALITIES[name](data.hyperedge_index, num_nodes, num_hyperedges)
            value, level = round_centrality(value)
            local = _local_columns(value, level, data.hyperedge_index, num_hyperedges)
            if self.local:
                for key, part in zip(LOCAL_COLUMNS, local, strict=True):
                    out[:, column[f'{name}_{key}']] = part
            if self.global_:
                parts = [_minmax(value), _rank(level)]
                for part in local:
                    parts += _mean_and_std(part, node, count)
                start = column[f'{name}_{GLOBAL_COLUMNS[0]}']
                table = torch.stack(parts, dim=1).to(out.dtype)
                out[:, start : start + len(parts)] = table.index_select(0, node)
        if self.local:
            size = data.hyperedge_size.to(out.dtype)
            out[:, column[SIZE_COLUMN]] = size[hyperedge]

        names, previous = self.feature_names, data.get('incidence_attr')
        if self.cat and previous is not None:
            out = torch.cat([previous.to(out.dtype), out], dim=1)
            names = data.names('incidence_attr') + names
        data.incidence_attr = out
        return data.name_columns('incidence_attr', names)

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}(local={self.local}, global_={self.global_}, '
            f'centralities={list(self.centralities)}, cat={self.cat})'
        )


def _ratio(part: Tensor, whole: Tensor) -> Tensor:
    return torch.where(whole > 0, part / whole, 0.0)


def _minmax(value: Tensor) -> Tensor:
    if value.numel() == 0:
        return value
    low, high = torch.aminmax(value)
    return _ratio(value - low, high - low)


def _rank(level: Tensor) -> Tensor:
    count = torch.bincount(level)
    larger = level.numel() - count.cumsum(0)
    return larger[level].double() / max(level.numel() - 1, 1)


def _local_columns(
    value: Tensor, level: Tensor, hyperedge_index: Tensor, num_hyperedges: int
) -> tuple[Tensor, Tensor]:
    node, hyperedge = hyperedge_index
    order = group_order(level.index_select(0, node), hyperedge, num_hyperedges)
    ranked = value.index_select(0, node.index_select(0, order.perm))
    # Empty hyperedges may point past the end; their values are not used.
    padded = torch.cat([ranked, ranked.new_zeros(1)])
    size = torch.diff(order.ptr)
    low = padded[(order.ptr[1:] - 1).clamp(min=0)]
    span = padded[order.ptr[:-1]] - low
    minmax = _ratio(
        ranked - low.index_select(0, hyperedge), span.index_select(0, hyperedge)
    )
    rank = _ratio(
        (order.first - order.ptr.index_select(0, hyperedge)).double(),
        (size - 1.0).index_select(0, hyperedge),
    )
    return order.by_incidence(minmax), order.by_incidence(rank)


def _mean_and_std(value: Tensor, node: Tensor, count: Tensor) -> list[Tensor]:
    # Each node has 'count' incidences.
    mean = scatter(value, node, 0, count.numel(), 'sum') / count
    deviation = value - mean.index_select(0, node)
    variance = scatter(deviation.square_(), node, 0, count.numel(), 'sum') / count
    return [mean, variance.sqrt()]
