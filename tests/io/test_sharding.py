"""Shards of tables: the same hypergraph as in memory, whatever happens on the way."""

import math
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.io.strategies import NAMES, examples
from tests.strategies import one_line_error
from tgx_anchor.data import AnchorData, ShardedAnchorData
from tgx_anchor.io import BadRowError, inspect_incidence, shard_store, write_shards
from tgx_anchor.io.sharding import read_memory


def assert_same(one: AnchorData, two: AnchorData) -> None:
    assert set(one.keys()) == set(two.keys())
    for key, value in two.to_dict().items():
        other = one[key]
        if isinstance(value, Tensor):
            assert other.dtype == value.dtype, key
            assert torch.equal(
                torch.nan_to_num(other, nan=-1.5), torch.nan_to_num(value, nan=-1.5)
            ), key
        else:
            assert other == value, key
    assert one.column_names == two.column_names
    assert one.role_names == two.role_names


def cut_owners(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    # In memory, the owner of the first bad row stands for those of all.
    cut = ' in all rows of'
    return [{**row, 'reason': row['reason'].partition(cut)[0]} for row in rows]


def check_same(
    files: Any, out: Path, num_shards: int = 3, tidy: bool = False, **columns: Any
) -> ShardedAnchorData:
    options = {'skip_bad': True, 'tidy': tidy, **columns}
    expected = inspect_incidence(files, max_anchors=None, **options)
    reading = write_shards(
        files, out, num_shards=num_shards, memory='500MB', threads=1, **options
    )
    assert reading.form == expected.form
    assert reading.columns == expected.columns
    assert reading.num_rows == expected.num_rows
    assert reading.num_bad_rows == len(expected.bad_rows)
    if not expected.bad_rows:
        assert reading.flags == expected.flags
        assert set(reading.notes) == set(expected.notes)
    shards = ShardedAnchorData(out)
    assert shards.num_shards == num_shards
    assert_same(shards.to_data(), expected.data)
    if expected.bad_rows:
        rejected = pa.parquet.read_table(out / '_rejected').to_pylist()
        assert cut_owners(rejected) == cut_owners(expected.rejected.to_pylist())
    left = [path.name for path in out.rglob('*') if path.is_file()]
    assert all(name.startswith('_') or name.endswith('.parquet') for name in left)
    assert not (out / '_work').exists()
    return shards


# Round trips ######################################################################

KINDS: dict[str, st.SearchStrategy[Any]] = {
    'integers': st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
    'floats': st.integers(-3, 3).map(float) | st.just(0.5) | st.just(math.nan),
    'strings': st.sampled_from(['a', 'b', ' a', '7', '007', '', 'NA', 'ÄÖ', '家'])
    | NAMES,
    'dates': st.dates(date(1999, 12, 30), date(2000, 1, 3)),
    'times': st.datetimes(datetime(1999, 12, 31), datetime(2000, 1, 1)).map(
        lambda time: time.replace(microsecond=0)
    ),
    'decimals': st.integers(-3, 3).map(lambda i: Decimal(i) / 2),
}
TYPES = {
    'dates': pa.date32(),
    'times': pa.timestamp('us'),
    'decimals': pa.decimal128(5, 1),
}
FLAGS: dict[str, st.SearchStrategy[Any]] = {
    'words': st.sampled_from(['yes', 'no', '', 'maybe', 'TRUE', None]),
    'booleans': st.booleans() | st.none(),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """A messy table: repeated rows, several anchors or none, bad rows."""
    size = draw(st.integers(1, 12))
    out = {}
    for name in ('group', 'member'):
        kind = draw(st.sampled_from(list(KINDS)))
        few = draw(st.lists(KINDS[kind], min_size=1, max_size=5))
        values = st.sampled_from(few) | (
            st.none() if draw(st.booleans()) else st.nothing()
        )
        column = draw(st.lists(values, min_size=size, max_size=size))
        default = {'integers': pa.int64(), 'floats': pa.float64()}.get(
            kind, pa.string()
        )
        out[name] = pa.array(column, TYPES.get(kind, default))
    flags = FLAGS[draw(st.sampled_from(list(FLAGS)))]
    column = draw(st.lists(flags, min_size=size, max_size=size))
    is_text = any(isinstance(value, str) for value in column)
    out['is_anchor'] = pa.array(column, pa.string() if is_text else pa.bool_())
    if draw(st.booleans()):
        words = st.sampled_from(['2020-01-01', '5', '', 'never', None])
        column = draw(st.lists(words, min_size=size, max_size=size))
        out['time'] = pa.array(column, pa.string())
    if draw(st.booleans()):
        roles = st.sampled_from(draw(st.sampled_from([['to', 'cc'], ['1', '2']])))
        column = draw(st.lists(roles, min_size=size, max_size=size))
        out['role'] = pa.array(column, pa.string())
    for name in ('node_age', 'hyperedge_size', 'incidence_weight'):
        if draw(st.integers(0, 3)) == 0:
            numbers = st.sampled_from([1.0, 0.1, 1.0, 1.0, math.inf])
            column = draw(st.lists(numbers, min_size=size, max_size=size))
            out[name] = pa.array(column, pa.float64())
    return pa.table(out)


def write_files(
    table: pa.Table, folder: Path, cuts: list[int], texts: list[bool]
) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(table)), len(table)]
    for i, (low, high) in enumerate(pairwise(edges)):
        part = table.slice(low, high - low)
        if texts[i % len(texts)]:
            pa.csv.write_csv(part, folder / f'{i}.csv')
        else:
            pa.parquet.write_table(part, folder / f'{i}.parquet')


