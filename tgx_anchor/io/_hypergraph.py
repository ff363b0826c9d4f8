"""What all readers check and build, and all writers ask of a hypergraph."""

import warnings
from collections.abc import Container
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Batch

from tgx_anchor.data import AnchorData
from tgx_anchor.io._columns import (
    BoolArray,
    Column,
    FloatArray,
    IntArray,
    Locate,
    Vocabulary,
    as_column,
    factorise,
    listed,
    parse_integers,
    parse_numbers,
    shorten,
    to_float32,
    to_numpy,
)

# Readers #####################################################################


def check_max_anchors(max_anchors: int | None) -> None:
    r"""Raises a :class:`ValueError` unless this is :obj:`None` or a positive
    integer.
    """
    if max_anchors is None:
        return
    if isinstance(max_anchors, bool) or not isinstance(max_anchors, int):
        raise ValueError(
            f"'max_anchors' must be an integer or None (got {shorten(max_anchors)})"
        )
    if max_anchors < 1:
        raise ValueError(f"'max_anchors' must be at least 1 (got {max_anchors})")


def id_of(vocabulary: Vocabulary, number: int) -> str:
    r"""Shows the id of a node or hyperedge."""
    value = vocabulary[number]
    return shorten(value.item() if isinstance(value, Tensor) else value)


def position(row: int) -> str:
    r"""Names an entry of a tensor, counted from zero."""
    return f'position {row}'


def find_repeats(node: IntArray, hyperedge: IntArray) -> IntArray:
    r"""The incidences that are there already, in their order."""
    order = np.lexsort((node, hyperedge))
    node, hyperedge = node[order], hyperedge[order]
    same = (node[1:] == node[:-1]) & (hyperedge[1:] == hyperedge[:-1])
    return np.sort(order[1:][same])


def check_groups(
    node: IntArray,
    hyperedge: IntArray,
    y: BoolArray,
    node_id: Vocabulary,
    hyperedge_id: Vocabulary,
    max_anchors: int | None,
    locate: Locate,
) -> None:
    r"""Raises a :class:`ValueError` if a group holds a member twice, or has too many
    anchors.

    Args:
        node (numpy.ndarray): The node of each incidence, in the order of the source.
        hyperedge (numpy.ndarray): The hyperedge of each incidence.
        y (numpy.ndarray): Whether the member is an anchor.
        node_id (torch.Tensor or list[str]): The user's name of each node.
        hyperedge_id (torch.Tensor or list[str]): The user's name of each hyperedge.
        max_anchors (int, optional): The number of anchors that a hyperedge may have,
            without limit if :obj:`None`.
        locate (Callable[[int], str]): Names an incidence in messages.
    """
    repeats = find_repeats(node, hyperedge)
    if len(repeats):
        row = int(repeats[0])
        raise ValueError(
            f'group {id_of(hyperedge_id, int(hyperedge[row]))} must hold each member '
            f'once (got member {id_of(node_id, int(node[row]))} again in {locate(row)})'
        )
    count = np.bincount(hyperedge[y], minlength=len(hyperedge_id))
    if max_anchors is not None and (count > max_anchors).any():
        group = int(np.argmax(count > max_anchors))
        row = int(np.flatnonzero((hyperedge == group) & y)[max_anchors])
        raise ValueError(
            f'group {id_of(hyperedge_id, group)} must have at most {max_anchors} '
            f"anchors, its 'max_anchors' (got {count[group]}, the first too many in "
            f'{locate(row)})'
        )


def build_data(
    node: IntArray,
    hyperedge: IntArray,
    y: BoolArray,
    num_nodes: int,
    num_hyperedges: int,
    incidence: dict[str, Tensor],
    **kwargs: Any,
) -> AnchorData:
    r"""Orders the incidences by hyperedge, and builds the hypergraph.

    Args:
        node (numpy.ndarray): The node of each incidence, in the order of the source.
        hyperedge (numpy.ndarray): The hyperedge of each incidence.
        y (numpy.ndarray): Whether the member is an anchor.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        incidence (dict[str, torch.Tensor]): Attributes of the incidences, in the
            order of the source.
        **kwargs: All other attributes.
    """
    perm = np.argsort(hyperedge, kind='stable')
    order = torch.from_numpy(perm)
    data = AnchorData(
        hyperedge_index=torch.from_numpy(np.stack([node[perm], hyperedge[perm]])),
        num_nodes=num_nodes,
        num_hyperedges=num_hyperedges,
        y=torch.from_numpy(y[perm]),
        **{key: value[order] for key, value in incidence.items()},
        **kwargs,
    )
    data.validate()
    return data


