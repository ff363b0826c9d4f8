"""Hypergraphs from and to plain arrays, shared by all readers and writers."""

import warnings
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Batch

from tgx_anchor.data.anchor_data import AnchorData
from tgx_anchor.utils.messages import listed, shorten

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.floating[Any]]
BoolArray = NDArray[np.bool_]
Ids = Tensor | list[str]
# Names a row of the source in messages: 'line 7 of mails.csv'.
Locate = Callable[[int], str]

INT64 = np.iinfo(np.int64)

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


def show_id(ids: Ids, number: int) -> str:
    r"""Returns the id of a node or hyperedge as it is shown in messages."""
    value = ids[number]
    return shorten(value.item() if isinstance(value, Tensor) else value)


def find_repeats(node: IntArray, hyperedge: IntArray) -> IntArray:
    r"""Returns the positions of incidences that are listed before, ascending."""
    pair = _pair(node, hyperedge)
    ordered = np.sort(pair)
    if not (ordered[1:] == ordered[:-1]).any():
        return np.empty(0, np.int64)
    order = np.argsort(pair, kind='stable')
    return np.sort(order[1:][pair[order[1:]] == pair[order[:-1]]])


def merge_repeats(node: IntArray, hyperedge: IntArray) -> tuple[IntArray, IntArray]:
    r"""Returns the position of the first listing of each distinct incidence,
    ascending, and for each listing its place among these.
    """
    if not len(find_repeats(node, hyperedge)):
        every = np.arange(len(node))
        return every, every
    pair = _pair(node, hyperedge)
    first, code = np.unique(pair, return_index=True, return_inverse=True)[1:]
    order = np.argsort(first)
    return first[order], np.argsort(order)[code]


def _pair(node: IntArray, hyperedge: IntArray) -> IntArray:
    # One number per incidence, the same for the same.
    if not len(node):
        return node
    index = (node, hyperedge)
    width = int(node.max()) + 1
    if (int(hyperedge.max()) + 1) * width > INT64.max:
        node, hyperedge = (np.unique(v, return_inverse=True)[1] for v in index)
        width = int(node.max()) + 1
    return np.asarray(hyperedge * width + node)


