"""AnchorRadar on shards: the same in memory and in any number of processes."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from tests.processes import run_processes
from tgx_anchor.data import AnchorData, ShardedAnchorData
from tgx_anchor.datasets import AnchorDataset, PlantedAnchorDataset
from tgx_anchor.io import write_shards
from tgx_anchor.nn import AnchorRadar, DegreeHeuristic
from tgx_anchor.nn.predictors import known_rows
from tgx_anchor.transforms import AddTopologicalFeatures

SIZES = (1, 2, 3)
WORKER = 'tests.nn.predictors.rank_worker'
EQUAL = ('strength', 'share', 'proba', 'transfer', 'coefficient', 'held_out')


def write_table(data: AnchorData, path: Path, **columns: Any) -> None:
    """A long table in which the anchors of a tenth of the groups are known."""
    node, hyperedge = data.hyperedge_index
    generator = torch.Generator().manual_seed(0)
    keep = torch.rand(data.num_hyperedges, generator=generator) < 0.1
    y = data['y'] & keep[hyperedge]
    table = {'group': hyperedge.numpy(), 'member': node.numpy(), 'is_anchor': y.numpy()}
    pa.parquet.write_table(pa.table({**table, **columns}), path)


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp('ranks')
    data: Any = PlantedAnchorDataset(num_nodes=900, num_hyperedges=4000, seed=3)[0]
    size = data.hyperedge_size[data.hyperedge_index[1]].numpy() * 1.5
    path = folder / 'planted.parquet'
    write_table(data, path, weight=size)
    # More shards than processes, and two shards for three processes.
    write_shards(
        path, folder / 'many', num_shards=5, memory='500MB', hyperedge_attr=['weight']
    )
    write_shards(path, folder / 'few', num_shards=2, memory='500MB')
    known_rows.CHUNK_ROWS = 500
    for size in SIZES:
        run_processes(WORKER, size, folder, 'all', 'many', 'few')
    yield folder
    known_rows.CHUNK_ROWS = 1 << 15


def in_memory(shards: ShardedAnchorData) -> dict[str, Any]:
    data = AddTopologicalFeatures()(shards.to_data())
    model = AnchorRadar().fit(data)
    return {
        'strength': model.strength,
        'share': model.share,
        'proba': model.predict_proba(data),
        'anchor': model.predict(data),
        'transfer': model.node_strength(data, same_people=False),
        'coefficient': model.calibrator.coefficient,
        'held_out': model.held_out.table,
        'score': model.score(data),
        'first_score': AnchorRadar(stages='first').fit(data).score(data),
        'assessment': model.assess(data).to_dict(),
        'table': model.predictions(data),
    }


@pytest.mark.slow
@pytest.mark.parametrize('name', ['many', 'few'])
def test_same_as_in_memory(folder: Path, name: str) -> None:
    expected = in_memory(ShardedAnchorData(folder / name))
    table = expected.pop('table')
    assert expected['score'] > 0.5
    for size in SIZES:
        found = torch.load(folder / f'{name}-{size}.pt', weights_only=True)
        for key in EQUAL:
            torch.testing.assert_close(
                found[key], expected[key], rtol=1e-6, atol=1e-6, msg=f'{key} {size}'
            )
        assert torch.equal(found['anchor'], expected['anchor'])
        assert found['score'] == pytest.approx(expected['score'], abs=1e-12)
        assert found['first_score'] == pytest.approx(expected['first_score'], abs=1e-12)
        assessment = found['assessment']
        assert assessment['num_known'] == expected['assessment']['num_known']
        assert assessment['warnings'] == expected['assessment']['warnings']
        written = pa.parquet.read_table(folder / f'{name}-{size}')
        for key in ('group', 'anchor', 'runner_up', 'source'):
            assert written[key].to_pylist() == table[key].to_pylist()
        assert found['counts']['num_groups'] == table.num_rows
        # One process alone sends nothing.
        assert (found['num_bytes'] > 0) is (size > 1)


@pytest.mark.slow
@pytest.mark.mirror
@pytest.mark.parametrize('name', ['qaBI', 'coDB_last'])
def test_published_data(
    name: str, tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mirror.is_dir()
    # The blocks of the worker.
    monkeypatch.setattr(known_rows, 'CHUNK_ROWS', 500)
    path = tmp_path / 'table.parquet'
    planted: Any = AnchorDataset(name)[0]
    write_table(planted, path)
    write_shards(path, tmp_path / name, num_shards=4, memory='500MB')
    data = AddTopologicalFeatures()(ShardedAnchorData(tmp_path / name).to_data())
    model = AnchorRadar(calibration=None).fit(data)
    for size in (2, 4):
        run_processes(WORKER, size, tmp_path, 'some', name)
        found = torch.load(tmp_path / f'{name}-{size}.pt', weights_only=True)
        assert float((found['strength'] - model.strength).abs().max()) < 1e-6
        assert torch.equal(found['anchor'], model.predict(data))


@pytest.mark.slow
def test_model_of_shards(folder: Path, tmp_path: Path) -> None:
    shards = ShardedAnchorData(folder / 'few')
    model = AnchorRadar(num_epochs=5).fit(shards)
    model.save(tmp_path / 'model.tgx')
    again = AnchorRadar.load(tmp_path / 'model.tgx')
    assert torch.equal(again.predict(shards), model.predict(shards))
    # A table in memory with the same incidences is the one it was fitted on.
    data = AddTopologicalFeatures()(shards.to_data())
    assert torch.equal(again.predict_proba(data), model.predict_proba(shards))
    with pytest.raises(ValueError, match='does not remember'):
        again.evidence(data)
    with pytest.raises(ValueError, match="use 'AnchorRadar'"):
        DegreeHeuristic().fit(shards)
    with pytest.raises(ValueError, match='must be a ShardedAnchorData'):
        model.write_predictions(data, tmp_path / 'out')


@pytest.mark.slow
def test_folder_of_predictions(folder: Path, tmp_path: Path) -> None:
    shards = ShardedAnchorData(folder / 'few')
    model = AnchorRadar(num_epochs=2, calibration=None).fit(shards)
    out = tmp_path / 'out'
    model.write_predictions(shards, out)
    # Earlier predictions are replaced, other folders are not.
    (out / 'shard-00000.parquet').unlink()
    model.write_predictions(shards, out, known='model')
    assert pa.parquet.read_table(out).num_rows == shards.num_hyperedges
    assert set(pa.parquet.read_table(out)['source'].to_pylist()) == {'predicted'}
    assert [path.name for path in tmp_path.iterdir()] == ['out']
    other = tmp_path / 'other'
    other.mkdir()
    (other / 'letter.txt').write_text('dear', encoding='utf-8')
    with pytest.raises(ValueError, match='must be a new folder'):
        model.write_predictions(shards, other)
    assert (other / 'letter.txt').exists()
    with pytest.raises(ValueError, match='in a folder that exists'):
        model.write_predictions(shards, tmp_path / 'no' / 'out')


def note(done: list[tuple[float, float]], record: dict[str, float]) -> None:
    done.append((record['stage'], record['epoch']))


@pytest.mark.slow
def test_continues_from_a_checkpoint(folder: Path, tmp_path: Path) -> None:
    class Stop(Exception):  # noqa: N818
        pass

    shards = ShardedAnchorData(folder / 'few')
    expected = AnchorRadar(num_epochs=6).fit(shards)
    for stage in (1, 2):

        def stop(record: dict[str, float], stage: int = stage) -> None:
            if (record['stage'], record['epoch']) == (stage, 6):
                raise Stop

        work = tmp_path / f'work {stage}'
        with pytest.raises(Stop):
            AnchorRadar(num_epochs=6).fit(shards, callback=stop, checkpoint=work)
        done: list[tuple[float, float]] = []
        model = AnchorRadar(num_epochs=6).fit(
            shards,
            callback=partial(note, done),
            checkpoint=work,
        )
        # Stage 1 is complete when stage 2 begins.
        assert (1.0, 1.0) in done if stage == 1 else done[0][0] == 2.0
        assert torch.equal(model.strength, expected.strength)
        assert torch.equal(model.held_out.table, expected.held_out.table)
