"""Hypergraph Interchange Format, the JSON that hypergraph libraries share."""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.data.building import (
    BoolArray,
    Ids,
    IntArray,
    Locate,
    build_data,
    check_anchors,
    check_max_anchors,
    get_matrix,
    list_flags,
    list_ids,
    list_incidences,
    list_roles,
    list_sides,
    list_times,
    list_types,
    merge_repeats,
    show_id,
    to_features,
    warn_unwritten,
)
from tgx_anchor.io.columns import (
    read_flags,
    read_ids,
    read_numbers,
    read_roles,
    read_sides,
    read_times,
    read_types,
    to_column,
)
from tgx_anchor.io.files import check_is_file, paused_collection, replace_file
from tgx_anchor.utils.messages import listed, one_line, shorten

DOCUMENT_KEYS = ('network-type', 'metadata', 'incidences', 'nodes', 'edges')
NETWORK_TYPES = ('undirected', 'directed', 'asc')
RECORD_KEYS = {
    'incidences': ('edge', 'node', 'weight', 'direction', 'attrs'),
    'nodes': ('node', 'weight', 'attrs'),
    'edges': ('edge', 'weight', 'attrs'),
}
FEATURES = {'nodes': 'x', 'edges': 'hyperedge_attr', 'incidences': 'incidence_attr'}
WEIGHTS = {
    'nodes': 'node_weight',
    'edges': 'hyperedge_weight',
    'incidences': 'incidence_weight',
}
# The part of the metadata that this package writes and reads.
OWNER = 'tgx_anchor'
NAME_LISTS = ('role_names', 'node_type_names', 'hyperedge_type_names')
OWN_KEYS = ('incidences', *NAME_LISTS, 'column_names')
TYPES = {'nodes': 'node_type', 'edges': 'hyperedge_type'}
MISSING = object()

Record = Mapping[str, Any]


@dataclass(frozen=True)
class _Level:
    # All nodes, edges or incidences, whether they have a record or not.
    name: str
    weight: list[Any]
    attrs: list[dict[str, Any]]
    locate: Locate
    # Attributes that are not read.
    unread: list[str] = field(default_factory=list)

    @cached_property
    def keys(self) -> list[str]:
        return list(dict.fromkeys(chain.from_iterable(self.attrs)))

    def column(self, key: str) -> list[Any]:
        row = next((r for r, attrs in enumerate(self.attrs) if key not in attrs), None)
        if row is not None:
            raise ValueError(
                f"'{key}' must be given for all {self.name} or for none of them "
                f'(it is missing in {self.locate(row)})'
            )
        return [attrs[key] for attrs in self.attrs]


# Reading #####################################################################


def read_hif(
    source: Mapping[str, Any] | str | PathLike[str], *, max_anchors: int | None = 1
) -> AnchorData:
    r"""Reads a hypergraph in the `Hypergraph Interchange Format
    <https://github.com/HIF-org/HIF-standard>`_.

    Nodes and hyperedges are numbered in the order of the lists :obj:`"nodes"` and
    :obj:`"edges"`, then in order of first appearance in :obj:`"incidences"`; their
    ids are kept in :obj:`data.node_id` and :obj:`data.hyperedge_id`. If some are
    integers and some are strings, all become strings. Repeated records are merged,
    and later values replace earlier ones. The attributes that are read are

    * of incidences, :obj:`"is_anchor"` (missing where the anchor is unknown),
      :obj:`"role"` (integers, or strings that are numbered in sorted order) and
      :obj:`"incidence_attr"`, a list of numbers
    * of nodes, :obj:`"x"`, a list of numbers, and :obj:`"type"` (an integer or a name,
      missing where it is unknown), which becomes :obj:`data.node_type`
    * of edges, :obj:`"hyperedge_attr"`, a list of numbers, :obj:`"type"`, which becomes
      :obj:`data.hyperedge_type`, :obj:`"time"`, a number or a date, which becomes
      :obj:`data.hyperedge_time`, and all masks such as :obj:`"train_mask"`, a boolean
      or a list of booleans

    and the weights, which become :obj:`data.node_weight`,
    :obj:`data.hyperedge_weight` and :obj:`data.incidence_weight`, where a missing one
    is 1. A warning names the attributes that are not read. These include attributes
    of other programs with such names but other values, such as a coordinate
    :obj:`"x"`. A document that :func:`write_hif` made is known by its metadata, and
    has to be as it was written, except that other programs may have dropped the
    attributes of incidences: a warning then names them.

    The directions of incidences become :obj:`data.incidence_side`, with :obj:`-1` where
    there is none. In a directed hypergraph of another program without
    :obj:`"is_anchor"`, the tail of a hyperedge, such as the sender of an e-mail, is its
    anchor; if there are more tails than :obj:`max_anchors`, the anchor is unknown.

    Args:
        source (Mapping or str or os.PathLike): The document, or the path of a file.
        max_anchors (int, optional): The number of anchors that a hyperedge may have,
            without limit if :obj:`None`. (default: :obj:`1`)
    """
    check_max_anchors(max_anchors)
    with paused_collection():
        if isinstance(source, str | PathLike):
            source = _load(Path(source))
        return _read_document(source, max_anchors)


