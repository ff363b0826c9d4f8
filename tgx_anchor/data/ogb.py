"""Bipartite relations of the heterogeneous graphs of the Open Graph Benchmark."""

import importlib
import operator
import warnings
from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from tgx_anchor.data.anchor_data import AnchorData
from tgx_anchor.data.building import (
    INT64,
    IntArray,
    build_data,
    check_matrix,
    find_repeats,
    flag_anchors,
    get_matrix,
    list_anchors,
    list_incidences,
    to_features,
    to_integers,
    to_numpy,
)
from tgx_anchor.utils.messages import listed, one_line, shorten

Relation = tuple[str, str, str]


def read_ogb(
    graph: Mapping[str, Any] | Data | HeteroData | str,
    relation: Relation,
    anchor: Any = None,
    *,
    root: str = 'dataset',
) -> AnchorData:
    r"""Reads a bipartite relation of a heterogeneous graph of the `Open Graph
    Benchmark <https://ogb.stanford.edu>`_: its sources are the members, and its
    targets the groups.

    .. code-block:: python

        # The authors of each paper:
        data = read_ogb('ogbn-mag', ('author', 'writes', 'paper'))

    The features of members, groups and edges become :obj:`data.x`,
    :obj:`data.hyperedge_attr` and :obj:`data.incidence_attr`. A member that is
    joined to a group several times counts once, and a warning says so.

    Args:
        graph (Mapping or torch_geometric.data.Data or HeteroData or str): The graph,
            with :obj:`edge_index_dict`, :obj:`num_nodes_dict` and, optionally,
            :obj:`node_feat_dict` and :obj:`edge_feat_dict` (called :obj:`x_dict` and
            :obj:`edge_attr_dict` in PyG); or the name of a dataset to load with the
            package :obj:`ogb`.
        relation (tuple[str, str, str]): The types of the members, of the relation,
            and of the groups.
        anchor (numpy.ndarray or torch.Tensor or list[int], optional): The member
            that anchors each group, or :obj:`-1` where it is unknown. All are
            unknown if :obj:`None`. (default: :obj:`None`)
        root (str, optional): The folder of the datasets of :obj:`ogb`.
            (default: :obj:`"dataset"`)

    Shapes:
        - **anchor:** :math:`(M)`
    """
    member, _, group = _check_relation(relation)
    if isinstance(graph, str):
        graph = _load(graph, root)
    if isinstance(graph, HeteroData):
        graph = _tables_of(graph)
    elif isinstance(graph, Data):
        graph = graph.to_dict()
    if not isinstance(graph, Mapping):
        raise ValueError(
            f"'graph' must be a mapping, a graph of PyG or the name of a dataset "
            f'(got {shorten(graph)})'
        )
    index = _entry(graph, 'edge_index_dict', relation)
    num_nodes, num_hyperedges = _size(graph, member), _size(graph, group)
    node = _read_row(index, 0, num_nodes, member)
    hyperedge = _read_row(index, 1, num_hyperedges, group)
    attributes: dict[str, Any] = {
        'x': _features(graph, ('node_feat_dict', 'x_dict'), member, num_nodes),
        'hyperedge_attr': _features(
            graph, ('node_feat_dict', 'x_dict'), group, num_hyperedges
        ),
    }
    edge_feat = _features(
        graph, ('edge_feat_dict', 'edge_attr_dict'), relation, len(node)
    )
    repeats = find_repeats(node, hyperedge)
    if len(repeats):
        warnings.warn(
            f'{len(repeats)} repeated members of groups are merged', stacklevel=2
        )
        kept = np.ones(len(node), dtype=np.bool_)
        kept[repeats] = False
        node, hyperedge = node[kept], hyperedge[kept]
        edge_feat = None if edge_feat is None else edge_feat[torch.from_numpy(kept)]
    return build_data(
        node,
        hyperedge,
        flag_anchors(anchor, node, hyperedge, num_nodes, num_hyperedges),
        num_nodes,
        num_hyperedges,
        {} if edge_feat is None else {'incidence_attr': edge_feat},
        **attributes,
    )


def _check_relation(relation: Any) -> Relation:
    if (
        not isinstance(relation, tuple)
        or len(relation) != 3
        or not all(isinstance(part, str) for part in relation)
    ):
        raise ValueError(
            f"'relation' must be a tuple of three strings, the types of member, "
            f'relation and group (got {shorten(relation)})'
        )
    return relation


def _load(name: str, root: str) -> Any:
    try:
        module = importlib.import_module('ogb.nodeproppred')
    except ImportError as error:
        raise ImportError(
            f"loading {shorten(name)} needs ogb: pip install 'tgx_anchor[ogb]'"
        ) from error
    try:
        return module.NodePropPredDataset(name, root=root)[0][0]
    except ValueError as error:
        raise ValueError(
            f"'graph' must be the name of a dataset of ogb.nodeproppred "
            f'(got {shorten(name)}: {one_line(error)})'
        ) from error


