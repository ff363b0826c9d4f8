import csv
import gzip
import io
import math
import re
import stat
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch

from tests.io.strategies import (
    NAMES,
    ODD_VALUES,
    Plain,
    described_hypergraphs,
    examples,
    outcome,
    plain,
)
from tests.strategies import one_line_error, to_data, to_groups
from tgx_anchor.data import AnchorData
from tgx_anchor.io import (
    BadRowError,
    inspect_incidence,
    read_incidence,
    write_incidence,
)
from tgx_anchor.io.group_columns import plain_name
from tgx_anchor.transforms import AddTopologicalFeatures

SUFFIXES = ['.csv', '.csv.gz', '.tsv', '.tsv.gz', '.txt', '.jsonl.gz', '.parquet']
READ = ('group', 'member', 'is_anchor', 'role')


def table() -> dict[str, Any]:
    return {
        'group': ['m2', 'm1', 'm2', 'm1', 'm3'],
        'member': ['bob', 'ann', 'ann', 'cat', 'cat'],
        'is_anchor': [True, None, False, False, None],
    }


def mails() -> Plain:
    return {
        'nodes': ['bob', 'ann', 'cat'],
        'groups': [
            ('m2', [('bob', True, None), ('ann', False, None)]),
            ('m1', [('ann', False, None), ('cat', False, None)]),
            ('m3', [('cat', False, None)]),
        ],
        'attributes': {},
        'column_names': {},
    }


# What is read ################################################################


def test_read_incidence() -> None:
    data = read_incidence(table())
    assert plain(data) == mails()
    assert to_groups(data) == [[0, 1], [1, 2], [2]]
    assert data['y'].tolist() == [True, False, False, False, False]
    assert data.known_mask.tolist() == [True, False, False]
    assert data.node_id == ['bob', 'ann', 'cat']
    assert data.hyperedge_id == ['m2', 'm1', 'm3']
    assert 'role' not in data
    assert plain(AnchorData.from_incidence(table())) == mails()


def test_read_incidence_keeps_the_order_of_rows_in_each_group() -> None:
    data = read_incidence({'group': [5, 9, 5, 9, 5], 'member': [3, 3, 1, 0, 2]})
    assert data.hyperedge_id.tolist() == [5, 9]
    assert data.node_id.tolist() == [3, 1, 0, 2]
    assert to_groups(data) == [[0, 1, 3], [0, 2]]
    assert data.node_id.dtype == data.hyperedge_id.dtype == torch.long


def test_read_incidence_of_no_rows(tmp_path: Path) -> None:
    path = tmp_path / 'empty.csv'
    path.write_text('group,member,is_anchor,node_age\n')
    sources: list[Any] = [{'group': [], 'member': []}, path]
    for source in sources:
        data = read_incidence(source)
        assert (data.num_nodes, data.num_hyperedges, data.num_incidences) == (0, 0, 0)
        assert data.validate()
        assert len(data.node_id) == len(data.hyperedge_id) == 0
    assert data['x'].size() == (0, 1)


def spellings() -> list[Any]:
    frame = pd.DataFrame(table())
    columns = table()
    return [
        frame,
        frame.astype({'group': 'category', 'is_anchor': 'boolean'}),
        frame.astype({'group': 'string', 'member': object, 'is_anchor': 'float32'}),
        frame.set_index(pd.Index([9, 9, 9, 9, 9])),
        dict(frame),
        {name: tuple(column) for name, column in columns.items()},
        {**columns, 'is_anchor': torch.tensor([1, 0, 0, 0, 0])},
        {**columns, 'is_anchor': torch.tensor([1, torch.nan, 0, 0, 0]).bfloat16()},
        {**columns, 'is_anchor': np.array(columns['is_anchor'])},
        {**columns, 'is_anchor': np.ma.masked_equal([1, 9, 0, 0, 0], 9)},
        {**columns, 'is_anchor': ['YES', '', ' no', '0.0', math.nan]},
        {**columns, 'is_anchor': [1.0, pd.NA, 'False', np.bool_(False), 0]},
        {**columns, 'member': np.array(columns['member'])},
        {**columns, '': range(5), 'Unnamed: 0': range(5)},
    ]


@pytest.mark.parametrize('number', range(len(spellings())))
def test_read_incidence_takes_all_kinds_of_columns(number: int) -> None:
    assert plain(read_incidence(spellings()[number])) == mails()


@pytest.mark.parametrize(
    'column',
    [
        [7, -1, 7],
        (7, -1, 7),
        np.array([7, -1, 7], dtype='>i2'),
        np.array([7, -1, 7], dtype=object),
        torch.tensor([7, -1, 7], dtype=torch.int8),
        pd.Series([7, -1, 7], dtype='Int64'),
        [np.int64(7), -1, np.uint8(7)],
    ],
)
def test_read_incidence_takes_all_kinds_of_integers(column: Any) -> None:
    data = read_incidence({'group': [0, 0, 1], 'member': column})
    assert data.node_id.tolist() == [7, -1]
    assert to_groups(data) == [[0, 1], [0]]


@pytest.mark.parametrize('suffix', SUFFIXES)
def test_read_incidence_from_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f'mails{suffix.upper()}'
    frame = pd.DataFrame(table())
    if suffix.startswith('.jsonl'):
        frame.to_json(path, orient='records', lines=True)
    elif suffix == '.parquet':
        frame.set_index(pd.Index([3, 1, 4, 1, 5])).to_parquet(path)
    else:
        separator = ',' if suffix.startswith('.csv') else '\t'
        text = frame.to_csv(sep=separator).encode('utf-8-sig')
        path.write_bytes(gzip.compress(text) if suffix.endswith('gz') else text)
    assert plain(read_incidence(path)) == mails()
    assert plain(read_incidence(str(path))) == mails()


@pytest.mark.parametrize(
    ('texts', 'expected'),
    [
        (['7', '-12', '0'], [7, -12, 0]),
        (['9223372036854775807', '-9223372036854775808'], [2**63 - 1, -(2**63)]),
        (['9223372036854775808', '1'], None),
        (['7', 'a'], None),
        (['007', '8'], None),
        (['-0', '1'], None),
        (['+1', '2'], None),
        ([' 1', '2'], None),
        (['1_000', '2'], None),
        (['1.0', '2'], None),
        (['٣', '2'], None),
        (['9' * 5000, '1'], None),
    ],
)
def test_read_incidence_decides_by_the_whole_column(
    texts: list[str], expected: list[int] | None, tmp_path: Path
) -> None:
    path = tmp_path / 'ids.csv'
    path.write_text('group,member\n' + ''.join(f'x,{text}\n' for text in texts))
    data = read_incidence(path)
    assert data.hyperedge_id == ['x']
    if expected is None:
        assert data.node_id == texts
    else:
        assert data.node_id.tolist() == expected


def test_read_incidence_names_physical_lines(tmp_path: Path) -> None:
    path = tmp_path / 'mails.csv'
    whole = (
        'group,member,is_anchor,incidence_n\n'
        'm2,bob,1,0\n\nm1,ann,,1\nm2,ann,0,2\n\n\nm1,cat,0,3\nm3,"c\na\nt",,4\n'
    )
    path.write_text(whole)
    data = read_incidence(path)
    assert data.incidence_attr.view(-1).tolist() == [0, 2, 1, 3, 4]
    assert data.node_id == ['bob', 'ann', 'cat', 'c\na\nt']
    for fault in ('m4,,,5', 'm4,cat,,x', 'm4,cat,maybe,5', 'm4', 'm2,"a"b,,1'):
        path.write_text(f'{whole}\n{fault}\n')
        with one_line_error('in line 13'):
            read_incidence(path)


