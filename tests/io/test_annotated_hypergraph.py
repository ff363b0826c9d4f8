"""Annotated hypergraphs, against plain loops over the same lines and records."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tgx_anchor.io import RoleTable, read_annotated_csv, read_annotated_json

SETTINGS = settings(max_examples=80, deadline=None)
ROLES = ('from', 'to')
HEADER = 'node,edge,role\n'


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp('annotated')


def read_csv(
    folder: Path,
    incidence: str | bytes,
    roles: str | bytes = '0,from\n1,to\n2,cc\n',
    edges: str | bytes = ',date\n0,a\n1,b\n',
    wanted: Sequence[str] = ROLES,
) -> RoleTable:
    texts = {'incidence.csv': incidence, 'roles.csv': roles, 'edges.csv': edges}
    for name, text in texts.items():
        data = text.encode() if isinstance(text, str) else text
        (folder / name).write_bytes(data)
    incidence_path, role_path, edge_path = (folder / name for name in texts)
    return read_annotated_csv(incidence_path, role_path, edge_path, wanted)


def read_json(
    folder: Path, text: str | bytes, wanted: Sequence[str] = ROLES
) -> RoleTable:
    path = folder / 'hypergraph_annotated.json'
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_annotated_json(path, wanted)


class Table(NamedTuple):
    node: list[Any]
    hyperedge: list[int]
    role: list[int]
    hyperedge_id: list[Any]


def plain(table: RoleTable) -> Table:
    assert table.hyperedge.dtype == table.role.dtype == np.dtype('i8')
    assert (np.diff(table.hyperedge) >= 0).all()
    return Table(
        table.node.tolist(),
        table.hyperedge.tolist(),
        table.role.tolist(),
        table.hyperedge_id.tolist(),
    )


def slow_ids(words: list[str]) -> list[int] | list[str]:
    """Integers if all words are, written as Python would write them."""
    pattern = re.compile(r'0|-?[1-9][0-9]*')
    if all(pattern.fullmatch(word) and abs(int(word)) < 2**63 for word in words):
        return [int(word) for word in words]
    return words


def slow_table(
    rows: list[tuple[str, int, str]], ids: list[str], wanted: Sequence[str]
) -> Table:
    """A table of `(node, number of the group, name of the role)`."""
    names = slow_ids([node for node, _, _ in rows])
    chosen = [
        (names[i], group, list(wanted).index(role))
        for i, (_, group, role) in enumerate(rows)
        if role in wanted
    ]
    chosen.sort(key=lambda row: row[1])
    return Table(
        [node for node, _, _ in chosen],
        [group for _, group, _ in chosen],
        [role for _, _, role in chosen],
        slow_ids(ids),
    )


def assert_refused(error: pytest.ExceptionInfo[ValueError]) -> None:
    message = str(error.value)
    assert len(message.splitlines()) == 1, message
    assert re.match(r"'[a-z_]+\.(csv|json)' must .* \(got .*\)$", message), message


# Tables: right ones ##############################################################


def test_reads_tables(folder: Path) -> None:
    table = read_csv(
        folder,
        HEADER + '7,1,0\n5,0,1\n7,0,0\n9,1,2\n5,0,1\n',
        edges=',date\n10,a\n0,b\n1,c\n',
    )
    # Group '0' stands second in its file; 'cc' is not asked for; '5' repeats.
    assert plain(table) == ([5, 7, 5, 7], [1, 1, 1, 2], [1, 0, 1, 0], [10, 0, 1])
    assert table.hyperedge_time is None


def test_reads_dates(folder: Path) -> None:
    edges = ',other,date\n1,x,1970-01-02 00:00:10\n0,y,\n2,z,soon\n'
    table = read_csv(folder, HEADER + '7,1,0\n5,0,1\n7,2,0\n', edges=edges)
    assert table.hyperedge_time is not None
    assert np.nan_to_num(table.hyperedge_time, nan=-1).tolist() == [86410, -1, -1]
    records = '[{"from": [1], "to": [2], "date": "1970-01-02"}, {"from": [], "to": []}]'
    table = read_json(folder, records)
    assert table.hyperedge_time is not None
    assert np.nan_to_num(table.hyperedge_time, nan=-1).tolist() == [86400, -1]


def test_reads_roles_in_the_order_asked_for(folder: Path) -> None:
    text = HEADER + 'a,0,2\nb,0,1\nc,1,0\n'
    table = read_csv(folder, text, wanted=['cc', 'from', 'to'])
    assert plain(table) == (['a', 'b', 'c'], [0, 0, 1], [0, 2, 1], [0, 1])


@pytest.mark.parametrize(
    ('words', 'ids'),
    [
        (['1', '-2', '0'], [1, -2, 0]),
        (['1', '007'], ['1', '007']),
        (['1', '-0'], ['1', '-0']),
        (['1', ' 2'], ['1', ' 2']),
        (['1', '+2'], ['1', '+2']),
        (['1', '1_0'], ['1', '1_0']),
        (['1', '٣'], ['1', '٣']),
        (['1', '2.0'], ['1', '2.0']),
        (['1', 'x'], ['1', 'x']),
        ([str(2**63 - 1), str(-(2**63) + 1)], [2**63 - 1, -(2**63) + 1]),
        (['1', str(2**63)], ['1', str(2**63)]),
        (['1', '9' * 400], ['1', '9' * 400]),
        (['ü→', 'Ünï'], ['ü→', 'Ünï']),
        (['a', 'a\0'], ['a', 'a\0']),
        (['1', '1\0'], ['1', '1\0']),
    ],
)
def test_ids_in_are_ids_out(
    folder: Path, words: list[str], ids: list[int] | list[str]
) -> None:
    rows = ''.join(f'{word},{word},0\n' for word in words)
    edges = 'id,date\n' + ''.join(f'{word},x\n' for word in words)
    table = plain(read_csv(folder, HEADER + rows, edges=edges))
    assert table.node == table.hyperedge_id == ids
    assert slow_ids(words) == ids
    records = json.dumps([{'from': words, 'to': []}])
    assert plain(read_json(folder, records)).node == ids


@pytest.mark.parametrize(
    ('incidence', 'roles', 'edges'),
    [
        # Without a last line break, with those of Windows, with quotes.
        (HEADER + '5,0,0\n6,1,1', '0,from\n1,to', 'id\n0\n1'),
        (
            HEADER.replace('\n', '\r\n') + '5,0,0\r\n6,1,1\r\n',
            '0,from\r\n1,to\r\n',
            'id\r\n0\r\n1\r\n',
        ),
        (HEADER + '"5",0,0\n6,"1",1\n', '0,"from"\n1,to\n', 'id,"a\nb"\n0,"x\n,"\n1\n'),
        # Blank lines among the groups, which name none.
        (HEADER + '5,0,0\n6,1,1\n', '0,from\n1,to\n', 'id\n\n0\n\n\n1\n\n'),
    ],
)
def test_reads_other_spellings(
    folder: Path, incidence: str, roles: str, edges: str
) -> None:
    table = read_csv(folder, incidence, roles, edges)
    assert plain(table) == ([5, 6], [0, 1], [0, 1], [0, 1])


def test_reads_groups_without_members(folder: Path) -> None:
    table = read_csv(folder, HEADER, edges='id\nx\ny\n')
    assert plain(table) == ([], [], [], ['x', 'y'])
    table = read_csv(folder, HEADER, edges='')
    assert plain(table) == ([], [], [], [])


# Tables: wrong ones ##############################################################


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (
            {'incidence': ''},
            "'incidence.csv' must begin with 'node,edge,role' (got [])",
        ),
        (
            {'incidence': 'node,role,edge\n1,0,0\n'},
            "'incidence.csv' must begin with 'node,edge,role' "
            "(got ['node', 'role', 'edge'])",
        ),
        (
            {'incidence': HEADER + '1,0,0\n2,0\n'},
            "'incidence.csv' must have three values in each line "
            "(got ['2', '0'] in line 3)",
        ),
        (
            {'incidence': HEADER + '1,0,0,9\n'},
            "'incidence.csv' must have three values in each line "
            "(got ['1', '0', '0', '9'] in line 2)",
        ),
        (
            {'incidence': HEADER + ',0,0\n'},
            "'incidence.csv' must have three values in each line "
            "(got ['', '0', '0'] in line 2)",
        ),
        (
            {'incidence': HEADER + '\n1,0,0\n'},
            "'incidence.csv' must have three values in each line (got [] in line 2)",
        ),
        (
            {'incidence': HEADER + '1,0,0\n1,0,3\n'},
            "'incidence.csv' must use the roles ['0', '1', '2'] (got '3' in line 3)",
        ),
        (
            {'incidence': HEADER + '1,5,0\n'},
            "'incidence.csv' must use the groups of 'edges.csv' (got '5')",
        ),
        (
            {'roles': '0,from\n1\n'},
            "'roles.csv' must have two columns, number and name (got 1 in line 2)",
        ),
        (
            {'roles': '0,from\n\n1,to\n'},
            "'roles.csv' must have two columns, number and name (got 0 in line 2)",
        ),
        ({'roles': ''}, "'roles.csv' must name the role 'from' (got [])"),
        (
            {'roles': '0,from\n1,"c\nc"\n'},
            "'roles.csv' must name the role 'to' (got ['from', 'c\\nc'])",
        ),
        (
            {'roles': '0,from\n1,to\n0,cc\n'},
            "'roles.csv' must list each role once (got ['0', 'cc'] again in line 3)",
        ),
        (
            {'roles': '0,from\n1,to\n2,to\n'},
            "'roles.csv' must list each role once (got ['2', 'to'] again in line 3)",
        ),
        (
            {'edges': ',date\n0,a\n1,b\n0,c\n'},
            "'edges.csv' must list each group once (got '0' again in line 4)",
        ),
        (
            {'incidence': HEADER + '1,0,"0\n'},
            "'incidence.csv' must be CSV (got unexpected end of data)",
        ),
        (
            {'incidence': HEADER + '1,0,"0"0\n'},
            "'incidence.csv' must be CSV (got ',' expected after '\"')",
        ),
        (
            {'edges': 'id\n' + 'x' * 200_000},
            "'edges.csv' must be CSV (got field larger than field limit (131072))",
        ),
        (
            {'edges': b'id\n\xff\n'},
            "'edges.csv' must be CSV (got 'utf-8' codec can't decode byte 0xff in "
            'position 3: invalid start byte)',
        ),
    ],
)
def test_says_what_is_wrong_with_tables(
    folder: Path, change: dict[str, Any], message: str
) -> None:
    read_csv(folder, HEADER + '1,0,0\n')
    with pytest.raises(ValueError, match='must') as caught:
        read_csv(folder, **{'incidence': HEADER + '1,0,0\n', **change})
    assert str(caught.value) == message
    assert_refused(caught)


# Tables: damage ##################################################################


def split(text: str) -> list[list[str]]:
    """The fields of a table in which nothing is quoted."""
    lines = text.split('\n')
    if lines[-1] == '':
        lines.pop()
    return [line.split(',') if line else [] for line in lines]


def slow_csv(incidence: str, roles: str, edges: str) -> Table | None:
    number: dict[str, str] = {}
    for row in split(roles):
        if len(row) != 2 or row[0] in number or row[1] in number.values():
            return None
        number[row[0]] = row[1]
    groups = [row[0] for row in split(edges)[1:] if row]
    lines = split(incidence)
    if (
        not set(ROLES) <= set(number.values())
        or len(set(groups)) < len(groups)
        or not lines
        or lines[0] != ['node', 'edge', 'role']
    ):
        return None
    rows = []
    for line in lines[1:]:
        if len(line) != 3 or '' in line:
            return None
        node, group, role = line
        if group not in groups or role not in number:
            return None
        rows.append((node, groups.index(group), number[role]))
    return slow_table(rows, groups, ROLES)


@st.composite
def tables(draw: st.DrawFn) -> list[str]:
    """Three tables that belong together."""
    name = st.integers(-3, 12).map(str) | st.sampled_from(['ü', '07', 'a b'])
    groups = draw(st.lists(name, min_size=1, max_size=4, unique=True))
    rows = draw(
        st.lists(
            st.tuples(name, st.sampled_from(groups), st.sampled_from('012')), max_size=6
        )
    )
    order = draw(st.permutations(['0,from', '1,to', '2,cc']))
    return [
        HEADER + ''.join(f'{",".join(row)}\n' for row in rows),
        ''.join(f'{line}\n' for line in order),
        'id,date\n' + ''.join(f'{group},x\n' for group in groups),
    ]


@st.composite
def damaged_tables(draw: st.DrawFn, piece: st.SearchStrategy[str]) -> list[str]:
    texts = draw(tables())
    for _ in range(draw(st.integers(1, 2))):
        which = draw(st.integers(0, 2))
        text = texts[which]
        start = draw(st.integers(0, len(text)))
        stop = min(start + draw(st.integers(0, 3)), len(text))
        texts[which] = text[:start] + draw(piece) + text[stop:]
    return texts


def check_csv(folder: Path, texts: list[str]) -> bool:
    expected = slow_csv(*texts)
    if expected is None:
        with pytest.raises(ValueError, match='must') as caught:
            read_csv(folder, *texts)
        assert_refused(caught)
        return False
    assert plain(read_csv(folder, *texts)) == expected
    return True


@SETTINGS
@given(tables())
def test_tables_against_loops(folder: Path, texts: list[str]) -> None:
    assert check_csv(folder, texts)


@SETTINGS
@given(damaged_tables(st.text('019,\n -üa', max_size=3)))
def test_damaged_tables(folder: Path, texts: list[str]) -> None:
    check_csv(folder, texts)


def check_bytes(folder: Path, texts: Sequence[bytes]) -> None:
    """Any files give a consistent table, or an error of one line."""
    message = 'all is well'
    table = Table([], [], [], [])
    incidence, roles, edges = texts
    try:
        table = plain(read_csv(folder, incidence, roles, edges))
    except ValueError as error:
        message = str(error)
    assert len(message.splitlines()) == 1, message
    assert len(table.node) == len(table.hyperedge) == len(table.role)
    assert set(table.role) <= {0, 1}
    assert set(table.hyperedge) <= set(range(len(table.hyperedge_id)))


@SETTINGS
@given(
    damaged_tables(st.text('"\r\n,\0\x85\u2028\'0a', max_size=4) | st.text(max_size=3))
)
def test_damaged_tables_with_quotes(folder: Path, texts: list[str]) -> None:
    check_bytes(folder, [text.encode(errors='surrogatepass') for text in texts])


@SETTINGS
@given(st.lists(st.binary(max_size=20), min_size=3, max_size=3), st.integers(0, 3))
def test_random_bytes_as_tables(folder: Path, texts: list[bytes], which: int) -> None:
    good = [HEADER.encode() + b'1,0,0\n', b'0,from\n1,to\n', b'id\n0\n']
    if which < 3:
        texts = [
            good[i] + text if i == which else good[i] for i, text in enumerate(texts)
        ]
    check_bytes(folder, texts)


# Records #########################################################################


def test_reads_records(folder: Path) -> None:
    records = [
        {'date': 'x', 'to': [5, 7, 5], 'from': [7], 'cc': [1]},
        {'from': [], 'to': [], 'cc': []},
        {'from': [9, '9'], 'to': [], 'cc': None},
    ]
    table = read_json(folder, json.dumps(records))
    assert plain(table) == (
        [7, 5, 7, 5, 9, 9],
        [0, 0, 0, 0, 2, 2],
        [0, 1, 1, 1, 0, 0],
        [0, 1, 2],
    )


@pytest.mark.parametrize('encoding', ['utf-8', 'utf-8-sig', 'utf-16', 'utf-32'])
def test_reads_records_in_any_encoding(folder: Path, encoding: str) -> None:
    text = json.dumps([{'from': ['ü'], 'to': []}], ensure_ascii=False)
    assert plain(read_json(folder, text.encode(encoding))).node == ['ü']


def test_reads_no_records(folder: Path) -> None:
    assert plain(read_json(folder, '[]')) == ([], [], [], [])


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'must be JSON (got Expecting value: line 1 column 1 (char 0))'),
        ('[1', "must be JSON (got Expecting ',' delimiter: line 1 column 3 (char 2))"),
        ('{}', 'must be a list of records (got a dict)'),
        ('null', 'must be a list of records (got a NoneType)'),
        (
            '[{"from": [1], "to": [2]}, {"from": [1]}]',
            "must list members under 'to' in each record "
            '(got "{\'from\': [1]}" in record 1)',
        ),
        ('[3]', "must list members under 'from' in each record (got '3' in record 0)"),
        (
            '[{"from": 1, "to": []}]',
            "must list members under 'from' in each record "
            "(got \"{'from': 1, 'to': []}\" in record 0)",
        ),
        (
            '[{"from": [1.5], "to": []}]',
            "must list members under 'from' in each record "
            "(got \"{'from': [1.5], 'to': []}\" in record 0)",
        ),
        (
            '[{"from": [true], "to": []}]',
            "must list members under 'from' in each record "
            "(got \"{'from': [True], 'to': []}\" in record 0)",
        ),
        (
            '[{"from": [null], "to": "\\n"}]',
            "must list members under 'from' in each record "
            "(got \"{'from': [None], 'to': '\\\\n'}\" in record 0)",
        ),
        (
            b'["\xff"]',
            "must be JSON (got 'utf-8' codec can't decode byte 0xff in position 2: "
            'invalid start byte)',
        ),
    ],
)
def test_says_what_is_wrong_with_records(
    folder: Path, text: str | bytes, message: str
) -> None:
    with pytest.raises(ValueError, match='must') as caught:
        read_json(folder, text)
    assert str(caught.value) == f"'hypergraph_annotated.json' {message}"
    assert_refused(caught)


@pytest.mark.parametrize('text', ['[' * 200_000, '[' + '9' * 5000 + ']'])
def test_refuses_what_json_cannot_hold(folder: Path, text: str) -> None:
    with pytest.raises(ValueError, match='must be JSON') as caught:
        read_json(folder, text)
    assert_refused(caught)


MEMBERS = st.lists(st.integers() | st.text(max_size=3), max_size=3)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {'from': MEMBERS, 'to': MEMBERS}, optional={'cc': MEMBERS, 'date': st.none()}
    ),
    max_size=4,
)


def slow_json(records: Any) -> Table | None:
    if not isinstance(records, list):
        return None
    rows = []
    for i, record in enumerate(records):
        for role in ROLES:
            if not isinstance(record, dict) or not isinstance(record.get(role), list):
                return None
            for member in record[role]:
                if isinstance(member, bool) or not isinstance(member, int | str):
                    return None
                rows.append((str(member), i, role))
    return slow_table(rows, [str(i) for i in range(len(records))], ROLES)


@SETTINGS
@given(RECORDS)
def test_records_against_loops(folder: Path, records: list[dict[str, Any]]) -> None:
    assert plain(read_json(folder, json.dumps(records))) == slow_json(records)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(['from', 'to', 'cc']), inner, max_size=3)
    ),
    max_leaves=8,
)


@SETTINGS
@given(ANYTHING | st.lists(RECORDS.map(lambda r: r[0] if r else None) | ANYTHING))
def test_any_json(folder: Path, records: Any) -> None:
    expected = slow_json(records)
    if expected is None:
        with pytest.raises(ValueError, match='must') as caught:
            read_json(folder, json.dumps(records))
        assert_refused(caught)
    else:
        assert plain(read_json(folder, json.dumps(records))) == expected


@SETTINGS
@given(RECORDS, st.data())
def test_damaged_records(
    folder: Path, records: list[dict[str, Any]], draw: st.DataObject
) -> None:
    text = json.dumps(records).encode()
    start = draw.draw(st.integers(0, len(text)))
    stop = draw.draw(st.integers(start, min(start + 3, len(text))))
    text = text[:start] + draw.draw(st.binary(max_size=3)) + text[stop:]
    try:
        loaded = json.loads(text)
    except ValueError:
        loaded = None
    expected = slow_json(loaded)
    if expected is None:
        with pytest.raises(ValueError, match='must') as caught:
            read_json(folder, text)
        assert_refused(caught)
    else:
        assert plain(read_json(folder, text)) == expected


# Both ############################################################################


@SETTINGS
@given(RECORDS)
def test_both_layouts_agree(folder: Path, records: list[dict[str, Any]]) -> None:
    for record in records:
        for role in ROLES:
            record[role] = [m for m in record[role] if isinstance(m, int)]
    rows = [
        f'{member},{i},{number}\n'
        for i, record in enumerate(records)
        for number, role in enumerate(ROLES)
        for member in record[role]
    ]
    edges = ''.join(f'{i}\n' for i in range(len(records)))
    table = read_csv(folder, HEADER + ''.join(rows), edges=f'id\n{edges}')
    assert plain(table) == plain(read_json(folder, json.dumps(records)))


@pytest.mark.mirror
def test_real_files(mirror: Path) -> None:
    roles = ('from', 'to', 'cc')
    base = mirror / 'annotated_hypergraphs'
    records = json.loads((base / 'enron_hypergraph_annotated.json').read_bytes())
    from_json = slow_table(
        [
            (str(member), i, role)
            for i, record in enumerate(records)
            for role in roles
            for member in record[role]
        ],
        [str(i) for i in range(len(records))],
        roles,
    )
    path = base / 'enron_hypergraph_annotated.json'
    assert plain(read_annotated_json(path, roles)) == from_json

    incidence, role, edge = (
        base / 'enron' / name for name in ('incidence.csv', 'roles.csv', 'edges.csv')
    )
    edges = split(edge.read_text())[1:]
    number = dict(split(role.read_text()))
    from_csv = slow_table(
        [(v, int(e), number[r]) for v, e, r in split(incidence.read_text())[1:]],
        [name for name, _ in edges],
        roles,
    )
    assert plain(read_annotated_csv(incidence, role, edge, roles)) == from_csv

    # As published, the two differ in the order of e-mails of the same minute, and in
    # the second mention, as 'cc', of a receiver who is there as 'to'.
    def emails(table: Table) -> list[tuple[str, list[tuple[int, int]]]]:
        groups: list[dict[int, int]] = [{} for _ in edges]
        for node, i, role in zip(table.node, table.hyperedge, table.role, strict=True):
            groups[i][node] = min(role, groups[i].get(node, role))
        return sorted(
            (date, sorted(group.items()))
            for (_, date), group in zip(edges, groups, strict=True)
        )

    assert [date for _, date in edges] == [record['date'] for record in records]
    assert len(records) == 10_504
    assert (len(from_csv.node), len(from_json.node)) == (25_847, 25_830)
    assert emails(from_csv) == emails(from_json)
