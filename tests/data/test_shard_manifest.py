"""Manifest of shards: written, read and checked."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.strategies import one_line_error
from tgx_anchor.data.shard_file import ShardFile
from tgx_anchor.data.shard_manifest import MANIFEST, Shard, ShardManifest

COLUMNS = {
    'incidences': ['node', 'hyperedge', 'y'],
    'hyperedges': ['id'],
    'nodes': ['id', 'age'],
}


def make_manifest() -> ShardManifest:
    file = ShardFile('a.parquet', 3, 99, 'ab')
    shards = [Shard(0, 3, 1, file, file), Shard(3, 3, 0, file, file)]
    return ShardManifest(
        3, 6, 6, COLUMNS, shards, [file], {'x': {'age': 'age'}}, ['to']
    )


def test_round_trip(tmp_path: Path) -> None:
    manifest = make_manifest()
    (tmp_path / MANIFEST).write_text(manifest.to_json(), encoding='utf-8')
    assert ShardManifest.read(tmp_path) == manifest


@pytest.mark.parametrize(
    ('path', 'value', 'words'),
    [
        (['num_nodes'], 4, ["'num_nodes' 4 and 3"]),
        (['num_incidences'], 7, ["'num_incidences' 7 and 6"]),
        (['version'], 2, ['version 1', '2']),
        (['format'], 'other', ['other']),
        (['shards', 1, 'first_hyperedge'], 2, ['shard 1', 'after 3']),
        (['shards', 1, 'hyperedges', 'num_rows'], 2, ['shard 1', '3 groups']),
        (['columns', 'incidences'], ['node', 'y'], ["'hyperedge'", "'incidences'"]),
        (['attributes'], {'z': {}}, ["'z'"]),
        (['shards'], 5, ['manifest']),
        (['odd'], 5, ["the key 'odd'"]),
        (['shards', 0, 'incidences', 'num_bytes'], '9', ["'9' for 'num_bytes'"]),
        (['shards', 0, 'num_known'], 1.0, ["1.0 for 'num_known'"]),
        (['nodes', 0, 'file'], 3, ["3 for 'file'"]),
        (['nodes', 0], {'file': 'a'}, ["no key 'num_rows'"]),
        (['attributes'], {'hyperedge_attr': {'w': 'w'}}, ["'w'", "'hyperedges'"]),
    ],
)
def test_numbers_must_agree(
    tmp_path: Path, path: list[Any], value: Any, words: list[str]
) -> None:
    content = json.loads(make_manifest().to_json())
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (tmp_path / MANIFEST).write_text(json.dumps(content), encoding='utf-8')
    with one_line_error(MANIFEST, *words):
        ShardManifest.read(tmp_path)


def test_at_least_one_shard(tmp_path: Path) -> None:
    content = json.loads(make_manifest().to_json())
    content |= {'shards': [], 'num_hyperedges': 0, 'num_incidences': 0}
    (tmp_path / MANIFEST).write_text(json.dumps(content), encoding='utf-8')
    with one_line_error(MANIFEST, 'no files of shards'):
        ShardManifest.read(tmp_path)


def test_no_manifest(tmp_path: Path) -> None:
    with one_line_error("'root'", MANIFEST, tmp_path.name):
        ShardManifest.read(tmp_path)
    (tmp_path / MANIFEST).write_text('{', encoding='utf-8')
    with one_line_error(MANIFEST, 'must be a manifest'):
        ShardManifest.read(tmp_path)
