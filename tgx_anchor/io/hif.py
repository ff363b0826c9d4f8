"""Hypergraph Interchange Format, the JSON that hypergraph libraries share."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.io._columns import (
    IntArray,
    Locate,
    Vocabulary,
    factorise,
    listed,
    one_line,
    parse_flags,
    parse_numbers,
    shorten,
)
from tgx_anchor.io._hypergraph import (
    build_data,
    check_groups,
    check_max_anchors,
    flags_of,
    id_of,
    ids_of,
    incidences_of,
    matrix_of,
    names_of,
    number_roles,
    roles_of,
    to_tensor,
    warn_left_out,
)
from tgx_anchor.io.files import check_is_file, paused_collection, replace_file

DOCUMENT_KEYS = ('network-type', 'metadata', 'incidences', 'nodes', 'edges')
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
MISSING = object()

Record = Mapping[str, Any]


@dataclass(frozen=True)
class _Level:
    # All nodes, edges or incidences, whether they have a record or not.
    name: str
    weight: list[Any]
    attrs: list[Record]
    locate: Locate

    @cached_property
    def keys(self) -> list[str]:
        return list(dict.fromkeys(chain.from_iterable(self.attrs)))

    def column(self, key: str, required: bool = True) -> list[Any]:
        values = [attrs.get(key, MISSING) for attrs in self.attrs]
        row = next((r for r, value in enumerate(values) if value is MISSING), None)
        if required and row is not None:
            raise ValueError(
                f"'{key}' must be given for all {self.name} or for none "
                f'(got none in {self.locate(row)})'
            )
        return [None if value is MISSING else value for value in values]


# Reading #####################################################################


def read_hif(
    source: Mapping[str, Any] | str | PathLike[str], *, max_anchors: int | None = 1
) -> AnchorData:
    r"""Reads an undirected hypergraph in the `Hypergraph Interchange Format
    <https://github.com/HIF-org/HIF-standard>`_.

    Nodes and hyperedges are numbered in the order of the lists :obj:`"nodes"` and
    :obj:`"edges"`, then in order of first appearance in :obj:`"incidences"`; their
    ids, all integers or all strings, are kept in :obj:`data.node_id` and
    :obj:`data.hyperedge_id`. The attributes that are read are

    * of incidences, :obj:`"is_anchor"` (left out where the anchor is unknown),
      :obj:`"role"` (integers, or strings that are numbered in sorted order) and
      :obj:`"incidence_attr"`, a list of numbers
    * of nodes, :obj:`"x"`, a list of numbers
    * of edges, :obj:`"hyperedge_attr"`, a list of numbers, and all masks such as
      :obj:`"train_mask"`, a boolean or a list of them

    and the weights, which become :obj:`data.node_weight`,
    :obj:`data.hyperedge_weight` and :obj:`data.incidence_weight`, where a missing one
    is 1. A warning names the attributes that are not read. Of the metadata, only
    what :func:`write_hif` wrote is read.

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
    if not isinstance(kind, str) or kind != 'undirected':
        raise ValueError(
            f"'network-type' must be 'undirected', the only one that is read "
            f'(got {shorten(kind)})'
        )
    records = {name: _records(name, document.get(name, [])) for name in RECORD_KEYS}
    node, node_id = _number('node', records['nodes'], records['incidences'])
    hyperedge, hyperedge_id = _number('edge', records['edges'], records['incidences'])
    nodes = _level('nodes', records['nodes'], node_id[len(records['nodes']) :])
    edges = _level('edges', records['edges'], hyperedge_id[len(records['edges']) :])
    incidences = _level('incidences', records['incidences'], [])

    attributes = {**_attributes(nodes), **_attributes(edges)}
    incidence = _attributes(incidences)
    metadata = _check_object('metadata', document.get('metadata', {}))
    own = _check_object(
        f'metadata.{OWNER}', metadata.get(OWNER, {}), ('role_names', 'feature_names')
    )
    role_names = None
    if 'role_names' in own:
        role_names = _check_names('role_names', own['role_names'])
    if 'role' in incidences.keys:
        incidence['role'], role_names = number_roles(
            'role', incidences.column('role'), incidences.locate, role_names
        )
    feature_names = None
    if 'feature_names' in own:
        feature_names = _feature_names(
            own['feature_names'], {**attributes, **incidence}
        )
    locate = incidences.locate
    y = parse_flags('is_anchor', incidences.column('is_anchor', False), locate)
    check_groups(node, hyperedge, y, node_id, hyperedge_id, max_anchors, locate)
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
        feature_names=feature_names,
        **attributes,
    )


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
        if 'direction' in record:
            raise ValueError(
                f"'{name}[{row}]' must have no 'direction', as only undirected "
                f'hypergraphs are read (got {shorten(record["direction"])})'
            )
    _check_objects(
        [record.get('attrs', {}) for record in records],
        lambda row: f'{name}[{row}].attrs',
    )
    return records


def _number(
    key: str, records: list[Record], incidences: list[Record]
) -> tuple[IntArray, Vocabulary]:
    ids = [record[key] for record in chain(records, incidences)]
    size = len(records)

    def locate(row: int) -> str:
        return f'{key}s[{row}]' if row < size else f'incidences[{row - size}]'

    code, vocabulary = factorise(key, ids, locate)
    again = code[:size] != np.arange(size)
    if again.any():
        row = int(np.argmax(again))
        raise ValueError(
            f"'{key}s' must list each {key} once "
            f'(got {shorten(ids[row])} again in {locate(row)})'
        )
    return code[size:], vocabulary