def _read_document(source: Any, max_anchors: int | None) -> AnchorData:
    document = _check_object('source', source, DOCUMENT_KEYS, ['incidences'])
    kind = document.get('network-type', 'undirected')
    if not isinstance(kind, str) or kind not in NETWORK_TYPES:
        raise ValueError(
            f"'network-type' must be one of {listed(NETWORK_TYPES)} "
            f'(got {shorten(kind)})'
        )
    records = {name: _records(name, document.get(name, [])) for name in RECORD_KEYS}
    node, node_id, nodes = _number('node', records['nodes'], records['incidences'])
    hyperedge, hyperedge_id, edges = _number(
        'edge', records['edges'], records['incidences']
    )
    place, code = merge_repeats(node, hyperedge)
    if len(place) < len(node):
        merged = len(node) - len(place)
        warnings.warn(f'{merged} repeated incidences are merged', stacklevel=3)
    node, hyperedge = node[place], hyperedge[place]
    incidences = _merge('incidences', records['incidences'], code, place)

    metadata = _check_object('metadata', document.get('metadata', {}))
    is_own = OWNER in metadata
    own = _check_object(f'metadata.{OWNER}', metadata.get(OWNER, {}), OWN_KEYS)
    listed_keys = ('incidences', *NAME_LISTS)
    names = {key: _check_names(key, own[key]) for key in listed_keys if key in own}
    _warn_lost([k for k in names.get('incidences', ()) if k not in incidences.keys])
    locate = incidences.locate
    attributes = {**_attributes(nodes, is_own), **_attributes(edges, is_own)}
    incidence = _attributes(incidences, is_own)
    role_names = names.get('role_names')
    if 'role' in incidences.keys:
        with _foreign(incidences, 'role', is_own):
            incidence['role'], role_names = read_roles(
                'role', to_column('role', incidences.column('role')), locate, role_names
            )
    direction = _directions(records['incidences'], place)
    if direction is not None:
        incidence['incidence_side'] = direction
    type_names: dict[str, list[str] | None] = {}
    for level, key in ((nodes, TYPES['nodes']), (edges, TYPES['edges'])):
        if 'type' not in level.keys:
            continue
        with _foreign(level, 'type', is_own):
            column = to_column('type', [attrs.get('type') for attrs in level.attrs])
            number, type_names[f'{key}_names'] = read_types(
                'type',
                column,
                level.locate,
                names.get(f'{key}_names'),
                list_name=f'{key}_names',
            )
            attributes[key] = torch.from_numpy(number)
    column_names = _column_names(
        own.get('column_names', {}), {**attributes, **incidence}
    )
    y = np.zeros(len(place), dtype=np.bool_)
    if not is_own:
        y = _find_tails(records['incidences'], place, hyperedge, max_anchors)
    if 'is_anchor' in incidences.keys:
        flags = [attrs.get('is_anchor') for attrs in incidences.attrs]
        with _foreign(incidences, 'is_anchor', is_own):
            y = read_flags('is_anchor', to_column('is_anchor', flags), locate)
    for level in (nodes, edges, incidences):
        unread = [*level.unread, *_list_unread(level)]
        if unread:
            warnings.warn(
                f'the attributes {listed(unread)} of the {level.name} are not read',
                stacklevel=3,
            )
    check_anchors(hyperedge, y, hyperedge_id, max_anchors, locate)
    return build_data(
        node,
        hyperedge,
        y,
        len(node_id),
        len(hyperedge_id),
        incidence,
        node_id=node_id,
        hyperedge_id=hyperedge_id,
        role_names=role_names,
        column_names=column_names or None,
        **type_names,
        **attributes,
    )


@contextmanager
def _foreign(level: _Level, key: str, is_own: bool) -> Iterator[None]:
    # Other programs use the same names for other things.
    try:
        yield
    except ValueError:
        if is_own:
            raise
        level.unread.append(key)


