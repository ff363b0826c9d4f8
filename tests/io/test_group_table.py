"""Tables of groups with flaws: one meaning for each."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import SETTINGS, one_line_error
from tgx_anchor.io.bad_row import BadRowError
from tgx_anchor.io.group_columns import GroupColumns
from tgx_anchor.io.group_table import (
    NOBODY,
    GroupTable,
    read_groups,
    read_known_anchors,
    read_texts,
    read_times,
)

Plain = dict[Any, tuple[list[Any], list[Any]]]


def plain(table: GroupTable) -> Plain:
    """The members and anchors of each group, by their ids."""
    data = table.data
    people, groups = (
        ids.tolist() if hasattr(ids, 'tolist') else ids
        for ids in (data.node_id, data.hyperedge_id)
    )
    out: Plain = {group: ([], []) for group in groups}
    index = data.hyperedge_index.T.tolist()
    for (node, hyperedge), is_anchor in zip(index, data['y'].tolist(), strict=True):
        members, anchors = out[groups[hyperedge]]
        members.append(people[node])
        if is_anchor:
            anchors.append(people[node])
    return out


def write(tmp_path: Path, text: str, name: str = 't.csv') -> Path:
    path = tmp_path / name
    path.write_text(text, encoding='utf-8')
    return path


def test_long_table_with_all_flaws(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        'thread;person;asker\n'
        't1; ann ;Y\n'  # spaces
        't1;bob;N\n'
        't1;bob;\n'  # again
        't2;cat;\n'
        't2;;\n'  # nobody
        ';dan;Y\n'  # bad
        ';;\n'  # no row
        't3;ann;maybe\n'  # bad
        't4;NULL;\n'  # nobody in the group
        't5;eve;y\n'
        't5;fay;yes\n'  # two anchors
        't6;gus;n\n'  # one member
        't7\n',  # bad
    )
    table = read_groups(path, skip_bad=True)
    assert plain(table) == {
        't1': (['ann', 'bob'], ['ann']),
        't2': (['cat'], []),
        't4': ([], []),
        't5': (['eve', 'fay'], ['eve', 'fay']),
        't6': (['gus'], []),
    }
    assert [(row.line, row.reason, row.text) for row in table.bad_rows] == [
        (7, 'the group is empty', ';dan;Y'),
        (9, "'asker' is neither yes nor no: 'maybe'", 't3;ann;maybe'),
        (14, '1 field where the header has 3', 't7'),
    ]
    assert table.counts == {
        'rows': 13,
        'rows_without_member': 2,
        'repeated_members': 1,
        'added_anchors': 0,
    }
    for note in (
        "text with semicolons in UTF-8; group = 'thread', member = 'person', anchor",
        "'asker' is yes where it is 'Y', 'y', 'yes', no where it is 'N', 'n'",
        '1 group has several anchors',
        '2 groups have a single member',
        '1 group has no member',
    ):
        assert any(note in each for each in table.notes), note
    with pytest.raises(BadRowError) as error:
        read_groups(path)
    assert len(error.value.rows) == 3
    assert len(error.value.lines) == 3


def test_wide_table_with_all_flaws(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        'id,from,to,cc\n'
        '1,ann,bob; cat,cat\n'  # in To and Cc; the anchor is not listed
        '2,,bob;ann;,\n'  # unknown, and an empty name
        '3,dan,,\n'  # only the anchor
        '1,,eve,\n'  # again
        ',,,\n'  # no row
        '4,ann;bob,ann;bob,\n',  # two anchors
    )
    table = read_groups(path, GroupColumns(members=['to', 'cc'], anchor='from'))
    assert plain(table) == {
        1: (['bob', 'cat', 'eve', 'ann'], ['ann']),
        2: (['bob', 'ann'], []),
        3: (['dan'], ['dan']),
        4: (['ann', 'bob'], ['ann', 'bob']),
    }
    assert table.counts['repeated_members'] == 1
    assert table.counts['added_anchors'] == 2


def test_wide_table_without_ids_numbers_its_rows(tmp_path: Path) -> None:
    path = write(tmp_path, 'members\nann|bob\ncat|ann\n')
    assert plain(read_groups(path)) == {
        1: (['ann', 'bob'], []),
        2: (['cat', 'ann'], []),
    }


def test_lists_in_cells() -> None:
    expected = {'a': (['x', 'y'], ['y']), 'b': (['z'], [])}
    for members in (
        [['x', 'y'], ['z']],
        ["['x', 'y']", "['z']"],
        ['["x", "y"]', '["z"]'],
        ['x,y', 'z'],
    ):
        table = {'group': ['a', 'b'], 'members': members, 'anchor': ['y', None]}
        assert plain(read_groups(pa.table(table))) == expected


def test_names_with_commas_are_not_split_by_them(tmp_path: Path) -> None:
    path = write(tmp_path, 'id,sender,to\n1,"Lee, Ann","Lee, Ann;Fox, Bob"\n')
    assert plain(read_groups(path)) == {1: (['Lee, Ann', 'Fox, Bob'], ['Lee, Ann'])}


def test_addresses(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        'id,from,to\n'
        '1,Ann <Ann@X.org>,"""Fox, Bob"" <bob@x.org>, <ANN@x.org>; Cat"\n'
        "2,,'bob@x.org';ann@x.org\n",
    )
    columns = GroupColumns(members=['to'], anchor='from')
    assert plain(read_groups(path, columns, addresses=True)) == {
        1: (['bob@x.org', 'ann@x.org', 'Cat'], ['ann@x.org']),
        2: (['bob@x.org', 'ann@x.org'], []),
    }


