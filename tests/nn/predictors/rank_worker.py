"""Fits AnchorRadar on shards in one of several processes, and saves what it found."""

import sys
from pathlib import Path

import torch

from tests.processes import join_processes
from tgx_anchor.data import ShardedAnchorData
from tgx_anchor.nn import AnchorRadar
from tgx_anchor.nn.predictors import known_rows
from tgx_anchor.utils import Ranks


def measure(root: Path) -> dict[str, object]:
    """The strengths and the anchors of one model."""
    shards = ShardedAnchorData(root)
    ranks = shards.part().ranks
    model = AnchorRadar(calibration=None).fit(shards)
    # All processes have the same model.
    assert torch.equal(ranks.gather_equal(model.strength).amax(0), model.strength)
    return {
        'strength': model.strength,
        'anchor': ranks.gather(model.predict(shards)),
    }


def measure_all(root: Path) -> dict[str, object]:
    """Everything that must not depend on the number of processes."""
    shards = ShardedAnchorData(root)
    ranks = shards.part().ranks
    model = AnchorRadar().fit(shards)
    counts = model.write_predictions(shards, root.parent / f'{root.name}-{ranks.size}')
    other = AnchorRadar(stages='first').fit(shards)
    return {
        'strength': model.strength,
        'share': model.share,
        'proba': ranks.gather(model.predict_proba(shards)),
        'anchor': ranks.gather(model.predict(shards)),
        'transfer': model.node_strength(shards, same_people=False),
        'coefficient': model.calibrator.coefficient,
        'held_out': model.held_out.table,
        'fitted_on': model.fitted_on,
        'score': model.score(shards),
        'first_score': other.score(shards),
        'assessment': model.assess(shards).to_dict(),
        'counts': counts,
        'num_bytes': ranks.num_bytes,
    }


def main(folder: Path, names: list[str]) -> None:
    join_processes()
    # Blocks that lie in several processes.
    known_rows.CHUNK_ROWS = 500
    kind, *names = names
    for name in names:
        found = {'some': measure, 'all': measure_all}[kind](folder / name)
        if Ranks.current().is_first:
            torch.save(found, folder / f'{name}-{Ranks.current().size}.pt')


if __name__ == '__main__':
    main(Path(sys.argv[1]), sys.argv[2:])
