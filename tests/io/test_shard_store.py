"""Database of memberships: numbers, joins and steps."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.strategies import one_line_error
from tgx_anchor.io.shard_store import FILE, ShardStore

MEMORY = 300 * 10**6


def make_store(folder: Path, attributes: int = 0) -> ShardStore:
    store = ShardStore(folder, 'one', MEMORY, 1)
    store.create({'group': False, 'member': True}, False, attributes)
    return store


def insert(store: ShardStore, rows: list[tuple[Any, ...]], file: int = 0) -> None:
    names = ['row', 'added', 'group', 'member', 'y', 'a0'][: len(rows[0])]
    columns = [list(column) for column in zip(*rows, strict=True)]
    store.insert(pa.table(dict(zip(names, columns, strict=True))), file, 0)


def test_steps_run_once(tmp_path: Path) -> None:
    calls = []

    def work() -> int:
        calls.append(1)
        return 7

    store = ShardStore(tmp_path / 'work', 'one', MEMORY)
    assert store.find('a') is None
    assert [store.run('a', work), store.run('a', work), store.find('a')] == [7] * 3
    store.close()
    store = ShardStore(tmp_path / 'work', 'one', MEMORY)
    assert store.run('a', work) == 7
    assert len(calls) == 1
    store.forget('a')
    assert store.run('a', work) == 7
    assert len(calls) == 2
    store.close()
    store = ShardStore(tmp_path / 'work', 'two', MEMORY)
    assert store.find('a') is None
    store.remove()
    assert not (tmp_path / 'work').exists()


def test_failed_steps_leave_nothing(tmp_path: Path) -> None:
    store = ShardStore(tmp_path / 'work', 'one', MEMORY)

    def work() -> None:
        store.execute('CREATE TABLE t(i INTEGER)')
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.run('a', work)
    assert store.execute("SELECT * FROM duckdb_tables() WHERE table_name = 't'") == []
    store.remove()


def test_numbers_and_members(tmp_path: Path) -> None:
    store = make_store(tmp_path / 'work')
    insert(store, [(0, False, 'b', 9, False), (1, False, 'a', 5, True)], 1)
    insert(store, [(0, False, 'b', 5, False), (1, False, 'b', 5, True)])
    insert(store, [(0, True, 'a', 1, True)])
    assert store.number_groups([], False) == {'count': 2}
    assert store.number_nodes([]) == {'count': 3}
    groups = store.execute('SELECT hyperedge, id FROM groups ORDER BY hyperedge')
    assert groups == [(0, 'b'), (1, 'a')]
    nodes = store.execute('SELECT node, id FROM nodes ORDER BY node')
    assert nodes == [(0, 5), (1, 9), (2, 1)]
    assert store.join([], False) == {'count': 4, 'added': 1, 'merged': 1}
    rows = pa.Table.from_batches(store.incidences(0, 2, {}, False, (3, 2, 4)))
    assert rows.to_pydict() == {
        'node': [0, 1, 0, 2],
        'hyperedge': [0, 0, 1, 1],
        'y': [True, False, True, True],
    }
    assert rows.schema.field('node').type == pa.int32()
    large = pa.Table.from_batches(store.incidences(0, 2, {}, False, (2**31 + 1, 2, 4)))
    assert large.schema.field('node').type == pa.int64()
    sizes = pa.Table.from_batches(store.group_sizes())
    assert sizes['size'].to_pylist() == [2, 2]
    assert not store.holds_integers('groups')
    assert not store.is_empty('groups')
    store.remove()


@pytest.mark.parametrize(
    ('ids', 'expected'),
    [
        (['7', '-1', '0'], True),
        (['7', '07'], False),
        (['7\n'], False),
        (['9223372036854775808'], False),
        (['9223372036854775807'], True),
    ],
)
def test_integers_in_text(tmp_path: Path, ids: list[str], expected: bool) -> None:
    store = make_store(tmp_path / 'work')
    insert(store, [(i, False, name, 1, False) for i, name in enumerate(ids)])
    store.number_groups([], False)
    assert store.holds_integers('groups') is expected
    store.remove()


def test_unequal_rows_are_moved(tmp_path: Path) -> None:
    store = make_store(tmp_path / 'work', 1)
    insert(store, [(0, False, 'b', 9, False, 1.5), (1, False, 'a', 9, False, 2.5)], 3)
    assert store.find_unequal('a0', 'group', "it's") == 0
    assert store.find_unequal('a0', 'member', "it's") == 1
    reason = "'it's' must be the same in all rows of 9 (got 1.5 before and 2.5)"
    assert store.list_unequal(-1, 10) == [(3 * FILE + 1, reason)]
    assert store.execute('SELECT "group" FROM entries') == [('b',)]
    store.remove()


def test_one_process_at_a_time(tmp_path: Path) -> None:
    import subprocess
    import sys

    store = ShardStore(tmp_path / 'work', 'one', MEMORY)
    code = 'import duckdb, sys; duckdb.connect(sys.argv[1])'
    database = next((tmp_path / 'work').glob('*.duckdb'))
    command = [sys.executable, '-c', code, str(database)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert 'lock' in done.stderr
    store.remove()


def test_too_little_memory(tmp_path: Path) -> None:
    store = ShardStore(tmp_path / 'work', 'one', MEMORY, 1)
    store.limit(4 * 2**20)
    with one_line_error("'memory' must be larger"):
        store.execute('SELECT list(range) FROM range(10000000)')
    store.remove()


FULL = """
import resource, sys
from pathlib import Path
from tgx_anchor.io.shard_store import ShardStore

store = ShardStore(Path(sys.argv[1]), 'one', 300 * 10**6, 1)
store.run('first', lambda: 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
query = 'CREATE TABLE t AS SELECT random() AS x FROM range(2_000_000)'
try:
    store.run('second', lambda: store.execute(query))
except ValueError as error:
    print(error)
store.close()
"""


def test_a_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    pytest.importorskip('resource')
    folder = tmp_path / 'work'
    done = subprocess.run(
        [sys.executable, '-c', FULL, str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('\n') == 1
    assert repr(str(folder)) in done.stdout
    assert 'enough free space' in done.stdout
    # Once there is room, the next run goes on after the last step.
    store = ShardStore(folder, 'one', MEMORY)
    assert [store.find('first'), store.find('second')] == [1, None]
    store.remove()