def test_read_incidence_with_other_names() -> None:
    renamed = {'mail': [0, 0], 'person': [1, 2], 'sender': [1, 0], 'field': ['a', 'b']}
    data = read_incidence(
        renamed, group='mail', member='person', anchor='sender', role='field'
    )
    assert data['y'].tolist() == [True, False]
    assert data.role_names == ['a', 'b']
    with one_line_error("'no_such'", "'anchor'", "'mail', 'person'"):
        read_incidence(renamed, group='mail', member='person', anchor='no_such')


def test_read_incidence_with_several_anchors() -> None:
    columns = {**table(), 'is_anchor': [1, 0, 1, 0, 1]}
    for limit in (2, None):
        data = read_incidence(columns, max_anchors=limit)
        assert data['y'].tolist() == [True, True, False, False, True]
    with one_line_error("group 'm2'", 'at most 1 anchors', 'got 2', 'row 3'):
        read_incidence(columns)


def test_read_incidence_numbers_roles() -> None:
    named = read_incidence({**table(), 'role': ['to', 'to', 'cc', 'bcc', 'to']})
    assert named.role_names == ['bcc', 'cc', 'to']
    assert named.role.tolist() == [2, 1, 2, 0, 2]
    numbered = read_incidence({**table(), 'role': [3, -1, 2, 2, 0]})
    assert numbered.role.tolist() == [3, 2, -1, 2, 0]
    assert 'role_names' not in numbered


SIDED = {
    'group': ['a', 'a', 'b', 'b', 'c'],
    'member': ['u', 'v', 'v', 'w', 'u'],
    'is_anchor': [True, False, None, None, None],
    'side': ['tail', 'head', 'to', None, 'From'],
    'group_type': ['mail', 'mail', 'chat', '', None],
    'member_type': ['x', 'y', None, None, 'x'],
}


def test_read_incidence_reads_sides_and_types() -> None:
    data = read_incidence(SIDED)
    assert data.incidence_side.tolist() == [0, 1, 1, -1, 0]
    assert data.hyperedge_type.tolist() == [1, 0, -1]
    assert data.hyperedge_type_names == ['chat', 'mail']
    assert data.node_type.tolist() == [0, 1, -1]
    assert data.node_type_names == ['x', 'y']
    names = {'side': 'way', 'group_type': 'kind', 'member_type': 'job'}
    other = {names.get(key, key): column for key, column in SIDED.items()}
    assert plain(read_incidence(other, **names)) == plain(data)
    with pytest.warns(UserWarning, match="'way', 'kind', 'job'"):
        plainer = read_incidence(other)
    assert not {'incidence_side', 'hyperedge_type', 'node_type'} & {*plainer.keys()}


@pytest.mark.parametrize('suffix', SUFFIXES)
def test_sides_and_types_round_trip(suffix: str, tmp_path: Path) -> None:
    data = read_incidence(SIDED)
    # Parquet keeps names that no row has.
    if suffix == '.parquet':
        data.hyperedge_type_names = ['chat', 'mail', 'meeting']
    path = tmp_path / f'table{suffix}'
    data.to_incidence(path)
    again = read_incidence(path)
    for key in ('incidence_side', 'hyperedge_type', 'node_type'):
        assert torch.equal(again[key], data[key])
    assert again.hyperedge_type_names == data.hyperedge_type_names
    assert again.node_type_names == data.node_type_names


def test_type_of_a_group_is_the_same_in_all_rows() -> None:
    with one_line_error("'group_type'", 'all rows of', "'mail' before and 'chat'"):
        read_incidence(SIDED | {'group_type': ['mail', 'chat', 'mail', 'mail', None]})
    with one_line_error("'member_type'", "all rows of 'u'", 'got 2 before and 3'):
        read_incidence(SIDED | {'member_type': [2, None, None, 1, 3]})


def test_side_that_is_no_direction() -> None:
    table = SIDED | {'side': ['left', 'right', None, None, 'left']}
    with pytest.warns(UserWarning, match="'side' holds other words than tail and head"):
        assert 'incidence_side' not in read_incidence(table)
    with one_line_error("'side' must be tail, head or left empty", "got 'left'"):
        read_incidence(table, side='side')


def test_sides_of_anchors_that_become_members() -> None:
    table = {key: SIDED[key] for key in ('group', 'member', 'side', 'member_type')}
    known = {'group': ['b'], 'anchor': ['z']}
    with pytest.warns(UserWarning, match='become members'):
        data = read_incidence(table, known=known)
    assert to_groups(data) == [[0, 1], [1, 2, 3], [0]]
    assert data.incidence_side.tolist() == [0, 1, 1, -1, -1, 0]
    assert data.node_type.tolist() == [0, 1, -1, -1]


def test_types_of_wide_tables() -> None:
    table = {'members': ['a;b', 'b;c'], 'group_type': ['x', None]}
    assert read_incidence(table).hyperedge_type.tolist() == [0, -1]
    for key in ('side', 'member_type'):
        with one_line_error(f"'{key}' must be left out", 'whole group'):
            read_incidence(table | {'z': ['x', 'y']}, **{key: 'z'})


