"""Commands on shards, in one process."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.cli.command import Run
from tests.nn.predictors.test_shard_predictions import write_table
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.io import write_shards


@pytest.fixture(scope='module')
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('sharded')
    data: Any = PlantedAnchorDataset(num_nodes=300, num_hyperedges=1500, seed=1)[0]
    write_table(data, folder / 'table.parquet')
    write_shards(
        folder / 'table.parquet', folder / 'shards', num_shards=3, memory='500MB'
    )
    return folder / 'table.parquet'


def test_same_as_the_table(run: Run, table: Path, tmp_path: Path) -> None:
    shards = str(table.parent / 'shards')
    out, file = tmp_path / 'anchors', tmp_path / 'anchors.parquet'
    done = run('identify', shards, '--out', str(out), '--json')
    assert done.code == 0, done.err
    plain = run(
        'identify', str(table), '--out', str(file), '--model', 'anchor-radar', '--json'
    )
    assert pa.parquet.read_table(out).equals(pa.parquet.read_table(file))
    found, expected = json.loads(done.out), json.loads(plain.out)
    same = ['num_groups', 'num_people', 'num_known', 'num_predicted', 'model']
    same += ['expected_accuracy', 'num_held_out', 'chance', 'num_rows']
    assert {key: found[key] for key in same} == {key: expected[key] for key in same}
    assert (found['num_processes'], found['num_shards']) == (1, 3)
    assert not (tmp_path / 'anchors.work').exists()

    model = tmp_path / 'model.tgx'
    assert run('fit', shards, '--out', str(model)).code == 0
    again = tmp_path / 'again'
    assert run('predict', str(model), shards, '--out', str(again)).code == 0
    assert pa.parquet.read_table(again).equals(pa.parquet.read_table(out))
    predicted = tmp_path / 'predicted'
    words = ['predict', str(model), shards, '--out', str(predicted), '--ignore-known']
    assert run(*words).code == 0
    judged = run('evaluate', str(predicted), str(table), '--json')
    assert judged.code == 0, judged.err
    judged_known = json.loads(judged.out)['num_hyperedges']
    words = ['evaluate', str(model)]
    scores = [
        json.loads(run(*words, truth, '--json').out) for truth in (shards, str(table))
    ]
    for key in ('accuracy', 'mrr', 'ndcg', 'num_hyperedges', 'num_single'):
        assert scores[0][key] == pytest.approx(scores[1][key])
    assert judged_known == scores[0]['num_hyperedges']


@pytest.mark.parametrize(
    ('words', 'parts'),
    [
        (('identify', 'SHARDS'), ["'--out' must be named"]),
        (('identify', 'SHARDS', '--out', 'a', '--model', 'stacked'), ['stacked']),
        (('fit', 'SHARDS', '--out', 'a', '--model', 'context'), ['context']),
        (('identify', 'SHARDS', '--out', 'a', '--group', 'g'), ["'--group'"]),
        (('identify', 'SHARDS', '--out', 'SHARDS'), ["'--out' must be a new folder"]),
        (('identify', 'SHARDS', '--out', '..'), ["'--out' must be the name", "'..'"]),
        (('fit', 'SHARDS', '--out', 'no/model'), ["'--out' must be in a folder"]),
        (('predict', 'no.tgx', 'SHARDS', '--out', 'a'), ['no.tgx']),
        (('suggest', 'no.tgx', 'SHARDS'), ['a folder of shards', "'identify'"]),
        (('evaluate', 'a.csv', 'SHARDS'), ["'a.csv'", 'with a table']),
    ],
)
def test_wrong_input(
    run: Run, table: Path, words: tuple[str, ...], parts: list[str]
) -> None:
    shards = str(table.parent / 'shards')
    done = run(*(shards if word == 'SHARDS' else word for word in words))
    assert done.code == 2
    assert done.err.count('\n') == 1
    assert all(part in done.err for part in parts), done.err


def test_no_known_anchor(run: Run, tmp_path: Path) -> None:
    table = pa.table({'group': [1, 1, 2, 2], 'member': [1, 2, 2, 3]})
    table = table.append_column('is_anchor', pa.array([False] * 4))
    pa.parquet.write_table(table, tmp_path / 'table.parquet')
    shards = tmp_path / 'shards'
    write_shards(tmp_path / 'table.parquet', shards, num_shards=2, memory='500MB')
    done = run('identify', str(shards), '--out', str(tmp_path / 'out'))
    assert done.code == 2
    assert 'no anchor is known' in done.err
    assert "'--anchor' of 'tgx-anchor shard'" in done.err
    assert not (tmp_path / 'out').exists()


def test_this_folder_is_no_name(
    run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run('identify', str(table.parent / 'shards'), '--out', '.')
    assert done.code == 2
    assert done.err.count('\n') == 1
    assert "'--out' must be the name of a folder" in done.err


def test_shards_without_groups(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {
        'group': ['a', 'a', 'b', 'b', 'c', 'c'],
        'member': ['x', 'y', 'x', 'z', 'y', 'z'],
        'is_anchor': [True, False, False, False, True, False],
    }
    pa.parquet.write_table(pa.table(columns), tmp_path / 'table.parquet')
    shards, out = str(tmp_path / 'shards'), tmp_path / 'out'
    write_shards(tmp_path / 'table.parquet', shards, num_shards=5, memory='500MB')
    assert run('identify', shards, '--out', str(out)).code == 0
    files = sorted(out.glob('*.parquet'))
    assert len(files) == 5
    assert len({str(pa.parquet.read_schema(file)) for file in files}) == 1

    # A disk that is full leaves nothing behind.
    def fail(*_: Any) -> None:
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(pyarrow.parquet, 'write_table', fail)
    assert run('identify', shards, '--out', str(tmp_path / 'other')).code == 2
    assert not (tmp_path / 'other').exists()
    assert not (tmp_path / 'other.part').exists()


def test_incomplete_shards(run: Run, tmp_path: Path) -> None:
    table = pa.table({'group': [1, 1], 'member': [1, 2], 'is_anchor': [True, False]})
    pa.parquet.write_table(table, tmp_path / 'table.parquet')
    shards = tmp_path / 'shards'
    write_shards(tmp_path / 'table.parquet', shards, num_shards=1, memory='500MB')
    (shards / '_manifest.json').unlink()
    done = run('identify', str(shards), '--out', str(tmp_path / 'out'))
    assert done.code == 2
    assert done.err.count('\n') == 1
    assert "without '_manifest.json'" in done.err
    # All else is there: the command that wrote it could not go on.
    assert 'to a new folder' in done.err
    (shards / '_work').mkdir()
    (shards / '_work' / 'store.duckdb').touch()
    done = run('identify', str(shards), '--out', str(tmp_path / 'out'))
    assert "run the same 'tgx-anchor shard' command again" in done.err
