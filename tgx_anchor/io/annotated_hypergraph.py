"""Annotated hypergraphs: roles as a column of a table, or as keys of a record."""

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tgx_anchor.io.columns import read_times
from tgx_anchor.io.role_table import RoleTable


def read_annotated_csv(
    incidence_path: Path, role_path: Path, edge_path: Path, roles: Sequence[str]
) -> RoleTable:
    r"""Reads an annotated hypergraph from its three tables.

    Args:
        incidence_path (Path): The table :obj:`node,edge,role`, with a header.
        role_path (Path): The number and name of each role, without a header.
        edge_path (Path): The groups, with a header; its first column names them, the
            column :obj:`date` tells their times.
        roles (list[str]): The roles to read, in the order of their numbers in the
            result. Incidences with other roles are not read.
    """
    number: dict[str, str] = {}
    for line, row in enumerate(_rows(role_path), 1):
        if len(row) != 2:
            raise ValueError(
                f"'{Path(role_path).name}' must have two columns, number and name "
                f'(got {len(row)} in line {line})'
            )
        if row[0] in number or row[1] in number.values():
            raise ValueError(
                f"'{Path(role_path).name}' must list each role once "
                f'(got {row} again in line {line})'
            )
        number[row[0]] = row[1]
    missing = [role for role in roles if role not in number.values()]
    if missing:
        raise ValueError(
            f"'{Path(role_path).name}' must name the role {missing[0]!r} "
            f'(got {list(number.values())})'
        )

    name = Path(incidence_path).name
    rows = _rows(incidence_path)
    header = rows[0] if rows else []
    if header != ['node', 'edge', 'role']:
        raise ValueError(f"'{name}' must begin with 'node,edge,role' (got {header})")
    for line, row in enumerate(rows[1:], 2):
        if len(row) != 3 or '' in row:
            raise ValueError(
                f"'{name}' must have three values in each line "
                f'(got {row} in line {line})'
            )
        if row[2] not in number:
            raise ValueError(
                f"'{name}' must use the roles {list(number)} "
                f'(got {row[2]!r} in line {line})'
            )
    edges: dict[str, int] = {}
    edge_rows = _rows(edge_path)
    for line, row in enumerate(edge_rows[1:], 2):
        if row and row[0] in edges:
            raise ValueError(
                f"'{Path(edge_path).name}' must list each group once "
                f'(got {row[0]!r} again in line {line})'
            )
        if row:
            edges[row[0]] = len(edges)
    stray = next((row[1] for row in rows[1:] if row[1] not in edges), None)
    if stray is not None:
        raise ValueError(
            f"'{name}' must use the groups of '{Path(edge_path).name}' (got {stray!r})"
        )
    table = _table(
        node=[row[0] for row in rows[1:]],
        hyperedge=[edges[row[1]] for row in rows[1:]],
        role=[number[row[2]] for row in rows[1:]],
        hyperedge_id=list(edges),
        roles=roles,
    )
    if not edge_rows or 'date' not in edge_rows[0]:
        return table
    place = edge_rows[0].index('date')
    dates = [row[place] if len(row) > place else None for row in edge_rows[1:] if row]
    return _add_times(table, dates)


def read_annotated_json(path: Path, roles: Sequence[str]) -> RoleTable:
    r"""Reads an annotated hypergraph from one record per group, which lists the
    members under each role.

    Args:
        path (Path): The list of records.
        roles (list[str]): The roles to read, in the order of their numbers in the
            result. Of the other entries of the records, only :obj:`date` is read.
    """
    name = Path(path).name
    try:
        records = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"'{name}' must be JSON (got {error})") from None
    if not isinstance(records, list):
        raise ValueError(
            f"'{name}' must be a list of records (got a {type(records).__name__})"
        )
    node: list[Any] = []
    hyperedge: list[int] = []
    role: list[str] = []
    for i, record in enumerate(records):
        for key in roles:
            members = record.get(key) if isinstance(record, dict) else None
            if not isinstance(members, list) or not all(
                type(member) in (int, str) for member in members
            ):
                raise ValueError(
                    f"'{name}' must list members under {key!r} in each record "
                    f'(got {str(record)[:80]!r} in record {i})'
                )
            node += members
            hyperedge += [i] * len(members)
            role += [key] * len(members)
    table = _table(
        node=[str(member) for member in node],
        hyperedge=hyperedge,
        role=role,
        hyperedge_id=[str(i) for i in range(len(records))],
        roles=roles,
    )
    return _add_times(table, [record.get('date') for record in records])


def _add_times(table: RoleTable, dates: list[Any]) -> RoleTable:
    time, _ = read_times(dates)
    return table if np.isnan(time).all() else replace(table, hyperedge_time=time)


def _rows(path: Path) -> list[list[str]]:
    try:
        with Path(path).open(newline='', encoding='utf-8') as file:
            return list(csv.reader(file, strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"'{Path(path).name}' must be CSV (got {error})") from None


def _table(
    node: list[str],
    hyperedge: list[int],
    role: list[str],
    hyperedge_id: list[str],
    roles: Sequence[str],
) -> RoleTable:
    number = {name: i for i, name in enumerate(roles)}
    role_number = np.array([number.get(name, -1) for name in role], dtype=np.int64)
    group = np.array(hyperedge, dtype=np.int64)
    order = np.argsort(group, kind='stable')
    order = order[role_number[order] >= 0]
    return RoleTable(
        _ids(node)[order], group[order], role_number[order], _ids(hyperedge_id)
    )


def _ids(values: list[str]) -> NDArray[np.generic]:
    # Only integers that print the same: '007' is a string.
    try:
        number = np.array(values, dtype=np.int64)
    except (ValueError, OverflowError):
        number = np.array([], dtype=np.int64)
    if list(map(str, number.tolist())) == values:
        return number
    # Strings of fixed width lose NUL at their end, and are all as long as the longest.
    return np.array(values, dtype=object)
