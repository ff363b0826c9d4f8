"""A script for torchrun, one of whose processes is killed in each of its first starts.

``torchrun killed_training.py FOLDER [RANK STEP ...]``: in the first start, process RANK
is killed in the STEP-th step, in the second start the next pair is used, and so on.
With a STEP of 0, it is killed while it writes a checkpoint.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from tests.nn.predictors.test_anchor_predictor import planted, quick
from tgx_anchor.nn import HGNN
from tgx_anchor.nn.predictors.training import PredictorTraining

save = torch.save


def main(folder: Path, kills: list[tuple[int, int]]) -> None:
    dist.init_process_group('gloo')
    start = int(os.environ['TORCHELASTIC_RESTART_COUNT'])
    rank, step = kills[start] if start < len(kills) else (-1, -1)
    if rank == dist.get_rank():
        if step == 0:
            torch.save = die_writing  # type: ignore[assignment]
        else:
            die_in_step(step)
    model = quick(encoder=HGNN(6, 8, 1, 12, dropout=0.3), num_epochs=10)
    model.fit(planted(), checkpoint=folder / 'state.pt')
    model.save(folder / f'model_{dist.get_rank()}.tgx')
    dist.destroy_process_group()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_writing(content: Any, path: Any, **options: Any) -> None:
    # PyTorch also saves what it sends to other processes.
    if isinstance(path, Path):
        path.write_bytes(b'half')
        die()
    save(content, path, **options)


def die_in_step(last: int) -> None:
    loss, steps = PredictorTraining.loss, iter(range(1, last))

    def counted(self: PredictorTraining, batch: Any) -> Any:
        if next(steps, None) is None:
            die()
        return loss(self, batch)

    PredictorTraining.loss = counted  # type: ignore[method-assign]


if __name__ == '__main__':
    numbers = [int(text) for text in sys.argv[2:]]
    main(Path(sys.argv[1]), list(zip(numbers[::2], numbers[1::2], strict=True)))