def test_read_incidence_collects_attributes() -> None:
    data = read_incidence(
        {
            'node_b': [1, 2, 2, 3, 3],
            'incidence_z': np.arange(5) / 4,
            **table(),
            'hyperedge_size': torch.tensor([2, 2, 2, 2, 1]),
            'node_a': [True, False, False, True, True],
        }
    )
    assert data['x'].tolist() == [[1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]
    assert data.hyperedge_attr.tolist() == [[2.0], [2.0], [1.0]]
    assert data.incidence_attr.tolist() == [[0.0], [0.5], [0.25], [0.75], [1.0]]
    assert data['x'].dtype == data.hyperedge_attr.dtype == torch.float32
    assert data.column_names == {
        'x': ['node_b', 'node_a'],
        'hyperedge_attr': ['hyperedge_size'],
        'incidence_attr': ['incidence_z'],
    }


def test_read_incidence_can_be_batched() -> None:
    columns = {**table(), 'node_a': [1, 2, 2, 3, 3], 'role': list('abcab')}
    data = read_incidence(columns)
    batch: Any = Batch.from_data_list([data, data])
    batch.validate()
    for part in batch.to_data_list():
        assert isinstance(part, AnchorData)
        assert plain(part) == plain(data)


# Other forms of the same ######################################################


def wide(data: AnchorData, sep: str | None = None) -> dict[str, list[Any]]:
    """One row per group: lists of members, or text, and the anchor or nothing."""
    rows = plain(data)['groups']
    lists = [[member for member, _, _ in members] for _, members in rows]
    return {
        'mail': [group for group, _ in rows],
        'to': lists if sep is None else [sep.join(map(str, names)) for names in lists],
        'from': [next((m for m, y, _ in members if y), None) for _, members in rows],
    }


@st.composite
def long_tables(draw: st.DrawFn) -> dict[str, Any]:
    """Rows without repetition, at most one anchor in each group."""
    names = st.sampled_from(['ann', 'bob', 'cat', 'dän', 'e,"f'])
    pair = st.tuples(st.sampled_from(['m1', 'm2', 'm3']), names)
    rows = draw(st.lists(pair, min_size=1, max_size=9, unique=True))
    rows.sort(key=lambda row: row[0])
    anchor = {group: draw(names) for group, _ in rows}
    return {
        'group': [group for group, _ in rows],
        'member': [member for _, member in rows],
        'is_anchor': [member == anchor[group] for group, member in rows],
    }


@given(long_tables(), st.sampled_from([None, ';', '|', ' + ']), st.booleans())
@examples(60)
def test_wide_tables_are_read_as_long_ones(
    tmp_path: Path, columns: dict[str, Any], sep: str | None, by_file: bool
) -> None:
    data = read_incidence(columns)
    table: Any = wide(data, sep)
    if by_file:
        path = tmp_path / ('t.jsonl' if sep is None else 't.csv')
        frame = pd.DataFrame(table)
        if sep is None:
            frame.to_json(path, orient='records', lines=True)
        else:
            frame.to_csv(path, index=False, sep='\t')
        table = path
    again = read_incidence(
        table, group='mail', members='to', anchor='from', sep=sep or ';'
    )
    assert plain(again) == plain(data)


@given(long_tables())
@examples(30)
def test_lists_of_lists_and_known_anchors(columns: dict[str, Any]) -> None:
    data = read_incidence(columns)
    table = wide(data)
    rows = [i for i, name in enumerate(table['from']) if name is not None]
    known = {'group': rows, 'anchor': [table['from'][i] for i in rows]}
    again = read_incidence(table['to'], known=known if rows else None)
    assert again.hyperedge_id.tolist() == list(range(len(table['to'])))
    again.hyperedge_id = data.hyperedge_id
    assert plain(again) == plain(data)
    # The same of a long table, by the ids of its groups.
    known['group'] = [table['mail'][i] for i in rows]
    bare = {key: columns[key] for key in ('group', 'member')}
    assert plain(read_incidence(bare, known=known if rows else None)) == plain(data)


def test_read_incidence_of_records() -> None:
    columns = table()
    records = [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    assert plain(read_incidence(records)) == mails()


def test_known_anchors(tmp_path: Path) -> None:
    path = tmp_path / 'known.csv'
    path.write_text('thread;asker;probability\n8;cat;0.5\n9;dan;\n7;;1\n99;ann;1\n')
    source = {'group': [7, 8, 8, 9], 'member': ['ann', 'ann', 'cat', 'bob']}
    reading = inspect_incidence(source, known=path)
    data = reading.data
    assert [(m, y) for _, members in plain(data)['groups'] for m, y, _ in members] == [
        *(('ann', False), ('ann', False), ('cat', True)),
        *(('bob', False), ('dan', True)),
    ]
    assert reading.notes == [
        "columns of the known anchors found by their usual names: 'thread' is 'group', "
        "'asker' is 'anchor'",
        'known anchors of groups that the table lacks: 1',
        'anchors that are not listed as members of their group, and become members: 1',
    ]
    with one_line_error("'known'", "'dan' for group 9"):
        inspect_incidence({**source, 'role': list('abcd')}, known=path)
    with one_line_error("'known'", "'a'"):
        inspect_incidence(source, known={'a': [1]})
    with one_line_error("'known'", 'groups of the table'):
        inspect_incidence(source, known={'group': [99], 'anchor': ['ann']})
    both = {**source, 'is_anchor': [0, 1, 0, 0]}
    with one_line_error('group 8', 'got 2', 'in row 3', "'max_anchors'"):
        inspect_incidence(both, known={'group': [8], 'anchor': ['cat']})
    with one_line_error('group 8', 'got 2', 'row 1 of the known', "'max_anchors'"):
        inspect_incidence(both, known={'group': [8], 'anchor': ['dan']})


def test_anchors_outside_of_their_group_become_members() -> None:
    source = {'to': ['bob;cat', 'ann', ''], 'from': ['ann', 'ann', 'bob']}
    reading = inspect_incidence(source, members='to', anchor='from')
    assert plain(reading.data)['groups'] == [
        (1, [('bob', False, None), ('cat', False, None), ('ann', True, None)]),
        (2, [('ann', True, None)]),
        (3, [('bob', True, None)]),
    ]
    assert reading.notes == [
        'anchors that are not listed as members of their group, and become members: 2'
    ]
    source['from'][0] = 'ann;bob'
    with one_line_error('group 1', 'got 2', "'max_anchors'"):
        inspect_incidence(source, members='to', anchor='from')
    two = inspect_incidence(source, members='to', anchor='from', max_anchors=2).data
    assert two['y'].tolist() == [True, False, True, True, True]


def test_members_count_once() -> None:
    reading = inspect_incidence(
        {
            'group': ['m', 'm', 'm', 'n', 'm'],
            'member': ['ann', 'bob', 'ann', 'ann', 'bob'],
            'is_anchor': [0, 0, 1, 0, 0],
            'role': ['to', 'to', 'from', 'to', 'cc'],
            'incidence_a': [1, 2, 3, 4, 5],
        }
    )
    data = reading.data
    assert to_groups(data) == [[0, 1], [0]]
    assert data['y'].tolist() == [True, False, False]
    assert [data.role_names[r] for r in data.role.tolist()] == ['to', 'to', 'to']
    assert data.incidence_attr.view(-1).tolist() == [1, 2, 4]
    assert reading.notes == [
        'rows that list a member of their group again, who counts once: 2'
    ]


def test_times() -> None:
    columns = {
        'group': [1, 1, 2, 3, 2],
        'member': list('abcde'),
        'when': ['', '1970-01-02', '3', 'soon', '4'],
    }
    reading = inspect_incidence(columns, time='when')
    data = reading.data
    assert data.hyperedge_time.dtype == torch.float64
    assert data.hyperedge_time.tolist()[:2] == [86400, 3]
    assert math.isnan(data.hyperedge_time[2])
    assert reading.notes == [
        'times that are neither numbers nor dates, and count as missing: 1',
        'groups with several times, of which the first counts: 1',
    ]
    assert 'hyperedge_time' not in read_incidence(table())
    columns['time'] = columns.pop('when')
    again = inspect_incidence(columns).data
    assert again.hyperedge_time.tolist()[:2] == [86400, 3]


@pytest.mark.parametrize('suffix', SUFFIXES)
def test_times_round_trip(suffix: str, tmp_path: Path) -> None:
    data = read_incidence({**table(), 'time': [1e9 + 1 / 3, None, None, None, -5]})
    columns = write_incidence(data, tmp_path / f't{suffix}')
    assert columns['time'] == [1e9 + 1 / 3, 1e9 + 1 / 3, None, None, -5.0]
    again = read_incidence(tmp_path / f't{suffix}')
    assert again.hyperedge_time.nan_to_num(7).tolist() == [1e9 + 1 / 3, 7, -5]
    assert plain(again) == plain(data)


# Bad rows ####################################################################

BAD_LINES = [
    (',ann,1', "'group' must be given"),
    ('m1,,1', "'member' must be given"),
    ('m1,ann,maybe', "'is_anchor' must be true"),
    ('m1,ann', "'table' must have 3 fields"),
    ('m1,ann,1,1', "'table' must have 3 fields"),
    ('m1,"a"b,1', "'table' must be well-formed"),
]


@given(
    long_tables(),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(BAD_LINES)), max_size=6),
    st.booleans(),
)
@examples(80)
def test_bad_rows_are_left_out(
    tmp_path: Path,
    columns: dict[str, Any],
    inserted: list[tuple[int, tuple[str, str]]],
    empty_lines: bool,
) -> None:
    path = tmp_path / 'mails.csv'
    data = read_incidence(columns)
    write_incidence(data, path)
    entries: list[tuple[str, str | None]] = [
        (line, None) for line in path.read_text().splitlines()
    ]
    for place, line in inserted:
        entries.insert(1 + min(place, len(entries) - 1), line)
    if empty_lines:
        entries.insert(2, ('', None))
    path.write_text(''.join(f'{line}\n' for line, _ in entries))
    bad = [(i, line, why) for i, (line, why) in enumerate(entries, 1) if why]
    reading = inspect_incidence(path, skip_bad=True)
    assert plain(reading.data) == plain(data)
    rejected = reading.rejected.to_pylist()
    assert [(row['line'], row['text']) for row in rejected] == [b[:2] for b in bad]
    for row, (_, _, reason) in zip(rejected, bad, strict=True):
        assert row['reason'].startswith(reason)
        assert row['file'] == str(path)
    if bad:
        with one_line_error(bad[0][2], f'in line {bad[0][0]} of', "'skip_bad'"):
            read_incidence(path)
        with pytest.raises(BadRowError) as info:
            read_incidence(path)
        assert [row.line for row in info.value.rows] == [b[0] for b in bad]


