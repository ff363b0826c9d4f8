"""Steps from memberships in a database to the files of shards."""

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tgx_anchor.data.plain_parquet import write_plain_parquet
from tgx_anchor.data.shard_file import ShardFile
from tgx_anchor.data.shard_manifest import MANIFEST, Shard, ShardManifest
from tgx_anchor.io.bad_row import BadRow, BadRowError
from tgx_anchor.io.columns import INTEGER
from tgx_anchor.io.group_columns import PREFIXES
from tgx_anchor.io.membership_reader import MembershipReader
from tgx_anchor.io.shard_reading import ShardReading
from tgx_anchor.io.shard_store import FILE, ShardStore
from tgx_anchor.io.table import Table, get_suffix

Progress = Callable[[str, int, int], None]

WORK = '_work'
NODES = '_nodes'
HYPEREDGES = '_hyperedges'
REJECTED = '_rejected'
# The rows of a file of nodes or of bad rows.
ROWS = 2**20


class ShardWriter:
    r"""Writes shards step by step, and continues where the last run was stopped.

    Args:
        root (Path): The folder of shards.
        store (ShardStore): The database.
        reader (MembershipReader): The reader of the table.
        num_shards (int): The number of shards.
        memory (int): The number of bytes of memory to use.
        progress (Callable, optional): Takes the step, how much of it is done, and how
            much there is to do, or zero. (default: :obj:`None`)
    """

    def __init__(
        self,
        root: Path,
        store: ShardStore,
        reader: MembershipReader,
        num_shards: int,
        memory: int,
        progress: Progress | None = None,
    ) -> None:
        self.root, self.store, self.reader = root, store, reader
        self.layout, self.stream = reader.layout, reader.stream
        self.num_shards, self.memory = num_shards, memory
        self.progress = progress
        # The column of each attribute in the database, by level.
        self.columns: dict[str, list[str]] = {}
        count = 0
        for key, names in self.layout.attributes.items():
            self.columns[key] = [f'a{count + i}' for i in range(len(names))]
            count += len(names)
        self.has_time = 'time' in self.layout.columns
        self.has_roles = 'role' in self.layout.columns

    def _show(self, step: str, done: int = 0, total: int = 0) -> None:
        if self.progress is not None:
            self.progress(step, done, total)

    def write(self, skip_bad: bool, settings: str) -> ShardReading:
        r"""Writes all files, the manifest last.

        Args:
            skip_bad (bool): If set to :obj:`True`, bad rows are left out.
            settings (str): A hash of the table and all options, for the manifest.
        """
        self.store.run('clean', self._clean)
        scans = self._scan()
        num_bad = self.store.run('check', self._check)
        rejected = self.store.run('rejected', self._write_rejected)
        num_rows = sum(scan['num_rows'] for scan in scans)
        if num_bad and not (skip_bad and num_bad < num_rows):
            raise BadRowError(self._first_bad(), num_bad, skip_bad)
        self._show('numbering the groups')
        groups = self.store.run(
            'groups',
            lambda: self.store.number_groups(
                self.columns.get('hyperedge_attr', []), self.has_time
            ),
        )
        self._show('numbering the members')
        nodes = self.store.run(
            'nodes', lambda: self.store.number_nodes(self.columns.get('x', []))
        )
        role_names = self.store.run('roles', self._number_roles)
        self._show('joining')
        joined = self.store.run(
            'join',
            lambda: self.store.join(
                self.columns.get('incidence_attr', []), self.has_roles
            ),
        )
        if joined['added'] and (
            self.has_roles or {'x', 'incidence_attr'} & {*self.columns}
        ):
            raise ValueError(
                f"'{self.layout.columns['anchor']}' must name members of the group "
                f'where the table has roles or attributes of members (got '
                f'{joined["added"]:,} others)'
            )
        self.store.limit(self.memory // 2)
        names = self._name_columns()
        is_integer = {
            key: self.store.run(f'kind of {key}', partial(self._is_integer, key))
            for key in ('groups', 'nodes')
        }
        sizes = (nodes['count'], groups['count'], joined['count'])
        files = self._write_nodes(sizes[0], names['x'], is_integer['nodes'])
        shards = self._write_shards(sizes, names, is_integer['groups'])
        manifest = ShardManifest(
            *sizes,
            {
                'incidences': [
                    *('node', 'hyperedge', 'y'),
                    *(['role'] if self.has_roles else []),
                    *names['incidence_attr'],
                ],
                'hyperedges': [
                    *('hyperedge', 'id'),
                    *(['time'] if self.has_time else []),
                    *names['hyperedge_attr'],
                ],
                'nodes': ['node', 'id', *names['x']],
            },
            shards,
            files,
            {key: stored for key, stored in names.items() if stored},
            role_names,
            [ShardFile(**file) for file in rejected],
            settings,
        )
        part = self.root / WORK / MANIFEST
        part.write_text(manifest.to_json(), encoding='utf-8')
        part.replace(self.root / MANIFEST)
        flags: dict[str, bool] = {}
        counts: Counter[str] = Counter()
        for scan in scans:
            flags.update(scan['flags'])
            counts.update(scan['counts'])
        notes = [*self.stream.notes, *self.layout.list_notes()]
        notes += _list_notes(counts, groups, joined)
        if num_bad:
            first = self._first_bad()[0]
            notes.append(f'bad rows that are left out: {num_bad:,}; the first: {first}')
        return ShardReading(
            manifest,
            True,
            self.stream.form,
            self.layout.describe(),
            notes,
            num_rows,
            num_bad,
            flags,
        )

    # Reading

    def _scan(self) -> list[dict[str, Any]]:
        store, reader = self.store, self.reader
        kinds = ('group', 'member', *(['role'] if self.has_roles else []))
        is_integer = {key: reader.is_integer(key) for key in kinds}
        count = len(reader.attributes)
        store.run('create', lambda: store.create(is_integer, self.has_time, count))
        self._show('looking at the anchors')
        has_flags = store.run('flags', reader.has_flags)
        weights = [file.path.stat().st_size for file in self.stream.files]
        out = []
        for number in range(len(weights)):
            scan = store.find(f'file {number}')
            if scan is None:
                scan = self._scan_file(number, has_flags, weights)
                store.run(f'file {number}', partial(dict, scan))
            out.append(scan)
            self._show(f'file {number + 1}', sum(weights[: number + 1]), sum(weights))
        return out

    def _clean(self) -> None:
        # Files of a run with other settings.
        for name in (NODES, REJECTED):
            shutil.rmtree(self.root / name, ignore_errors=True)
        self._clean_shards()

    def _clean_shards(self) -> None:
        shutil.rmtree(self.root / HYPEREDGES, ignore_errors=True)
        for path in self.root.glob('shard-*.parquet'):
            path.unlink()

    def _scan_file(
        self, number: int, has_flags: bool | None, weights: list[int]
    ) -> dict[str, Any]:
        # A transaction per part: the database holds all that is not committed.
        counts: Counter[str] = Counter()
        flags: dict[str, bool] = {}
        start = num_rows = 0
        name = self.stream.files[number].path.name
        for i, part in enumerate(self.stream.parts(number)):
            work = partial(self._scan_part, number, part, start, has_flags)
            found = self.store.run(f'part {i} of file {number}', work)
            counts.update(found['counts'])
            flags.update(found['flags'])
            start += len(next(iter(part.columns.values())))
            num_rows += found['num_rows']
            done = sum(weights[:number])
            self._show(f'{name}, row {num_rows:,}', done, sum(weights))
        return {'num_rows': num_rows, 'counts': dict(counts), 'flags': flags}

    def _scan_part(
        self, number: int, part: Table, start: int, has_flags: bool | None
    ) -> dict[str, Any]:
        rows = self.reader.read(part, has_flags)
        self.store.insert(rows.table, number, start)
        self.store.reject(rows.bad_rows, number)
        return {'num_rows': rows.num_rows, 'counts': rows.counts, 'flags': rows.flags}

    def _check(self) -> int:
        # Of the number of bad rows.
        self._show('checking attributes')
        count = 0
        for key, owner in (('x', 'member'), ('hyperedge_attr', 'group')):
            names = self.layout.attributes.get(key, [])
            for column, name in zip(self.columns.get(key, []), names, strict=True):
                count += self.store.find_unequal(column, owner, name)
        if count:
            self._reject_unequal()
        return self.store.num_rejected()

    def _reject_unequal(self) -> None:
        last = -1
        while found := self.store.list_unequal(last, ROWS):
            last = found[-1][0]
            by_file: dict[int, list[Any]] = {}
            for entry, reason in found:
                by_file.setdefault(entry // FILE, []).append((entry % FILE, reason))
            for number, rows in by_file.items():
                places = self.stream.describe(number, [row for row, _ in rows])
                bad = [
                    BadRow(place.file, place.line, reason, place.text, place.unit)
                    for place, (_, reason) in zip(places, rows, strict=True)
                ]
                self.store.reject(bad, number)

    def _first_bad(self) -> list[BadRow]:
        # The run that found them may have used other names of the same files.
        return [
            BadRow(
                file,
                line,
                reason,
                text,
                'row' if get_suffix(Path(file)) == '.parquet' else 'line',
            )
            for file, line, reason, text in self.store.first_rejected()
        ]

    def _number_roles(self) -> list[str] | None:
        # The names of the roles, whose numbers go to a table.
        if not self.has_roles:
            return None
        roles = self.store.list_roles()
        names = self.layout.role_names
        numbers: list[int] = roles
        if names is None and not self.reader.is_integer('role'):
            is_integer = self.stream.is_text and all(map(_is_integer_text, roles))
            numbers = list(map(int, roles)) if is_integer else list(range(len(roles)))
            names = None if is_integer or not roles else roles
        self.store.number_roles(roles, numbers)
        return names

    def _is_integer(self, table: str) -> bool:
        meaning = {'groups': 'group', 'nodes': 'member'}[table]
        if self.reader.is_integer(meaning) or self.store.is_empty(table):
            return True
        return self.stream.is_text and self.store.holds_integers(table)

    # Writing

    def _name_columns(self) -> dict[str, dict[str, str]]:
        # The name of each attribute by its column in the files.
        taken = {
            'x': ['node', 'id'],
            'hyperedge_attr': ['hyperedge', 'id', 'time'],
            'incidence_attr': ['node', 'hyperedge', 'y', 'role'],
        }
        out: dict[str, dict[str, str]] = {key: {} for key in taken}
        for key, names in self.layout.attributes.items():
            for name in names:
                column = name
                while column in (*taken[key], *out[key]) or column.startswith('_'):
                    column = PREFIXES[key] + column
                out[key][column] = name
        return out

    def _pick(self, key: str, names: dict[str, dict[str, str]]) -> dict[str, str]:
        # The columns of attributes in the database, by their names in the files.
        return dict(zip(names[key], self.columns.get(key, []), strict=True))

    def _put(self, name: str, write: Callable[[Path], None]) -> dict[str, Any]:
        # A file is complete once it has its name.
        part = self.root / WORK / 'part.parquet'
        write(part)
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        part.replace(path)
        return asdict(ShardFile.measure(self.root, name))

    def _put_rows(self, name: str, batches: Iterator[pa.RecordBatch]) -> dict[str, Any]:
        def write(path: Path) -> None:
            first = next(batches)
            with pa.parquet.ParquetWriter(path, first.schema) as writer:
                writer.write_batch(first)
                for batch in batches:
                    writer.write_batch(batch)

        return self._put(name, write)

    def _write_rejected(self) -> list[dict[str, Any]]:
        return [
            self._put_rows(
                f'{REJECTED}/part-{i:05}.parquet',
                self.store.rejected(ROWS, i * ROWS),
            )
            for i in range(-(-self.store.num_rejected() // ROWS))
        ]

    def _write_nodes(
        self, num_nodes: int, names: dict[str, str], is_integer: bool
    ) -> list[ShardFile]:
        values = self._pick('x', {'x': names})
        out = []
        count = max(1, -(-num_nodes // ROWS))
        for i in range(count):
            self._show('writing the members', i, count)

            def write(i: int = i) -> dict[str, Any]:
                end = min((i + 1) * ROWS, num_nodes)
                rows = self.store.nodes(i * ROWS, end, is_integer, values, num_nodes)
                return self._put_rows(f'{NODES}/part-{i:05}.parquet', rows)

            out.append(ShardFile(**self.store.run(f'nodes {i}', write)))
        return out

    def _plan(self, num_incidences: int, num_hyperedges: int) -> dict[str, Any]:
        # The first group of each shard: the first that begins at or after the place
        # where the shard would begin if groups could be cut.
        targets = [
            -(-i * num_incidences // self.num_shards) for i in range(self.num_shards)
        ]
        first = [0]
        begins = [0]
        start = 0
        for batch in self.store.group_sizes():
            number, size = (column.to_numpy() for column in batch.columns)
            begin = start + np.cumsum(size) - size
            start += int(size.sum())
            last = int(begin[-1]) if len(begin) else -1
            while len(first) < self.num_shards and last >= targets[len(first)]:
                place = int(np.searchsorted(begin, targets[len(first)]))
                first.append(int(number[place]))
                begins.append(int(begin[place]))
        more = self.num_shards - len(first)
        first += [num_hyperedges] * (more + 1)
        begins += [num_incidences] * (more + 1)
        return {'first': first, 'largest': max(np.diff(begins).tolist())}

    def _write_shards(
        self,
        sizes: tuple[int, int, int],
        names: dict[str, dict[str, str]],
        is_integer: bool,
    ) -> list[Shard]:
        _, num_hyperedges, num_incidences = sizes
        if self.store.run('num_shards', lambda: self.num_shards) != self.num_shards:
            # The number last, or a run that is stopped here would keep the rest.
            self.store.forget('shard ')
            self.store.forget('plan')
            self._clean_shards()
            self.store.forget('num_shards')
            self.store.run('num_shards', lambda: self.num_shards)
        self._show('balancing the shards')
        plan = self.store.run(
            'plan', lambda: self._plan(num_incidences, num_hyperedges)
        )
        width = 17 + 8 * self.has_roles + 4 * len(names['incidence_attr'])
        # A shard is held twice when it is written.
        fits = self.memory // 2 // (2 * width)
        if plan['largest'] > fits:
            raise ValueError(
                f"'num_shards' must be larger, such as "
                f"{-(-2 * num_incidences // fits)}, or 'memory': a shard must fit into "
                f'a part of the memory (got {self.num_shards} shards, the largest of '
                f'{plan["largest"]:,} memberships)'
            )
        out = []
        for i in range(self.num_shards):
            self._show('writing the shards', i, self.num_shards)
            low, high = plan['first'][i : i + 2]
            work = partial(self._write_shard, i, low, high, sizes, names, is_integer)
            found = self.store.run(f'shard {i}', work)
            files = {
                key: ShardFile(**found[key]) for key in ('incidences', 'hyperedges')
            }
            out.append(Shard(**{**found, **files}))
        return out

    def _write_shard(
        self,
        number: int,
        low: int,
        high: int,
        sizes: tuple[int, int, int],
        names: dict[str, dict[str, str]],
        is_integer: bool,
    ) -> dict[str, Any]:
        name = f'shard-{number:05}.parquet'
        values = self._pick('incidence_attr', names)
        rows = self.store.incidences(low, high, values, self.has_roles, sizes)
        columns = pa.Table.from_batches(rows)
        known = columns['hyperedge'].filter(columns['y']).to_numpy()
        by_name = dict(zip(columns.column_names, columns.columns, strict=True))
        incidences = self._put(name, partial(write_plain_parquet, by_name))
        values = self._pick('hyperedge_attr', names)
        groups = self.store.groups(
            low, high, is_integer, values, self.has_time, sizes[1]
        )
        return {
            'first_hyperedge': low,
            'num_hyperedges': high - low,
            'num_known': len(np.unique(known)),
            'incidences': incidences,
            'hyperedges': self._put_rows(f'{HYPEREDGES}/{name}', groups),
        }


def _list_notes(
    counts: Counter[str], groups: dict[str, int], joined: dict[str, int]
) -> list[str]:
    found = {
        'rows without a member, which only name their group': counts['nobody'],
        'rows that list a member of their group again, who counts once': joined[
            'merged'
        ],
        'anchors that are not listed as members of their group, and become members': (
            joined['added']
        ),
        'times that are neither numbers nor dates, and count as missing': counts[
            'odd_times'
        ],
        'groups with several times, of which the first counts': groups.get(
            'several_times', 0
        ),
    }
    return [f'{text}: {count:,}' for text, count in found.items() if count]


def _is_integer_text(text: str) -> bool:
    return bool(re.fullmatch(INTEGER, text)) and abs(int(text)) < 2**63
