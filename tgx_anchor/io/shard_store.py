"""Relational part of sharding, in a database on disk."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tgx_anchor.io.bad_row import BadRow
from tgx_anchor.io.columns import INTEGER
from tgx_anchor.utils.messages import one_line

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# An entry is the number of its file and of its row in the file. Anchors that a row
# names come after all members.
FILE = 2**40
ADDED = 2**62
# The rows of a batch that is read.
BATCH = 2**17
_DATABASE = 'store.duckdb'
_REJECTED = 'number INTEGER, file VARCHAR, line BIGINT, reason VARCHAR, text VARCHAR'


class ShardStore:
    r"""A database on disk that numbers and joins memberships with little memory.

    The work is done in steps, each a transaction: a process that is killed loses the
    step that it was in, and the next run continues from there.

    Args:
        folder (Path): The folder of the database and of all that does not fit into
            memory.
        settings (str): A hash of the tables and options. A database with another hash
            is replaced.
        memory (int): The number of bytes that the database may hold in memory.
        threads (int, optional): The number of threads, by default that of the cores.
            (default: :obj:`None`)
    """

    def __init__(
        self, folder: Path, settings: str, memory: int, threads: int | None = None
    ) -> None:
        self.folder = folder
        self._options: dict[str, Any] = {
            'memory_limit': f'{memory // 2**20}MiB',
            'temp_directory': str(folder / 'spill'),
            'preserve_insertion_order': False,
        }
        if threads is not None:
            self._options['threads'] = threads
        self._con = self._connect()
        if self.run('settings', lambda: settings) != settings:
            self.remove()
            self._con = self._connect()
            self.run('settings', lambda: settings)

    def _connect(self) -> 'DuckDBPyConnection':
        duckdb = import_duckdb()
        self._memory_error = duckdb.OutOfMemoryException
        # The second one follows an error of the first kind while a step is kept.
        self._disk_errors = (duckdb.IOException, duckdb.FatalException)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = str(self.folder / _DATABASE)
        try:
            con: DuckDBPyConnection = duckdb.connect(path, config=self._options)
        except duckdb.IOException as error:
            if 'not a valid DuckDB database' in str(error):
                raise ValueError(
                    f'{path!r} must be the database of an earlier run (got another '
                    f'file; remove it to begin again)'
                ) from error
            if 'lock' not in str(error):
                raise self._no_room(error) from error
            raise ValueError(
                f'{path!r} must not be in use by another process (got '
                f'{one_line(error)})'
            ) from error
        with self._plain_errors():
            con.execute('SET enable_progress_bar = false')
            con.execute('CREATE TABLE IF NOT EXISTS steps(name VARCHAR, note VARCHAR)')
        return con

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        # Raises errors of the memory and of the disk in plain words.
        try:
            yield
        except self._memory_error as error:
            raise _too_little(error) from error
        except self._disk_errors as error:
            raise self._no_room(error) from error
        except OSError as error:
            # Errors of the database come through Arrow.
            if 'Out of Memory' in str(error):
                raise _too_little(error) from error
            if 'IO Error' in str(error):
                raise self._no_room(error) from error
            raise

    def _no_room(self, error: BaseException) -> ValueError:
        return ValueError(
            f'{str(self.folder)!r} must be on a disk with enough free space (got '
            f'{one_line(error)}; make room and run the same command again to continue)'
        )

    def limit(self, memory: int) -> None:
        r"""Changes the number of bytes that the database may hold in memory."""
        self.execute(f"SET memory_limit = '{memory // 2**20}MiB'")

    def close(self) -> None:
        r"""Closes the database."""
        self._con.close()

    def remove(self) -> None:
        r"""Closes the database and removes its folder."""
        self.close()
        shutil.rmtree(self.folder)

    def run(self, name: str, work: Callable[[], Any]) -> Any:
        r"""Runs a step unless it was run before, and returns its result.

        Args:
            name (str): The name of the step.
            work (Callable): Does the work, and returns a value that JSON can hold.
        """
        found = self._find(name)
        if found:
            return json.loads(found[0])
        self.execute('BEGIN')
        try:
            note = work()
            self.execute('INSERT INTO steps VALUES (?, ?)', [name, json.dumps(note)])
            self.execute('COMMIT')
        except BaseException:
            # Some errors have ended the transaction.
            with suppress(Exception):
                self._con.execute('ROLLBACK')
            raise
        return note

    def find(self, name: str) -> Any:
        r"""Returns the result of a step, or :obj:`None` if it was not run.

        Args:
            name (str): The name of the step.
        """
        found = self._find(name)
        return json.loads(found[0]) if found else None

    def _find(self, name: str) -> list[str]:
        rows = self.execute('SELECT note FROM steps WHERE name = ?', [name])
        return [note for (note,) in rows]

    def forget(self, prefix: str) -> None:
        r"""Forgets the steps whose names begin with a prefix."""
        self.execute('DELETE FROM steps WHERE starts_with(name, ?)', [prefix])

    def execute(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        r"""Runs a query, and returns its rows.

        Args:
            query (str): The query.
            values (list[Any], optional): The values of its parameters.
                (default: :obj:`()`)
        """
        with self._plain_errors():
            return self._con.execute(query, list(values)).fetchall()

    def _batches(self, query: str) -> Iterator[pa.RecordBatch]:
        # At least one batch, which tells the types.
        with self._plain_errors():
            reader = self._con.sql(query).to_arrow_reader(BATCH)
            yield pa.RecordBatch.from_pylist([], reader.schema)
            yield from reader

    # Steps ###################################################################

    def create(self, is_integer: dict[str, bool], has_time: bool, count: int) -> None:
        r"""Creates the tables of memberships and of bad rows.

        Args:
            is_integer (dict[str, bool]): Whether ids are integers, by
                :obj:`"group"`, :obj:`"member"` and, if there are any, :obj:`"role"`.
            has_time (bool): Whether there are times.
            count (int): The number of attributes.
        """
        kinds = {key: 'BIGINT' if is_integer[key] else 'VARCHAR' for key in is_integer}
        columns = [
            'entry BIGINT',
            f'"group" {kinds["group"]}',
            f'member {kinds["member"]}',
            'y BOOLEAN',
            *([f'role {kinds["role"]}'] if 'role' in kinds else []),
            *(['time DOUBLE'] if has_time else []),
            *(f'a{i} DOUBLE' for i in range(count)),
        ]
        self.execute(f'CREATE TABLE entries({", ".join(columns)})')
        self.execute(f'CREATE TABLE rejected({_REJECTED})')

    def insert(self, memberships: pa.Table, file: int, start: int) -> None:
        r"""Inserts memberships.

        Args:
            memberships (pyarrow.Table): The table of a
                :class:`~tgx_anchor.io.membership_reader.Memberships`.
            file (int): The number of the file.
            start (int): The number of the rows of the file that come before.
        """
        names = [
            f'"{n}"' for n in memberships.column_names if n not in ('row', 'added')
        ]
        self._insert(
            memberships,
            f'INSERT INTO entries(entry, {", ".join(names)}) SELECT '
            f'{file * FILE + start} + "row" + CASE WHEN added THEN {ADDED} ELSE 0 END, '
            f'{", ".join(names)} FROM part',
        )

    def reject(self, rows: Sequence[BadRow], file: int) -> None:
        r"""Inserts bad rows.

        Args:
            rows (list[BadRow]): The rows.
            file (int): The number of their file.
        """
        if not rows:
            return
        table = pa.table(
            {
                'number': pa.array([file] * len(rows), pa.int32()),
                'file': [row.file for row in rows],
                'line': pa.array([row.line for row in rows], pa.int64()),
                'reason': [row.reason for row in rows],
                'text': [row.text for row in rows],
            }
        )
        self._insert(table, 'INSERT INTO rejected SELECT * FROM part')

    def _insert(self, table: pa.Table, query: str) -> None:
        self._con.register('part', table)
        try:
            self.execute(query)
        finally:
            self._con.unregister('part')

    def find_unequal(self, column: str, owner: str, name: str) -> int:
        r"""Moves the rows with another value than the first row of their owner to the
        table :obj:`unequal`, and returns their number.

        Args:
            column (str): The column of the attribute.
            owner (str): The column of the owner, :obj:`"group"` or :obj:`"member"`.
            name (str): The name of the attribute in messages.
        """
        listed = f'entry < {ADDED} AND member IS NOT NULL'
        self.execute('CREATE TABLE IF NOT EXISTS unequal(entry BIGINT, reason VARCHAR)')
        # Most tables have none, and need no list of all owners.
        found = self.execute(
            f'SELECT 1 FROM entries WHERE {listed} GROUP BY "{owner}" '
            f'HAVING min({column}) <> max({column}) LIMIT 1'
        )
        if not found:
            return 0
        quoted = name.replace("'", "''")
        mark = f"CASE typeof(e.\"{owner}\") WHEN 'VARCHAR' THEN '''' ELSE '' END"
        shown = f'{mark} || e."{owner}" || {mark}'
        self.execute(
            f'CREATE TEMP TABLE odd AS SELECT e.entry, '
            f"'''{quoted}'' must be the same in all rows of ' || {shown} || "
            f"' (got ' || f.first || ' before and ' || e.{column} || ')' AS reason "
            f'FROM entries e JOIN (SELECT "{owner}" AS id, arg_min({column}, entry) '
            f'AS first FROM entries WHERE {listed} GROUP BY 1) '
            f'f ON e."{owner}" = f.id WHERE {listed} AND e.{column} <> f.first'
        )
        self.execute('INSERT INTO unequal SELECT * FROM odd')
        self.execute(
            f'DELETE FROM entries WHERE entry % {ADDED} IN (SELECT entry FROM odd)'
        )
        (count,) = self.execute('SELECT count(*) FROM odd')[0]
        self.execute('DROP TABLE odd')
        return int(count)

    def number_groups(
        self, attributes: Sequence[str], has_time: bool
    ) -> dict[str, int]:
        r"""Numbers the groups in the order of their first entry.

        Args:
            attributes (list[str]): The columns of attributes of groups.
            has_time (bool): Whether there are times.
        """
        listed = f'FILTER (WHERE entry < {ADDED} AND member IS NOT NULL)'
        values = [
            # A group may have no row that counts.
            *(f'coalesce(arg_min({c}, entry) {listed}, 0) AS {c}' for c in attributes),
            *([f'arg_min(time, entry) {listed} AS time'] if has_time else []),
            *([f'min(time) {listed} <> max(time) {listed} AS odd'] if has_time else []),
        ]
        counts = self._number('groups', 'hyperedge', '"group"', 'true', values)
        if has_time:
            (odd,) = self.execute('SELECT count(*) FROM groups WHERE odd')[0]
            counts['several_times'] = int(odd)
        return counts

    def number_nodes(self, attributes: Sequence[str]) -> dict[str, int]:
        r"""Numbers the nodes in the order of their first entry.

        Args:
            attributes (list[str]): The columns of attributes of nodes.
        """
        values = [
            f'arg_min({c}, entry) FILTER (WHERE entry < {ADDED}) AS {c}'
            for c in attributes
        ]
        return self._number('nodes', 'node', 'member', 'member IS NOT NULL', values)

    def _number(
        self, table: str, number: str, owner: str, condition: str, values: Sequence[str]
    ) -> dict[str, int]:
        columns = ', '.join([f'{owner} AS id', 'min(entry) AS first', *values])
        self.execute(
            f'CREATE TABLE {table} AS SELECT '
            f'row_number() OVER (ORDER BY first) - 1 AS {number}, * EXCLUDE (first) '
            f'FROM (SELECT {columns} FROM entries WHERE {condition} GROUP BY {owner})'
        )
        (count,) = self.execute(f'SELECT count(*) FROM {table}')[0]
        return {'count': int(count)}

    def number_roles(self, roles: Sequence[Any], numbers: Sequence[int]) -> None:
        r"""Gives numbers to roles.

        Args:
            roles (list[Any]): The roles.
            numbers (list[int]): The number of each.
        """
        self._insert(
            pa.table(
                {'role': pa.array(roles), 'number': pa.array(numbers, pa.int64())}
            ),
            'CREATE TABLE roles AS SELECT * FROM part',
        )

    def list_roles(self) -> list[Any]:
        r"""Returns the distinct roles, sorted."""
        found = self.execute(
            'SELECT DISTINCT role FROM entries WHERE role IS NOT NULL ORDER BY role'
        )
        return [role for (role,) in found]

    def is_empty(self, table: str) -> bool:
        r"""Returns :obj:`True` if a table has no rows.

        Args:
            table (str): The table.
        """
        return not self.execute(f'SELECT 1 FROM {table} LIMIT 1')

    def holds_integers(self, table: str) -> bool:
        r"""Returns :obj:`True` if all ids are written as integers of 64 bits.

        Args:
            table (str): The table, :obj:`"groups"` or :obj:`"nodes"`.
        """
        ((found,),) = self.execute(
            f'SELECT bool_and(regexp_matches(id, ?) AND TRY_CAST(id AS BIGINT) IS NOT '
            f'NULL) FROM {table}',
            [INTEGER],
        )
        return found is not False

    def join(self, attributes: Sequence[str], has_roles: bool) -> dict[str, int]:
        r"""Merges the entries of the same member of a group, and gives them numbers.

        Args:
            attributes (list[str]): The columns of attributes of incidences.
            has_roles (bool): Whether there are roles.
        """
        first = [*attributes, *(['role'] if has_roles else [])]
        values = ''.join(f', arg_min(e.{c}, e.entry) AS {c}' for c in first)
        self.execute(
            f'CREATE TABLE incidences AS SELECT g.hyperedge, n.node, min(e.entry) AS '
            f'entry, bool_or(e.y) AS y{values} FROM entries e JOIN groups g ON '
            f'e."group" = g.id JOIN nodes n ON e.member = n.id GROUP BY g.hyperedge, '
            f'n.node ORDER BY g.hyperedge'
        )
        ((count, added),) = self.execute(
            f'SELECT count(*), count(*) FILTER (WHERE entry >= {ADDED}) FROM incidences'
        )
        ((size,),) = self.execute(
            f'SELECT count(*) FROM entries WHERE entry < {ADDED} AND member IS NOT NULL'
        )
        # Its space is for the steps that follow.
        self.execute('DROP TABLE entries')
        return {
            'count': int(count),
            'added': int(added),
            'merged': int(size) - int(count) + int(added),
        }

    # Results #################################################################

    def num_rejected(self) -> int:
        r"""Returns the number of bad rows."""
        ((count,),) = self.execute('SELECT count(*) FROM rejected')
        return int(count)

    def first_rejected(self) -> list[tuple[str, int, str, str]]:
        r"""Returns the first ten bad rows: file, line, reason and text."""
        return self.execute(
            'SELECT file, line, reason, text FROM rejected ORDER BY number, line '
            'LIMIT 10'
        )

    def rejected(self, count: int, start: int) -> Iterator[pa.RecordBatch]:
        r"""Yields bad rows.

        Args:
            count (int): Their number.
            start (int): The number of those that come before.
        """
        return self._batches(
            f'SELECT file, line, reason, text FROM rejected '
            f'ORDER BY number, line, reason LIMIT {count} OFFSET {start}'
        )

    def list_unequal(self, last: int, count: int) -> list[tuple[int, str]]:
        r"""Returns the next rows of :meth:`find_unequal`: their entries and reasons.

        Args:
            last (int): The last entry that came before.
            count (int): The number of rows.
        """
        return self.execute(
            'SELECT entry, reason FROM unequal WHERE entry > ? ORDER BY entry LIMIT ?',
            [last, count],
        )

    def nodes(
        self,
        low: int,
        high: int,
        is_integer: bool,
        attributes: Mapping[str, str],
        num_nodes: int,
    ) -> Iterator[pa.RecordBatch]:
        r"""Yields the nodes of a range, in the order of their numbers.

        Args:
            low (int): The first.
            high (int): The end.
            is_integer (bool): Whether their ids are integers.
            attributes (dict[str, str]): Their attributes, columns by names.
            num_nodes (int): The number of all nodes.
        """
        return self._batches(
            f'SELECT {_index("node", num_nodes)}, {_id(is_integer)}'
            f'{_floats(attributes)} FROM nodes WHERE node >= {low} AND node < {high} '
            f'ORDER BY node'
        )

    def groups(
        self,
        low: int,
        high: int,
        is_integer: bool,
        attributes: Mapping[str, str],
        has_time: bool,
        num_hyperedges: int,
    ) -> Iterator[pa.RecordBatch]:
        r"""Yields the groups of a range, in the order of their numbers.

        Args:
            low (int): The first.
            high (int): The end.
            is_integer (bool): Whether their ids are integers.
            attributes (dict[str, str]): Their attributes, columns by names.
            has_time (bool): Whether there are times.
            num_hyperedges (int): The number of all groups.
        """
        return self._batches(
            f'SELECT {_index("hyperedge", num_hyperedges)}, {_id(is_integer)}'
            f'{", time" * has_time}{_floats(attributes)} FROM groups '
            f'WHERE hyperedge >= {low} AND hyperedge < {high} ORDER BY hyperedge'
        )

    def incidences(
        self,
        low: int,
        high: int,
        attributes: Mapping[str, str],
        has_roles: bool,
        sizes: tuple[int, int, int],
    ) -> Iterator[pa.RecordBatch]:
        r"""Yields the members of the groups of a range: group by group, those of a
        group in the order of their first entries.

        Args:
            low (int): The first group.
            high (int): The end.
            attributes (dict[str, str]): Attributes of incidences, columns by names.
            has_roles (bool): Whether there are roles.
            sizes (tuple[int, int, int]): The numbers of all nodes, groups and members.
        """
        return self._batches(
            f'SELECT {_index("node", sizes[0])}, {_index("hyperedge", sizes[1])}, y'
            f'{", number AS role" * has_roles}{_floats(attributes)} FROM incidences '
            f'{"JOIN roles USING (role) " * has_roles}'
            f'WHERE hyperedge >= {low} AND hyperedge < {high} ORDER BY hyperedge, entry'
        )

    def group_sizes(self) -> Iterator[pa.RecordBatch]:
        r"""Yields the number of each group that has members, and how many, in order."""
        return self._batches(
            'SELECT hyperedge, count(*) AS size FROM incidences GROUP BY hyperedge '
            'ORDER BY hyperedge'
        )


def _index(name: str, size: int) -> str:
    # 32 bits where they are enough.
    return f'{name}::{"INTEGER" if size <= 2**31 else "BIGINT"} AS {name}'


def _id(is_integer: bool) -> str:
    return 'id::BIGINT AS id' if is_integer else 'id'


def _floats(columns: Mapping[str, str]) -> str:
    quoted = {name.replace('"', '""'): column for name, column in columns.items()}
    return ''.join(f', {column}::FLOAT AS "{name}"' for name, column in quoted.items())


def _too_little(error: BaseException) -> ValueError:
    return ValueError(f"'memory' must be larger for this table (got {one_line(error)})")


def import_duckdb() -> Any:
    r"""Imports DuckDB, or raises a :class:`ValueError` that names the extra."""
    try:
        import duckdb
    except ImportError:
        raise ValueError(
            "DuckDB must be installed to shard tables: pip install 'tgx_anchor[scale]'"
        ) from None
    return duckdb