def flag_anchors(
    anchor: Any, node: IntArray, hyperedge: IntArray, num_nodes: int, num_groups: int
) -> BoolArray:
    r"""Marks the incidence of each anchor.

    Args:
        anchor (Any): The node that anchors each hyperedge, as integers, with
            :obj:`-1` where it is unknown; all are if :obj:`None`.
        node (numpy.ndarray): The node of each incidence.
        hyperedge (numpy.ndarray): The hyperedge of each incidence.
        num_nodes (int): The number of nodes :math:`N`.
        num_groups (int): The number of hyperedges :math:`M`.
    """
    if anchor is None:
        return np.zeros(len(node), dtype=np.bool_)
    column = parse_integers(
        'anchor', as_column('anchor', anchor), lambda group: f'hyperedge {group}'
    )
    if len(column) != num_groups:
        raise ValueError(
            f"'anchor' must have one entry per hyperedge, that is {num_groups} "
            f'(got {len(column)})'
        )
    outside = (column < -1) | (column >= num_nodes)
    if outside.any():
        group = int(np.argmax(outside))
        raise ValueError(
            f"'anchor' must lie in [0, {num_nodes}), or be -1 where it is unknown "
            f'(got {column[group]} for hyperedge {group})'
        )
    y = node == column[hyperedge]
    astray = (column >= 0) & (np.bincount(hyperedge[y], minlength=num_groups) == 0)
    if astray.any():
        group = int(np.argmax(astray))
        raise ValueError(
            f"'anchor' must be a member of its hyperedge (got node {column[group]} "
            f'for hyperedge {group}, which lacks it)'
        )
    return np.asarray(y)


def number_roles(
    name: str, column: Column, locate: Locate, names: list[str] | None = None
) -> tuple[Tensor, list[str] | None]:
    r"""Reads roles: integers are kept, strings numbered.

    Args:
        name (str): The name of the column in messages.
        column (numpy.ndarray or list or TextColumn): The roles.
        locate (Callable[[int], str]): Names a row in messages.
        names (list[str], optional): The names of the roles in their order; those of
            the column in sorted order if :obj:`None`. (default: :obj:`None`)

    Returns:
        The role of each row, and the names, or :obj:`None` where there are none.
    """
    code, role = factorise(name, column, locate)
    if names is None:
        if isinstance(role, Tensor):
            return role[torch.from_numpy(code)], None
        names = sorted(role)
    rank = {name: i for i, name in enumerate(names)}
    for number, value in enumerate(role):
        if value not in rank:
            row = int(np.argmax(code == number))
            raise ValueError(
                f"'{name}' must be one of the 'role_names' "
                f'(got {id_of(role, number)} in {locate(row)})'
            )
    ranks = torch.tensor([rank[str(value)] for value in role], dtype=torch.long)
    return ranks[torch.from_numpy(code)], names


