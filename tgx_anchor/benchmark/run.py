"""Measures all methods on all settings, and keeps what it finds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import chain
from multiprocessing import parent_process
from pathlib import Path

import torch

from tgx_anchor.benchmark.checkpoints import Checkpoints
from tgx_anchor.benchmark.comparison_bar import ComparisonBar
from tgx_anchor.benchmark.comparison_file import ComparisonFile
from tgx_anchor.benchmark.comparison_row import ComparisonRow, Task
from tgx_anchor.benchmark.measure import MakeModel, make_model
from tgx_anchor.benchmark.methods import (
    HEURISTICS,
    METHODS,
    check_setting,
    new_model,
)
from tgx_anchor.benchmark.processes import Job, measure_apart, measure_here
from tgx_anchor.datasets.location import dataset_root


def compare(
    settings: Sequence[str],
    methods: Sequence[str] | Mapping[str, MakeModel | None] = METHODS,
    num_splits: int = 1,
    num_epochs: int | None = None,
    path: str | Path | None = None,
    root: str | None = None,
    jobs: int = 1,
    threads: int = 1,
    progress: bool = True,
    report: Callable[[ComparisonRow], None] | None = None,
) -> list[ComparisonRow]:
    r"""Fits and judges each method on each split of each setting, every one in a
    process of its own, so that its peak memory is its own, too.

    Models of your own take part under a name of their own:

    .. code-block:: python

        def make(setting: str) -> AnchorPredictor:
            return AnchorPredictor(MyEncoder(48, 64), lr=0.003)

        compare(['emER'], {'AnchorRadar': None, 'HGNN': None, 'Mine': make})

    They are fitted in the process of the caller, since what a notebook defines cannot
    be sent to another one. In a script, :obj:`compare` is called below
    :obj:`if __name__ == '__main__':`, since other processes import the script.

    Args:
        settings (list[str]): Datasets, with their kind of anchor where there are
            several, or :obj:`"planted"`.
        methods (list[str] or dict[str, callable], optional): The methods; in a
            dictionary, what makes a model for a setting, or :obj:`None` for the
            method of this name. (default: all)
        num_splits (int, optional): The number of random splits. (default: :obj:`1`)
        num_epochs (int, optional): If given, the number of epochs instead of the
            published ones, which models of your own do not heed.
            (default: :obj:`None`)
        path (str, optional): A CSV file that takes each row as it comes; what is in it
            already, by name, is not measured again, so that a changed model of your
            own needs another name, or another file. Baselines keep the state of their
            training in a folder next to it, and go on from there after a kill.
            (default: :obj:`None`)
        root (str, optional): Where datasets are kept. (default: :obj:`None`)
        jobs (int, optional): How many tasks to run at once. (default: :obj:`1`)
        threads (int, optional): The number of threads of each. (default: :obj:`1`)
        progress (bool, optional): If set to :obj:`True`, shows a progress bar, with
            the epochs of what is being trained. (default: :obj:`True`)
        report (callable, optional): Is told of each row as it comes.
            (default: :obj:`None`)
    """
    if parent_process() is not None:
        raise ValueError(
            "'compare' must be called below \"if __name__ == '__main__':\" in a script "
            '(got called by a process of its own)'
        )
    for name, number in (
        ('num_splits', num_splits),
        ('num_epochs', num_epochs),
        ('jobs', jobs),
        ('threads', threads),
    ):
        if number is not None and number < 1:
            raise ValueError(f"'{name}' must be positive (got {number})")
    own = _own_models(methods)
    _check_names(settings, methods, own)
    tasks = [
        Task(setting, method, split)
        for setting in dict.fromkeys(settings)
        for split in range(num_splits)
        for method in dict.fromkeys(methods)
    ]
    # The number of epochs, zero for the published one, by method.
    asked = {
        method: 0 if method in own or method in HEURISTICS else num_epochs or 0
        for method in methods
    }
    results = ComparisonFile(path)
    done = {row.task for row in results.rows if row.num_epochs == asked.get(row.method)}
    kept = Checkpoints(path, num_epochs or 0)
    cache = str(dataset_root(root) / 'embedding')
    here: list[Job] = []
    apart: list[Job] = []
    for task in tasks:
        arguments = asked[task.method] or None, root, cache, threads
        if task in done:
            continue
        if task.method in own:
            here.append((task, (*arguments, None, own[task.method])))
        else:
            apart.append((task, (*arguments, kept.stem(task))))
    bar = ComparisonBar(len(tasks), len(here) + len(apart), progress)
    failures: dict[Task, str] = {}
    # Closed in any case, so that no process outlives an interrupt.
    with bar, closing(measure_apart(apart, jobs, bar.tell)) as others:
        for task, found in chain(others, measure_here(here, bar.tell)):
            if isinstance(found, str):
                # The others go on: hours of theirs must not be lost.
                failures[task] = found
                bar.end(task, None)
                continue
            results.add(found)
            done.add(task)
            bar.end(task, found)
            if report is not None:
                report(found)
    kept.clear(tasks, [task for task in tasks if task not in done])
    if failures:
        task, text = next(iter(failures.items()))
        raise ValueError(
            f'{len(failures)} of {len(here) + len(apart)} measurements failed, the '
            f'others are kept; '
            f'the first was {task.method} on split {task.split} of {task.setting}: '
            f'{text}'
        )
    wanted = set(tasks)
    return [
        row
        for row in results.rows
        if row.task in wanted and row.num_epochs == asked[row.method]
    ]


def _own_models(
    methods: Sequence[str] | Mapping[str, MakeModel | None],
) -> dict[str, MakeModel]:
    if not isinstance(methods, Mapping):
        return {}
    out = {}
    for name, make in methods.items():
        if make is None:
            continue
        if name in METHODS:
            raise ValueError(
                f"'methods' must give a model of your own a name of its own "
                f'(got {name!r})'
            )
        if not callable(make) or isinstance(make, torch.nn.Module):
            raise ValueError(
                f"'methods' must give {name!r} a function that makes a model for a "
                f'setting (got {type(make).__name__})'
            )
        out[name] = make
    return out


def _check_names(
    settings: Sequence[str],
    methods: Iterable[str],
    own: Mapping[str, MakeModel],
) -> None:
    # Unknown names are told at once, not after hours.
    for setting in settings:
        check_setting(setting)
        for method in methods:
            if method in own:
                make_model(own[method], method, setting)
            else:
                new_model(method, setting)
