"""Hypergraphs in shards: what is read, and when faults are named."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
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
    with one_line_error('shard 1 is changed'):
        shards.shard(1)
    with one_line_error('shard 1 is changed'):
        ShardedAnchorData(root).to_data()
    shards.verify([0])
    path.write_bytes(content[:-5])
    with one_line_error('shard 1 is cut'):
        ShardedAnchorData(root)
    path.unlink()
    with one_line_error('shard 1 is missing'):
        ShardedAnchorData(root)
    path.write_bytes(content)
    nodes = root / '_nodes' / 'part-00000.parquet'
    nodes.write_bytes(b'x' * nodes.stat().st_size)
    with one_line_error('part 0 of the nodes is changed'):
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
