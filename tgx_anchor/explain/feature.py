"""Features of members, with the columns that belong to each."""

from dataclasses import dataclass

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.explain.reason import ReasonKind
from tgx_anchor.nn.predictors.incidence_features import FEATURES
from tgx_anchor.transforms import AddPairFeatures, AddTemporalFeatures
from tgx_anchor.transforms._round import round_centrality
from tgx_anchor.transforms._topology import CENTRALITIES
from tgx_anchor.transforms.add_topological_features import (
    GLOBAL_COLUMNS,
    LOCAL_COLUMNS,
    SIZE_COLUMN,
)

# Stands for all columns about the people with whom members share groups.
CONTACTS = 'contacts'
_CONTACTS_COLUMN = 'log_contacts'
_TOPOLOGICAL = {
    f'{centrality}_{column}': centrality
    for centrality in CENTRALITIES
    for column in (*GLOBAL_COLUMNS, *LOCAL_COLUMNS)
}
# The columns of time that can be told in words. The time since the previous group is
# none of them: there may be no previous group.
TIMES = (
    'time_earlier',
    'time_later',
    'time_is_first',
    'time_is_last',
    'time_since_start',
    'time_until_end',
    'time_position',
)
# The views of known anchors and of beliefs, by the beginnings of their columns.
_VIEWS: dict[ReasonKind, tuple[str, ...]] = {
    'record': ('record_',),
    'rivals': ('rivals_', 'overlap_'),
    'belief': ('belief_',),
}


@dataclass(frozen=True, eq=False)
class Feature:
    r"""A property in which the members of a group differ.

    Args:
        name (str): The name of the centrality or of the column.
        kind (str): The kind of reason that it can be.
        columns (tuple[int]): The columns that are derived from it, of the features that
            the model sees.
        value (torch.Tensor): Its value, of each node or of each incidence.
        per_node (bool): Whether there is one value per node.

    Shapes:
        - **value:** :math:`(N)`, or :math:`(P)` if it is not :obj:`per_node`
    """

    name: str
    kind: ReasonKind
    columns: tuple[int, ...]
    value: Tensor
    per_node: bool = True

    def of(self, incidence: Tensor, data: AnchorData) -> Tensor:
        r"""Returns the values at some incidences.

        Args:
            incidence (torch.Tensor): The numbers of the incidences.
            data (AnchorData): The hypergraph.
        """
        place = data.hyperedge_index[0][incidence] if self.per_node else incidence
        return self.value[place]


def member_features(data: AnchorData) -> list[Feature]:
    r"""Lists the features that stage 1 scores and in which members of one group can
    differ: all columns of one centrality are one feature, and each other column of
    :obj:`incidence_attr` and each of :obj:`x` is one.

    Args:
        data (AnchorData): The hypergraph, with the features of stage 1.
    """
    out: list[Feature] = []
    begin = 0
    for key in FEATURES:
        table: Tensor | None = data.get(key)
        if table is None:
            continue
        names = data.names(key)
        if key == 'x':
            table = table.view(table.size(0), -1)
            out += [
                Feature(name, 'attribute', (begin + i,), table[:, i].double())
                for i, name in enumerate(names)
            ]
        elif key == 'incidence_attr':
            out += _incidence_features(data, table.view(table.size(0), -1), names)
        begin += len(names)
    return out


def degree_feature(data: AnchorData) -> Feature:
    r"""Returns the number of groups of each node as a feature.

    Args:
        data (AnchorData): The hypergraph.
    """
    return Feature('degree', 'centrality', (), _centrality(data, 'degree', None))


def stacked_features(
    data: AnchorData, names: list[str], table: Tensor
) -> list[Feature]:
    r"""Lists the features that a :class:`~tgx_anchor.nn.StackedAnchorRadar` compares
    members by: those of :func:`member_features`, contacts as one more centrality, the
    columns of time, and the views of known anchors and of beliefs, which have no values
    here.

    Args:
        data (AnchorData): The hypergraph.
        names (list[str]): The names of all columns that the model sees.
        table (torch.Tensor): The first of these columns, without the views.

    Shapes:
        - **table:** :math:`(P, F)`
    """
    head = names[: table.size(1)]
    pairs, times = AddPairFeatures().feature_names, AddTemporalFeatures().feature_names
    found = _incidence_features(data, table, head)
    out = [feature for feature in found if feature.kind == 'centrality']
    places = tuple(i for i, name in enumerate(head) if name in pairs)
    if places:
        value = _by_node(data, table[:, head.index(_CONTACTS_COLUMN)])
        out.append(Feature(CONTACTS, 'centrality', places, value))
    places = tuple(i for i, name in enumerate(head) if name in times)
    for name in TIMES if places else ():
        value = table[:, head.index(name)].double()
        out.append(Feature(name, 'time', places, value, per_node=False))
        places = ()
    # The columns of the data itself follow in their order.
    computed = {*_TOPOLOGICAL, SIZE_COLUMN, *pairs, *times}
    own = [f for f in found if f.kind == 'attribute' and f.name not in computed]
    given = [
        (key, i)
        for key in FEATURES
        if data.get(key) is not None
        for i, name in enumerate(data.names(key))
        if name not in computed
    ]
    for feature, (key, i) in zip(own, given, strict=True):
        if key == 'x':
            x = data['x'].view(data['x'].size(0), -1)[:, i].double()
            out.append(Feature(feature.name, 'attribute', feature.columns, x))
        elif key == 'incidence_attr':
            out.append(feature)
    nothing = torch.zeros_like(data.hyperedge_index[0], dtype=torch.double)
    for kind, begin in _VIEWS.items():
        places = tuple(
            i for i in range(len(head), len(names)) if names[i].startswith(begin)
        )
        # Beliefs count in the last step as well.
        if places or kind == 'belief':
            out.append(Feature(kind, kind, places, nothing, per_node=False))
    return out


def _incidence_features(
    data: AnchorData, table: Tensor, names: list[str]
) -> list[Feature]:
    columns: dict[str, list[int]] = {}
    out = []
    for i, name in enumerate(names):
        if name in _TOPOLOGICAL:
            columns.setdefault(_TOPOLOGICAL[name], []).append(i)
        elif name != SIZE_COLUMN:
            value = table[:, i].double()
            out.append(Feature(name, 'attribute', (i,), value, per_node=False))
    for centrality, places in columns.items():
        column = f'{centrality}_{GLOBAL_COLUMNS[0]}'
        scaled = table[:, names.index(column)] if column in names else None
        value = _centrality(data, centrality, scaled)
        out.append(Feature(centrality, 'centrality', tuple(places), value))
    return out


def _centrality(data: AnchorData, name: str, scaled: Tensor | None) -> Tensor:
    num_nodes = int(data.num_nodes or 0)
    # Only degrees are given as numbers: for the others the order is enough, and the
    # column has the same order.
    if name == 'degree' or scaled is None:
        value = CENTRALITIES[name](data.hyperedge_index, num_nodes, data.num_hyperedges)
        distinct, level = round_centrality(value)
        return distinct[level]
    return _by_node(data, scaled)


def _by_node(data: AnchorData, value: Tensor) -> Tensor:
    # Values of incidences that are the same in all hyperedges of a node.
    node, num_nodes = data.hyperedge_index[0], int(data.num_nodes or 0)
    out = torch.zeros(num_nodes, dtype=torch.double, device=node.device)
    out[node] = value.double()
    return out