def test_bad_rows_of_json_lines(tmp_path: Path) -> None:
    path = tmp_path / 'mails.jsonl'
    path.write_text(
        '{"group": 1, "members": ["ann", 7]}\n\n{"group": 2\n[3]\n'
        '{"group": null, "members": ["bob"]}\n{"group": 4, "members": []}\n'
        '{"group": 5, "members": ["cat"]}\n'
    )
    reading = inspect_incidence(path, skip_bad=True)
    assert plain(reading.data)['groups'] == [
        (1, [('ann', False, None), ('7', False, None)]),
        (5, [('cat', False, None)]),
    ]
    assert [row.line for row in reading.bad_rows] == [3, 4, 5, 6]
    assert reading.bad_rows[2].text == '{"group": null, "members": ["bob"]}'


def test_bad_rows_of_several_files(tmp_path: Path) -> None:
    for name, text in (('b', 'm1,ann\nm1,\n'), ('a', 'm1\nm2,bob\n,bob\n')):
        (tmp_path / f'{name}.csv').write_text(f'group,member\n{text}')
    reading = inspect_incidence(tmp_path, skip_bad=True)
    assert [(row.file[-5:], row.line) for row in reading.bad_rows] == [
        *(('a.csv', 2), ('a.csv', 4), ('b.csv', 3))
    ]
    assert reading.data.hyperedge_id == ['m2', 'm1']
    assert reading.form == '2 files of text with commas in UTF-8'


def test_bad_rows_only(tmp_path: Path) -> None:
    path = tmp_path / 'mails.csv'
    path.write_text('group,member\n,ann\nm1,\n')
    with one_line_error("'group'", 'line 2', '1 more'):
        inspect_incidence(path, skip_bad=True)


def test_bad_rows_in_memory() -> None:
    frame = pd.DataFrame(
        {
            'group': [1, None, 2, 2],
            'member': ['a', 'b', '', 'c'],
            'node_a': [1, 1, 1, 2],
        }
    )
    reading = inspect_incidence(frame, skip_bad=True)
    assert plain(reading.data)['groups'] == [
        (1, [('a', False, None)]),
        (2, [('c', False, None)]),
    ]
    assert reading.data['x'].tolist() == [[1.0], [2.0]]
    assert [(r.place, r.text) for r in reading.bad_rows] == [
        *(('row 2', ', b, 1'), ('row 3', '2.0, , 1'))
    ]


# Files without a header, standard input ######################################


def test_files_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / 'mails.csv'
    rows = 'm2,bob,1\nm1,ann,\nm2,ann,0\nm1,cat,0\nm3,cat,\n'
    path.write_text(rows)
    reading = inspect_incidence(path)
    assert plain(reading.data) == mails()
    assert 'no header' in reading.notes[0]
    assert plain(inspect_incidence(path, header=False).data) == mails()
    assert plain(inspect_incidence(path, group='1', member='2', anchor='3').data) == (
        mails()
    )
    with one_line_error("'group'", "'m2', 'bob', '1'"):
        inspect_incidence(path, header=True)
    path.write_text('1,2\n1,3\n2,3\n')
    data = inspect_incidence(path).data
    assert to_groups(data) == [[0, 1], [1]]
    assert data.node_id.tolist() == [2, 3]
    path.write_text('group,member,1990\na,b,3\n')
    assert inspect_incidence(path).data.node_id == ['b']
    path.write_text('ann;bob,bob\nbob;cat,cat\n')
    data = inspect_incidence(path, members='1', anchor='2', header=False).data
    assert data['y'].tolist() == [False, True, False, True]
    path.write_text(rows)
    with one_line_error("'mail'", "'m2', 'bob', '1'"):
        inspect_incidence(path, group='mail')
    path.write_text(rows + 'm3,\n,x,1\n')
    with one_line_error('3 fields', 'first line', 'in line 6'):
        inspect_incidence(path)


def test_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = read_incidence(table())
    for suffix in SUFFIXES:
        path = tmp_path / f't{suffix}'
        write_incidence(data, path)
        content = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
        monkeypatch.setattr(sys, 'stdin', content)
        assert plain(read_incidence('-')) == mails()
    broken = io.TextIOWrapper(io.BytesIO(b'\x1f\x8bgroup,member'))
    monkeypatch.setattr(sys, 'stdin', broken)
    with one_line_error('gzip', "'standard input'"):
        read_incidence('-')


# What is refused #############################################################


@pytest.mark.parametrize(
    ('change', 'names'),
    [
        ({'group': None}, ["'group'", 'list', 'None']),
        ({'group': 'm1m2m'}, ["'group'", 'list', "'m1m2m'"]),
        ({'group': np.zeros((5, 2))}, ["'group'", 'one dimension', '[5, 2]']),
        ({'group': torch.zeros(5).to_sparse()}, ["'group'", 'dense']),
        ({'group': [0, 1, None, 1, 2]}, ["'group'", 'empty in row 3']),
        ({'group': [0, 1, math.nan, 1, 2]}, ["'group'", 'empty in row 3']),
        ({'group': np.array([0, 1, 2, np.nan, 2])}, ["'group'", 'empty in row 4']),
        (
            {'group': pd.Series([0, 1, None, 1, 2], dtype='Int64')},
            ["'group'", 'every', 'row 3'],
        ),
        ({'group': ['a', '', 'b', 'c', 'd']}, ["'group'", 'empty in row 2']),
        ({'group': [0, 1, '1', 1, 2]}, ["'group'", 'alike', "'1' in row 3"]),
        ({'group': [0.0, 1.0, 0.5, 1.0, 2.0]}, ["'group'", '0.5 in row 3']),
        ({'group': [True, False, True, False, True]}, ["'group'", 'True in row 1']),
        ({'group': np.ones(5, dtype=bool)}, ["'group'", 'True in row 1']),
        (
            {'group': [b'a', b'\xff', b'a', b'b', b'c']},
            ["'group'", "b'\\xff' in row 2"],
        ),
        ({'group': [0, 1, 2**63, 1, 2]}, ["'group'", '64 bits', 'row 3']),
        ({'group': [0, 1, 10**5000, 1, 2]}, ["'group'", 'integer of', 'row 3']),
        ({'group': np.full(5, 2**63, dtype=np.uint64)}, ['64 bits', 'row 1']),
        ({'member': [0, 1]}, ["'member'", '5 rows', 'got 2']),
        ({'member': ['a', 'b', 'c', 'b', 'c', 'd']}, ["'member'", 'got 6']),
        ({'is_anchor': [1, 0, 'maybe', 0, 0]}, ["'is_anchor'", "'maybe' in row 3"]),
        ({'is_anchor': [1, 0, 2, 0, 0]}, ["'is_anchor'", '2 in row 3']),
        ({'is_anchor': np.array([1, 0, 0, 0.5, 0])}, ["'is_anchor'", '0.5 in row 4']),
        ({'is_anchor': [1, 0, [1], 0, 0]}, ["'is_anchor'", '[1]', 'in row 3']),
        ({'is_anchor': [1, 0, 1 + 0j, 0, 0]}, ["'is_anchor'", 'row 3']),
        ({'role': ['a', None, 'b', 'b', 'b']}, ["'role'", 'empty in row 2']),
        ({'role': [1.0, 0.5, 1.0, 0.0, 0.0]}, ["'role'", '0.5 in row 2']),
        ({'node_a': list('abcde')}, ["'node_a'", "'a' in row 1"]),
        ({'node_a': [1, 2, None, 3, 3]}, ["'node_a'", 'empty in row 3']),
        ({'node_a': np.array([1, 2, np.nan, 3, 3])}, ["'node_a'", 'empty in row 3']),
        ({'node_a': [1, 2, 1e39, 3, 3]}, ["'node_a'", '32 bits', '1e+39 in row 3']),
        ({'node_a': [1, 2, 10**400, 3, 3]}, ["'node_a'", 'finite', 'row 3']),
        (
            {'node_a': [1, 2, 9, 3, 3]},
            ["'node_a'", "'ann'", '2.0 before', '9.0 in row 3'],
        ),
        (
            {'hyperedge_a': [1, 2, 1, 3, 3]},
            ["'hyperedge_a'", "'m1'", '2.0 before', '3.0 in row 4'],
        ),
        ({'incidence_a': [1, 2, 3, 4, -math.inf]}, ["'incidence_a'", '-inf in row 5']),
    ],
)
def test_read_incidence_refuses(change: dict[Any, Any], names: list[str]) -> None:
    with one_line_error(*names):
        read_incidence({**table(), **change})