def test_anchor_by_value_and_by_name() -> None:
    table = {
        'paper': [1, 1, 2, 2],
        'author': ['a', 'b', 'b', 'c'],
        'position': [2, 1, None, None],
        'host': ['b', 'b', 'NA', None],
    }
    expected = {1: (['a', 'b'], ['b']), 2: (['b', 'c'], [])}
    columns = GroupColumns(anchor='position=1')
    assert plain(read_groups(table, columns)) == expected
    read = read_groups(table, GroupColumns(anchor='host'))
    assert plain(read) == expected
    assert "'host' names the anchor of the group" in read.notes


def test_known_anchors_in_a_second_table(tmp_path: Path) -> None:
    table = write(tmp_path, 'g,m\n1,5\n1,6\n2,5\n2,7\n3,5\n')
    columns = GroupColumns('g', 'm')
    known = write(tmp_path, 'group,anchor\n1,6\n2,8\n9,6\n3,\n', 'known.csv')
    read = read_groups(table, columns, known=known, skip_bad=True)
    assert plain(read) == {1: ([5, 6], [6]), 2: ([5, 7, 8], [8]), 3: ([5], [])}
    assert [str(row) for row in read.bad_rows] == [
        f"{known}:4: the group '9' is not in the table | 9,6"
    ]
    assert read.counts['added_anchors'] == 1
    with one_line_error("the group '9' is not in the table", 'line 4'):
        read_groups(table, GroupColumns('g', 'm'), known=known)
    long = write(tmp_path, 'g,m,is_anchor\n1,5,0\n1,6,1\n', 'long.csv')
    read = read_groups(table, GroupColumns('g', 'm'), known=long)
    assert plain(read)[1] == ([5, 6], [6])
    members = write(tmp_path, 'g,m\n1,6\n', 'members.csv')
    read = read_groups(table, GroupColumns('g', 'm'), known=members)
    assert plain(read)[1] == ([5, 6], [6])


def test_types_of_ids(tmp_path: Path) -> None:
    arrow = pa.table(
        {
            'group': pa.array([1.0, 1.0, 2.0, None]),
            'member': pa.array(['b', None, 'a', None]).dictionary_encode(),
        }
    )
    read = read_groups(arrow)
    assert plain(read) == {1: (['b'], []), 2: (['a'], [])}
    mixed = read_groups({'group': [1, 'x'], 'member': [b'a', 2]})
    assert list(plain(mixed)) == ['1', 'x']
    text = read_groups(write(tmp_path, 'group,member\n007,1\n7,2\n'))
    assert list(plain(text)) == ['007', '7']
    assert plain(text)['7'] == ([2], [])


def test_time_is_the_earliest_of_the_group(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        'group,member,when\n'
        'a,x,2026-01-02T00:00:00Z\na,y,2026-01-01T00:00:00Z\nb,x,\nb,y,soon\n',
    )
    table = read_groups(path, GroupColumns(time='when'), skip_bad=True)
    time = table.data['hyperedge_time'].tolist()
    assert time[0] == 1767225600.0
    assert math.isnan(time[1])
    assert [row.reason for row in table.bad_rows] == ["'when' is not a time: 'soon'"]


@pytest.mark.parametrize(
    ('words', 'seconds'),
    [
        (['1.5', '2', None], [1.5, 2, np.nan]),
        (['1970-01-01', '1970-01-02 00:00:01'], [0, 86401]),
        (['1970-01-01T01:00:00+01:00', '1970-01-01T00:00:00Z'], [0, 0]),
        (['Thu, 01 Jan 1970 01:00:00 +0100', '5'], [0, 5]),
        (['soon', '1970-01-01'], [np.inf, 0]),
    ],
)
def test_read_times(words: list[str | None], seconds: list[float]) -> None:
    np.testing.assert_array_equal(read_times(pa.array(words, pa.string())), seconds)


