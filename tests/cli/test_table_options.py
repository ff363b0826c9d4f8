"""Options that commands share."""

import inspect
import io
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.strategies import one_line_error
from tgx_anchor.cli.table_options import TableOptions, name_options, takes_table


def test_command_gets_its_options_as_one() -> None:
    seen = []

    @takes_table
    def command(name: str, table: TableOptions, out: str = '-') -> None:
        seen.append((name, table, out))

    parameters = inspect.signature(command).parameters
    assert list(parameters)[:3] == ['name', 'out', 'group']
    assert 'table' not in parameters
    defaults = {
        key: p.default
        for key, p in parameters.items()
        if p.default is not inspect.Parameter.empty
    }
    command(name='a', **{**defaults, 'seed': 3})
    assert seen == [('a', TableOptions(seed=3), '-')]


def test_reads_with_all_options(tmp_path: Path) -> None:
    path = tmp_path / 'a.csv'
    path.write_text('g,m,a,t,age,cost\n1,x,1,5,30,2\n1,y,0,6,40,2\n', encoding='utf-8')
    options = TableOptions(
        group='g',
        member='m',
        anchor='a',
        time='t',
        member_attr=['age'],
        group_attr=['cost'],
    )
    data = options.read([str(path)]).data
    assert data.node_id == ['x', 'y']
    assert data['y'].tolist() == [True, False]
    assert data['hyperedge_time'].tolist() == [5]
    assert data['x'].tolist() == [[30], [40]]
    assert data['hyperedge_attr'].tolist() == [[2]]


def test_reads_sides_and_types(tmp_path: Path) -> None:
    path = tmp_path / 'a.csv'
    path.write_text('group,member,s,k,j\n1,x,from,mail,a\n1,y,to,mail,b\n')
    options = TableOptions(side='s', group_type='k', member_type='j')
    data = options.read([str(path)]).data
    assert data.incidence_side.tolist() == [0, 1]
    assert data.hyperedge_type_names == ['mail']
    assert data.node_type.tolist() == [0, 1]
    with one_line_error("'--member-type' must be left out"):
        TableOptions(members=['member'], member_type='j').read([str(path)])


def test_encoding_is_found_or_given(tmp_path: Path) -> None:
    path = tmp_path / 'a.csv'
    path.write_bytes('group,member\n1,Zoë\n'.encode('cp850'))
    assert TableOptions().read([str(path)]).data.node_id == ['Zo‰']
    assert TableOptions(encoding='cp850').read([str(path)]).data.node_id == ['Zoë']


def test_several_files_are_one_table(tmp_path: Path) -> None:
    for name in 'ab':
        text = f'group,member\n{name},x\n{name},y\n'
        (tmp_path / f'{name}.csv').write_text(text, encoding='utf-8')
    expected = ['a', 'b']
    for files in (
        [str(tmp_path / 'a.csv'), str(tmp_path / 'b.csv')],
        [str(tmp_path)],
        [str(tmp_path / '*.csv')],
    ):
        assert TableOptions().read(files).data.hyperedge_id == expected


@pytest.mark.parametrize('kind', ['csv', 'jsonl', 'parquet'])
def test_standard_input_of_any_format(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = io.BytesIO()
    if kind == 'csv':
        content.write(b'group;member\na;x\n')
    elif kind == 'jsonl':
        content.write(b'{"group": "a", "member": "x"}\n')
    else:
        pyarrow.parquet.write_table(
            pa.table({'group': ['a'], 'member': ['x']}), content
        )
    content.seek(0)
    monkeypatch.setattr(sys, 'stdin', io.TextIOWrapper(content))
    assert TableOptions().read(['-']).data.node_id == ['x']


def test_errors_name_the_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, 'stdin', io.TextIOWrapper(io.BytesIO(b'"a\n')))
    with one_line_error("'standard input'"):
        TableOptions().read(['-'])


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        (
            "'table' must have the column 'group' for 'group', or another that is "
            "named by 'group' (got the columns 'member')",
            "'table' must have the column 'group' for '--group', or another that is "
            "named by '--group' (got the columns 'member')",
        ),
        (
            "'members' must be named: it may be any of 'people', 'users'",
            "'--members' must be named: it may be any of 'people', 'users'",
        ),
        (
            "'table' must have the column 'k' for 'group_type'",
            "'table' must have the column 'k' for '--group-type'",
        ),
        ("'skip_bad' leaves out bad rows", "'--skip-bad' leaves out bad rows"),
        (
            "'x', 'hyperedge_attr' and 'incidence_attr' take the names",
            "'--member-attr' and '--group-attr' take the names",
        ),
    ],
)
def test_messages_name_options(text: str, expected: str) -> None:
    assert name_options(text) == expected


def test_json_is_a_list_of_rows_or_hif(tmp_path: Path) -> None:
    path = tmp_path / 'a.json'
    path.write_text('[{"group": 1, "member": "x"}, {"group": 1, "member": "y"}]')
    assert TableOptions().read([str(path)]).data.node_id == ['x', 'y']
    path.write_text('{"incidences": [{"edge": 1, "node": "x"}]}')
    reading = TableOptions().read([str(path)])
    assert reading.form == 'Hypergraph Interchange Format'
    assert reading.data.node_id == ['x']
    with one_line_error("'--known'"):
        TableOptions(known='b.csv').read([str(path)])
    for text in ('[1]', '[', '[]'):
        path.write_text(text)
        with one_line_error('list of rows'):
            TableOptions().read([str(path)])
