"""Measures in this process, or in processes of their own."""

import os
import signal
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from typing import Any, cast

import torch

from tgx_anchor.benchmark.comparison_row import ComparisonRow, Task
from tgx_anchor.benchmark.measure import Progress, Tell, measure
from tgx_anchor.utils.messages import one_line

# What to measure, and the further arguments of 'measure'.
Job = tuple[Task, tuple[Any, ...]]
# A row, or what went wrong instead.
Found = tuple[Task, ComparisonRow | str]


def measure_here(jobs: Sequence[Job], tell: Tell) -> Iterator[Found]:
    r"""Measures one after the other in this process.

    Args:
        jobs (list): What to measure.
        tell (callable): Is told after each epoch how far a training is.
    """
    threads = torch.get_num_threads()
    try:
        for task, arguments in jobs:
            yield task, _attempt(task, arguments, tell)
    finally:
        torch.set_num_threads(threads)


def measure_apart(
    jobs: Sequence[Job], num_processes: int, tell: Tell
) -> Generator[Found, None, None]:
    r"""Measures each in a process of its own, which ends with this one.

    Args:
        jobs (list): What to measure.
        num_processes (int): How many to run at once.
        tell (callable): Is told after each epoch how far a training is.
    """
    # Not a pool, which would give up all tasks when one process is killed.
    context = get_context('spawn')
    waiting = list(reversed(jobs))
    running: dict[Any, tuple[Any, Task]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < num_processes:
                task, arguments = waiting.pop()
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(
                    target=_work, args=(sender, task, arguments), daemon=True
                )
                process.start()
                sender.close()
                running[receiver] = process, task
            for ready in wait(list(running)):
                process, task = running[ready]
                try:
                    found = cast(Connection, ready).recv()
                except EOFError:
                    found = None
                if isinstance(found, Progress):
                    tell(found)
                    continue
                del running[ready]
                process.join()
                yield task, found or f'its process ended with {process.exitcode}'
    finally:
        for process, _ in running.values():
            process.terminate()
        for process, _ in running.values():
            process.join()


def _work(sender: Any, task: Task, arguments: tuple[Any, ...]) -> None:
    # An interrupt is for the parent, who ends this process: nothing half trained must
    # pass for a measurement, and nothing half written be left.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sender.send(_attempt(task, arguments, sender.send))
    sender.close()


def _end_with_parent() -> None:
    # Nobody waits for the rest once the parent is gone, killed perhaps.
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _attempt(task: Task, arguments: tuple[Any, ...], tell: Tell) -> ComparisonRow | str:
    try:
        return measure(task, *arguments, tell=tell)
    except Exception as error:
        return f'{type(error).__name__}: {one_line(error)}'
