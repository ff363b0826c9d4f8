"""Hypergraphs as graphs of nodes and hyperedges, and back."""

from typing import Any

import torch
from torch_geometric.data import HeteroData

from tgx_anchor.data.anchor_data import AnchorData
from tgx_anchor.data.hypergraph_storage import NAME_LISTS
from tgx_anchor.utils.messages import listed

RELATION = ('node', 'in', 'hyperedge')
_RENAMED = {'hyperedge_attr': 'x', 'incidence_attr': 'edge_attr'}


def to_bipartite(data: AnchorData) -> HeteroData:
    r"""Converts a hypergraph to a graph between the node types :obj:`'node'` and
    :obj:`'hyperedge'`, joined by :obj:`('node', 'in', 'hyperedge')`: the inverse of
    :func:`from_bipartite`.

    :obj:`incidence_attr` becomes :obj:`edge_attr`, :obj:`hyperedge_attr` the
    :obj:`x` of the hyperedges; all other attributes keep their names.

    Args:
        data (AnchorData): The hypergraph.
    """
    out = HeteroData()
    store = {
        'node': out['node'],
        'hyperedge': out['hyperedge'],
        'incidence': out[RELATION],
    }
    store['node'].num_nodes = data.num_nodes
    store['hyperedge'].num_nodes = data.num_hyperedges
    store['incidence'].edge_index = data.hyperedge_index
    for key, value in data.to_dict().items():
        level = data.level(key)
        if level is not None:
            store[level][_RENAMED.get(key, key)] = value
        elif key in ('column_names', *NAME_LISTS.values()):
            out[key] = getattr(data, key)
        elif key not in ('num_nodes', 'num_hyperedges', 'hyperedge_index'):
            out[key] = value
    return out


def from_bipartite(
    graph: HeteroData, relation: tuple[str, str, str] | None = None
) -> AnchorData:
    r"""Converts a relation of a heterogeneous graph to a hypergraph. Its nodes are the
    nodes of the type :obj:`relation[0]`, its hyperedges those of the type
    :obj:`relation[2]`, and its incidences the edges: the inverse of
    :func:`to_bipartite`.

    .. code-block:: python

        graph = HeteroData()
        graph['author'].x = torch.randn(3, 8)
        graph['paper'].num_nodes = 2
        graph['author', 'writes', 'paper'].edge_index = torch.tensor(
            [[0, 1, 2, 1], [0, 0, 1, 1]]
        )
        data = AnchorData.from_bipartite(graph, ('author', 'writes', 'paper'))

    :obj:`edge_attr` becomes :obj:`incidence_attr`, the :obj:`x` of the hyperedges
    :obj:`hyperedge_attr`. Other attributes whose names do not tell their level get its
    prefix: the :obj:`year` of a paper becomes :obj:`hyperedge_year`. All other node
    types and relations are left out.

    Args:
        graph (HeteroData): The graph.
        relation (tuple[str, str, str], optional): The relation to read. If set to
            :obj:`None`, will read :obj:`('node', 'in', 'hyperedge')`, or else the only
            one. (default: :obj:`None`)
    """
    relation = _check_relation(graph, relation)
    source, target = graph[relation[0]], graph[relation[2]]
    for name, store in ((relation[0], source), (relation[2], target)):
        if not store.can_infer_num_nodes:
            raise ValueError(
                f"'num_nodes' of {name!r} is missing: set 'graph[{name!r}].num_nodes'"
            )
    attributes: dict[str, Any] = dict(graph._global_store)
    for level, store in (
        ('node', source),
        ('hyperedge', target),
        ('incidence', graph[relation]),
    ):
        for key, value in store.items():
            if key not in ('num_nodes', 'edge_index'):
                attributes[_name(level, key)] = value
    index = graph[relation].edge_index
    data = AnchorData(
        hyperedge_index=torch.stack(tuple(index)),
        num_nodes=source.num_nodes,
        num_hyperedges=target.num_nodes,
        **attributes,
    )
    data = data if data.is_sorted() else data.sort()
    data.validate()
    return data


def _check_relation(
    graph: HeteroData, relation: tuple[str, str, str] | None
) -> tuple[str, str, str]:
    present = graph.edge_types
    if relation is None and RELATION in present:
        return RELATION
    if relation is None and len(present) == 1:
        return present[0]
    if relation is None:
        raise ValueError(
            f"'relation' is missing: it must be one of {listed(present)}"
            if present
            else "'graph' must have a relation between nodes and hyperedges, with an "
            "'edge_index'"
        )
    if tuple(relation) not in present:
        raise ValueError(
            f"'relation' must be one of {listed(present)} (got {relation!r})"
        )
    return relation


def _name(level: str, key: str) -> str:
    if level == 'hyperedge' and key == 'x':
        return 'hyperedge_attr'
    if level == 'incidence' and key == 'edge_attr':
        return 'incidence_attr'
    return key if AnchorData.level(key) == level else f'{level}_{key}'