def test_read_incidence_refuses_missing_columns() -> None:
    for name in ('group', 'member'):
        columns = table()
        del columns[name]
        with one_line_error(f"'{name}'", *(repr(other) for other in columns)):
            read_incidence(columns)


def test_read_incidence_refuses_repeated_columns() -> None:
    frame = pd.DataFrame(table())
    with one_line_error("'member'", 'distinct'):
        read_incidence(pd.concat([frame, frame['member']], axis=1))


def test_read_incidence_lists_a_few_of_many_columns() -> None:
    with one_line_error("'0', '3'", "'11', 990 more"):
        read_incidence({str(i): [] for i in [0, *range(3, 1002)]})


@pytest.mark.parametrize('source', [None, 3, b'a.csv', [], [3, []]])
def test_read_incidence_refuses_other_sources(source: Any) -> None:
    with one_line_error("'table'", 'mapping'):
        read_incidence(source)


@pytest.mark.parametrize('limit', [0, -1, 1.0, True, '1'])
def test_read_incidence_refuses_other_limits(limit: Any) -> None:
    with one_line_error("'max_anchors'"):
        read_incidence(table(), max_anchors=limit)


def test_read_incidence_refuses_ambiguous_names() -> None:
    with one_line_error("'group', 'member'", 'different'):
        read_incidence(table(), group='member')
    with one_line_error("'role'", 'string'):
        read_incidence(table(), role=None)


@pytest.mark.parametrize(
    ('text', 'names'),
    [
        (b'', ['header', 'has none']),
        (b'\n\n', ['header', 'has none']),
        (b'"a\n', ['header', 'damaged']),
        (b'grp,who\na,b\n', ["'group'", "'grp', 'who'"]),
        (b'group~member\n1~2\n', ["'group'", "'group~member'"]),
        (b'group,member,group\n', ["'group'", 'distinct']),
        (b'group,member\n1,2\n\n1\n', ['2 fields', 'got 1 in line 4']),
        (b'group,member\n1,2\n1,2,3\n', ['2 fields', 'got 3 in line 3']),
        (b'group,member\n1,"a\nb"\n1,\n', ["'member'", 'empty in line 4']),
        (b'group,member\n\n1,"a\n\nb"\n\n1,2\n"",3\n', ["'group'", 'empty in line 8']),
        (b'group,member\n1,"a"b\n', ['well-formed', 'line 2']),
        (b'group,member\n1,2\n1,"a\n', ['well-formed', 'line 3']),
        (b'group,member\n1,' + b'a' * 3_000_000, ['well-formed', 'line 2']),
        (b'group,member\n1,a\x81\xff\n', ['cp1252', r"b'\x81' in line 2"]),
        ('group,member\n1,2\n'.encode('utf-16-le'), ['NUL', 'line 1']),
        (b'\xff\xfeg\0r', ['utf-16']),
        (b'group,member\n1,a\0b\n', ['NUL', 'line 2']),
        (b'gr\0oup,member\n1,2\n', ['NUL']),
        (b'group,member,is_anchor\n1,2,1\n1,3,\n1,4,so\n', ["'so' in line 4"]),
        (b'group,member,is_anchor\n1,2,1\n1,3,1\n', ['group 1', 'got 2', 'line 3']),
        (b'group,member,node_a\n1,2,\n', ["'node_a'", "'' in line 2"]),
        (b'group,member,node_a\n1,2,1_0\n', ["'node_a'", "'1_0' in line 2"]),
        (b'group,member,node_a\n1,2,nan\n', ["'node_a'", 'nan in line 2']),
        (b'group,member,role\n1,2,a\n1,3,\n', ["'role'", 'empty in line 3']),
    ],
)
@pytest.mark.parametrize('zipped', [False, True])
def test_read_incidence_refuses_text(
    text: bytes, names: list[str], zipped: bool, tmp_path: Path
) -> None:
    path = tmp_path / ('bad.csv.gz' if zipped else 'bad.csv')
    path.write_bytes(gzip.compress(text) if zipped else text)
    with one_line_error(*names):
        read_incidence(path)


def test_read_incidence_refuses_other_files(tmp_path: Path) -> None:
    (tmp_path / 'folder.csv').mkdir()
    with one_line_error("'table'", 'folder'):
        read_incidence(tmp_path / 'folder.csv')
    with one_line_error('.csv.gz', '.parquet', 'table.xlsx'):
        read_incidence('table.xlsx')
    with pytest.raises(FileNotFoundError):
        read_incidence(tmp_path / 'none.csv')
    whole = gzip.compress(b'group,member\n1,2\n')
    for broken in (b'group,member\n', whole[:-9], whole + b'x', b'\x1f\x8b\x08\0' * 9):
        path = tmp_path / 'broken.csv.gz'
        path.write_bytes(broken)
        with one_line_error("'table'", 'gzip'):
            read_incidence(path)


