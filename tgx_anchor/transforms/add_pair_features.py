"""Features of members from the hyperedges that they share."""

from numbers import Integral

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import cumsum, scatter, segment

from tgx_anchor.data import AnchorData
from tgx_anchor.transforms._round import round_to_step
from tgx_anchor.utils import (
    MemberPairs,
    NodeSets,
    member_pairs,
    node_sets,
    relative_to_group,
)

SHARED_COLUMNS = (
    'pair_shared',
    'pair_share_own',
    'pair_share_other',
    'pair_jaccard',
)
DIFFERENCE_COLUMNS = ('pair_degree', 'pair_contacts')
REDUCTIONS = ('mean', 'max', 'min')
MET_COLUMN = 'pair_met'
MEMBER_COLUMNS = (
    'log_other_degree',
    'log_contacts',
    'contacts_per_group',
    'mean_group_size',
    'log_copies',
    'min_group_size',
    'max_group_size',
    'single_share',
    'two_share',
    'distinct_share',
)
CONTACT_COLUMNS = (
    'contact_degree_mean',
    'contact_degree_weighted',
    'contact_degree_max',
    'contact_below',
    'contact_shared_max',
    'contact_share_max',
    'contact_shared_mean',
    'contact_concentration',
)
SUFFIXES = ('', '_minus_mean', '_minus_best')


