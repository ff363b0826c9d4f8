"""The command that writes shards."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.cli.command import Run
from tgx_anchor.data import ShardedAnchorData
from tgx_anchor.io import inspect_incidence


def test_shard(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / 'shards'
    done = run('shard', str(mails), '--out', str(out), '--num-shards', '3')
    assert (done.code, done.err.count('\n') > 0) == (0, True), done.err
    expected = inspect_incidence(mails, tidy=True).data
    shards = ShardedAnchorData(out)
    assert shards.num_shards == 3
    data = shards.to_data()
    assert data.hyperedge_index.tolist() == expected.hyperedge_index.tolist()
    assert data.node_id == expected.node_id
    assert f'{shards.num_incidences:,} memberships' in done.out
    again = run('shard', str(mails), '--out', str(out), '--num-shards', '3', '--json')
    assert again.code == 0
    assert 'earlier run' in again.err
    summary = json.loads(again.out)
    assert summary['num_memberships'] == expected.num_incidences
    assert summary['num_shards'] == 3


def test_bad_rows(run: Run, tmp_path: Path) -> None:
    path = tmp_path / 'a.csv'
    path.write_text('group,member,is_anchor\nm,a,yes\nm,b,what\n', encoding='utf-8')
    words = ('shard', str(path), '--out', str(tmp_path / 'out'))
    done = run(*words)
    assert done.code == 2
    first, second = done.err.splitlines()
    assert first.startswith("tgx-anchor: 'is_anchor' must be true, false or left empty")
    assert "'--skip-bad'" in first
    assert 'm,b,what' in second
    done = run(*words, '--skip-bad')
    assert done.code == 0
    assert '1 bad row is left out' in done.err
    rejected = pa.parquet.read_table(tmp_path / 'out' / '_rejected')
    path.write_text('group,member,is_anchor\nm,b,what\n', encoding='utf-8')
    for command, out in (('shard', 'other'), ('identify', 'other.csv')):
        words = (command, str(path), '--out', str(tmp_path / out))
        done = run(*words, '--skip-bad')
        assert done.code == 2
        assert 'no row is good' in done.err
        assert '--skip-bad' not in done.err
    assert rejected['text'].to_pylist() == ['m,b,what']


@pytest.mark.parametrize(
    ('words', 'parts'),
    [
        (('--memory', 'much'), ["'--memory' must", "'much'"]),
        (('--memory', '1MB'), ["'--memory' must", '500MB']),
        (('--num-shards', '0'), ['--num-shards']),
        (('--known', 'k.csv'), ["'--known'", 'shard']),
        (('--members', 'to'), ["'--members'", 'shard']),
        (('--sep', '|'), ["'--sep'", 'shard']),
        (('--group', 'nothing'), ["'nothing'", "'--group'"]),
        (('--encoding', 'klingon'), ["'--encoding' must", "'klingon'"]),
    ],
)
def test_wrong_options(
    run: Run, mails: Path, tmp_path: Path, words: tuple[str, ...], parts: list[str]
) -> None:
    done = run('shard', str(mails), '--out', str(tmp_path / 'out'), *words)
    assert done.code == 2
    assert done.err.count('\n') == 1
    assert all(part in done.err for part in parts), done.err
    assert not (tmp_path / 'out').exists()