def _warn_lost(lost: list[str]) -> None:
    if lost:
        warnings.warn(
            f'the attributes {listed(lost)} of the incidences are lost: another '
            f'program has left them out of the document',
            stacklevel=4,
        )


def _directions(records: list[Record], place: IntArray) -> Tensor | None:
    words = [records[i].get('direction') for i in place]
    if not any(words):
        return None
    return torch.from_numpy(read_sides('direction', list(words)))


def _find_tails(
    records: list[Record], place: IntArray, hyperedge: IntArray, limit: int | None
) -> BoolArray:
    y = np.array([records[i].get('direction') == 'tail' for i in place], dtype=np.bool_)
    if limit is not None and len(y):
        y &= np.bincount(hyperedge, y)[hyperedge] <= limit
    return y


def _load(path: Path) -> Any:
    check_is_file('source', path)
    try:
        return json.loads(
            path.read_bytes(),
            object_pairs_hook=_refuse_repeated_keys,
            parse_constant=_refuse_constant,
        )
    except RecursionError:
        reason = 'too deeply nested'
    except ValueError as error:
        reason = one_line(error)
    raise ValueError(f"'source' must be valid JSON (got {str(path)!r}: {reason})")


def _refuse_repeated_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(items)
    if len(out) < len(items):
        raise ValueError(f'an object repeats one of the keys {listed(out)}')
    return out


def _refuse_constant(value: str) -> NoReturn:
    raise ValueError(f'the number {value} is not finite')


def _check_object(
    name: str,
    value: Any,
    keys: Sequence[str] | None = None,
    required: Sequence[str] = (),
) -> Record:
    return _check_objects([value], lambda _: name, keys, required)[0]


def _check_objects(
    values: Sequence[Any],
    locate: Locate,
    keys: Sequence[str] | None = None,
    required: Sequence[str] = (),
) -> list[Record]:
    odd = {kind for kind in set(map(type, values)) if not issubclass(kind, Mapping)}
    for row, value in enumerate(values if odd else ()):
        if type(value) in odd:
            raise ValueError(
                f"'{locate(row)}' must be an object (got {shorten(value)})"
            )
    # Of millions of records, only a few differ in their keys.
    for present in dict.fromkeys(map(tuple, values)):
        fault = _key_fault(present, keys, required)
        if fault is not None:
            row = next(r for r, value in enumerate(values) if tuple(value) == present)
            raise ValueError(f"'{locate(row)}' {fault}")
    return list(values)


def _key_fault(
    present: tuple[Any, ...], keys: Sequence[str] | None, required: Sequence[str]
) -> str | None:
    if not all(isinstance(key, str) for key in present):
        return f'must have strings for keys (got {listed(present)})'
    if keys is not None and not set(present) <= set(keys):
        return f'must have no keys but {listed(keys)} (got {listed(present)})'
    if not set(required) <= set(present):
        return f'must have the keys {listed(required)} (got {listed(present)})'
    return None


def _check_names(name: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise ValueError(f"'{name}' must be a list of strings (got {shorten(value)})")
    if len(set(value)) < len(value):
        raise ValueError(f"'{name}' must hold distinct names (got {shorten(value)})")
    return value


def _records(name: str, value: Any) -> list[Record]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"'{name}' must be a list (got {shorten(value)})")
    keys = RECORD_KEYS[name]
    records = _check_objects(
        value,
        lambda row: f'{name}[{row}]',
        keys,
        [key for key in keys if key in ('edge', 'node')],
    )
    for row, record in enumerate(records):
        if record.get('direction', 'head') not in ('head', 'tail'):
            raise ValueError(
                f"'{name}[{row}].direction' must be 'head' or 'tail' "
                f'(got {shorten(record["direction"])})'
            )
    _check_objects(
        [record.get('attrs', {}) for record in records],
        lambda row: f'{name}[{row}].attrs',
    )
    return records


def _number(
    key: str, records: list[Record], incidences: list[Record]
) -> tuple[IntArray, Ids, _Level]:
    values = [record[key] for record in chain(records, incidences)]
    size = len(records)

    def locate(row: int) -> str:
        return f'{key}s[{row}]' if row < size else f'incidences[{row - size}]'

    odd = set(map(type, values)) - {str, int}
    for row, value in enumerate(values if odd else ()):
        if type(value) in odd:
            raise ValueError(
                f"'{key}' must hold integers or strings "
                f'(got {shorten(value)} in {locate(row)})'
            )

    code, ids = read_ids(key, to_column(key, values), locate)
    if {str, int} == set(map(type, values)):
        warnings.warn(
            f'the integers among the ids of {key}s become strings', stacklevel=4
        )
    place = np.unique(code, return_index=True)[1]
    level = _merge(f'{key}s', records, code[:size], place, ids)
    return code[size:], ids, level


