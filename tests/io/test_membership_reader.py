"""Memberships of parts of a table."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from tests.strategies import one_line_error
from tgx_anchor.io.group_columns import GroupColumns
from tgx_anchor.io.membership_reader import MembershipReader
from tgx_anchor.io.table_stream import TableStream


def open_reader(path: Path, text: str, **options: Any) -> MembershipReader:
    path.write_text(text, encoding='utf-8')
    layout = GroupColumns.ask()
    return MembershipReader(TableStream.open(path, layout.choose), layout, **options)


def test_rows_have_one_form(tmp_path: Path) -> None:
    text = (
        'group,member,is_anchor,time,node_age\nm1, ann,yes,5,1\nm1,NA,,,2\n'
        'm2,bob,maybe,6,3\nm3,cat,no,never,4\n'
    )
    reader = open_reader(tmp_path / 'a.csv', text, tidy=True)
    assert reader.attributes == ['node_age']
    assert not reader.is_integer('group')
    (part,) = reader.stream.parts(0)
    found = reader.read(part, reader.has_flags())
    assert found.table.to_pydict() == {
        'row': [0, 1, 3],
        'added': [False] * 3,
        'group': ['m1', 'm1', 'm3'],
        'member': ['ann', None, 'cat'],
        'y': [True, False, False],
        'a0': [1.0, None, 4.0],
        'time': [5.0, None, None],
    }
    assert found.num_rows == 4
    assert [row.line for row in found.bad_rows] == [4]
    assert found.counts == {'nobody': 1, 'odd_times': 1}
    assert found.flags == {'yes': True, 'no': False}


def test_named_anchors_are_added(tmp_path: Path) -> None:
    reader = open_reader(tmp_path / 'a.csv', 'group,member,sender\n1,7,8\n2,7,\n')
    assert reader.has_flags() is False
    (part,) = reader.stream.parts(0)
    assert reader.read(part, False).table.to_pydict() == {
        'row': [0, 1, 0],
        'added': [False, False, True],
        'group': ['1', '2', '1'],
        'member': ['7', '7', '8'],
        'y': [False, False, True],
    }


def test_all_words_tell_whether_anchors_are_flags(tmp_path: Path) -> None:
    (tmp_path / 'in').mkdir()
    for i, word in enumerate(('yes', 'ann', 'bob')):
        table = pa.table({'group': ['m'], 'member': ['ann'], 'sender': [word]})
        pa.parquet.write_table(table, tmp_path / 'in' / f'{i}.parquet')
    layout = GroupColumns.ask()
    stream = TableStream.open(tmp_path / 'in', layout.choose)
    assert MembershipReader(stream, layout).has_flags() is False
    (tmp_path / 'in' / '2.parquet').unlink()
    stream = TableStream.open(tmp_path / 'in', layout.choose)
    assert MembershipReader(stream, layout).has_flags() is True


def test_addresses_and_wide_tables(tmp_path: Path) -> None:
    text = 'group,member\nm,Ann <Ann@x.org>\n'
    reader = open_reader(tmp_path / 'a.csv', text, addresses=True)
    assert reader.has_flags() is None
    (part,) = reader.stream.parts(0)
    table = reader.read(part, None).table
    assert table['member'].to_pylist() == ['ann@x.org']
    with one_line_error('one row per member', "'members'"):
        open_reader(tmp_path / 'b.csv', 'group,members\nm,a;b\n')
