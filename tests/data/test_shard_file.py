"""Sizes and checksums of files."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from tests.strategies import one_line_error
from tgx_anchor.data.shard_file import ShardFile


def test_files_that_are_missing_cut_or_changed(tmp_path: Path) -> None:
    path = tmp_path / 'a.parquet'
    pa.parquet.write_table(pa.table({'i': [1, 2, 3]}), path)
    content = path.read_bytes()
    file = ShardFile.measure(tmp_path, 'a.parquet')
    code = hashlib.sha256(content).hexdigest()
    assert file == ShardFile('a.parquet', 3, len(content), code)
    file.check_content(tmp_path, 'shard 0')
    with one_line_error('shard 0 must have 4 rows', 'got 3'):
        replace(file, num_rows=4).check_content(tmp_path, 'shard 0')

    path.write_bytes(content[:-1])
    with one_line_error('shard 0 is truncated', f'{len(content) - 1:,}'):
        file.check_size(tmp_path, 'shard 0')
    path.write_bytes(content + b'.')
    with one_line_error('shard 0 has changed', 'bytes'):
        file.check_size(tmp_path, 'shard 0')
    path.write_bytes(b'.' + content[1:])
    file.check_size(tmp_path, 'shard 0')
    with one_line_error('shard 0 has changed', 'SHA-256', code[:16]):
        file.check_content(tmp_path, 'shard 0')
    path.unlink()
    with one_line_error('shard 0 is missing', 'a.parquet'):
        file.check_size(tmp_path, 'shard 0')
    path.write_text('text', encoding='utf-8')
    other = ShardFile('a.parquet', 0, 4, hashlib.sha256(b'text').hexdigest())
    with one_line_error('shard 0 must be a Parquet file'):
        other.check_content(tmp_path, 'shard 0')