@given(
    tables(),
    st.lists(st.integers(0, 10), max_size=2),
    st.lists(st.booleans(), min_size=1, max_size=3),
    st.sampled_from([1, 2, 5]),
    st.booleans(),
)
@examples(25)
def test_shards_are_the_table(
    table: pa.Table, cuts: list[int], texts: list[bool], num_shards: int, tidy: bool
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / 'in').mkdir()
        write_files(table, folder / 'in', cuts, texts)
        options: dict[str, Any] = {'tidy': tidy, 'skip_bad': True}
        expected = outcome(
            lambda: inspect_incidence(folder / 'in', max_anchors=None, **options)
        )
        if isinstance(expected, Exception):
            with pytest.raises(type(expected), match=re.escape(str(expected))):
                write_shards(folder / 'in', folder / 'out', memory='500MB', **options)
            assert not (folder / 'out' / '_manifest.json').exists()
        else:
            check_same(folder / 'in', folder / 'out', num_shards, tidy)


def outcome(call: Callable[[], Any]) -> Any:
    """The result, or the error."""
    try:
        return call()
    except ValueError as error:
        return error


def write_table(path: Path, rows: list[tuple[Any, ...]], *names: str) -> Path:
    columns = zip(*rows, strict=True)
    table = pa.table(dict(zip(names, map(list, columns), strict=True)))
    if path.suffix == '.csv':
        pa.csv.write_csv(table, path)
    else:
        pa.parquet.write_table(table, path)
    return path


MAILS = [
    ('m2', 'bob', 'yes'),
    ('m1', 'ann', 'no'),
    ('m2', 'cat', 'no'),
    ('m1', 'bob', ''),
    ('m3', 'dan', 'yes'),
    ('m2', 'bob', 'no'),
    ('m3', 'ann', 'yes'),
]


def test_roles_of_bad_rows_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / 'a.csv'
    path.write_text(
        'group,member,anchor,role\nm,a,yes,to\n,a,yes,cc\nm,b,no,to\n',
        encoding='utf-8',
    )
    write_shards(path, tmp_path / 'shards', num_shards=1, skip_bad=True, tidy=True)
    found = ShardedAnchorData(tmp_path / 'shards').to_data()
    data = inspect_incidence(path, skip_bad=True, tidy=True).data
    assert found.role_names == data.role_names == ['to']
    assert found.role.tolist() == data.role.tolist() == [0, 0]


