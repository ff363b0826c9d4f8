"""Functions that run in several processes of a group, with gloo on this machine."""

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import start_processes

# A process that waits for longer has lost the others.
TIMEOUT = timedelta(seconds=120)


def in_processes(
    size: int, folder: Path, work: Callable[..., Any], *args: Any
) -> list[Any]:
    """The results of a function of a module in each of `size` processes, by rank."""
    (folder / 'results').mkdir(parents=True)
    start_processes(_run, (size, folder, work, args), nprocs=size, start_method='spawn')
    files = [folder / 'results' / f'{rank}.pt' for rank in range(size)]
    return [torch.load(file, weights_only=False) for file in files]


def _run(
    rank: int,
    size: int,
    folder: Path,
    work: Callable[..., Any],
    args: tuple[Any, ...],
) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        'gloo',
        init_method=f'file://{folder}/rendezvous',
        rank=rank,
        world_size=size,
        timeout=TIMEOUT,
    )
    try:
        torch.save(work(*args), folder / 'results' / f'{rank}.pt')
    finally:
        dist.destroy_process_group()


def torchrun(
    size: int, script: Path, *args: str, max_restarts: int = 0
) -> subprocess.CompletedProcess[str]:
    """Runs a script with torchrun in the folder of the script."""
    root = str(Path(__file__).parents[1])
    return subprocess.run(
        [
            *(sys.executable, '-m', 'torch.distributed.run', '--standalone'),
            *('--nproc-per-node', str(size), '--max-restarts', str(max_restarts)),
            *(str(script), *args),
        ],
        cwd=script.parent,
        env={
            **os.environ,
            'PYTHONPATH': root,
            'OMP_NUM_THREADS': '1',
            # Else processes that are started again find the addresses of the old ones
            # (https://github.com/pytorch/pytorch/issues/135712).
            'TORCH_DISABLE_SHARE_RDZV_TCP_STORE': '1',
        },
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
    )
