"""Temporal features of incidences."""

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import cumsum

from tgx_anchor.data import AnchorData
from tgx_anchor.transforms._round import round_to_step
from tgx_anchor.utils import collapse_incidences, index_ptr, relative_to_group

COLUMNS = (
    'time_earlier',
    'time_later',
    'time_position',
    'time_is_first',
    'time_is_last',
    'time_since_previous',
    'time_until_next',
    'time_since_start',
    'time_until_end',
)
SUFFIXES = ('', '_minus_mean', '_minus_best')
KNOWN_COLUMN = 'time_known'


@functional_transform('add_temporal_features')
class AddTemporalFeatures(BaseTransform):
    r"""Appends the place of each hyperedge :math:`e` in the history of its member
    :math:`v` to :obj:`incidence_attr`, from :obj:`hyperedge_time` (functional name:
    :obj:`add_temporal_features`).

    Let :math:`t_1 \leq \dots \leq t_c` be the known times of the hyperedges of
    :math:`v`, one of which is the time :math:`t_e` of :math:`e`. There are nine plain
    columns:

    * :obj:`time_earlier`: :math:`\log (1 + |\{ i : t_i < t_e \}|)`
    * :obj:`time_later`: :math:`\log (1 + |\{ i : t_i > t_e \}|)`
    * :obj:`time_position`: the number of earlier hyperedges, and half of the number of
      other ones at the same time, over :math:`c - 1`; one half if :math:`c = 1`
    * :obj:`time_is_first`: one if no hyperedge of :math:`v` is earlier
    * :obj:`time_is_last`: one if no hyperedge of :math:`v` is later
    * :obj:`time_since_previous`: :math:`\log (1 + g / u)` with the gap
      :math:`g = t_e - \max \{ t_i : t_i < t_e \}`
    * :obj:`time_until_next`: the same with
      :math:`g = \min \{ t_i : t_i > t_e \} - t_e`
    * :obj:`time_since_start`: the same with :math:`g = t_e - t_1`
    * :obj:`time_until_end`: the same with :math:`g = t_c - t_e`

    The unit :math:`u` is the median of the gaps to the previous hyperedge over all
    incidences (the lower one of two), so that features do not depend on the unit of
    time. Without a previous or next hyperedge, the column holds its largest other
    value plus one, or zero if there is no other.

    The same columns follow relative to the members of :math:`e`:
    :obj:`<name>_minus_mean` and :obj:`<name>_minus_best` as in
    :func:`~tgx_anchor.utils.relative_to_group`. The last column, :obj:`time_known`, is
    one: :math:`3 \cdot 9 + 1 = 28` columns, in the order of :obj:`feature_names`. All
    of them are zero where the time of :math:`e` is unknown.

    Times are compared in double precision. Hyperedges of equal time share their
    values, and a member that a hyperedge lists several times counts once.

    Args:
        cat (bool, optional): If set to :obj:`False`, will replace an existing
            :obj:`incidence_attr` instead of appending to it.
            (default: :obj:`True`)

    Shapes:
        - **hyperedge_time:** :math:`(M)`, in any unit, NaN where it is unknown
        - **incidence_attr:** :math:`(P, F + 28)`
    """

    #: The attribute that the features are computed from.
    source = 'hyperedge_time'

    def __init__(self, cat: bool = True) -> None:
        self.cat = cat

    @property
    def feature_names(self) -> list[str]:
        r"""The names of the columns that are added, in their order."""
        names = [f'{name}{suffix}' for suffix in SUFFIXES for name in COLUMNS]
        return [*names, KNOWN_COLUMN]

    def forward(self, data: AnchorData) -> AnchorData:
        r"""Adds the features to :obj:`data`."""
        time = _checked_time(data)
        index, place = collapse_incidences(data.hyperedge_index, data.num_nodes)
        is_known = ~torch.isnan(time).index_select(0, index[1])
        index = index[:, is_known]

        names, previous = self.feature_names, data.get('incidence_attr')
        distinct = torch.zeros((is_known.numel(), len(names)), device=time.device)
        plain = _plain_columns(time, index, data.num_nodes)
        relative = relative_to_group(plain, index[1], data.num_hyperedges)
        table = torch.cat([plain, *relative, torch.ones_like(plain[:, :1])], dim=1)
        distinct[is_known] = table.to(distinct.dtype)
        out = distinct.index_select(0, place)

        if self.cat and previous is not None:
            out = torch.cat([previous.to(out.dtype), out], dim=1)
            names = data.names('incidence_attr') + names
        data.incidence_attr = out
        return data.name_columns('incidence_attr', names)

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}(cat={self.cat})'