@given(st.binary() | st.binary().map(lambda text: b'PAR1' + text + b'PAR1'))
@examples(50)
def test_read_incidence_refuses_other_parquet(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / 'broken.parquet'
    path.write_bytes(text)
    with one_line_error("'table'", 'Parquet'):
        read_incidence(path)


def test_read_incidence_needs_no_extras(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / 'mails.csv'
    pd.DataFrame(table()).to_csv(path)
    monkeypatch.setitem(sys.modules, 'pandas', None)
    data = read_incidence(path)
    assert plain(data) == mails()
    assert plain(read_incidence(write_incidence(data))) == mails()


# Writing #####################################################################


def test_write_incidence() -> None:
    data = to_data([[1, 0], [2, 1]], 3, [[0], []])
    data.role = torch.tensor([1, 0, 1, 1])
    data.x = torch.tensor([[0.5], [1.5], [2.5]])
    data.hyperedge_attr = torch.tensor([[3], [4]])
    columns = write_incidence(data)
    assert columns == {
        'group': [0, 0, 1, 1],
        'member': [1, 0, 2, 1],
        'is_anchor': [False, True, None, None],
        'role': [1, 0, 1, 1],
        'node_0': [1.5, 0.5, 2.5, 1.5],
        'hyperedge_0': [3.0, 3.0, 4.0, 4.0],
    }
    assert data.to_incidence() == columns
    data.role_names = ['cc', 'to']
    data.column_names = {'x': ['age']}
    columns = write_incidence(data)
    assert columns['role'] == ['to', 'cc', 'to', 'to']
    assert columns['age'] == [1.5, 0.5, 2.5, 1.5]
    assert columns['hyperedge_0'] == [3.0, 3.0, 4.0, 4.0]


def test_write_incidence_keeps_names_of_features() -> None:
    data = AddTopologicalFeatures()(to_data([[1, 0], [2, 1]], 3, [[0], []]))
    names = AddTopologicalFeatures().feature_names
    data.column_names = {'incidence_attr': names}
    columns = write_incidence(data)
    assert list(columns)[3:] == names
    assert 'degree_minmax' in columns
    with pytest.warns(UserWarning, match="'degree_minmax'.*are not read;") as seen:
        assert 'incidence_attr' not in read_incidence(columns)
    assert [warning.filename for warning in seen] == [__file__]
    again = read_incidence(columns, incidence_attr=names)
    assert torch.equal(again.incidence_attr, data.incidence_attr)
    assert again.column_names == data.column_names


def test_write_incidence_adds_a_prefix_to_names_that_are_taken() -> None:
    data = to_data([[0, 1]], 2)
    data.x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    data.incidence_attr = torch.tensor([[7.0, 8.0, 9.0], [7.0, 8.0, 9.0]])
    data.column_names = {
        'x': ['group', 'size', 'incidence_a'],
        'incidence_attr': ['size', 'role', ''],
    }
    columns = write_incidence(data)
    assert list(columns)[3:] == [
        *('node_group', 'size', 'incidence_a'),
        *('incidence_size', 'incidence_role', 'incidence_'),
    ]
    again = read_incidence(columns, x=['node_group', 'size', 'incidence_a'])
    assert torch.equal(again['x'], data['x'])
    assert torch.equal(again.incidence_attr, data.incidence_attr)


def test_write_incidence_without_labels() -> None:
    assert write_incidence(to_data([[0, 1]], 2))['is_anchor'] == [None, None]


@given(described_hypergraphs(covering=True))
@examples(50)
def test_incidence_round_trip(data: AnchorData) -> None:
    columns = write_incidence(data)
    again = read_incidence(columns, max_anchors=None, **written_names(data, columns))
    assert unnamed(again) == unnamed(data)
    assert torch.equal(again.hyperedge_index, data.hyperedge_index)


def written_names(data: AnchorData, columns: dict[str, Any]) -> dict[str, Any]:
    """The columns of each attribute, which were written one after the other."""
    names = iter([name for name in columns if name not in READ])
    return {
        key: list(islice(names, data[key].size(1)))
        for key in ('x', 'hyperedge_attr', 'incidence_attr')
        if key in data
    }


def unnamed(data: AnchorData) -> Plain:
    return {k: v for k, v in plain(data).items() if k != 'column_names'}


def as_text(value: Any) -> Any:
    return list(map(str, value.tolist())) if isinstance(value, Tensor) else value


@given(described_hypergraphs(covering=True), st.sampled_from(SUFFIXES))
@examples(50)
def test_incidence_round_trip_by_file(
    tmp_path: Path, data: AnchorData, suffix: str
) -> None:
    assume(data.num_incidences or 'jsonl' not in suffix)
    path = tmp_path / f'table{suffix}'
    columns = write_incidence(data, path)
    assert columns == write_incidence(data)
    names = {} if suffix == '.parquet' else written_names(data, columns)
    again = read_incidence(path, max_anchors=None, **names)
    if 'jsonl' not in suffix and suffix != '.parquet':
        # Text does not tell integers from strings that look like them.
        for key in ('node_id', 'hyperedge_id'):
            again[key], data[key] = as_text(again[key]), as_text(data[key])
        if 'role' in data and 'role_names' not in data:
            data.role_names = list(map(str, range(3)))
        if 'role' in data and 'role_names' not in again:
            again.role_names = {r: str(r) for r in again.role.tolist()}
    assert unnamed(again) == unnamed(data)
    if suffix == '.parquet':
        assert again.get('role_names') == data.get('role_names')
    assert [p.name for p in tmp_path.iterdir() if 'part' in p.name] == []


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True))
@examples(50)
def test_incidence_text_keeps_every_name(tmp_path: Path, names: list[str]) -> None:
    assume(any(not re.fullmatch(r'0|-?[1-9]\d*', name) for name in names))
    for suffix in ('.csv', '.tsv'):
        path = tmp_path / f'names{suffix}'
        data = read_incidence({'group': ['g'] * len(names), 'member': names})
        write_incidence(data, path)
        assert read_incidence(path).node_id == names


@pytest.mark.parametrize('suffix', ['.csv', '.parquet'])
def test_incidence_of_no_rows_round_trip(suffix: str, tmp_path: Path) -> None:
    data = read_incidence({'group': [], 'member': [], 'role': [], 'node_a': []})
    columns = write_incidence(data, tmp_path / f'empty{suffix}')
    assert list(columns) == ['group', 'member', 'is_anchor', 'role', 'node_a']
    again = read_incidence(tmp_path / f'empty{suffix}')
    assert plain(again) == plain(data)


def test_write_incidence_says_what_it_leaves_out() -> None:
    data = to_data([[], [1], [], [3]], 4, [[], [], [], []])
    with pytest.warns(UserWarning, match='leaves out') as seen:
        columns = write_incidence(data)
    assert columns['group'] == columns['member'] == [1, 3]
    messages = [str(warning.message) for warning in seen]
    assert len(messages) == 2
    assert re.search("2 nodes .*'to_hif'", messages[0])
    assert re.search("2 groups .*'to_hif'", messages[1])
    assert {warning.filename for warning in seen} == {__file__}

    data = to_data([[0]], 1)
    data.train_mask = torch.tensor([True])
    with pytest.warns(UserWarning, match="does not hold 'train_mask'") as seen:
        write_incidence(data)
    assert [warning.filename for warning in seen] == [__file__]


