"""Both readers of raw files return the same table for the same groups."""

from dataclasses import fields
from pathlib import Path

from tgx_anchor.io import RoleTable, read_annotated_csv, read_labelled_lines


def test_one_form_for_all_raw_files(tmp_path: Path) -> None:
    texts = {
        'members.txt': '5\t7\n7\t9\n',
        'labels.txt': '0\t1\n1\t0\n',
        'incidence.csv': 'node,edge,role\n5,0,0\n7,0,1\n7,1,1\n9,1,0\n',
        'roles.csv': '0,from\n1,to\n',
        'edges.csv': ',date\n0,a\n1,b\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding='utf-8')
    members, labels, *tables = (tmp_path / name for name in texts)
    lines = read_labelled_lines(members, labels, 2)
    table = read_annotated_csv(tables[0], tables[1], tables[2], ['from', 'to'])
    assert lines.node.tolist() == [5, 7, 7, 9]
    assert lines.role.tolist() == [0, 1, 1, 0]
    for field in fields(RoleTable)[:4]:
        first, second = getattr(lines, field.name), getattr(table, field.name)
        assert first.tolist() == second.tolist()
        assert first.dtype == second.dtype
        assert first.flags.writeable
    # Only tables of groups may have times.
    assert lines.hyperedge_time is None
