"""Features of members, with the columns of stage 1 that belong to each."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.incidence_features import FEATURES
from tgx_anchor.transforms.add_topological_features import (
    CENTRALITIES,
    GLOBAL_COLUMNS,
    LOCAL_COLUMNS,
    SIZE_COLUMN,
)


@dataclass(frozen=True, eq=False)
class Feature:
    r"""A property in which the members of a group differ.

    Args:
        name (str): The name of the centrality or of the column.
        kind (str): :obj:`"centrality"` or :obj:`"attribute"`.
        columns (tuple[int]): The columns of the features of stage 1 that are derived
            from it.
        value (torch.Tensor): Its value, of each node or of each incidence.
        per_node (bool): Whether there is one value per node.

    Shapes:
        - **value:** :math:`(N)`, or :math:`(P)` if it is not :obj:`per_node`
    """

    name: str
    kind: Literal['centrality', 'attribute']
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


def _incidence_features(
    data: AnchorData, table: Tensor, names: list[str]
) -> list[Feature]:
    topological = {
        f'{centrality}_{column}': centrality
        for centrality in CENTRALITIES
        for column in (*GLOBAL_COLUMNS, *LOCAL_COLUMNS)
    }
    columns: dict[str, list[int]] = {}
    out = []
    for i, name in enumerate(names):
        if name in topological:
            columns.setdefault(topological[name], []).append(i)
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
    node = data.hyperedge_index[0]
    # Only degrees are told as numbers: of others the order is enough, which is the same
    # for the values of the column.
    if name == 'degree' or scaled is None:
        value = CENTRALITIES[name](data.hyperedge_index, num_nodes, data.num_hyperedges)
        return value.double()
    out = torch.zeros(num_nodes, dtype=torch.double, device=node.device)
    out[node] = scaled.double()
    return out
