"""Storage of a hypergraph, which refuses the names of pairwise edges."""

from collections.abc import Callable
from typing import Any, Literal

from torch import Tensor
from torch_geometric.data.storage import GlobalStorage, NodeStorage

Level = Literal['node', 'hyperedge', 'incidence']

_GRAPH = "'to_bipartite()' for a graph of nodes and hyperedges"
_PARTS = f"'subgraph()' or 'hyperedge_subgraph()' for a part, {_GRAPH}"
_INDEX = f"'hyperedge_index', or {_GRAPH}"
_ATTR = "'hyperedge_attr' or 'incidence_attr'"

#: The members of :class:`torch_geometric.data.Data` that have no meaning for a
#: hypergraph, and the right call for each.
REFUSED = {
    'adj': _INDEX,
    'adj_t': _INDEX,
    'contains_self_loops': "'hyperedge_size == 1' for the groups of one member",
    'coo': _INDEX,
    'csc': _INDEX,
    'csr': _INDEX,
    'edge_attr': _ATTR,
    'edge_attrs': f"'level(key)', or {_GRAPH}",
    'edge_index': _INDEX,
    'edge_stores': _PARTS,
    'edge_subgraph': "'hyperedge_subgraph()'",
    'edge_types': _GRAPH,
    'edge_weight': _ATTR,
    'face': _INDEX,
    'generate_ids': "'node_id' and 'hyperedge_id'",
    'get_all_edge_attrs': _INDEX,
    'get_edge_index': _INDEX,
    'has_self_loops': "'hyperedge_size == 1' for the groups of one member",
    'is_directed': f"'incidence_side' for directed hyperedges, {_GRAPH}",
    'is_edge_attr': f"'level(key)', or {_GRAPH}",
    'is_undirected': _GRAPH,
    'num_edge_features': "'num_hyperedge_features' or 'num_incidence_features'",
    'num_edge_types': "'hyperedge_type'",
    'num_edges': "'num_hyperedges' or 'num_incidences'",
    'num_faces': "'num_hyperedges'",
    'put_edge_index': "'hyperedge_index'",
    'remove_edge_index': "'hyperedge_index'",
    'time': "'hyperedge_time'",
    'to_heterogeneous': "'to_bipartite()'",
}


#: The lists of names of numbered attributes, by the name of the attribute.
NAME_LISTS = {
    'role': 'role_names',
    'node_type': 'node_type_names',
    'hyperedge_type': 'hyperedge_type_names',
}
_NAMES: dict[str, Callable[[], Any]] = {
    'column_names': dict,
    **dict.fromkeys(NAME_LISTS.values(), list),
    'source': type(None),
}


# An attribute error, so that 'hasattr' says no; a value error, as everything else
# that this package refuses.
class HypergraphError(AttributeError, ValueError):
    r"""Raised when a member of :class:`~torch_geometric.data.Data` is used that has no
    meaning for a hypergraph.

    Args:
        name (str): The name of the member.
        right (str): The right call.
    """

    def __init__(self, name: str, right: str) -> None:
        super().__init__(
            f"'{name}' is for graphs of pairwise edges, not for hypergraphs: use "
            f'{right}'
        )


