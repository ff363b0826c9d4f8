"""Hypergraphs in shards: what is read, and when faults are named."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch

from tests.strategies import one_line_error
from tgx_anchor.data import AnchorData, ShardedAnchorData
from tgx_anchor.io import write_shards

DOCS = Path(__file__).parents[2] / 'docs' / 'shards.md'
TABLE = pa.table(
    {
        'group': ['m2', 'm2', 'm1', 'm3', 'm3', 'm3'],
        'member': [5, 7, 7, 9, 5, 7],
        'is_anchor': ['yes', '', '', '', 'yes', ''],
        'role': ['to', 'cc', 'to', 'to', 'to', 'cc'],
        'time': ['10', '', '', '2020-01-01', '', ''],
        'node_age': [1.0, 2.0, 2.0, 3.0, 1.0, 2.0],
        'hyperedge_size': [0.5, 0.5, 1.5, 2.5, 2.5, 2.5],
        'incidence_weight': [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    pa.csv.write_csv(TABLE, tmp_path / 'a.csv')
    write_shards(tmp_path / 'a.csv', tmp_path / 'shards', num_shards=2)
    return tmp_path / 'shards'


def test_sizes_and_shards(root: Path) -> None:
    shards = ShardedAnchorData(root)
    sizes = (shards.num_nodes, shards.num_hyperedges, shards.num_incidences)
    assert sizes == (3, 3, 6)
    assert repr(shards).endswith('num_incidences=6, num_shards=2)')
    data: Any = shards.shard(1)
    assert shards.first_hyperedge(1) == 2
    assert data.num_nodes == 3
    assert data.hyperedge_index.tolist() == [[2, 0, 1], [0, 0, 0]]
    assert data.y.tolist() == [False, True, False]
    assert data.role.tolist() == [1, 1, 0]
    assert data.role_names == ['cc', 'to']
    assert data.hyperedge_id == ['m3']
    assert data.hyperedge_time.tolist() == [1577836800.0]
    assert data.hyperedge_attr.tolist() == [[2.5]]
    assert data.incidence_attr.tolist() == [[4.0], [5.0], [6.0]]
    assert 'node_id' not in data
    assert 'hyperedge_id' not in shards.shard(1, ids=False)
    assert shards.x is not None
    assert shards.x.tolist() == [[1.0], [2.0], [3.0]]
    for wrong in (2, -1, True, '0'):
        with one_line_error('[0, 2)', repr(wrong)):
            shards.shard(wrong)  # type: ignore[arg-type]


def test_incidences_are_mapped_in_32_bits(root: Path) -> None:
    columns = ShardedAnchorData(root).incidences(0)
    assert list(columns) == ['node', 'hyperedge', 'y', 'role', 'incidence_weight']
    assert isinstance(columns['node'], np.memmap)
    assert columns['node'].dtype == columns['hyperedge'].dtype == np.int32
    assert columns['node'].tolist() == [0, 1, 1]


def test_to_data_is_the_table(root: Path) -> None:
    data: Any = ShardedAnchorData(root).to_data()
    expected: Any = AnchorData.from_incidence(root.parent / 'a.csv')
    assert torch.equal(data.hyperedge_index, expected.hyperedge_index)
    assert data.node_id.tolist() == expected.node_id.tolist()
    assert data.column_names == expected.column_names


def test_faults_are_named_before_anything_is_computed(root: Path) -> None:
    shards = ShardedAnchorData(root)
    path = root / 'shard-00001.parquet'
    content = path.read_bytes()
    changed = bytearray(content)
    changed[40] ^= 1
    path.write_bytes(changed)
    with one_line_error('shard 1 has changed'):
        shards.shard(1)
    with one_line_error('shard 1 has changed'):
        ShardedAnchorData(root).to_data()
    shards.verify([0])
    path.write_bytes(content[:-5])
    with one_line_error('shard 1 is truncated'):
        ShardedAnchorData(root)
    path.unlink()
    with one_line_error('shard 1 is missing'):
        ShardedAnchorData(root)
    path.write_bytes(content)
    nodes = root / '_nodes' / 'part-00000.parquet'
    nodes.write_bytes(b'x' * nodes.stat().st_size)
    with one_line_error('part 0 of the nodes has changed'):
        ShardedAnchorData(root).verify()


def test_only_what_is_asked_for_is_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = ShardedAnchorData(root)
    (root / 'shard-00001.parquet').unlink()
    (root / '_nodes' / 'part-00000.parquet').unlink()
    assert shards.shard(0).num_incidences == 3


def test_the_documented_way_to_write_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = DOCS.read_text(encoding='utf-8')
    (code,) = re.findall(r'```python write\n(.*?)```', text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(code, {})  # noqa: S102
    data: Any = ShardedAnchorData('shards').to_data()
    assert data.hyperedge_id == ['mail 1', 'mail 2', 'mail 3']
    assert data.node_id == ['ann', 'bob', 'cat']
    assert data.hyperedge_index.tolist() == [[0, 1, 1, 2, 0], [0, 0, 1, 1, 2]]
    assert data.y.tolist() == [True, False, False, False, True]


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    text = DOCS.read_text(encoding='utf-8')
    (code,) = re.findall(r'```python write\n(.*?)```', text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(code, {})  # noqa: S102
    return tmp_path / 'shards'


def put_column(root: Path, level: str, name: str, column: Any) -> None:
    """Replaces a column of the first file of a level, as another program would."""
    path = root / '_manifest.json'
    manifest = json.loads(path.read_text(encoding='utf-8'))
    entry = manifest['nodes'][0] if level == 'nodes' else manifest['shards'][0][level]
    table = pa.parquet.read_table(root / entry['file'], partitioning=None)
    if name in table.column_names:
        table = table.drop_columns([name])
    elif column is not None:
        manifest['columns'][level].append(name)
    if column is not None:
        table = table.append_column(name, pa.array(column))
    pa.parquet.write_table(table, root / entry['file'], compression='zstd')
    content = (root / entry['file']).read_bytes()
    entry['num_bytes'] = len(content)
    entry['sha256'] = hashlib.sha256(content).hexdigest().upper()
    path.write_text(json.dumps(manifest), encoding='utf-8')


@pytest.mark.parametrize(
    ('level', 'name', 'column', 'words'),
    [
        ('nodes', 'node', [2, 1, 0], ["'node'", '_nodes/part', 'order', '[2, 1, 0]']),
        ('nodes', 'id', ['a', 'b', 'a'], ["'id'", '_nodes/part', 'distinct']),
        ('nodes', 'id', ['a', None, 'c'], ["'id'", 'null']),
        ('nodes', 'id', [1.0, 2.0, 3.0], ["'id'", 'integers or strings', 'double']),
        ('nodes', 'id', None, ['_nodes/part', "the column 'id'"]),
        ('hyperedges', 'hyperedge', [1, 0], ['_hyperedges/shard', 'order', '[1, 0]']),
        ('hyperedges', 'id', ['a', 'a'], ['_hyperedges/shard', 'distinct']),
        ('hyperedges', 'id', [1, 2], ['integers in shard 0', 'none in shard 1']),
        ('hyperedges', 'time', ['a', 'b'], ["'time'", 'numbers', 'string']),
        ('incidences', 'node', [0, 0, 1, 2], ['shard 0', 'once', 'hyperedge 0']),
        ('incidences', 'node', [0.0, 1.0, 1.0, 2.0], ['node of shard 0', 'float64']),
        ('incidences', 'hyperedge', [0, 1, 0, 1], ['shard 0', 'group by group']),
        ('incidences', 'y', [1, 0, 0, 0], ["'y' of shard 0", 'booleans', 'int64']),
        ('incidences', 'y', [False] * 4, ['shard 0', '1 groups with an anchor']),
        ('incidences', 'y', None, ['shard-00000', "the column 'y'"]),
        ('incidences', 'role', list('abab'), ["'role' of shard 0", 'integers']),
    ],
)
def test_shards_of_other_programs_are_checked(
    foreign: Path, level: str, name: str, column: Any, words: list[str]
) -> None:
    put_column(foreign, level, name, column)
    with one_line_error(*words):
        ShardedAnchorData(foreign).to_data()
    # Also before a model is fitted, which needs no ids.
    with one_line_error(*words):
        ShardedAnchorData(foreign).part()


def test_shards_of_other_programs_may_have_other_types(foreign: Path) -> None:
    put_column(foreign, 'nodes', 'id', pa.array(['a', 'b', 'c']).dictionary_encode())
    put_column(foreign, 'nodes', 'node', pa.array([0, 1, 2], pa.uint64()))
    put_column(foreign, 'incidences', 'hyperedge', pa.array([0, 0, 1, 1], pa.uint32()))
    shards = ShardedAnchorData(foreign)
    assert shards.to_data().node_id == ['a', 'b', 'c']
    assert shards.node_ids.to_pylist() == ['a', 'b', 'c']
    assert shards.part().num_incidences == 5


def test_many_shards_are_divided_at_once(root: Path) -> None:
    shards = ShardedAnchorData(root)
    shards.manifest.shards.extend(shards.manifest.shards[:1] * 50_000)
    assert [len(shards.shards_of(rank, 2)) for rank in (0, 1)] == [25_001, 25_001]