def test_numbers_follow_first_appearance(tmp_path: Path) -> None:
    path = write_table(tmp_path / 'a.csv', MAILS, 'group', 'member', 'is_anchor')
    shards = check_same(path, tmp_path / 'out', 2)
    assert shards.to_data().hyperedge_id == ['m2', 'm1', 'm3']
    assert shards.node_id == ['bob', 'ann', 'cat', 'dan']
    # Six memberships: the second shard begins with the group that begins at 4.
    assert [shards.first_hyperedge(i) for i in range(2)] == [0, 2]
    assert shards.shard(1).hyperedge_index.tolist() == [[3, 1], [0, 0]]
    assert [entry.num_known for entry in shards.manifest.shards] == [1, 1]


def test_number_of_shards_does_not_change_the_result(tmp_path: Path) -> None:
    path = write_table(tmp_path / 'a.csv', MAILS, 'group', 'member', 'is_anchor')
    one, many = (check_same(path, tmp_path / str(n), n) for n in (1, 9))
    assert_same(one.to_data(), many.to_data())
    assert sum(many.shard(i).num_hyperedges for i in range(9)) == 3


def test_anchors_may_be_named(tmp_path: Path) -> None:
    rows = [('m1', 'ann', 'bob'), ('m1', 'bob', 'bob'), ('m2', 'bob', 'eve')]
    path = write_table(tmp_path / 'a.parquet', rows, 'group', 'member', 'sender')
    data: Any = check_same(path, tmp_path / 'out').to_data()
    assert data.node_id == ['ann', 'bob', 'eve']
    assert data.hyperedge_index.tolist() == [[0, 1, 1, 2], [0, 0, 1, 1]]
    assert data.y.tolist() == [False, True, False, True]
    names = ('group', 'member', 'sender', 'node_age')
    aged = [(*row, 1.0) for row in rows]
    path = write_table(tmp_path / 'b.parquet', aged, *names)
    with one_line_error("'sender'", '1 others'):
        write_shards(path, tmp_path / 'odd')
    path = write_table(tmp_path / 'c.parquet', [('m', 1, 'eve')], *names[:3])
    with one_line_error("'sender'", "'member'", 'string and int64'):
        write_shards(path, tmp_path / 'odd2')


def test_columns_and_values_of_anchors_can_be_named(tmp_path: Path) -> None:
    rows = [(1, 7, 'first', 5.0), (1, 8, 'second', 5.0), (2, 7, 'first', 6.0)]
    path = write_table(tmp_path / 'a.parquet', rows, 'paper', 'who', 'place', 'pages')
    shards = check_same(
        path,
        tmp_path / 'out',
        member='who',
        anchor='place=first',
        hyperedge_attr=['pages'],
    )
    data: Any = shards.to_data()
    assert data.y.tolist() == [True, False, True]
    assert data.node_id.tolist() == [7, 8]
    assert data.hyperedge_attr.tolist() == [[5.0], [6.0]]


def test_names_of_attributes_may_be_those_of_columns(tmp_path: Path) -> None:
    rows = [(1, 7, 0.5, 1.5, 2.5), (1, 8, 0.25, 1.5, 3.5)]
    names = ('group', 'member', 'node', 'id', 'y')
    path = write_table(tmp_path / 'a.parquet', rows, *names)
    shards = check_same(
        path,
        tmp_path / 'out',
        x=['node'],
        hyperedge_attr=['id'],
        incidence_attr=['y'],
    )
    assert shards.to_data().column_names['x'] == ['node']
    assert shards.manifest.columns['nodes'] == ['node', 'id', 'node_node']