def _merge(
    name: str,
    records: list[Record],
    code: IntArray,
    place: IntArray,
    ids: Ids | None = None,
) -> _Level:
    # Collects the records of each item by its number `code`; `place` is its first.
    def locate(row: int) -> str:
        if ids is None or place[row] < len(records):
            return f'{name}[{place[row]}]'
        return f'{name[:-1]} {show_id(ids, row)}, which has no record'

    weight: list[Any] = [MISSING] * len(place)
    attrs: list[dict[str, Any]] = [{} for _ in place]
    for row, record in zip(code.tolist(), records, strict=True):
        weight[row] = record.get('weight', weight[row])
        attrs[row].update(record.get('attrs', {}))
    return _Level(name, weight, attrs, locate)


def _list_unread(level: _Level) -> list[str]:
    known = {FEATURES[level.name]}
    if level.name == 'incidences':
        known |= {'is_anchor', 'role'}
    is_edge = level.name == 'edges'
    known |= {'time'} if is_edge else set()
    known |= {'type'} if level.name in TYPES else set()
    return [k for k in level.keys if k not in known and not (is_edge and _is_mask(k))]


def _is_mask(key: str) -> bool:
    return (
        key.endswith('_mask')
        and AnchorData.level(key) == 'hyperedge'
        # A property such as 'known_mask' follows from the rest of the data.
        and not hasattr(AnchorData, key)
        and not key.startswith('_')
    )


def _attributes(level: _Level, is_own: bool) -> dict[str, Tensor]:
    out = {}
    key = FEATURES[level.name]
    if key in level.keys:
        with _foreign(level, key, is_own):
            out[key] = _matrix(key, level.column(key), (int, float), level.locate)
    if any(weight is not MISSING for weight in level.weight):
        rows = [[1 if value is MISSING else value] for value in level.weight]
        weight = _matrix('weight', rows, (int, float), level.locate)
        out[WEIGHTS[level.name]] = weight[:, 0]
    if level.name != 'edges':
        return out
    for key in filter(_is_mask, level.keys):
        with _foreign(level, key, is_own):
            rows = level.column(key)
            # A single split is written without its list.
            single = isinstance(rows[0], bool)
            rows = [[value] for value in rows] if single else rows
            mask = _matrix(key, rows, (bool,), level.locate)
            out[key] = mask[:, 0] if single else mask
    if 'time' in level.keys:
        times, odd = read_times([attrs.get('time') for attrs in level.attrs])
        if odd:
            level.unread.append('time')
        if not np.isnan(times).all():
            out['hyperedge_time'] = torch.from_numpy(times)
    return out