def test_write_incidence_replaces_files_whole(tmp_path: Path) -> None:
    path = tmp_path / 'mails.csv'
    write_incidence(read_incidence(table()), path)
    before = path.read_bytes()
    assert before.startswith(b'group,member,is_anchor\nm2,bob,true\n')
    plain_file = tmp_path / 'plain'
    plain_file.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain_file.stat().st_mode)
    plain_file.unlink()
    for odd in ('\ud800', 'a\0b'):
        data = read_incidence({'group': ['a', 'b'], 'member': ['c', 'd']})
        data.node_id = ['c', odd]
        with one_line_error('must'):
            write_incidence(data, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_write_incidence_makes_equal_files(tmp_path: Path) -> None:
    data = read_incidence(table())
    for name in ('a.csv.gz', 'b.csv.gz'):
        write_incidence(data, tmp_path / name)
    written = (tmp_path / 'a.csv.gz').read_bytes()
    assert written == (tmp_path / 'b.csv.gz').read_bytes()
    # No time: it would differ from one second to the next.
    assert written[4:8] == bytes(4)


@pytest.mark.parametrize(
    ('change', 'names'),
    [
        (
            {'node_id': ['a', 'b', 'a']},
            ["'node_id'", 'distinct', "'a' in position 2 again"],
        ),
        ({'node_id': ['a', 'b', '']}, ["'node_id'", "'' in position 2"]),
        ({'node_id': torch.rand(3)}, ["'node_id'", 'integers or strings']),
        ({'hyperedge_id': [b'a', 1]}, ["'hyperedge_id'", "b'a' in position 0"]),
        ({'role': torch.rand(4)}, ["'role'", 'integers']),
        ({'role': torch.arange(4), 'role_names': ['a', 'b']}, ["'role'", 'got 2']),
        ({'role': torch.arange(4) - 1, 'role_names': list('abc')}, ['got -1']),
        ({'role': torch.zeros(4).long(), 'role_names': ['a', 'a']}, ["'role_names'"]),
        ({'x': torch.zeros(3, 1, 1)}, ["'x'", 'dimensions', '[3, 1, 1]']),
        ({'x': torch.tensor([0.0, 1.0, 3e38]).double() * 2}, ["'x'", '32 bits', 'n 2']),
        ({'x': torch.zeros(2, 1)}, ["'x'", 'one row per node']),
        ({'hyperedge_index': torch.zeros(2, 4).long()}, ['node 0 again']),
    ],
)
def test_write_incidence_refuses(change: dict[str, Any], names: list[str]) -> None:
    data = to_data([[1, 0], [2, 1]], 3, [[0], []])
    for key, value in change.items():
        data[key] = value
    with one_line_error(*names):
        write_incidence(data)


def test_write_incidence_refuses_batches_and_other_files(tmp_path: Path) -> None:
    data = read_incidence(table())
    batch: Any = Batch.from_data_list([data, data])
    with one_line_error("'data'", 'batch'):
        write_incidence(batch)
    with one_line_error('.csv', '.parquet', 'table.json'):
        write_incidence(data, tmp_path / 'table.json')
    with pytest.raises(FileNotFoundError):
        write_incidence(data, tmp_path / 'none' / 'table.csv')


# Damage ######################################################################

PREFIXES = {
    'node_': 'x',
    'hyperedge_': 'hyperedge_attr',
    'incidence_': 'incidence_attr',
}


def slow_read(names: list[Any], columns: list[list[Any]]) -> Plain:
    """Reads a table row by row; raises :class:`ValueError` at the first fault."""
    named = dict(zip(names, columns, strict=True))
    if len(named) < len(names) or not {'group', 'member'} <= named.keys():
        raise ValueError
    for name in ('', 'Unnamed: 0', '__index_level_0__'):
        named.pop(name, None)
    features: dict[str, list[str]] = {}
    for name in named:
        if name in ('group', 'member', 'is_anchor', 'role'):
            continue
        prefix = [p for p in PREFIXES if isinstance(name, str) and name.startswith(p)]
        if not prefix:
            continue
        features.setdefault(PREFIXES[prefix[0]], []).append(name)
    size = len(named['group'])
    used = {*READ, *(name for chosen in features.values() for name in chosen)}
    if any(len(named[name]) != size for name in used & named.keys()):
        raise ValueError
    group, member = slow_ids(named['group']), slow_ids(named['member'])
    flag = [slow_flag(value) for value in named.get('is_anchor', [None] * size)]
    role: list[Any] = slow_ids(named['role']) if 'role' in named else [None] * size
    attributes = {}
    pairs = list(zip(group, member, strict=True))
    first = [row for row in range(size) if pairs[row] not in pairs[:row]]
    order = sorted(first, key=lambda row: list(dict.fromkeys(group)).index(group[row]))
    for key, chosen in features.items():
        rows = [
            [slow_number(named[name][row]) for name in chosen] for row in range(size)
        ]
        owner = {'x': member, 'hyperedge_attr': group}.get(key)
        if owner is None:
            attributes[key] = [rows[row] for row in order]
        else:
            merged: dict[Any, list[float]] = {}
            for row in range(size):
                if merged.setdefault(owner[row], rows[row]) != rows[row]:
                    raise ValueError
            attributes[key] = list(merged.values())
    attributes = {
        key: [[float(np.float32(v)) for v in row] for row in rows]
        for key, rows in attributes.items()
    }
    groups: dict[Any, list[Any]] = {}
    for row in first:
        said = any(flag[i] for i in range(size) if pairs[i] == pairs[row])
        groups.setdefault(group[row], []).append((member[row], said, role[row]))
    if any(sum(entry[1] for entry in entries) > 1 for entries in groups.values()):
        raise ValueError
    return {
        'nodes': list(dict.fromkeys(member)),
        'groups': list(groups.items()),
        'attributes': attributes,
        'column_names': features,
    }


def slow_ids(column: list[Any]) -> list[Any]:
    if all(isinstance(v, str) for v in column) and '' not in column:
        return [str(v) for v in column]
    out: list[Any] = []
    for value in column:
        if isinstance(value, bool | np.bool_ | np.timedelta64):
            raise ValueError
        if isinstance(value, str) and value == '':
            raise ValueError
        if isinstance(value, int | np.integer) and -(2**63) <= int(value) < 2**63:
            out.append(int(value))
        elif isinstance(value, float | np.floating) and abs(float(value)) <= 2**53:
            if not float(value).is_integer():
                raise ValueError
            out.append(int(value))
        elif isinstance(value, str | bytes):
            out.append(value.decode() if isinstance(value, bytes) else str(value))
        elif isinstance(value, np.datetime64):
            out.append(str(value))
        else:
            raise ValueError
    if all(isinstance(value, int) for value in out):
        return out
    if len(set(map(str, out))) < len(set(out)):
        raise ValueError
    return list(map(str, out))


def slow_flag(value: Any) -> bool:
    if value is None or value is pd.NA or value is pd.NaT:
        return False
    if isinstance(value, str):
        text = value.strip().lower()
        false = ('false', 'no', 'f', 'n', '0', '0.0', '', 'na', 'n/a', 'nan', 'null')
        if text not in ('true', 'yes', 't', 'y', '1', '1.0', 'none', *false):
            raise ValueError
        return text in ('true', 'yes', 't', 'y', '1', '1.0')
    if not isinstance(value, bool | np.bool_ | int | np.integer | float | np.floating):
        raise ValueError
    if isinstance(value, np.timedelta64) or (value == value and value not in (0, 1)):
        raise ValueError
    return bool(value == 1)


def slow_number(value: Any) -> float:
    if not isinstance(value, bool | np.bool_ | int | np.integer | float | np.floating):
        raise ValueError
    if isinstance(value, np.timedelta64) or not -1e38 < value < 1e38:
        raise ValueError
    return float(value)


def slow_decode(text: bytes) -> str:
    encoding = 'utf-16' if text[:2] in (b'\xff\xfe', b'\xfe\xff') else 'utf-8-sig'
    try:
        out = text.decode('utf-32' if text[:4] == b'\xff\xfe\0\0' else encoding)
    except UnicodeDecodeError:
        if encoding == 'utf-16' or text[:3] == b'\xef\xbb\xbf':
            raise
        out = text.decode('cp1252')
    if '\0' in out:
        raise ValueError
    return out


def slow_text(text: bytes) -> Plain:
    """Reads a text file, of which it sees the records and fields only."""
    lines = io.StringIO(slow_decode(text), newline='')
    try:
        records = [record for record in csv.reader(lines, strict=True) if record]
    except csv.Error as error:
        raise ValueError from error
    if not records or any(len(record) != len(records[0]) for record in records):
        raise ValueError
    names, *rows = records
    # The reader takes ' Group' for 'group', which is tested elsewhere.
    usual = {'group', 'member', 'is_anchor', 'role'}
    assume(not any(plain_name(name) in usual - {name} for name in names))
    columns: list[list[Any]] = [[row[i] for row in rows] for i in range(len(names))]
    for i, name in enumerate(names):
        column = columns[i]
        if name.startswith(tuple(PREFIXES)):
            if any('_' in value for value in column):
                raise ValueError
            columns[i] = [float(value) for value in column]
        elif name in ('group', 'member', 'role') and all(
            re.fullmatch('-?[0-9]{1,19}', v) and str(int(v)) == v for v in column
        ):
            numbers = [int(value) for value in column]
            if all(-(2**63) <= number < 2**63 for number in numbers):
                columns[i] = numbers
    return slow_read(names, columns)


FULL_TABLE = {
    **table(),
    'role': ['to', 'cc', 'cc', 'to', 'to'],
    'node_a': [1, 2.5, 2.5, -3, -3],
    'hyperedge_b': [0.5, 1, 0.5, 1, 2],
    'incidence_c': [True, 1, 0.25, 2, 3],
}
FULL_TEXT = (
    b'group,member,is_anchor,role,node_a,incidence_c\r\n'
    b'7,"a, b",true,1,1.5,1\r\n8,c,,1,-2,2\r\n'
    b'7,"c""",0,2,3,3\n8,"e\nf",,2,4,4\n'
)


@st.composite
def damaged_tables(draw: st.DrawFn) -> tuple[list[Any], list[list[Any]]]:
    keys = ['group', 'member', *draw(st.sets(st.sampled_from(list(FULL_TABLE))))]
    names: list[Any] = list(dict.fromkeys(keys))
    columns = [list(FULL_TABLE[name]) for name in names]
    if draw(st.booleans()):
        columns[:2] = [[5, 6, 5, 6, 7], [1, 0, 0, 2, 2]]
    position = st.tuples(st.integers(0, len(names) - 1), st.integers(0, 4))
    for i, row in draw(st.lists(position, max_size=3)):
        action = draw(st.integers(0, 9))
        if action == 0:
            names[i] = draw(
                st.sampled_from(['', 'a', 'Unnamed: 0', 'node_', 'role', 'group', 3])
            )
        elif action == 1:
            columns[i] = columns[i][:row]
        elif action == 2:
            for column in columns:
                column.append(column[row % max(len(column), 1)] if column else 0)
        elif columns[i]:
            columns[i][row % len(columns[i])] = draw(
                st.sampled_from(columns[i]) | st.sampled_from(ODD_VALUES)
            )
    return names, columns


def check_against(read: Callable[[], AnchorData], slow: Callable[[], Plain]) -> None:
    data = outcome(read)
    try:
        expected = slow()
    except ValueError:
        expected = None
    assert (None if data is None else plain(data)) == expected
    if data is not None:
        assert data.validate()
        assert 'role_names' not in data or data.role_names == sorted(data.role_names)


@pytest.mark.filterwarnings('ignore:the columns|.*is not encoded|rows that list')
@given(damaged_tables())
@examples(200)
def test_read_incidence_is_right_or_refuses(
    damaged: tuple[list[Any], list[list[Any]]],
) -> None:
    names, columns = damaged
    assume(len(set(names)) == len(names))
    check_against(
        lambda: read_incidence(dict(zip(names, columns, strict=True))),
        lambda: slow_read(names, columns),
    )


@given(
    st.dictionaries(
        st.sampled_from(['group', 'member', 'is_anchor', 'role', 'node_a']),
        st.sampled_from(ODD_VALUES)
        | st.lists(st.sampled_from(ODD_VALUES), max_size=3)
        | st.lists(st.sampled_from(ODD_VALUES), max_size=3).map(
            lambda values: pd.Series(values, dtype=object)
        ),
    )
)
@examples(200)
@pytest.mark.filterwarnings('ignore:rows that list')
def test_read_incidence_refuses_nonsense(columns: dict[str, Any]) -> None:
    data = outcome(lambda: read_incidence(columns))
    if data is not None:
        names = list(columns)
        assert plain(data) == slow_read(names, [list(columns[name]) for name in names])


@st.composite
def damaged_texts(draw: st.DrawFn) -> bytes:
    text = draw(
        st.sampled_from([FULL_TEXT, b'\xef\xbb\xbf' + FULL_TEXT, FULL_TEXT[:60]])
    )
    pieces = [
        b'"',
        b',',
        b'\n',
        b'\r',
        b'\0',
        b'\xff',
        b'\xc3\xa4',
        b'1',
        b'7',
        b' ',
        b'_',
    ]
    pieces += [
        b'',
        b'\r\n7,z,1,1,9,9\r\n',
        b'99999999999999999999',
        b'nan',
        b'\xef\xbb\xbf',
    ]
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        stop = start + draw(st.integers(0, 3))
        text = text[:start] + draw(st.sampled_from(pieces)) + text[stop:]
    return text


@pytest.mark.filterwarnings('ignore:the columns|.*is not encoded|rows that list')
@given(damaged_texts() | st.binary())
@examples(200)
def test_read_incidence_text_is_right_or_refuses(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / 'damaged.csv'
    path.write_bytes(text)
    check_against(lambda: read_incidence(path, header=True), lambda: slow_text(text))


# Tables as people export them ####################################################


def test_tidy_rows_without_members_name_their_group(tmp_path: Path) -> None:
    path = tmp_path / 'a.csv'
    path.write_text(
        'group,member,is_anchor\na,NULL,\n b , ann ,x\nb,bob,-\n,,\nc,ann,\n',
        encoding='utf-8',
    )
    with pytest.raises(BadRowError):
        inspect_incidence(path)
    reading = inspect_incidence(path, tidy=True)
    data = reading.data
    assert data.hyperedge_id == ['a', 'b', 'c']
    assert data.node_id == ['ann', 'bob']
    assert data.hyperedge_size.tolist() == [0, 2, 1]
    assert data['y'].tolist() == [True, False, False]
    assert reading.num_rows == 5
    assert reading.flags == {'x': True, '-': False}
    assert 'rows without a member, which only name their group: 1' in reading.notes


def test_tidy_wide_rows_keep_their_order() -> None:
    table = {'group': ['a', 'b', 'c'], 'members': ['', 'x;y', 'NA']}
    table['anchor'] = ['z', '', '']
    data = inspect_incidence(table, anchor='anchor', tidy=True).data
    assert data.hyperedge_id == ['a', 'b', 'c']
    assert data.hyperedge_size.tolist() == [1, 2, 0]


def test_skipped_rows_leave_no_ids(tmp_path: Path) -> None:
    path = tmp_path / 'a.csv'
    path.write_text(
        'group,member,is_anchor\na,ann,1\na,bob,\n,cat,\nb,dan,z\n', encoding='utf-8'
    )
    reading = inspect_incidence(path, skip_bad=True)
    assert reading.data.hyperedge_id == ['a']
    assert reading.data.node_id == ['ann', 'bob']
    assert [row.line for row in reading.bad_rows] == [4, 5]


def test_people_by_their_addresses() -> None:
    table = {
        'to': ['"Lee, Ann" <Ann@x.org>; BOB@x.org', 'bob@x.org, Cat'],
        'from': ['ann@x.org', None],
    }
    data = inspect_incidence(
        table, members='to', anchor='from', sep=None, addresses=True
    ).data
    assert data.node_id == ['ann@x.org', 'bob@x.org', 'Cat']
    assert data['y'].tolist() == [True, False, False, False]


def test_long_table_may_name_the_anchor() -> None:
    table = {'group': [1, 1, 2], 'member': list('abc'), 'boss': ['b', 'b', '']}
    data = inspect_incidence(table, anchor='boss').data
    assert data['y'].tolist() == [False, True, False]


def test_anchors_only() -> None:
    table = {'group': [1, 2, 2], 'anchor': ['Lee, Ann', 'b', 'c']}
    reading = inspect_incidence(table, anchors_only=True, sep=None, max_anchors=None)
    assert reading.data.node_id == ['Lee, Ann', 'b', 'c']
    assert reading.data['y'].tolist() == [True, True, True]
    with one_line_error("'member'"):
        inspect_incidence(table)


@pytest.mark.parametrize(('cell', 'expected'), [('a|b', 2), ('a,b', 2), ('a;b,c', 2)])
def test_separator_that_occurs(cell: str, expected: int) -> None:
    data = inspect_incidence({'members': [cell]}, sep=None).data
    assert data.num_nodes == expected