@functional_transform('add_pair_features')
class AddPairFeatures(BaseTransform):
    r"""Appends features of the hyperedges that members share with each other to
    :obj:`incidence_attr` (functional name: :obj:`add_pair_features`).

    Let :math:`w_{vu}` be the number of hyperedges with both :math:`v` and :math:`u`,
    :math:`d_v` the number of hyperedges with :math:`v`, both without :math:`e` and its
    copies, and :math:`n_v` the number of *contacts* of :math:`v`, which are the other
    members of its hyperedges. For each other member :math:`u` of :math:`e` there are

    * :obj:`pair_shared`: :math:`\log (1 + w_{vu})`
    * :obj:`pair_share_own`: :math:`w_{vu} / d_v`
    * :obj:`pair_share_other`: :math:`w_{vu} / d_u`
    * :obj:`pair_jaccard`: :math:`w_{vu} / (d_v + d_u - w_{vu})`
    * :obj:`pair_degree`: :math:`\log (1 + d_v) - \log (1 + d_u)`
    * :obj:`pair_contacts`: :math:`\log (1 + n_v) - \log (1 + n_u)`

    and the features are their :obj:`mean`, :obj:`max` and :obj:`min` over all
    :math:`u`, followed by :obj:`pair_met`, the share of :math:`u` with
    :math:`w_{vu} > 0`. Then come features of :math:`v` itself:

    * :obj:`log_other_degree`, :obj:`log_contacts`, :obj:`contacts_per_group`:
      :math:`\log (1 + d_v)`, :math:`\log (1 + n_v)` and :math:`n_v` over the number of
      all hyperedges of :math:`v`
    * :obj:`mean_group_size`, :obj:`min_group_size`, :obj:`max_group_size`: the sizes of
      the hyperedges of :math:`v`
    * :obj:`single_share`, :obj:`two_share`, :obj:`distinct_share`: the share of its
      hyperedges with one member, with two members, and of its distinct node sets
    * :obj:`log_copies`: the logarithm of the number of copies of :math:`e`

    and of all its contacts, with the number :math:`W_{vu}` of shared hyperedges and the
    degree :math:`D_v`, to which :math:`e` itself counts as well:

    * :obj:`contact_degree_mean`, :obj:`contact_degree_weighted`,
      :obj:`contact_degree_max`: mean, mean weighted by :math:`W_{vu}`, and maximum of
      :math:`\log (1 + D_u)`
    * :obj:`contact_below`: the share of contacts with :math:`D_u < D_v`
    * :obj:`contact_shared_max`, :obj:`contact_share_max`, :obj:`contact_shared_mean`:
      :math:`\log (1 + \max_u W_{vu})`, :math:`\max_u W_{vu} / D_v` and the mean of
      :math:`W_{vu}`
    * :obj:`contact_concentration`: :math:`\sum_u W_{vu}^2 / (\sum_u W_{vu})^2`

    These eight follow once more as :obj:`<name>_minus_mean` and
    :obj:`<name>_minus_best` (:func:`~tgx_anchor.utils.relative_to_group`).

    **Large hyperedges.** Those of more than :obj:`max_size` members have too many pairs
    (emEN has one of 883 members). They do not count in :math:`w`, :math:`W` and
    :math:`n`, and their own :obj:`pair_*` columns are zero. Everything else costs
    :math:`O(\sum_e |e|^2)` over distinct node sets, in blocks of bounded memory.

    Values are rounded to multiples of :math:`2^{-30}` before they are added up, so that
    features do not depend on the order of nodes or hyperedges.

    Args:
        max_size (int, optional): The largest number of members of a hyperedge whose
            pairs count. (default: :obj:`64`)
        cat (bool, optional): If set to :obj:`False`, will replace an existing
            :obj:`incidence_attr` instead of appending to it.
            (default: :obj:`True`)

    Shapes:
        - **incidence_attr:** :math:`(P, F + 53)`
    """

    max_size: int
    cat: bool

    def __init__(self, max_size: int = 64, cat: bool = True) -> None:
        if not isinstance(max_size, Integral) or max_size < 2:
            raise ValueError(
                f"'max_size' must be an integer of two or more (got {max_size!r})"
            )
        self.max_size = int(max_size)
        self.cat = cat

    @property
    def feature_names(self) -> list[str]:
        r"""The names of the columns that are added, in their order."""
        pairs = SHARED_COLUMNS + DIFFERENCE_COLUMNS
        names = [f'{name}_{how}' for name in pairs for how in REDUCTIONS]
        names += [MET_COLUMN, *MEMBER_COLUMNS]
        return names + [f'{c}{suffix}' for suffix in SUFFIXES for c in CONTACT_COLUMNS]

    def forward(self, data: AnchorData) -> AnchorData:
        r"""Adds the features to :obj:`data`."""
        num_nodes = int(data.num_nodes or 0)
        sets = node_sets(data.hyperedge_index, num_nodes, data.num_hyperedges)
        node, number = sets.hyperedge_index
        degree = scatter(sets.copies[number], node, 0, num_nodes, 'sum')
        contacts, shared = self._shared(sets, degree)
        others = contacts[:, 1:].index_select(0, node)
        parts = [
            shared[:, :-1],
            self._differences(sets, degree, contacts[:, 0]),
            shared[:, -1:],
            _member_columns(sets, degree, contacts[:, 0]),
            others,
            *relative_to_group(others, number, sets.num_sets),
        ]
        dtype = torch.get_default_dtype()
        table = torch.cat([part.to(dtype) for part in parts], dim=1)
        out = table.index_select(0, sets.row)

        names, previous = self.feature_names, data.get('incidence_attr')
        if self.cat and previous is not None:
            out = torch.cat([previous.to(out.dtype), out], dim=1)
            names = data.names('incidence_attr') + names
        data.incidence_attr = out
        return data.name_columns('incidence_attr', names)

    def _shared(self, sets: NodeSets, degree: Tensor) -> tuple[Tensor, Tensor]:
        # The number of contacts of each node and the columns about them, [N, 1 + 8],
        # and those of pairs with the hyperedges that they share, [R, 3 * 4 + 1].
        node, number = sets.hyperedge_index
        num_nodes, copies = degree.numel(), sets.copies[number]
        other = degree[node] - copies
        contacts = degree.new_zeros((num_nodes, 1 + len(CONTACT_COLUMNS)))
        width = len(SHARED_COLUMNS) * len(REDUCTIONS) + 1
        pairs = degree.new_zeros((sets.num_rows, width))
        for block in member_pairs(
            sets.hyperedge_index, num_nodes, sets.num_sets, self.max_size
        ):
            own = copies[block.first]
            shared = scatter(own, block.pair, 0, block.node.size(1), 'sum')
            rows, columns = _contact_columns(block.node, shared, degree)
            contacts[rows] = columns
            w = shared[block.pair] - own
            rows, columns = _shared_columns(block, w, other)
            pairs[rows] = columns
        return contacts, pairs

    def _differences(self, sets: NodeSets, degree: Tensor, contacts: Tensor) -> Tensor:
        # The columns about differences between two members, [R, 3 * 2]: those of
        # values of one member each need no list of pairs.
        node, number = sets.hyperedge_index
        other, size = degree[node] - sets.copies[number], sets.size[number]
        value = round_to_step(torch.stack([other, contacts[node]], dim=1).log1p())
        minus_mean, minus_best = relative_to_group(value, number, sets.num_sets)
        _, minus_least = relative_to_group(-value, number, sets.num_sets)
        size = size.unsqueeze(1)
        minus_others = minus_mean * size / (size - 1).clamp(min=1)
        columns = torch.stack([minus_others, -minus_least, minus_best], dim=2)
        return columns.flatten(1) * (size <= self.max_size)

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}(max_size={self.max_size}, cat={self.cat})'


