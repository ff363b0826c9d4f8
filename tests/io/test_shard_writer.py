"""Files of shards: their balance, and the steps to them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.strategies import one_line_error
from tgx_anchor.data import ShardedAnchorData
from tgx_anchor.io import shard_writer, write_shards


def write_groups(path: Path, sizes: list[int]) -> Path:
    group = np.repeat(np.arange(len(sizes)), sizes)
    member = np.concatenate([np.arange(size) for size in sizes])
    pa.parquet.write_table(pa.table({'group': group, 'member': member}), path)
    return path


def test_shards_are_balanced_by_incidences(tmp_path: Path) -> None:
    sizes = [1, 2, 3, 9, 1, 1, 1, 2, 4, 5, 1, 2]
    path = write_groups(tmp_path / 'a.parquet', sizes)
    reading = write_shards(path, tmp_path / 'out', num_shards=4)
    found = [shard.incidences.num_rows for shard in reading.manifest.shards]
    # Of 32: each begins at the first group that begins at or after 0, 8, 16 and 24.
    assert found == [15, 1, 8, 8]
    assert [s.first_hyperedge for s in reading.manifest.shards] == [0, 4, 5, 9]
    assert max(found) <= 32 / 4 + max(sizes)


def test_more_shards_than_groups(tmp_path: Path) -> None:
    path = write_groups(tmp_path / 'a.parquet', [3, 2])
    write_shards(path, tmp_path / 'out', num_shards=5)
    shards = ShardedAnchorData(tmp_path / 'out')
    sizes = [shards.shard(i).num_incidences for i in range(5)]
    assert sum(sizes) == 5
    assert sizes.count(0) == 3
    assert shards.to_data().hyperedge_size.tolist() == [3, 2]


def test_a_run_may_go_on_with_other_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_groups(tmp_path / 'a.parquet', [2] * 20)
    with monkeypatch.context() as patch:
        patch.setattr(shard_writer, 'ShardManifest', None)
        with pytest.raises(TypeError):
            write_shards(path, tmp_path / 'out', num_shards=7)
    assert len(list((tmp_path / 'out').glob('*.parquet'))) == 7
    steps = []
    write_shards(
        path,
        tmp_path / 'out',
        num_shards=2,
        progress=lambda step, done, total: steps.append((step, done, total)),
    )
    assert len(list((tmp_path / 'out').glob('*.parquet'))) == 2
    assert ('writing the shards', 1, 2) in steps
    # The table was not read again.
    assert not any('row' in step for step, _, _ in steps)
    assert ShardedAnchorData(tmp_path / 'out').to_data().num_hyperedges == 20


def test_nodes_are_written_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_writer, 'ROWS', 4)
    path = write_groups(tmp_path / 'a.parquet', [10, 2])
    reading = write_shards(path, tmp_path / 'out')
    assert [file.num_rows for file in reading.manifest.nodes] == [4, 4, 2]
    shards = ShardedAnchorData(tmp_path / 'out')
    assert torch_list(shards.node_id) == list(range(10))


def torch_list(value: object) -> list[int]:
    return [int(number) for number in value]  # type: ignore[attr-defined]


def test_a_shard_must_fit_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_groups(tmp_path / 'a.parquet', [10] * 10)
    plan = {'first': [0, 10], 'largest': 10**9}
    monkeypatch.setattr(shard_writer.ShardWriter, '_plan', lambda *_: plan)
    with one_line_error("'num_shards' must be larger", '1,000,000,000'):
        write_shards(path, tmp_path / 'out', num_shards=1)