def _matrix(
    key: str, rows: list[Any], kinds: tuple[type, ...], locate: Locate
) -> Tensor:
    for row, value in enumerate(rows):
        fault = None
        if not isinstance(value, list | tuple):
            fault = f'be a list (got {shorten(value)}'
        elif len(value) != len(rows[0]):
            fault = f'have {len(rows[0])} entries everywhere (got {len(value)}'
        elif not all(type(entry) in kinds for entry in value):
            what = 'booleans' if bool in kinds else 'numbers'
            odd = next(entry for entry in value if type(entry) not in kinds)
            fault = f'hold {what} (got {shorten(odd)}'
        if fault is not None:
            raise ValueError(f"'{key}' must {fault} in {locate(row)})")
    width = len(rows[0])
    flat = list(chain.from_iterable(rows))
    if bool in kinds:
        return torch.tensor(flat, dtype=torch.bool).view(len(rows), width)
    number = read_numbers(key, flat, lambda item: locate(item // width))
    return to_features(number.reshape(len(rows), width))


def _column_names(value: Any, attributes: dict[str, Tensor]) -> dict[str, list[str]]:
    out = {}
    for key, names in _check_object(
        'column_names', value, list(FEATURES.values())
    ).items():
        _check_names(f'column_names.{key}', names)
        if key not in attributes:
            continue  # another program has dropped the attribute
        width = attributes[key].size(1)
        if len(names) != width:
            raise ValueError(
                f"'column_names.{key}' must have {width} names, as many as '{key}' "
                f'has columns (got {len(names)})'
            )
        out[key] = names
    return out


# Writing #####################################################################


def write_hif(
    data: AnchorData, path: str | PathLike[str] | None = None
) -> dict[str, Any]:
    r"""Writes the `Hypergraph Interchange Format
    <https://github.com/HIF-org/HIF-standard>`_: the inverse of :func:`read_hif`.

    All nodes and hyperedges are listed, in their order. Without
    :obj:`data.node_id` or :obj:`data.hyperedge_id`, positions serve as ids. The names
    of columns, roles and types go to the metadata. With :obj:`data.incidence_side`, the
    document is a directed hypergraph. A warning names the attributes that the
    format does not hold.

    Args:
        data (AnchorData): The hypergraph.
        path (str or os.PathLike, optional): A file to write as well.
            (default: :obj:`None`)
    """
    node, hyperedge = list_incidences(data)
    node_id = list_ids(data, 'node_id', int(data.num_nodes or 0))
    hyperedge_id = list_ids(data, 'hyperedge_id', data.num_hyperedges)
    masks = [key for key in sorted(data.keys()) if _is_mask(key)]
    warn_unwritten(
        data,
        {
            *('node_id', 'hyperedge_id', 'y', 'role', 'hyperedge_time'),
            *('incidence_side', *TYPES.values()),
            *chain(FEATURES.values(), WEIGHTS.values(), masks),
        },
        'the Hypergraph Interchange Format',
    )
    attrs: dict[str, dict[str, list[Any]]] = {
        'nodes': {},
        'edges': {key: _mask_of(data, key) for key in masks},
        'incidences': {'is_anchor': list_flags(data)},
    }
    own: dict[str, Any] = {}
    role = list_roles(data)
    if role is not None:
        attrs['incidences']['role'] = list(role)
        if getattr(data, 'role_names', None):
            own['role_names'] = list(map(str, data.role_names))
    for name, key in TYPES.items():
        types = list_types(data, key)
        if types is not None:
            attrs[name]['type'] = list(types)
            type_names = getattr(data, f'{key}_names')
            if type_names:
                own[f'{key}_names'] = list(map(str, type_names))
    column_names = {}
    for name, key in FEATURES.items():
        matrix = get_matrix(data, key)
        if matrix is not None:
            attrs[name][key] = matrix.tolist()
            if key in getattr(data, 'column_names', {}) and len(matrix):
                column_names[key] = data.names(key)
    if column_names:
        own['column_names'] = column_names
    if 'hyperedge_time' in data:
        attrs['edges']['time'] = list_times(data)
    # Tells a reader what another program has dropped.
    kept = {k for k, v in attrs['incidences'].items() if any(e is not None for e in v)}
    own = {'incidences': [k for k in attrs['incidences'] if k in kept], **own}
    ids: dict[str, dict[str, list[Any]]] = {
        'nodes': {'node': list(node_id)},
        'edges': {'edge': list(hyperedge_id)},
        'incidences': {
            'edge': [hyperedge_id[i] for i in hyperedge],
            'node': [node_id[i] for i in node],
        },
    }
    with paused_collection():
        records = {
            name: _to_records(ids[name], _weight_of(data, WEIGHTS[name]), attrs[name])
            for name in ids
        }
    side = list_sides(data)
    for record, direction in zip(records['incidences'], side or (), strict=False):
        if direction is not None:
            record['direction'] = direction
    document = {
        'network-type': 'undirected' if side is None else 'directed',
        'metadata': {OWNER: own},
        **records,
    }
    if path is not None:
        with replace_file(Path(path)) as part:
            part.write_text(json.dumps(document, allow_nan=False), encoding='utf-8')
    return document


def _weight_of(data: AnchorData, key: str) -> list[float] | None:
    matrix = get_matrix(data, key)
    if matrix is not None and matrix.shape[1] != 1:
        raise ValueError(f"'{key}' must have one column (got {matrix.shape[1]})")
    return None if matrix is None else matrix[:, 0].tolist()


def _mask_of(data: AnchorData, key: str) -> list[Any]:
    if data[key].dim() > 2:
        raise ValueError(
            f"'{key}' must have one or two dimensions (got {data[key].dim()})"
        )
    out: list[Any] = data[key].tolist()
    return out


def _to_records(
    ids: dict[str, list[Any]], weight: list[float] | None, attrs: dict[str, list[Any]]
) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [
        dict(zip(ids, values, strict=True))
        for values in zip(*ids.values(), strict=True)
    ]
    if weight is not None:
        for record, value in zip(records, weight, strict=True):
            record['weight'] = value
    for record, values in zip(records, zip(*attrs.values(), strict=True), strict=False):
        known = {k: v for k, v in zip(attrs, values, strict=True) if v is not None}
        if known:
            record['attrs'] = known
    return records