def _level(name: str, records: list[Record], unlisted: Vocabulary) -> _Level:
    def locate(row: int) -> str:
        if row < len(records):
            return f'{name}[{row}]'
        lost = id_of(unlisted, row - len(records))
        return f'{name[:-1]} {lost}, which has no record'

    level = _Level(
        name,
        [record.get('weight', MISSING) for record in records]
        + [MISSING] * len(unlisted),
        [record.get('attrs', {}) for record in records] + [{}] * len(unlisted),
        locate,
    )
    known = {FEATURES[name], *(['is_anchor', 'role'] if name == 'incidences' else [])}
    unread = [
        key
        for key in level.keys
        if key not in known and not (name == 'edges' and _is_mask(key))
    ]
    if unread:
        warnings.warn(
            f'the attributes {listed(unread)} of the {name} are not read', stacklevel=4
        )
    return level


def _is_mask(key: str) -> bool:
    return (
        key.endswith('_mask')
        and AnchorData.level(key) == 'hyperedge'
        # A property such as 'known_mask' follows from the rest of the data.
        and not hasattr(AnchorData, key)
        and not key.startswith('_')
    )


def _attributes(level: _Level) -> dict[str, Tensor]:
    out = {}
    key = FEATURES[level.name]
    if key in level.keys:
        rows = level.column(key)
        width = _width(key, rows, level.locate)
        number = parse_numbers(
            key,
            list(chain.from_iterable(rows)),
            lambda item: level.locate(item // width),
            boolean=False,
        )
        out[key] = to_tensor(number.reshape(len(rows), width))
    if any(weight is not MISSING for weight in level.weight):
        weight = [1 if value is MISSING else value for value in level.weight]
        out[WEIGHTS[level.name]] = to_tensor(
            parse_numbers('weight', weight, level.locate, boolean=False)
        )
    if level.name == 'edges':
        for key in filter(_is_mask, level.keys):
            out[key] = _mask(key, level)
    return out


def _width(key: str, rows: list[Any], locate: Locate) -> int:
    for row, value in enumerate(rows):
        if not isinstance(value, list | tuple):
            raise ValueError(
                f"'{key}' must be a list (got {shorten(value)} in {locate(row)})"
            )
        if len(value) != len(rows[0]):
            raise ValueError(
                f"'{key}' must have the same length everywhere, here {len(rows[0])} "
                f'(got {len(value)} in {locate(row)})'
            )
    return len(rows[0])


def _mask(key: str, level: _Level) -> Tensor:
    rows = level.column(key)
    # A single split is written without its list.
    single = isinstance(rows[0], bool)
    splits = [[row] for row in rows] if single else rows
    width = _width(key, splits, level.locate)
    flat = list(chain.from_iterable(splits))
    for item, value in enumerate(flat):
        if not isinstance(value, bool):
            raise ValueError(
                f"'{key}' must hold booleans "
                f'(got {shorten(value)} in {level.locate(item // width)})'
            )
    mask = torch.tensor(flat, dtype=torch.bool)
    return mask if single else mask.view(len(rows), width)


def _feature_names(value: Any, attributes: dict[str, Tensor]) -> dict[str, list[str]]:
    present = [key for key in FEATURES.values() if key in attributes]
    out = {}
    for key, names in _check_object('feature_names', value, present).items():
        out[key] = _check_names(f'feature_names.{key}', names)
        width = attributes[key].size(1)
        if len(names) != width:
            raise ValueError(
                f"'feature_names.{key}' must have {width} names, as many as '{key}' "
                f'has columns (got {len(names)})'
            )
    return out


# Writing #####################################################################


def write_hif(
    data: AnchorData, path: str | PathLike[str] | None = None
) -> dict[str, Any]:
    r"""Writes the `Hypergraph Interchange Format
    <https://github.com/HIF-org/HIF-standard>`_: the inverse of :func:`read_hif`.

    All nodes and hyperedges are listed, in their order. Without
    :obj:`data.node_id` or :obj:`data.hyperedge_id`, positions serve as ids. A warning
    names the attributes that have no place in the format.

    Args:
        data (AnchorData): The hypergraph.
        path (str or os.PathLike, optional): A file to write as well.
            (default: :obj:`None`)
    """
    node, hyperedge = incidences_of(data)
    node_id = ids_of(data, 'node_id', int(data.num_nodes or 0))
    hyperedge_id = ids_of(data, 'hyperedge_id', data.num_hyperedges)
    masks = [key for key in data.keys() if _is_mask(key)]  # noqa: SIM118
    warn_left_out(
        data,
        {
            *('node_id', 'hyperedge_id', 'y', 'role'),
            *chain(FEATURES.values(), WEIGHTS.values(), masks),
        },
        'the Hypergraph Interchange Format',
    )
    attrs: dict[str, dict[str, list[Any]]] = {
        'nodes': {},
        'edges': {key: _mask_of(data, key) for key in masks},
        'incidences': {'is_anchor': flags_of(data)},
    }
    own: dict[str, Any] = {}
    role = roles_of(data)
    if role is not None:
        attrs['incidences']['role'] = list(role)
        if data.get('role_names') is not None:
            own['role_names'] = list(map(str, data.role_names))
    feature_names = {}
    for name, key in FEATURES.items():
        matrix = matrix_of(data, key)
        if matrix is not None:
            attrs[name][key] = matrix.tolist()
            names = names_of(data, key, matrix.shape[1])
            if names is not None and len(matrix):
                feature_names[key] = names
    if feature_names:
        own['feature_names'] = feature_names
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
    document = {
        'network-type': 'undirected',
        'metadata': {OWNER: own} if own else {},
        **records,
    }
    if path is not None:
        with replace_file(Path(path)) as part:
            part.write_text(json.dumps(document, allow_nan=False), encoding='utf-8')
    return document


def _weight_of(data: AnchorData, key: str) -> list[float] | None:
    matrix = matrix_of(data, key)
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