def test_bad_rows_are_counted_and_written(tmp_path: Path) -> None:
    text = 'group,member,is_anchor\nm,a,yes\nm,b,perhaps\nm\n,c,no\n'
    (tmp_path / 'a.csv').write_text(text, encoding='utf-8')
    out = tmp_path / 'out'
    with pytest.raises(BadRowError) as info:
        write_shards(tmp_path / 'a.csv', out)
    assert info.value.count == 3
    assert str(info.value).startswith("'is_anchor' must be true, false or left empty")
    assert [row.line for row in info.value.rows] == [3, 4, 5]
    assert not (out / '_manifest.json').exists()
    table = pa.parquet.read_table(out / '_rejected')
    assert table['line'].to_pylist() == [3, 4, 5]
    reading = write_shards(tmp_path / 'a.csv', out, skip_bad=True)
    assert reading.num_bad_rows == 3
    assert reading.manifest.num_incidences == 1
    assert reading.manifest.rejected[0].num_rows == 3


def test_bad_rows_of_a_run_that_named_the_files_in_another_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'group,member,is_anchor\nm,a,yes\nm,b,perhaps\n'
    (tmp_path / 'a.csv').write_text(text, encoding='utf-8')
    monkeypatch.chdir(tmp_path)
    with one_line_error("line 3 of 'a.csv'"):
        write_shards('a.csv', 'out')
    with one_line_error("line 3 of 'a.csv'"):
        write_shards(tmp_path / 'a.csv', 'out')
    reading = write_shards(tmp_path / 'a.csv', 'out', skip_bad=True)
    assert "line 3 of 'a.csv'" in reading.notes[-1]


def test_numbers_that_have_no_common_type(tmp_path: Path) -> None:
    write_table(tmp_path / 'a.parquet', [(2**60, 'x')], 'group', 'member')
    write_table(tmp_path / 'b.parquet', [(0.5, 'x')], 'group', 'member')
    with one_line_error('same types in all files', str(2**60), 'a.parquet'):
        write_shards(tmp_path, tmp_path / 'out')


def test_roles_with_line_breaks_are_words(tmp_path: Path) -> None:
    text = 'group,member,role\nm,a,"1\n"\nm,b,2\n'
    (tmp_path / 'a.csv').write_text(text, encoding='utf-8')
    shards = check_same(tmp_path / 'a.csv', tmp_path / 'out')
    assert shards.to_data().role_names == ['1\n', '2']


def test_any_reader_opens_the_folders(tmp_path: Path) -> None:
    path = write_table(tmp_path / 'a.csv', MAILS, 'group', 'member', 'is_anchor')
    out = tmp_path / 'out'
    write_shards(path, out, num_shards=3)
    table = pa.dataset.dataset(out).to_table().sort_by('hyperedge')
    assert table.num_rows == 6
    assert table.schema.names == ['node', 'hyperedge', 'y']
    assert table.schema.field('node').type == pa.int32()
    groups = pa.parquet.read_table(out / '_hyperedges').sort_by('hyperedge')
    assert groups['id'].to_pylist() == ['m2', 'm1', 'm3']
    nodes = pa.parquet.read_table(out / '_nodes')
    assert nodes['node'].to_pylist() == [0, 1, 2, 3]


def test_a_second_run_finds_the_shards(tmp_path: Path) -> None:
    path = write_table(tmp_path / 'a.csv', MAILS, 'group', 'member', 'is_anchor')
    out = tmp_path / 'out'
    assert write_shards(path, out).is_new
    again = write_shards(path, out)
    assert not again.is_new
    assert again.manifest.num_incidences == 6
    with one_line_error("'out'", 'new folder', 'other options'):
        write_shards(path, out, num_shards=2)
    (out / 'shard-00001.parquet').unlink()
    with one_line_error("'out'", 'shard 1 is missing', 'remove the folder'):
        write_shards(path, out)


def test_a_database_of_something_else(tmp_path: Path) -> None:
    path = write_table(tmp_path / 'a.csv', MAILS, 'group', 'member', 'is_anchor')
    (tmp_path / 'out' / '_work').mkdir(parents=True)
    (tmp_path / 'out' / '_work' / 'store.duckdb').write_text('x', encoding='utf-8')
    with one_line_error('store.duckdb', 'another file', 'remove it'):
        write_shards(path, tmp_path / 'out')