def _contact_columns(
    pair: Tensor, shared: Tensor, degree: Tensor
) -> tuple[Tensor, Tensor]:
    # Nodes, the number of contacts of each, and the columns about them.
    node, ptr = _runs(pair[0])
    own, degree = degree[node], degree[pair]
    log_degree = round_to_step(degree[1].log1p())
    is_below = (degree[1] < degree[0]).double()
    summed = [shared, shared.square(), log_degree, shared * log_degree, is_below]
    total, square, log_total, weighted, below = segment(
        torch.stack(summed, dim=1), ptr, 'sum'
    ).unbind(1)
    most, top = segment(torch.stack([shared, log_degree], dim=1), ptr, 'max').unbind(1)
    count = ptr.diff().double()
    columns = [
        count,
        log_total / count,
        weighted / total,
        top,
        below / count,
        most.log1p(),
        most / own,
        total / count,
        square / total.square(),
    ]
    return node, round_to_step(torch.stack(columns, dim=1))


def _shared_columns(
    block: MemberPairs, w: Tensor, degree: Tensor
) -> tuple[Tensor, Tensor]:
    # Rows, and the columns about their pairs.
    row, ptr = _runs(block.first)
    own, other = degree[block.first], degree[block.second]
    values = [
        w.log1p(),
        _ratio(w, own),
        _ratio(w, other),
        _ratio(w, own + other - w),
        (w > 0).double(),
    ]
    table = round_to_step(torch.stack(values, dim=1))
    reduced = torch.stack([segment(table, ptr, how) for how in REDUCTIONS], dim=2)
    # Of the last one only the mean.
    return row, reduced.flatten(1)[:, : 1 - len(REDUCTIONS)]


def _member_columns(sets: NodeSets, degree: Tensor, contacts: Tensor) -> Tensor:
    # The columns about members themselves, [R, 10].
    node, number = sets.hyperedge_index
    num_nodes = degree.numel()
    copies, size = sets.copies[number], sets.size[number]

    def share(value: Tensor) -> Tensor:
        return _ratio(scatter(value, node, 0, num_nodes, 'sum'), degree)[node]

    columns = [
        (degree[node] - copies).log1p(),
        contacts.log1p()[node],
        _ratio(contacts, degree)[node],
        share(size * copies),
        copies.log(),
        scatter(size, node, 0, num_nodes, 'min')[node],
        scatter(size, node, 0, num_nodes, 'max')[node],
        share((size == 1) * copies),
        share((size == 2) * copies),
        share(torch.ones_like(copies)),
    ]
    return torch.stack(columns, dim=1)


def _runs(index: Tensor) -> tuple[Tensor, Tensor]:
    # The values of runs of equal entries, and where they begin.
    value, count = torch.unique_consecutive(index, return_counts=True)
    return value, cumsum(count)


def _ratio(part: Tensor, whole: Tensor) -> Tensor:
    # Of counts: nothing is zero of nothing.
    return part / whole.clamp(min=1)