def test_numbers_about_members_and_groups() -> None:
    table = {
        'group': ['a', 'a', 'b', 'b'],
        'member': ['x', 'y', 'x', 'z'],
        'age': [30, 40, None, None],
        'cost': ['1', None, '3', '3'],
    }
    columns = GroupColumns(x=['age'], hyperedge_attr=['cost'])
    read = read_groups(table, columns)
    assert read.data['x'].tolist() == [[30], [40], [35]]
    assert read.data['hyperedge_attr'].tolist() == [[1], [3]]
    assert read.data.column_names == {'x': ['age'], 'hyperedge_attr': ['cost']}
    assert "'age' is missing for 1 of 3, and is taken as the mean, 35" in read.notes
    with one_line_error("'cost' is not a number: 'dear'"):
        read_groups({**table, 'cost': ['dear', '1', '1', '1']}, columns)


def test_hypergraph_interchange_format(tmp_path: Path) -> None:
    data = read_groups({'group': ['a', 'a'], 'member': ['x', 'y']}).data
    data.to_hif(tmp_path / 't.json')
    assert plain(read_groups(tmp_path / 't.json')) == {'a': (['x', 'y'], [])}
    with one_line_error('HIF', "'--known'"):
        read_groups(tmp_path / 't.json', known={'group': ['a'], 'anchor': ['x']})


def test_list_of_rows(tmp_path: Path) -> None:
    path = write(tmp_path, ' [{"group": 1, "members": ["x", "y"]}]', 't.json')
    assert plain(read_groups(path)) == {1: (['x', 'y'], [])}
    for text in ('[1]', '[{"group": 1}', '[{"a": {}}, {"a": 1}]'):
        with one_line_error('t.json', 'a list of rows'):
            read_groups(write(tmp_path, text, 't.json'))


def test_read_known_anchors() -> None:
    table = read_known_anchors({'group': [2, 1], 'anchor': ['a, b', None]})
    assert table.to_pydict() == {'group': ['2'], 'anchor': ['a, b']}
    with one_line_error('a column of anchors', "'id'"):
        read_known_anchors({'id': [1]})
    with one_line_error('the column of the groups', "'anchor'"):
        read_known_anchors({'anchor': [1]})


def test_read_texts() -> None:
    table = read_texts({'a': [1, None], 'b': ['x', ' y ']}, ['b'], ['a', 'c'])
    assert table.to_pydict() == {'b': ['x', 'y'], 'a': ['1', None]}
    with one_line_error("'z'", "'a'"):
        read_texts({'a': [1]}, ['z'], [])


NAMES = st.sampled_from(['ann', 'bob', ' cat', 'dan ', *NOBODY[:4]])


@SETTINGS
@given(
    st.lists(
        st.tuples(
            st.sampled_from(['g1', 'g2 ', '', 'g3']),
            NAMES,
            st.sampled_from(['yes', 'no', '', 'x', 'perhaps']),
        ),
        max_size=20,
    )
)
def test_long_tables_mean_what_is_written(rows: list[tuple[str, str, str]]) -> None:
    expected: dict[str, tuple[list[str], set[str]]] = {}
    num_bad = 0
    for group, member, flag in rows:
        name, person = group.strip(), member.strip()
        is_nobody = person in NOBODY
        if not name and is_nobody and flag != 'perhaps':
            continue
        if not name or flag == 'perhaps':
            num_bad += 1
            continue
        members, anchors = expected.setdefault(name, ([], set()))
        if is_nobody:
            continue
        if person not in members:
            members.append(person)
        if flag in ('yes', 'x'):
            anchors.add(person)
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    table = dict(zip(('group', 'member', 'is_anchor'), columns, strict=True))
    read = read_groups(table, skip_bad=True)
    found = plain(read)
    assert {g: (m, set(a)) for g, (m, a) in found.items()} == expected
    assert len(read.bad_rows) == num_bad


CELLS = st.text(
    st.sampled_from('ab1 ,;|\t"\'\n\r[]{}<>@.=é\\N'), max_size=8
) | st.sampled_from(['group', 'member', 'members', 'is_anchor', 'yes', 'NULL', '[1]'])


@pytest.mark.parametrize('suffix', ['.csv', '.tsv', '.jsonl', '.json'])
@SETTINGS
@given(
    rows=st.lists(st.lists(CELLS, max_size=4), max_size=6),
    separator=st.sampled_from(',;\t|'),
    header=st.sampled_from(
        ['group,member,is_anchor', 'id;to;sender', 'members', '', '{"group": 1}']
    ),
    addresses=st.booleans(),
    skip_bad=st.booleans(),
)
def test_any_text_is_read_or_refused_in_one_line(
    suffix: str,
    rows: list[list[str]],
    separator: str,
    header: str,
    addresses: bool,
    skip_bad: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.getbasetemp() / f'any{suffix}'
    text = '\n'.join([header, *(separator.join(row) for row in rows)])
    path.write_text(text, encoding='utf-8', newline='')
    message, table = '', None
    try:
        table = read_groups(path, addresses=addresses, skip_bad=skip_bad)
    except ValueError as error:
        message = str(error)
    assert '\n' not in message
    if table is None:
        return
    table.data.validate()
    assert skip_bad or not table.bad_rows
    assert all(row.line >= 1 for row in table.bad_rows)
