"""Report of the reading of shards."""

from tgx_anchor.data.shard_manifest import ShardManifest
from tgx_anchor.io import ShardReading


def test_shards_that_were_there_have_an_empty_report() -> None:
    columns = {'incidences': ['node', 'hyperedge', 'y'], 'hyperedges': [], 'nodes': []}
    manifest = ShardManifest(0, 0, 0, columns, [], [])
    reading = ShardReading(manifest, False)
    assert reading.manifest is manifest
    assert (reading.form, reading.columns, reading.notes) == ('', {}, [])
    assert reading.num_rows == reading.num_bad_rows == 0
