"""Columns that tell what the known anchors of other node sets say about a member."""

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.nn.predictors.known_sets import KnownSets
from tgx_anchor.utils import MemberPairs, NodeSets, member_pairs, relative_to_group

RECORD_COLUMNS = ('record_log_ratio', 'record_lift', 'record_count')
RIVAL_COLUMNS = ('rivals_mean', 'rivals_pooled', 'rivals_count')
OVERLAP_COLUMNS = (
    'overlap_lift',
    'overlap_lift_near',
    'overlap_weight',
    'overlap_weight_near',
)
SUFFIXES = ('', '_minus_mean', '_minus_best')
# The columns of each view, and how many of them are also given relative to the group.
_VIEWS: dict[str, tuple[tuple[str, ...], int]] = {
    'B': (RECORD_COLUMNS, 3),
    'C': (RIVAL_COLUMNS, 2),
    'F': (OVERLAP_COLUMNS, 2),
}
# The exponents of the similarity of two sets.
_EXPONENTS = (1.0, 3.0)
# The weight of no overlapping set at all.
_NO_OVERLAP = 0.3
# The number of overlaps of sets that are in memory at once.
_BLOCK_OVERLAPS = 1 << 22


class KnownViews:
    r"""Computes three views of each member :math:`v` of a node set :math:`e` from the
    known anchors of other sets. All known copies of :math:`e` itself are left out, so
    that no column of a set depends on its own anchor.

    * **Record of the member.** Of the known hyperedges with :math:`v`, :math:`n` in
      number, it anchors :math:`a`; by chance, it would anchor
      :math:`m = \sum_f 1 / |f|`. :obj:`record_log_ratio` is :math:`\log ((a + h) / (m +
      h))` with :math:`h = 1 / (2 |e|)`, :obj:`record_lift` is :math:`(a - m) / (n + 1)`
      and :obj:`record_count` is :math:`\log (1 + n)`.
    * **Record against the others.** In the :math:`c_u` known hyperedges with both
      :math:`v` and another member :math:`u`, they anchor :math:`a_u` and :math:`b_u`.
      :obj:`rivals_mean` is the mean of :math:`(a_u - b_u) / (1 + c_u)` over :math:`u`,
      :obj:`rivals_pooled` is :math:`\sum_u (a_u - b_u) / (1 + \sum_u c_u)` and
      :obj:`rivals_count` is :math:`\log (1 + \sum_u c_u)`.
    * **Record in similar sets.** Over the known sets :math:`f \neq e` with :math:`v`
      that share two or more members with :math:`e`, with the weight :math:`W_f =
      J^{\gamma} \log (1 + n_f)`, where :math:`J = |e \cap f| / |e \cup f|` and
      :math:`n_f` is the number of known copies: :obj:`overlap_lift` is :math:`\sum_f
      W_f (s_f - 1 / |f|) / (\sum_f W_f + 0.3)`, where :math:`s_f` is the share of the
      copies that :math:`v` anchors, and :obj:`overlap_weight` is :math:`\log (1 +
      \sum_f W_f)`, for :math:`\gamma = 1`, and for :math:`\gamma = 3` with the suffix
      :obj:`_near`.

    Sets with several anchors count :math:`k / |f|` for chance, where :math:`k` is the
    number of anchors. All columns of the first kind, and the first two of the others,
    follow relative to the members of :math:`e`
    (:func:`~tgx_anchor.utils.relative_to_group`).

    Args:
        sets (NodeSets): The node sets.
        num_nodes (int): The number of nodes.
        max_size (int): The last two views leave out sets of more members.
        views (str, optional): The views to compute: :obj:`"B"` for the record of the
            member, :obj:`"C"` for that against the others, :obj:`"F"` for that in
            similar sets. (default: :obj:`"BCF"`)
    """

    def __init__(
        self, sets: NodeSets, num_nodes: int, max_size: int, views: str = 'BCF'
    ) -> None:
        self.sets, self.num_nodes, self.chosen = sets, num_nodes, views
        index = sets.hyperedge_index
        # Kept, since known anchors change from fold to fold, and pairs do not.
        self._pairs = list(member_pairs(index, num_nodes, sets.num_sets, max_size))
        self._set_pairs = _set_pairs(sets, self._pairs)
        ones = np.ones(sets.num_rows)
        number, node = index[1].cpu().numpy(), index[0].cpu().numpy()
        shape = (sets.num_sets, num_nodes)
        self._members = csr_array((ones, (number, node)), shape)

    @staticmethod
    def names(views: str = 'BCF') -> list[str]:
        r"""Returns the names of the columns.

        Args:
            views (str, optional): The views. (default: :obj:`"BCF"`)
        """
        out = []
        for view, (columns, width) in _VIEWS.items():
            if view in views:
                out += [*columns]
                for suffix in SUFFIXES[1:]:
                    out += [f'{name}{suffix}' for name in columns[:width]]
        return out

    def __call__(self, known: KnownSets) -> Tensor:
        r"""Computes the columns.

        Args:
            known (KnownSets): The known anchors.

        Shapes:
            - **output:** :math:`(R, V)`
        """
        number, num_sets = self.sets.hyperedge_index[1], self.sets.num_sets
        out = [known.anchored.new_empty((self.sets.num_rows, 0))]
        for view, compute in (
            ('B', self._record),
            ('C', self._rivals),
            ('F', self._overlap),
        ):
            if view in self.chosen:
                part, width = compute(known), _VIEWS[view][1]
                out += [part, *relative_to_group(part[:, :width], number, num_sets)]
        return torch.cat(out, dim=1).to(torch.get_default_dtype())

    def _record(self, known: KnownSets) -> Tensor:
        sets = self.sets
        node, number = sets.hyperedge_index
        chance = (sets.total(known.anchored) / sets.size)[number]

        def elsewhere(value: Tensor) -> Tensor:
            total = scatter(value, node, 0, self.num_nodes, 'sum')
            # What is left of equal numbers must not be below zero.
            return (total[node] - value).clamp(min=0)

        return record_columns(
            elsewhere(known.anchored),
            elsewhere(chance),
            elsewhere(known.num_known[number]),
            sets.size[number],
        )

    def _rivals(self, known: KnownSets) -> Tensor:
        sets = self.sets
        count = known.num_known[sets.hyperedge_index[1]]
        out = known.anchored.new_zeros((sets.num_rows, 3))
        for first, second, pair, node in self._pairs:
            size = node.size(1)
            own = torch.stack(
                [known.anchored[first], known.anchored[second], count[first]], dim=1
            )
            won, lost, both = (
                scatter(own, pair, 0, size, 'sum').index_select(0, pair) - own
            ).unbind(1)
            values = torch.stack([(won - lost) / (1 + both), won - lost, both], dim=1)
            out.index_add_(0, first, values)
        others = (sets.size - 1).clamp(min=1)[sets.hyperedge_index[1]]
        mean, difference, both = out.unbind(1)
        return torch.stack(
            [mean / others, difference / (1 + both), both.log1p()], dim=1
        )

    def _overlap(self, known: KnownSets) -> Tensor:
        sets, device = self.sets, known.num_known.device
        count = known.num_known.cpu().numpy()
        size, number = sets.size.cpu().numpy(), sets.hyperedge_index[1].cpu().numpy()
        node, ptr = sets.hyperedge_index[0].cpu().numpy(), sets.ptr.cpu().numpy()
        out = np.zeros((2, len(_EXPONENTS), sets.num_rows))
        chosen = np.flatnonzero((count > 0) & (np.diff(self._set_pairs.indptr) > 0))
        if chosen.size > 0:
            share = known.share(sets).cpu().numpy()
            weight = np.log1p(count[chosen])
            chance = 1 / size[number]
            lift = csr_array((share - chance, (number, node)), self._members.shape)
            lift, members = lift[chosen], self._members[chosen]
            theirs = self._set_pairs[chosen].T.tocsr()
            for begin, end in self._blocks(theirs):
                overlap = (self._set_pairs[begin:end] @ theirs).tocoo()
                left, right = overlap.row, overlap.col
                other = chosen[right] != begin + left
                left, right = left[other], right[other]
                # Sets that share k members share k (k - 1) / 2 pairs.
                both = (1 + np.sqrt(1 + 8 * overlap.data[other])) / 2
                similar = both / (size[begin + left] + size[chosen[right]] - both)
                rows = slice(ptr[begin], ptr[end])
                at = number[rows] - begin, node[rows]
                for i, exponent in enumerate(_EXPONENTS):
                    value = similar**exponent * weight[right]
                    shape = (end - begin, chosen.size)
                    W = csr_array((value, (left, right)), shape)
                    out[0, i, rows] = (W @ lift).tocsr()[at]
                    out[1, i, rows] = (W @ members).tocsr()[at]
        lifts = out[0] / (out[1] + _NO_OVERLAP)
        table = np.concatenate([lifts, np.log1p(out[1])]).T
        return torch.from_numpy(table).to(device)

    def _blocks(self, theirs: csr_array) -> list[tuple[int, int]]:
        # Ranges of sets with a bounded number of overlaps, each of which begins with a
        # set that has some.
        frequency = np.diff(theirs.indptr)
        cost = (self._set_pairs @ frequency).cumsum()
        bounds = np.searchsorted(
            cost, np.arange(0, cost[-1] + _BLOCK_OVERLAPS, _BLOCK_OVERLAPS), 'right'
        )
        bounds = np.unique(bounds)
        return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def record_columns(
    anchored: Tensor, chance: Tensor, count: Tensor, size: Tensor
) -> Tensor:
    r"""Compares a number of anchored hyperedges with that by chance, on three scales.

    Args:
        anchored (torch.Tensor): The number of anchored hyperedges :math:`a`.
        chance (torch.Tensor): The number by chance :math:`m`.
        count (torch.Tensor): The number of hyperedges :math:`n`.
        size (torch.Tensor): The size of the set that is looked at.

    Shapes:
        - **anchored, chance, count, size:** :math:`(R)`
        - **output:** :math:`(R, 3)`
    """
    half = 0.5 / size
    return torch.stack(
        [
            ((anchored + half) / (chance + half)).log(),
            (anchored - chance) / (count + 1),
            count.log1p(),
        ],
        dim=1,
    )


def _set_pairs(sets: NodeSets, pairs: list[MemberPairs]) -> csr_array:
    # Which pairs of nodes each set holds, each pair in one direction.
    number, pair, begin = [], [], 0
    node = sets.hyperedge_index[0]
    for block in pairs:
        chosen = node[block.first] < node[block.second]
        number.append(sets.hyperedge_index[1][block.first[chosen]].cpu().numpy())
        pair.append((block.pair[chosen] + begin).cpu().numpy())
        begin += block.node.size(1)
    row = np.concatenate(number) if number else np.empty(0, np.int64)
    column = np.concatenate(pair) if pair else np.empty(0, np.int64)
    return csr_array((np.ones(row.size), (row, column)), (sets.num_sets, begin))