def _tables_of(graph: HeteroData) -> dict[str, dict[Any, Any]]:
    tables: dict[str, dict[Any, Any]] = {
        'edge_index_dict': {},
        'num_nodes_dict': {},
        'x_dict': {},
        'edge_attr_dict': {},
    }
    for kind, store in graph.node_items():
        x = store.get('x')
        if x is not None:
            tables['x_dict'][kind] = x
        # Never asks PyG, which guesses the size from the largest index.
        size = store.get('num_nodes', len(x) if isinstance(x, Tensor) else None)
        if size is not None:
            tables['num_nodes_dict'][kind] = size
    for relation, edges in graph.edge_items():
        if 'edge_index' in edges:
            tables['edge_index_dict'][relation] = edges['edge_index']
        if edges.get('edge_attr') is not None:
            tables['edge_attr_dict'][relation] = edges['edge_attr']
    return tables


def _entry(graph: Mapping[str, Any], name: str, key: Any) -> Any:
    table = graph.get(name)
    if not isinstance(table, Mapping):
        raise ValueError(f"'{name}' must be a mapping (got {shorten(table)})")
    if key not in table:
        raise ValueError(f"'{name}' must have the key {key!r} (got {listed(table)})")
    return table[key]


def _size(graph: Mapping[str, Any], kind: str) -> int:
    value = _entry(graph, 'num_nodes_dict', kind)
    try:
        size = operator.index(value)
    except (TypeError, RuntimeError):
        size = -1
    if isinstance(value, bool) or not 0 <= size <= INT64.max:
        raise ValueError(
            f"'num_nodes_dict[{kind!r}]' must be an integer of 64 bits, and not "
            f'negative (got {shorten(value)})'
        )
    return size


def _read_row(index: Any, row: int, size: int, kind: str) -> IntArray:
    shape = list(getattr(index, 'shape', []))
    if not isinstance(index, Tensor | np.ndarray) or len(shape) != 2 or shape[0] != 2:
        raise ValueError(
            f"'edge_index' must be an array of the shape [2, num_edges] "
            f'(got {shape or shorten(index)})'
        )
    name = f'edge_index[{row}]'
    out = to_integers(name, index[row])
    outside = (out < 0) | (out >= size)
    if outside.any():
        column = int(np.argmax(outside))
        raise ValueError(
            f"'{name}' must lie in [0, {size}), the nodes of type {kind!r} "
            f'(got {out[column]} in column {column})'
        )
    return out


def _features(
    graph: Mapping[str, Any], names: tuple[str, str], key: Any, size: int
) -> Tensor | None:
    # The two names are those of OGB and of PyG.
    name = next((name for name in names if graph.get(name) is not None), names[0])
    table = graph.get(name)
    if table is None:
        return None
    if not isinstance(table, Mapping):
        raise ValueError(f"'{name}' must be a mapping (got {shorten(table)})")
    value = table.get(key)
    if value is None:
        return None
    name = f'{name}[{key!r}]'
    array = to_numpy(name, value) if isinstance(value, Tensor) else value
    shape = list(array.shape) if isinstance(array, np.ndarray) else shorten(array)
    if not isinstance(array, np.ndarray) or array.ndim != 2 or len(array) != size:
        raise ValueError(
            f"'{name}' must be an array of the shape [{size}, num_features] "
            f'(got {shape})'
        )
    return to_features(check_matrix(name, array))


@overload
def write_ogb(
    data: AnchorData, relation: Relation, return_anchor: Literal[False] = False
) -> dict[str, Any]: ...


@overload
def write_ogb(
    data: AnchorData, relation: Relation, return_anchor: Literal[True]
) -> tuple[dict[str, Any], IntArray]: ...


def write_ogb(data: AnchorData, relation: Relation, return_anchor: bool = False) -> Any:
    r"""Writes the graph of one bipartite relation, as the Open Graph Benchmark holds
    it: the inverse of :func:`read_ogb`.

    Ids, roles and masks are not written.

    Args:
        data (AnchorData): The hypergraph.
        relation (tuple[str, str, str]): The types of the members, of the relation,
            and of the groups.
        return_anchor (bool, optional): If set to :obj:`True`, will return the node
            that anchors each hyperedge as well, with :obj:`-1` where it is unknown.
            (default: :obj:`False`)
    """
    member, _, group = _check_relation(relation)
    if member == group:
        raise ValueError(
            f"'relation' must join two types of nodes (got {member!r} twice)"
        )
    graph = {
        'edge_index_dict': {relation: np.stack(list_incidences(data))},
        'num_nodes_dict': {
            member: int(data.num_nodes or 0),
            group: data.num_hyperedges,
        },
        'node_feat_dict': _present(data, {member: 'x', group: 'hyperedge_attr'}),
        'edge_feat_dict': _present(data, {relation: 'incidence_attr'}),
    }
    return (graph, list_anchors(data)) if return_anchor else graph


def _present(data: AnchorData, keys: dict[Any, str]) -> dict[Any, NDArray[np.float32]]:
    matrices = {kind: get_matrix(data, key) for kind, key in keys.items()}
    return {
        kind: matrix.astype(np.float32)
        for kind, matrix in matrices.items()
        if matrix is not None
    }