def _checked_time(data: AnchorData) -> Tensor:
    time = data.get('hyperedge_time')
    if time is None:
        raise ValueError(
            "'data.hyperedge_time' is missing: set it to the time of each hyperedge, "
            "NaN where it is unknown; 'AnchorData.from_incidence(..., time=...)' "
            'reads it'
        )
    if not isinstance(time, Tensor) or time.is_complex() or time.dtype == torch.bool:
        found = time.dtype if isinstance(time, Tensor) else type(time).__name__
        raise ValueError(
            f"'data.hyperedge_time' must be a tensor of real numbers (got {found})"
        )
    if list(time.size()) != [data.num_hyperedges]:
        raise ValueError(
            f"'data.hyperedge_time' must have the shape [{data.num_hyperedges}], one "
            f'number per hyperedge (got {list(time.size())})'
        )
    time = time.double()
    bad = torch.isinf(time).nonzero()
    if bad.numel() > 0:
        row = int(bad[0])
        raise ValueError(
            f"'data.hyperedge_time' must be finite, or NaN where it is unknown "
            f'(got {float(time[row])} in row {row})'
        )
    return time


def _plain_columns(time: Tensor, hyperedge_index: Tensor, num_nodes: int) -> Tensor:
    # All hyperedges of a node at the same time are one event, and share their values.
    node, hyperedge = hyperedge_index
    moment, level = torch.unique(time, return_inverse=True)
    size = moment.numel()
    key = node * size + level.index_select(0, hyperedge)
    event, place, count = torch.unique(key, return_inverse=True, return_counts=True)
    owner = event // size
    # Halves, since the difference of two finite numbers may be infinite.
    when = moment.index_select(0, event % size) / 2

    ptr = index_ptr(owner, num_nodes)
    start, end = ptr[owner], ptr[owner + 1]
    position = torch.arange(event.numel(), device=event.device)
    is_first, is_last = position == start, position == end - 1
    seen = cumsum(count).double()
    earlier, later = seen[:-1] - seen[start], seen[end] - seen[1:]
    equal = count.double() - 1
    others = earlier + equal + later

    # Entries at the ends of a history come from another node, and are replaced.
    previous, following = when - when.roll(1), when.roll(-1) - when
    unit = _median(previous[~is_first], count[~is_first])
    columns = [
        earlier.log1p(),
        later.log1p(),
        torch.where(others > 0, (earlier + equal / 2) / others, 0.5),
        is_first.double(),
        is_last.double(),
        _fill_beyond(_log_gap(previous, unit), is_first),
        _fill_beyond(_log_gap(following, unit), is_last),
        _log_gap(when - when[start], unit),
        _log_gap(when[end - 1] - when, unit),
    ]
    table = round_to_step(torch.stack(columns, dim=1))
    return table.index_select(0, place)


def _median(gap: Tensor, count: Tensor) -> Tensor:
    gap = torch.repeat_interleave(gap, count)
    # Half of the smallest positive number is zero.
    gap = gap[gap > 0]
    return gap.median() if gap.numel() > 0 else gap.new_ones(())


def _log_gap(gap: Tensor, unit: Tensor) -> Tensor:
    # In logarithms, since the ratio of two finite numbers may be infinite.
    return torch.logaddexp(gap.log() - unit.log(), torch.zeros_like(gap))


def _fill_beyond(value: Tensor, is_none: Tensor) -> Tensor:
    found = value[~is_none]
    beyond = found.max() + 1 if found.numel() > 0 else value.new_zeros(())
    return torch.where(is_none, beyond, value)
