"""Runs a function in several processes that form a group of gloo."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


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
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group(
        'gloo',
        init_method=os.environ['TEST_MEETING'],
        rank=int(os.environ['TEST_RANK']),
        world_size=int(os.environ['TEST_SIZE']),
    )