def check_anchors(
    hyperedge: IntArray,
    y: BoolArray,
    hyperedge_id: Ids,
    max_anchors: int | None,
    locate: Locate,
) -> None:
    r"""Raises a :class:`ValueError` if a group has too many anchors.

    Args:
        hyperedge (numpy.ndarray): The hyperedge of each incidence.
        y (numpy.ndarray): Whether the member is an anchor.
        hyperedge_id (torch.Tensor or list[str]): The user's name of each hyperedge.
        max_anchors (int, optional): The number of anchors that a hyperedge may have,
            without limit if :obj:`None`.
        locate (Callable[[int], str]): Names an incidence in messages.
    """
    count = np.bincount(hyperedge[y], minlength=len(hyperedge_id))
    if max_anchors is not None and (count > max_anchors).any():
        group = int(np.argmax(count > max_anchors))
        row = int(np.flatnonzero((hyperedge == group) & y)[max_anchors])
        raise ValueError(
            f'group {show_id(hyperedge_id, group)} must have at most {max_anchors} '
            f'anchors (got {count[group]}, the first too many in {locate(row)}; '
            f"'max_anchors' allows more)"
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
    r"""Sorts the incidences by hyperedge, and builds the hypergraph.

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


def to_integers(name: str, value: Any) -> IntArray:
    r"""Returns a list, array or tensor of integers as an array of 64 bits."""
    array = to_numpy(name, value) if isinstance(value, Tensor) else None
    try:
        array = np.asarray(value) if array is None else array
    except ValueError:
        array = np.empty(0, dtype=object)  # nested lists of different lengths
    if array.size == 0 and array.ndim == 1 and array.dtype.kind != 'O':
        return np.empty(0, np.int64)
    booleans = isinstance(value, Sequence) and any(
        isinstance(v, bool | np.bool_) for v in value
    )
    if array.ndim != 1 or array.dtype.kind not in 'iu' or booleans:
        raise ValueError(
            f"'{name}' must be a list or an array of integers (got {shorten(value)})"
        )
    if array.max() > INT64.max:
        raise ValueError(
            f"'{name}' must hold integers of at most 64 bits (got {array.max()})"
        )
    return np.asarray(array, dtype=np.int64)


def flag_anchors(
    anchor: Any, node: IntArray, hyperedge: IntArray, num_nodes: int, num_groups: int
) -> BoolArray:
    r"""Marks the incidence of each anchor.

    Args:
        anchor (Any): The node that anchors each hyperedge, as integers, with
            :obj:`-1` where it is unknown. All are unknown if :obj:`None`.
        node (numpy.ndarray): The node of each incidence.
        hyperedge (numpy.ndarray): The hyperedge of each incidence.
        num_nodes (int): The number of nodes :math:`N`.
        num_groups (int): The number of hyperedges :math:`M`.
    """
    if anchor is None:
        return np.zeros(len(node), dtype=np.bool_)
    column = to_integers('anchor', anchor)
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


def to_numpy(name: str, value: Tensor) -> NDArray[Any]:
    r"""Converts a tensor to an array of numbers."""
    try:
        value = value.detach().cpu()
        # NumPy lacks the short floating-point types of PyTorch.
        short = value.is_floating_point() and value.element_size() < 4
        return np.asarray((value.float() if short else value).numpy())
    except (TypeError, RuntimeError):
        raise ValueError(
            f"'{name}' must be a dense tensor of numbers (got {value.dtype} and "
            f'{value.layout})'
        ) from None


def to_features(value: FloatArray) -> Tensor:
    r"""Converts numbers to a tensor of 32 bits; too large ones become infinite."""
    with np.errstate(over='ignore'):
        return torch.from_numpy(np.array(value, dtype=np.float32))


def check_finite(name: str, value: FloatArray, locate: Locate) -> None:
    r"""Raises a :class:`ValueError` for the first row of :obj:`value` with a number
    that is not finite in 32 bits.
    """
    with np.errstate(over='ignore'):
        finite = np.isfinite(value.astype(np.float32, copy=False))
    if not finite.all():
        place = np.unravel_index(np.argmin(finite), finite.shape)
        raise ValueError(
            f"'{name}' must be finite in 32 bits "
            f'(got {value[place].item()} in {locate(int(place[0]))})'
        )


def check_matrix(name: str, value: NDArray[Any]) -> FloatArray:
    r"""Returns a matrix as floating-point numbers, which must be finite in 32 bits."""
    if value.dtype.kind not in 'biuf':
        first = shorten(value.flat[0].item()) if value.size else value.dtype
        raise ValueError(f"'{name}' must hold numbers (got {first})")
    number = value if value.dtype == np.float32 else value.astype(np.float64)
    check_finite(name, number, lambda row: f'position {row}')
    return number


# Writers #####################################################################


def list_incidences(data: AnchorData) -> tuple[IntArray, IntArray]:
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
            f"'hyperedge_index' must list each member of a hyperedge once (got node "
            f'{node[repeat]} again for hyperedge {hyperedge[repeat]})'
        )
    return node, hyperedge


def get_matrix(data: AnchorData, key: str) -> FloatArray | None:
    r"""Returns the attribute :obj:`key` in two dimensions, or :obj:`None`."""
    value = data.get(key)
    if value is None:
        return None
    if not isinstance(value, Tensor) or value.dim() not in (1, 2):
        shape = list(value.size()) if isinstance(value, Tensor) else shorten(value)
        raise ValueError(f"'{key}' must have one or two dimensions (got {shape})")
    return check_matrix(
        key, to_numpy(key, value if value.dim() == 2 else value.unsqueeze(1))
    )


def list_anchors(data: AnchorData) -> IntArray:
    r"""Returns the node that anchors each hyperedge, and :obj:`-1` where it is
    unknown.
    """
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


def list_ids(data: AnchorData, key: str, size: int) -> list[int] | list[str]:
    r"""Returns the ids of the nodes or hyperedges, or else their positions."""
    return check_ids(key, data[key]) if key in data else list(range(size))


def check_ids(name: str, ids: Any) -> list[int] | list[str]:
    r"""Returns distinct ids as a list, all of them integers or all of them strings."""
    values: list[Any] = ids.tolist() if isinstance(ids, Tensor) else list(ids)
    kind = str if values and isinstance(values[0], str) else int | np.integer
    seen: set[Any] = set()
    for i, value in enumerate(values):
        got = f'got {shorten(value)} in position {i}'
        if not isinstance(value, kind) or isinstance(value, bool) or value == '':
            raise ValueError(
                f"'{name}' must hold integers or strings, none of them empty ({got})"
            )
        if value in seen:
            raise ValueError(f"'{name}' must hold distinct values ({got} again)")
        seen.add(value)
    return values


def list_flags(data: AnchorData) -> list[bool | None]:
    r"""Returns whether each member is an anchor, and :obj:`None` for all members of a
    hyperedge without one.
    """
    known = data.known_mask[data.hyperedge_index[1]].tolist()
    label = data.get('y')
    y = known if label is None else label.tolist()
    return [a if k else None for a, k in zip(y, known, strict=True)]


def list_roles(data: AnchorData) -> list[int] | list[str] | None:
    r"""Returns the role of each incidence, by name where the names are known, or
    :obj:`None` if there are no roles.
    """
    role = data.get('role')
    if role is None:
        return None
    number = to_integers('role', role)
    if not getattr(data, 'role_names', None):
        return [int(r) for r in number]
    names = check_ids('role_names', data.role_names)
    outside = (number < 0) | (number >= len(names))
    if outside.any():
        raise ValueError(
            f"'role' must lie in [0, {len(names)}), the number of 'role_names' "
            f'(got {number[int(np.argmax(outside))]})'
        )
    return [str(names[r]) for r in number.tolist()]


def list_types(data: AnchorData, key: str) -> list[int | str | None] | None:
    r"""Returns the type of each node or hyperedge, by name where the names are known,
    with :obj:`None` where it is unknown; or :obj:`None` if there are no types.

    Args:
        data (AnchorData): The hypergraph.
        key (str): :obj:`"node_type"` or :obj:`"hyperedge_type"`.
    """
    value = data.get(key)
    if value is None:
        return None
    names = check_ids(f'{key}_names', getattr(data, f'{key}_names'))
    number = to_integers(key, value).tolist()
    if not names:
        return [None if n < 0 else n for n in number]
    return [None if n < 0 else str(names[n]) for n in number]


def list_sides(data: AnchorData) -> list[str | None] | None:
    r"""Returns the side of each incidence, :obj:`"tail"` or :obj:`"head"`, with
    :obj:`None` where it is unknown; or :obj:`None` if there are no sides.
    """
    value = data.get('incidence_side')
    if value is None:
        return None
    # The last one is for -1.
    words = ('tail', 'head', None)
    return [words[side] for side in to_integers('incidence_side', value).tolist()]


def list_times(data: AnchorData) -> list[float | None]:
    r"""Returns the time of each hyperedge, and :obj:`None` where it is unknown."""
    time = data.hyperedge_time
    if not isinstance(time, Tensor) or time.dim() != 1:
        shape = list(time.size()) if isinstance(time, Tensor) else shorten(time)
        raise ValueError(f"'hyperedge_time' must have one dimension (got {shape})")
    values = to_numpy('hyperedge_time', time).astype(np.float64).tolist()
    return [value if np.isfinite(value) else None for value in values]


def warn_unwritten(data: AnchorData, written: Container[str], target: str) -> None:
    r"""Warns of attributes that a format does not hold."""
    lost = [
        key
        for key in data.keys()  # noqa: SIM118
        if data.level(key) is not None and key not in written
    ]
    if lost:
        warnings.warn(f'{target} does not hold {listed(lost)}', stacklevel=3)
