"""Members of groups, from long and wide tables."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.strategies import one_line_error
from tgx_anchor.io.columns import Column, RowError, row_number, to_column
from tgx_anchor.io.group_columns import GroupColumns
from tgx_anchor.io.group_entries import GroupEntries, take
from tgx_anchor.io.table import Choice, read_table


def layout(members: list[str], **asked: str) -> GroupColumns:
    none = dict.fromkeys(('x', 'hyperedge_attr', 'incidence_attr'))
    return GroupColumns({'anchor': 'is_anchor', **asked}, members, none)


def plain(column: Column) -> list[Any]:
    return column if isinstance(column, list) else list(column.to_pylist())


def collect(
    table: dict[str, Any], members: list[str], sep: str = ';', **asked: str
) -> tuple[list[tuple[Any, Any, bool, int]], int]:
    found = layout(members, **asked)
    found.choose(list(table), {})
    columns = {name: to_column(name, value) for name, value in table.items()}
    row = np.arange(len(next(iter(columns.values()))))
    if members:
        entries = GroupEntries.from_lists(columns, row, found, row_number, sep)
    else:
        entries = GroupEntries.from_rows(columns, row, found, row_number)
    group, member = plain(entries.group), plain(entries.member)
    y, rows = entries.y.tolist(), entries.row.tolist()
    return list(zip(group, member, y, rows, strict=True)), entries.size


def test_entries_of_rows() -> None:
    table = {'group': [1, 1, 2], 'member': ['a', 'b', 'a'], 'is_anchor': [0, 1, None]}
    expected = [(1, 'a', False, 0), (1, 'b', True, 1), (2, 'a', False, 2)]
    assert collect(table, []) == (expected, 3)
    table['role'] = ['to', 'from', 'cc']
    assert collect(table, [], anchor='role=from') == (expected, 3)
    coded = pa.array(table['role']).dictionary_encode()
    assert collect({**table, 'role': coded}, [], anchor='role=from') == (expected, 3)
    assert not any(e[2] for e in collect(table, [], anchor='role=none')[0])


LISTS = [['bob', 'cat'], ['ann'], ['bob']]


@pytest.mark.parametrize(
    'column',
    [
        ['bob; cat;', ' ann', 'bob'],
        LISTS,
        pa.array(LISTS),
        pa.array(LISTS, pa.large_list(pa.string())),
        pa.array(['bob;cat', 'ann', 'bob']).dictionary_encode(),
        list(map(json.dumps, LISTS)),
        [('bob', 'cat'), 'ann', np.array(['bob'])],
        [['bob', None, 'cat'], ['ann', ''], ['bob']],
    ],
    ids=str,
)
def test_entries_of_lists(column: Any) -> None:
    table = {'mail': [7, 8, 9], 'to': column, 'from': ['ann', 'NA', 'bob']}
    entries, size = collect(table, ['to'], anchor='from')
    assert size == 4
    assert entries == [
        (7, 'bob', False, 0),
        (7, 'cat', False, 0),
        (8, 'ann', False, 1),
        (9, 'bob', False, 2),
        (7, 'ann', True, 0),
        (9, 'bob', True, 2),
    ]


def test_entries_of_several_columns() -> None:
    table = {'to': ['a|b', '', 'c'], 'cc': ['', 'd', 'a|e'], 'from': [None, None, 'f']}
    entries, size = collect(table, ['to', 'cc'], sep='|', anchor='from')
    # Without a column of groups, rows are numbered from one.
    assert [entry[:2] for entry in entries] == [
        *((1, 'a'), (1, 'b'), (2, 'd'), (3, 'c'), (3, 'a'), (3, 'e'), (3, 'f'))
    ]
    assert size == 6


def test_entries_of_integers() -> None:
    table = {'to': [[1, 2], [3]], 'from': [2, None]}
    entries, _ = collect(table, ['to'], anchor='from')
    assert [entry[1] for entry in entries] == [1, 2, 3, 2]


def test_entries_of_no_members() -> None:
    table = {'to': ['a', ';', None, 'b', ''], 'from': [None, None, '', None, 'c']}
    with pytest.raises(RowError, match=r'at least one member .* in row 2') as info:
        collect(table, ['to'], anchor='from')
    assert info.value.rows.tolist() == [1, 2]


def test_add_known() -> None:
    found = layout([])
    found.choose(['group', 'member'], {})
    columns = {name: to_column(name, ['1', '2']) for name in ('group', 'member')}
    entries = GroupEntries.from_rows(columns, np.arange(2), found, row_number)

    notes: list[str] = []
    table = read_table(
        {'group': [2, 1, 5, None, 1], 'anchor': ['x', '1', 'y', 'z', '']},
        lambda names, _: Choice(list(names)),
    )
    more = entries.add_known(table, notes)
    assert more.size == 2
    assert more.y.tolist() == [False, False, True, True]
    assert more.row.tolist() == [0, 1, -1, -2]
    assert plain(more.member) == ['1', '2', 'x', '1']
    assert list(map(str, plain(more.group))) == ['1', '2', '2', '1']
    assert notes == ['known anchors of groups that the table lacks: 1']
    other = read_table(
        {'group': ['a'], 'anchor': ['1']}, lambda names, _: Choice(list(names))
    )
    with one_line_error("'known'", "'a'"):
        entries.add_known(other, notes)


def test_take() -> None:
    place = np.array([2, 0, 0])
    assert take(['a', 'b', 'c'], place) == ['c', 'a', 'a']
    column = pa.chunked_array([['a'], ['b', 'c']])
    assert plain(take(column, place)) == ['c', 'a', 'a']