class Refused:
    r"""A member of a class that raises a :class:`HypergraphError` when it is read.

    Args:
        name (str): The name of the member, a key of :obj:`REFUSED`.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> 'Refused':
        if instance is None:
            return self
        raise HypergraphError(self.name, REFUSED[self.name])


def level(key: str) -> Level | None:
    r"""Returns the level that the attribute :obj:`key` belongs to, by its name.

    Args:
        key (str): The name of the attribute.
    """
    if key == 'hyperedge_index' or key.endswith(('_batch', '_ptr')):
        return None
    if key in NAME_LISTS.values():
        # One name per type, not one per node or hyperedge.
        return None
    if key in ('x', 'pos') or key.startswith('node_'):
        return 'node'
    if key in ('y', 'role') or key.startswith('incidence_'):
        return 'incidence'
    if key.startswith('hyperedge_') or key.endswith('_mask'):
        return 'hyperedge'
    return None


def num_columns(value: Any) -> int:
    r"""Returns the number of columns of an attribute.

    Args:
        value (Any): The attribute; one that is not a tensor, or has one dimension, has
            one column.
    """
    return value.size(-1) if isinstance(value, Tensor) and value.dim() > 1 else 1


class HypergraphStorage(GlobalStorage):
    r"""Holds the attributes of a hypergraph, whose names tell their levels.

    Names that PyG would take for pairwise edges, or for numbers of nodes, are refused,
    and an attribute that gets another number of columns loses their names.
    """

    def __getitem__(self, key: str) -> Any:
        # A batch asks each hypergraph for what the first one has.
        if key in _NAMES and key not in self._mapping:
            return _NAMES[key]()
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        if value is not None:
            _check_name(key)
        super().__setitem__(key, value)
        self._forget_names(key, value)

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self._forget_names(key, None)

    def _forget_names(self, key: str, value: Any) -> None:
        names = self._mapping.get('column_names')
        if key != 'column_names' and names is not None:
            width = 0 if value is None else num_columns(value)
            self._mapping['column_names'] = _without(names, key, width)

    def is_node_attr(self, key: str) -> bool:
        r"""Returns :obj:`True` if :obj:`key` is a node-level attribute."""
        return level(key) == 'node'

    def __getattr__(self, key: str) -> Any:
        # Python also calls this after a refused member has raised its error.
        if key in REFUSED:
            raise HypergraphError(key, REFUSED[key])
        return super().__getattr__(key)


for _name in REFUSED:
    if hasattr(GlobalStorage, _name):
        setattr(HypergraphStorage, _name, Refused(_name))


class HypergraphNodeStorage(NodeStorage):
    r"""Shows the node-level attributes of a hypergraph, and writes to them.

    PyG's transforms of nodes (:obj:`Constant`, :obj:`RandomNodeSplit`, ...) see this;
    reading or writing an attribute of another level through it is an error.

    Args:
        data (AnchorData): The hypergraph.
    """

    def __init__(self, data: Any) -> None:
        super().__init__()
        self._parent = data
        self._mapping.update(
            {k: v for k, v in data.items() if k == 'num_nodes' or level(k) == 'node'}
        )

    @property
    def _key(self) -> Any:
        return None

    def __getattr__(self, key: str) -> Any:
        if key[:1] != '_' and level(key) in ('hyperedge', 'incidence'):
            self._check_level(key)
        return super().__getattr__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._check_level(key)
        super().__setitem__(key, value)
        self._parent()[key] = value

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        del self._parent()[key]

    def is_node_attr(self, key: str) -> bool:
        r"""Returns :obj:`True` if :obj:`key` is a node-level attribute."""
        return level(key) == 'node'

    def _check_level(self, key: str) -> None:
        if key == 'num_nodes' or level(key) == 'node':
            return
        owner = f'{level(key)}s' if level(key) else 'the hypergraph as a whole'
        raise ValueError(
            f"'{key}' belongs to {owner}, not to nodes: name attributes of nodes "
            f"'node_*', and split hyperedges by 'RandomHyperedgeSplit'"
        )


def _check_name(key: str) -> None:
    if key in REFUSED or key.startswith('edge_'):
        raise HypergraphError(key, REFUSED.get(key, _ATTR))
    if key.endswith('_index') and key != 'hyperedge_index' and level(key) is None:
        raise HypergraphError(
            key,
            "a mask, such as 'train_mask', for a set of hyperedges, or a name "
            "'node_*', 'hyperedge_*' or 'incidence_*' for an attribute",
        )


def _without(names: Any, key: str, width: int) -> Any:
    # A batch holds one dictionary for each hypergraph, in lists of lists.
    if isinstance(names, list):
        return [_without(part, key, width) for part in names]
    if len(names.get(key, ())) == width or key not in names:
        return names
    return {name: columns for name, columns in names.items() if name != key}
