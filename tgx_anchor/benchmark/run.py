"""Measures all methods on all settings."""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import torch

from tgx_anchor.benchmark.measure import measure
from tgx_anchor.benchmark.methods import (
    METHODS,
    WITHOUT_EPOCHS,
    MakeModel,
    check_setting,
    make_model,
    new_model,
)
from tgx_anchor.benchmark.results import BenchmarkRow, Task, benchmark_table
from tgx_anchor.benchmark.runner import Failure, Tell, check_counts, fill_table
from tgx_anchor.datasets.location import dataset_root


def run_benchmark(
    settings: Sequence[str],
    methods: Sequence[str] | Mapping[str, MakeModel | None] = METHODS,
    num_splits: int = 1,
    num_epochs: int | None = None,
    path: str | Path | None = None,
    root: str | None = None,
    jobs: int = 1,
    threads: int = 1,
    progress: bool = True,
    callback: Callable[[BenchmarkRow], None] | None = None,
) -> list[BenchmarkRow]:
    r"""Fits and evaluates each method on each split of each setting, in a process of
    its own, so that its peak memory is measured on its own, too.

    Models of your own take part under names that you choose:

    .. code-block:: python

        def make(setting: str) -> AnchorPredictor:
            return AnchorPredictor(MyEncoder(48, 64), lr=0.003)

        run_benchmark(['emER'], {'AnchorRadar': None, 'HGNN': None, 'Mine': make})

    They are fitted in the calling process, since functions that a notebook defines
    cannot be sent to another one. In a script, call :obj:`run_benchmark` below
    :obj:`if __name__ == '__main__':`, since other processes import the script.

    Args:
        settings (list[str]): Datasets, with their kind of anchor where there are
            several, or :obj:`"planted"`.
        methods (list[str] or dict[str, callable], optional): The methods; in a
            dictionary, a function that returns a model for a setting, or :obj:`None`
            for the method of this name. (default: all)
        num_splits (int, optional): The number of random splits. (default: :obj:`1`)
        num_epochs (int, optional): The number of epochs of all methods that learn; the
            published ones if :obj:`None`. Models of your own keep theirs.
            (default: :obj:`None`)
        path (str, optional): A CSV file to which each row is added once it is measured.
            Rows that it holds are not measured again, so a changed model of your own
            needs another name, or another file. Baselines keep the state of their
            training in a folder next to it, and continue from there after an
            interruption. (default: :obj:`None`)
        root (str, optional): The folder of the datasets. (default: :obj:`None`)
        jobs (int, optional): The number of tasks at a time. (default: :obj:`1`)
        threads (int, optional): The number of threads of each. (default: :obj:`1`)
        progress (bool, optional): If set to :obj:`False`, shows no progress bar.
            (default: :obj:`True`)
        callback (callable, optional): Called with each new row.
            (default: :obj:`None`)
    """
    check_counts(
        num_splits=num_splits, num_epochs=num_epochs, jobs=jobs, threads=threads
    )
    own = _own_models(methods)
    _check_names(settings, methods, own)
    # The number of epochs by method, zero for the published one.
    epochs = {
        method: 0 if method in own or method in WITHOUT_EPOCHS else num_epochs or 0
        for method in methods
    }
    tasks = [
        Task(setting, method, split, epochs[method])
        for setting in dict.fromkeys(settings)
        for split in range(num_splits)
        for method in dict.fromkeys(methods)
    ]
    table = benchmark_table(path)
    folder = None
    if path is not None:
        folder = Path(path).with_name(f'{Path(path).stem}_checkpoints')
    cache = str(dataset_root(root) / 'embedding')
    failures: dict[Task, Failure] = {}
    count = sum(task not in table for task in tasks)
    for is_own in (False, True):
        part = [task for task in tasks if (task.method in own) == is_own]
        made = own if is_own else {}
        failures |= fill_table(
            table,
            partial(_measure, root=root, cache=cache, folder=folder, own=made),
            part,
            callback=callback,
            jobs=jobs,
            threads=threads,
            isolated=not is_own,
            progress=progress and bool(part),
        )
    if folder is not None:
        remove_checkpoints(
            folder,
            (_checkpoint(folder, task) for task in tasks),
            (_checkpoint(folder, task) for task in failures),
        )
    if failures:
        task, failure = next(iter(failures.items()))
        raise ValueError(
            f'{len(failures)} of {count} measurements failed, the others are kept; the '
            f'first was {task.method} on split {task.split} of {task.setting}: '
            f'{failure.message}'
        )
    return [row for row in table.rows if row.task in set(tasks)]


def _measure(
    task: Task,
    tell: Tell,
    root: str | None,
    cache: str,
    folder: Path | None,
    own: Mapping[str, MakeModel],
) -> list[BenchmarkRow]:
    checkpoint = None if folder is None else str(_checkpoint(folder, task))
    return measure(
        task,
        tell,
        root=root,
        cache=cache,
        checkpoint=None if task.method in own else checkpoint,
        make=own.get(task.method),
    )


def _checkpoint(folder: Path, task: Task) -> Path:
    # Without the kind of anchor: the roles of authors are learnt alike for the first
    # and the last one, and the second task finds its training done.
    dataset = task.setting.partition('_')[0]
    return folder / f'{dataset}_{task.method}_{task.split}_{task.num_epochs}'


def remove_checkpoints(
    folder: Path, paths: Iterable[Path], kept: Iterable[Path]
) -> None:
    r"""Removes the states of trainings that are done, and their folder if it is empty.

    Args:
        folder (Path): The folder of all states.
        paths (list[Path]): The states of all trainings.
        kept (list[Path]): Those of trainings that failed.
    """
    for path in set(paths) - set(kept):
        shutil.rmtree(path, ignore_errors=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


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
                f"'methods' must name a model of your own other than the methods of "
                f'the package (got {name!r})'
            )
        if not callable(make) or isinstance(make, torch.nn.Module):
            raise ValueError(
                f"'methods' must map {name!r} to a function that returns a model for a "
                f'setting (got {type(make).__name__})'
            )
        out[name] = make
    return out


def _check_names(
    settings: Sequence[str],
    methods: Iterable[str],
    own: Mapping[str, MakeModel],
) -> None:
    # A wrong name is an error now, not after hours.
    for setting in settings:
        check_setting(setting)
        for method in methods:
            if method in own:
                make_model(own[method], method, setting)
            else:
                new_model(method, setting)
