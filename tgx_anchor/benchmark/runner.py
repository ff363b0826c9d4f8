"""Runs tasks in processes of their own, and collects their rows in a table."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar, cast

import torch
from tqdm import tqdm

from tgx_anchor.io import ResultTable
from tgx_anchor.utils.messages import one_line

Task = TypeVar('Task', bound=Hashable)
Result = TypeVar('Result')
Row = TypeVar('Row')
Key = TypeVar('Key', bound=tuple[Hashable, ...])

# Shows one line on the progress of a task, such as 'epoch 3/100'.
Tell = Callable[[str], None]
# Processes are forked from a server that has imported PyTorch and computed nothing, so
# that they need not spend seconds on the import themselves.
_START_METHOD = 'forkserver' if 'forkserver' in get_all_start_methods() else 'spawn'
_PRELOADED = ['tgx_anchor.benchmark.run']


@dataclass(frozen=True)
class Failure:
    r"""The result of a task that failed.

    Args:
        message (str): The error in one line.
        is_timeout (bool, optional): Whether the task was stopped at the time limit.
            (default: :obj:`False`)
    """

    message: str
    is_timeout: bool = False


def check_counts(**counts: int | None) -> None:
    r"""Raises a :class:`ValueError` if a count is not positive.

    Args:
        **counts (int): The counts by the names of their arguments; :obj:`None` stands
            for a default.
    """
    for name, number in counts.items():
        if number is not None and number < 1:
            raise ValueError(f"'{name}' must be positive (got {number})")


def run_tasks(
    function: Callable[[Task, Tell], Result],
    tasks: Iterable[Task],
    *,
    jobs: int = 1,
    threads: int = 1,
    isolated: bool = True,
    time_limit: float | None = None,
    progress: bool = False,
) -> Generator[tuple[Task, Result | Failure], None, None]:
    r"""Applies a function to tasks, each in a process of its own, and yields each task
    with its result as soon as it has one.

    A task that raises an error, exceeds the time limit or is killed yields a
    :class:`Failure`, and the others go on. All processes end with an interrupt, with
    the generator and with the process that started them.

    .. code-block:: python

        def square(task: int, tell: Tell) -> int:
            tell('multiplying')
            return task * task

        if __name__ == '__main__':
            for task, result in run_tasks(square, range(10), jobs=2):
                print(task, result)

    Args:
        function (callable): Takes a task, and a function that shows one line on its
            progress. It must be importable by other processes.
        tasks (list): The tasks, which can be pickled.
        jobs (int, optional): The number of processes at a time. (default: :obj:`1`)
        threads (int, optional): The number of threads of PyTorch in each of them.
            (default: :obj:`1`)
        isolated (bool, optional): If set to :obj:`False`, runs the tasks one after the
            other in this process, without a time limit. (default: :obj:`True`)
        time_limit (float, optional): The number of seconds after which a task is
            stopped. (default: :obj:`None`)
        progress (bool, optional): If set to :obj:`True`, shows a progress bar with the
            lines of the running tasks. (default: :obj:`False`)
    """
    tasks = list(tasks)
    check_counts(jobs=jobs, threads=threads)
    if isolated and parent_process() is not None:
        raise ValueError(
            'tasks must be run below "if __name__ == \'__main__\':", since their '
            'processes import the script'
        )
    shown: dict[Task, str] = {}
    with tqdm(total=len(tasks), disable=not progress) as bar:

        def tell(task: Task, line: str) -> None:
            shown[task] = line
            bar.set_postfix_str(', '.join(shown.values()))

        if isolated:
            found = _run_apart(function, tasks, jobs, threads, time_limit, tell)
        else:
            found = _run_here(function, tasks, threads, tell)
        # Closed in any case, so that no process outlives an interrupt.
        with closing(found):
            for task, result in found:
                shown.pop(task, None)
                bar.set_postfix_str(', '.join(shown.values()), refresh=False)
                bar.update()
                yield task, result


def fill_table(
    table: ResultTable[Row],
    function: Callable[[Key, Tell], Sequence[Row]],
    tasks: Iterable[Key],
    *,
    is_done: Callable[[Key], bool] | None = None,
    callback: Callable[[Row], None] | None = None,
    **kwargs: Any,
) -> dict[Key, Failure]:
    r"""Runs the tasks that a table lacks, and adds the rows of each as soon as it is
    done, so that an interrupted run continues where it stopped.

    Args:
        table (ResultTable): The table.
        function (callable): Measures a task, as in :func:`run_tasks`, and returns its
            rows, which are added with a single write.
        tasks (list[tuple]): The tasks. Each is the key of its row in the table, unless
            :obj:`is_done` says otherwise.
        is_done (callable, optional): Tells whether the table holds a task.
            (default: :obj:`None`)
        callback (callable, optional): Called with each new row.
            (default: :obj:`None`)
        **kwargs: Further arguments of :func:`run_tasks`.

    Returns:
        The failures by task.
    """
    is_done = is_done or table.__contains__
    left = [task for task in dict.fromkeys(tasks) if not is_done(task)]
    failures: dict[Key, Failure] = {}
    with closing(run_tasks(function, left, **kwargs)) as found:
        for task, result in found:
            if isinstance(result, Failure):
                failures[task] = result
                continue
            table.add(*result)
            if callback is not None:
                for row in result:
                    callback(row)
    return failures


def _run_here(
    function: Callable[[Task, Tell], Result],
    tasks: Sequence[Task],
    threads: int,
    tell: Callable[[Task, str], None],
) -> Generator[tuple[Task, Result | Failure], None, None]:
    before = torch.get_num_threads()
    try:
        for task in tasks:
            torch.set_num_threads(threads)
            yield task, _attempt(function, task, partial(tell, task))
    finally:
        torch.set_num_threads(before)


def _run_apart(
    function: Callable[[Task, Tell], Result],
    tasks: Sequence[Task],
    jobs: int,
    threads: int,
    time_limit: float | None,
    tell: Callable[[Task, str], None],
) -> Generator[tuple[Task, Result | Failure], None, None]:
    # Not a pool, which gives up all tasks when one process is killed.
    context: Any = get_context(_START_METHOD)
    if _START_METHOD == 'forkserver':
        context.set_forkserver_preload(_PRELOADED)
    waiting = list(reversed(tasks))
    running: dict[Connection, tuple[Any, Task, float]] = {}
    limit = float('inf') if time_limit is None else time_limit
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.pop()
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(
                    target=_work, args=(sender, function, task, threads), daemon=True
                )
                with _thread_count(threads):
                    process.start()
                sender.close()
                running[receiver] = process, task, time.monotonic() + limit
            for receiver in _ready(running):
                process, task, end = running[receiver]
                found = _receive(receiver, process, end, limit)
                if isinstance(found, str):
                    tell(task, found)
                    continue
                del running[receiver]
                receiver.close()
                process.join()
                (result,) = found
                if result is None:
                    result = Failure(f'its process ended with {process.exitcode}')
                yield task, result
    finally:
        for process, _, _ in running.values():
            process.terminate()
        for process, _, _ in running.values():
            process.join()


def _ready(running: dict[Connection, tuple[Any, Any, float]]) -> list[Connection]:
    # Connections that have a message, or else those of tasks past the time limit.
    first = min(end for _, _, end in running.values()) - time.monotonic()
    timeout = None if first == float('inf') else max(first, 0.0)
    ready = cast(list[Connection], wait(list(running), timeout))
    now = time.monotonic()
    return ready or [each for each, (_, _, end) in running.items() if end <= now]


def _receive(receiver: Connection, process: Any, end: float, limit: float) -> Any:
    # A line on the progress, or a tuple with the result, None after a sudden end.
    if time.monotonic() >= end:
        process.kill()
        return (Failure(f'over {limit:g} seconds', is_timeout=True),)
    try:
        return receiver.recv()
    except (EOFError, ConnectionResetError):
        return (None,)


@contextmanager
def _thread_count(threads: int) -> Iterator[None]:
    # OpenMP reads its number of threads when it is loaded.
    name = 'OMP_NUM_THREADS'
    before = os.environ.get(name)
    os.environ[name] = str(threads)
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _work(
    sender: Connection,
    function: Callable[[Any, Tell], Any],
    task: Any,
    threads: int,
) -> None:
    # An interrupt is for the parent, which ends this process: nothing half trained may
    # pass for a result, and no file may stay half written.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    sender.send((_attempt(function, task, sender.send),))
    sender.close()


def _end_with_parent() -> None:
    # A parent that is killed cannot end this process.
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _attempt(
    function: Callable[[Task, Tell], Result], task: Task, tell: Tell
) -> Result | Failure:
    try:
        return function(task, tell)
    except Exception as error:
        return Failure(f'{type(error).__name__}: {one_line(error)}')