def test_wrong_arguments(tmp_path: Path) -> None:
    path = write_table(tmp_path / 'a.csv', MAILS, 'group', 'member', 'is_anchor')
    with one_line_error("'num_shards'", '[1,', 'got 0'):
        write_shards(path, tmp_path / 'out', num_shards=0)
    with one_line_error("'num_shards'", 'integer', "'2'"):
        write_shards(path, tmp_path / 'out', num_shards='2')  # type: ignore[arg-type]
    (tmp_path / 'full').mkdir()
    (tmp_path / 'full' / 'note.txt').touch()
    with one_line_error("'out'", 'empty', 'note.txt'):
        write_shards(path, tmp_path / 'full')
    with one_line_error("'out'", 'a folder', 'a.csv'):
        write_shards(path, path)
    wide = write_table(tmp_path / 'w.csv', [('m', 'a;b')], 'group', 'members')
    with one_line_error('one row per member', "'members'"):
        write_shards(wide, tmp_path / 'out')
    assert not (tmp_path / 'out').exists()


@pytest.mark.parametrize(
    ('text', 'size'),
    [
        ('2GB', 2 * 10**9),
        ('1.5 GiB', 3 * 2**29),
        ('512mb', 512 * 10**6),
        (10**9, 10**9),
    ],
)
def test_read_memory(text: str | int, size: int) -> None:
    assert read_memory(text) == size


@pytest.mark.parametrize('text', ['much', '2XB', '-1GB', '', True])
def test_read_memory_refuses_other_words(text: Any) -> None:
    with one_line_error("'memory'", "'2GB'"):
        read_memory(text)
    with one_line_error("'memory'", '500MB'):
        read_memory('10MB')


def test_a_missing_database_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_table(tmp_path / 'a.csv', MAILS, 'group', 'member', 'is_anchor')
    monkeypatch.setitem(sys.modules, 'duckdb', None)
    with one_line_error('DuckDB', 'tgx_anchor[scale]'):
        write_shards(path, tmp_path / 'out')


# Interruptions ####################################################################


def read_all(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob('*') if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def write_many(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    folder.mkdir()
    for i in range(3):
        group = np.sort(rng.integers(0, 2000, 6000)) + 1000 * i
        table = pa.table(
            {
                'group': pa.array(group),
                'member': pa.array(rng.integers(0, 900, 6000)),
                'is_anchor': pa.array(rng.random(6000) < 0.1),
            }
        )
        pa.parquet.write_table(table, folder / f'{i}.parquet')
    return folder


class Stop(BaseException):
    pass


def test_every_step_can_be_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_many(tmp_path / 'in')
    write_shards(files, tmp_path / 'whole', num_shards=4)
    expected = read_all(tmp_path / 'whole')
    execute = shard_store.ShardStore.execute
    left = 0

    def stop(self: Any, query: str, values: Any = ()) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise Stop
        return execute(self, query, values)

    monkeypatch.setattr(shard_store.ShardStore, 'execute', stop)
    out = tmp_path / 'out'
    count = 0
    while True:
        # Each run gets a little further than the last one, and is stopped.
        left = 13 + count
        count += 1
        try:
            write_shards(files, out, num_shards=4)
            break
        except Stop:
            assert not (out / '_manifest.json').exists()
    assert count > 5
    assert read_all(out) == expected


@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    files = write_many(tmp_path / 'in')
    write_shards(files, tmp_path / 'whole', num_shards=4)
    expected = read_all(tmp_path / 'whole')
    code = (
        'import sys; from tgx_anchor.io import write_shards; print(1, flush=True); '
        'write_shards(sys.argv[1], sys.argv[2], num_shards=4)'
    )
    chance = random.Random(0)  # noqa: S311
    out = tmp_path / 'out'
    killed = 0
    while not (out / '_manifest.json').exists():
        process = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-c', code, str(files), str(out)],
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0.02, 0.3) * (1 + killed / 5))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        killed += 1
    write_shards(files, out, num_shards=4)
    assert read_all(out) == expected