def parse_matrix(name: str, value: NDArray[Any]) -> FloatArray:
    r"""Reads a matrix of numbers that stay finite in 32 bits."""
    width = value.shape[1]
    flat = as_column(name, value.reshape(-1))
    number = parse_numbers(name, flat, lambda item: position(item // width))
    return number.reshape(value.shape)


def to_tensor(value: FloatArray) -> Tensor:
    r"""Turns numbers into attributes of 32 bits."""
    return torch.from_numpy(to_float32(value))


# Writers #####################################################################


def incidences_of(data: AnchorData) -> tuple[IntArray, IntArray]:
    r"""Checks that the hypergraph can be written, and returns node and hyperedge of
    each incidence.
    """
    if isinstance(data, Batch):
        raise ValueError(
            "'data' must be one hypergraph (got a batch; use 'batch.to_data_list()')"
        )
    data.validate()
    node, hyperedge = data.hyperedge_index.cpu().numpy()
    repeats = find_repeats(node, hyperedge)
    if len(repeats):
        repeat = int(repeats[0])
        raise ValueError(
            f"'hyperedge_index' must hold each member of a hyperedge once (got node "
            f'{node[repeat]} again for hyperedge {hyperedge[repeat]})'
        )
    return node, hyperedge


def ids_of(data: AnchorData, key: str, size: int) -> list[int] | list[str]:
    r"""The user's names of the nodes or hyperedges, or else their positions."""
    return _distinct(key, data[key]) if key in data else list(range(size))


def _distinct(key: str, names: Any) -> list[int] | list[str]:
    code, vocabulary = factorise(key, as_column(key, names), position)
    if len(vocabulary) != len(code):
        row = int(np.argmin(code == np.arange(len(code))))
        raise ValueError(
            f"'{key}' must hold distinct names "
            f'(got {id_of(vocabulary, int(code[row]))} again in {position(row)})'
        )
    return vocabulary.tolist() if isinstance(vocabulary, Tensor) else vocabulary


def matrix_of(data: AnchorData, key: str) -> FloatArray | None:
    r"""The attributes under :obj:`key` in two dimensions, or :obj:`None`."""
    value = data.get(key)
    if value is None:
        return None
    if not isinstance(value, Tensor) or value.dim() not in (1, 2):
        shape = list(value.size()) if isinstance(value, Tensor) else shorten(value)
        raise ValueError(f"'{key}' must have one or two dimensions (got {shape})")
    return parse_matrix(
        key, to_numpy(key, value if value.dim() == 2 else value.unsqueeze(1))
    )


def names_of(data: AnchorData, key: str, width: int) -> list[str] | None:
    r"""The names in :obj:`data.feature_names` of the columns under :obj:`key`, or
    :obj:`None` where they do not fit.
    """
    names = data.get('feature_names')
    names = names.get(key) if isinstance(names, dict) else None
    if not isinstance(names, list) or len(names) != width:
        return None
    if not all(isinstance(name, str) for name in names) or len(set(names)) != width:
        return None
    return names


def roles_of(data: AnchorData) -> list[int] | list[str] | None:
    r"""The role of each incidence, by name where the names are known."""
    role = data.get('role')
    if role is None:
        return None
    column = as_column('role', role)
    if isinstance(column, list) or column.dtype.kind not in 'iu':
        raise ValueError(f"'role' must hold integers (got {shorten(role)})")
    number: list[int] = column.tolist()
    if data.get('role_names') is None:
        return number
    names = _distinct('role_names', data.role_names)
    outside = next((r for r in number if not 0 <= r < len(names)), None)
    if outside is not None:
        raise ValueError(
            f"'role' must lie in [0, {len(names)}), the number of 'role_names' "
            f'(got {outside})'
        )
    return [str(names[r]) for r in number]


def flags_of(data: AnchorData) -> list[bool | None]:
    r"""Whether each member is an anchor; :obj:`None` in a hyperedge without one."""
    known = data.known_mask[data.hyperedge_index[1]].tolist()
    label = data.get('y')
    y = known if label is None else label.tolist()
    return [a if k else None for a, k in zip(y, known, strict=True)]


def anchor_of(data: AnchorData) -> IntArray:
    r"""The node that anchors each hyperedge, and :obj:`-1` where it is unknown."""
    node, hyperedge = data.hyperedge_index.cpu().numpy()
    anchor = np.full(data.num_hyperedges, -1, dtype=np.int64)
    label = data.get('y')
    if label is None:
        return anchor
    y = label.cpu().numpy()
    count = np.bincount(hyperedge[y], minlength=data.num_hyperedges)
    if (count > 1).any():
        group = int(np.argmax(count > 1))
        raise ValueError(
            f'hyperedge {group} must have at most one anchor to be written as an '
            f"array (got {count[group]}; 'to_hif' keeps them all)"
        )
    anchor[hyperedge[y]] = node[y]
    return anchor


def warn_left_out(data: AnchorData, written: Container[str], where: str) -> None:
    r"""Warns of attributes that a format has no place for."""
    lost = [
        key
        for key in data.keys()  # noqa: SIM118
        if data.level(key) is not None and key not in written
    ]
    if lost:
        warnings.warn(f'{where} has no place for {listed(lost)}', stacklevel=3)
