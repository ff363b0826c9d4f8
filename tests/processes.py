"""Functions that run in several processes of a group, with gloo on this machine."""

import atexit
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import start_processes

from tgx_anchor.utils import Ranks

# A process that waits for longer has lost the others.
TIMEOUT = timedelta(seconds=120)
ROOT = Path(__file__).parents[1]


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
    return subprocess.run(
        [
            *(sys.executable, '-m', 'torch.distributed.run', '--standalone'),
            *('--nproc-per-node', str(size), '--max-restarts', str(max_restarts)),
            *(str(script), *args),
        ],
        cwd=script.parent,
        env={
            **os.environ,
            'PYTHONPATH': str(ROOT),
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


def pretend_rank(
    monkeypatch: pytest.MonkeyPatch, rank: int, backend: str = 'gloo'
) -> None:
    """Makes this process look like one of a group of two."""
    group: Any = 'two'
    monkeypatch.setattr(Ranks, 'current', classmethod(lambda cls: cls(group)))
    monkeypatch.setattr(dist, 'get_rank', lambda _=None: rank)
    monkeypatch.setattr(dist, 'get_world_size', lambda _=None: 2)
    monkeypatch.setattr(dist, 'get_backend', lambda _=None: backend)


def run_processes(module: str, size: int, folder: Path, *words: str) -> None:
    """Runs a module in processes that meet by a file, and waits for all of them."""
    meeting = folder / f'meeting-{size}'
    processes = []
    for rank in range(size):
        environment = {
            **os.environ,
            'OMP_NUM_THREADS': '1',
            'PYTHONPATH': str(ROOT),
            'TEST_RANK': str(rank),
            'TEST_SIZE': str(size),
            'TEST_MEETING': meeting.as_uri(),
        }
        command = [sys.executable, '-m', module, str(folder), *words]
        processes.append(
            subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    outputs = [process.communicate(timeout=600)[0] for process in processes]
    codes = [process.returncode for process in processes]
    assert codes == [0] * size, '\n'.join(outputs)


def join_processes() -> None:
    """Joins the group, in a process that 'run_processes' has started."""
    torch.set_num_threads(1)
    dist.init_process_group(
        'gloo',
        init_method=os.environ['TEST_MEETING'],
        rank=int(os.environ['TEST_RANK']),
        world_size=int(os.environ['TEST_SIZE']),
    )
    # Threads of a group that is left to the end of Python may abort the process.
    atexit.register(dist.destroy_process_group)
