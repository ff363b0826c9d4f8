"""Fits and judges all methods on all settings, and keeps what it finds."""

import csv
import io
import os
import signal
import sys
import threading
import time
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import closing, suppress
from dataclasses import astuple, dataclass, fields
from itertools import chain
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple, cast, get_type_hints

import torch
from tqdm import tqdm

from tgx_anchor.comparison.methods import (
    HEURISTICS,
    METHODS,
    check_setting,
    load_setting,
    new_model,
    one_split,
    prepare,
)
from tgx_anchor.datasets.location import dataset_root
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import AnchorModel, AnchorPredictor
from tgx_anchor.nn.models.anchor_model import one_line
from tgx_anchor.nn.models.anchor_predictor_training import PredictorTraining

# Makes a model, not yet fitted, for a setting.
MakeModel = Callable[[str], AnchorModel]


class Task(NamedTuple):
    r"""One method on one split of one setting."""

    setting: str
    method: str
    split: int


class Progress(NamedTuple):
    r"""How far the training of a task is.

    Args:
        task (Task): The task.
        epoch (int): The number of epochs done.
        num_epochs (int): The largest number of epochs.
        val_accuracy (float, optional): What was last found on validation hyperedges.
    """

    task: Task
    epoch: int
    num_epochs: int
    val_accuracy: float | None

    def __str__(self) -> str:
        text = f'{self.task.setting} {self.task.method} {self.epoch}/{self.num_epochs}'
        if self.val_accuracy is None:
            return text
        return f'{text} (val {100 * self.val_accuracy:.1f} %)'


@dataclass(frozen=True)
class ComparisonRow:
    r"""What was measured of one task.

    Args:
        setting (str): The setting.
        method (str): The method.
        split (int): The number of the random split.
        num_epochs (int): The number of epochs asked for; zero for the published one.
        accuracy (float): The accuracy on the test hyperedges.
        mrr (float): The mean reciprocal rank, by :meth:`AnchorModel.rank_score`.
        ndcg (float): The normalised discounted cumulative gain, likewise.
        train_seconds (float): The seconds of fitting; of an :class:`AnchorPredictor`,
            those of its epochs, with their looks at validation hyperedges.
        predict_seconds (float): The seconds of predicting.
        num_parameters (int): The number of learnable parameters.
        peak_memory (float): The most memory that the process held while fitting and
            predicting, in GiB; all that the caller holds included, for models of your
            own.
        threads (int): The number of threads of PyTorch.
    """

    setting: str
    method: str
    split: int
    num_epochs: int
    accuracy: float
    mrr: float
    ndcg: float
    train_seconds: float
    predict_seconds: float
    num_parameters: int
    peak_memory: float
    threads: int

    @property
    def task(self) -> Task:
        r"""What was measured."""
        return Task(self.setting, self.method, self.split)


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
            already is not measured again. Baselines keep the state of their training
            in a folder next to it, and go on from there after a kill.
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
    # Unknown names are told at once, not after hours.
    for setting in settings:
        check_setting(setting)
        for method in methods:
            if method in own:
                _make(own[method], method, setting)
            else:
                new_model(method, setting)
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
    left = [task for task in tasks if task not in done]
    kept = Checkpoints(path, num_epochs or 0)
    cache = str(dataset_root(root) / 'embedding')
    bar = tqdm(total=len(tasks), initial=len(tasks) - len(left), disable=not progress)
    failures: dict[Task, str] = {}
    apart, here = [], []
    for task in left:
        arguments = asked[task.method] or None, root, cache, threads
        if task.method in own:
            here.append((task, (*arguments, None, own[task.method])))
        else:
            apart.append((task, (*arguments, kept.stem(task))))
    trained: dict[Task, str] = {}

    def tell(state: Progress) -> None:
        trained[state.task] = str(state)
        bar.set_postfix_str(', '.join(trained.values()))

    # Closed in any case, so that no process outlives an interrupt.
    with bar, closing(_measure_apart(apart, jobs, tell)) as others:
        for task, row in chain(others, _measure_here(here, tell)):
            trained.pop(task, None)
            if isinstance(row, str):
                # The others go on: hours of theirs must not be lost.
                failures[task] = row
                continue
            results.add(row)
            done.add(task)
            bar.update()
            last = f'{row.setting} {row.method} {100 * row.accuracy:.1f} %'
            bar.set_postfix_str(', '.join([*trained.values(), last]))
            if report is not None:
                report(row)
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


def _make(make: MakeModel, method: str, setting: str) -> AnchorModel:
    # Weights may be drawn right here: from a seed, without a trace outside.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        model: object = make(setting)
    if not isinstance(model, AnchorModel):
        raise ValueError(
            f"'methods' must give {method!r} a function that makes an 'AnchorModel' "
            f'(got {type(model).__name__} for {setting!r})'
        )
    return model


# Takes how far a training is.
Tell = Callable[[Progress], None]
# What to measure, and the further arguments of 'measure'.
Job = tuple[Task, tuple[Any, ...]]


def _measure_here(
    jobs: Sequence[Job], tell: Tell
) -> Iterator[tuple[Task, ComparisonRow | str]]:
    threads = torch.get_num_threads()
    try:
        for task, arguments in jobs:
            yield task, _attempt(task, arguments, tell)
    finally:
        torch.set_num_threads(threads)


def _measure_apart(
    tasks: Sequence[Job], jobs: int, tell: Tell
) -> Generator[tuple[Task, ComparisonRow | str], None, None]:
    # Each task in a process of its own, and its row or what went wrong with it. Not a
    # pool, which would give up all tasks when one process is killed.
    context = get_context('spawn')
    waiting = list(reversed(tasks))
    running: dict[Any, tuple[Any, Task]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
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


def measure(
    task: Task,
    num_epochs: int | None = None,
    root: str | None = None,
    cache: str | None = None,
    threads: int = 1,
    checkpoint: str | None = None,
    make: MakeModel | None = None,
    *,
    tell: Tell | None = None,
) -> ComparisonRow:
    r"""Fits and judges one method on one split.

    Args:
        task (Task): What to measure.
        num_epochs (int, optional): The number of epochs. (default: :obj:`None`)
        root (str, optional): Where datasets are kept. (default: :obj:`None`)
        cache (str, optional): Where embeddings are kept. (default: :obj:`None`)
        threads (int, optional): The number of threads. (default: :obj:`1`)
        checkpoint (str, optional): How the names of files begin that keep the state of
            a long training, which goes on from what is there. (default: :obj:`None`)
        make (callable, optional): Makes the model for a setting, in place of the one
            that the method is the name of. (default: :obj:`None`)
        tell (callable, optional): Is told after each epoch how far training is.
            (default: :obj:`None`)
    """
    torch.set_num_threads(threads)
    folder = None if cache is None else Path(cache)
    if make is None:
        model = new_model(task.method, task.setting, num_epochs)
    else:
        model = _make(make, task.method, task.setting)
    data = prepare(load_setting(task.setting, root), model, folder)
    data = one_split(data, task.split)
    forget_peak_memory()
    start, peak = time.perf_counter(), 0.0
    if isinstance(model, AnchorPredictor):
        # Not 'fit', which takes an interrupt for the end of training.
        training = PredictorTraining(model, data)
        if checkpoint is not None:
            Path(checkpoint).parent.mkdir(parents=True, exist_ok=True)
            training.keep(f'{checkpoint}{training.identity()[:16]}.pt')
        found = None
        for record in training.run():
            record['peak_memory'] = peak_memory()
            found = record.get('val_accuracy', found)
            if tell is not None:
                tell(Progress(task, int(record['epoch']), model.num_epochs, found))
        training.finish()
        # What was done before an interruption counts, too.
        train_seconds = sum(record['seconds'] for record in model.history)
        peak = max(record.get('peak_memory', 0.0) for record in model.history)
    else:
        model.fit(data)
        train_seconds = time.perf_counter() - start
    start = time.perf_counter()
    score = model.predict_proba(data)
    predict_seconds = time.perf_counter() - start
    ranks = model.rank_score(data)
    result = AnchorEvaluator().eval(score, data, data.test_mask, ranks)
    return ComparisonRow(
        setting=task.setting,
        method=task.method,
        split=task.split,
        num_epochs=num_epochs or 0,
        accuracy=round(result['accuracy'], 6),
        mrr=round(result['mrr'], 6),
        ndcg=round(result['ndcg'], 6),
        train_seconds=round(train_seconds, 3),
        predict_seconds=round(predict_seconds, 3),
        num_parameters=sum(parameter.numel() for parameter in model.parameters()),
        peak_memory=round(max(peak, peak_memory()), 3),
        threads=threads,
    )


def forget_peak_memory() -> None:
    r"""Makes :func:`peak_memory` begin with what is held now, where the system can."""
    # Not on all systems, and not in all sandboxes: then the peak is that of the whole.
    with suppress(OSError):
        Path('/proc/self/clear_refs').write_text('5', encoding='ascii')


def peak_memory() -> float:
    r"""The most memory that this process has held so far, or since
    :func:`forget_peak_memory`, in GiB; not a number where the system does not tell.
    """
    status = Path('/proc/self/status')
    if status.exists():
        # On Linux 'ru_maxrss' begins with what the parent held; this does not.
        for line in status.read_text(encoding='utf-8').splitlines():
            if line.startswith('VmHWM:'):
                return int(line.split()[1]) / 2**20
    if sys.platform == 'win32':
        return float('nan')
    import resource

    unit = 2**30 if sys.platform == 'darwin' else 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


class Checkpoints:
    r"""The files that hold the states of trainings until their rows are written, in a
    folder next to a CSV file.

    A file has the name of its task, without the kind of anchor, and what identifies the
    training: the roles of authors are learnt alike whether it is the first or the last
    one who is asked for, and the second task finds its training done.

    Args:
        path (str, optional): The CSV file; if :obj:`None`, nothing is kept.
            (default: :obj:`None`)
        num_epochs (int, optional): The number of epochs asked for; zero for the
            published one. (default: :obj:`0`)
    """

    def __init__(self, path: str | Path | None = None, num_epochs: int = 0) -> None:
        self.folder = None
        if path is not None:
            self.folder = Path(path).with_name(f'{Path(path).stem}_checkpoints')
        self.num_epochs = num_epochs

    def stem(self, task: Task) -> str | None:
        r"""How the names of the files of a task begin, if it has any.

        Args:
            task (Task): The task.
        """
        if self.folder is None:
            return None
        dataset = task.setting.partition('_')[0]
        name = f'{dataset}_{task.method}_{task.split}_{self.num_epochs}_'
        return str(self.folder / name)

    def clear(self, tasks: Iterable[Task], left: Iterable[Task]) -> None:
        r"""Removes the files of tasks, but of those that are left.

        Args:
            tasks (list[Task]): The tasks.
            left (list[Task]): The tasks that are left.
        """
        if self.folder is None or not self.folder.is_dir():
            return
        stems = {self.stem(task) for task in tasks}
        stems -= {self.stem(task) for task in left}
        for file in list(self.folder.iterdir()):
            if any(stem and str(file).startswith(stem) for stem in stems):
                file.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()


class ComparisonFile:
    r"""The rows of a CSV file, which grows by one line per measurement.

    Args:
        path (str, optional): The file, which need not be there yet; if :obj:`None`,
            rows are kept in memory only. (default: :obj:`None`)
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.rows: list[ComparisonRow] = []
        if self.path is None:
            return
        if self.path.suffix.lower() != '.csv':
            # Tables and plots go to files of the same name with other endings.
            raise ValueError(f"'{path}' must end in '.csv' (got {self.path.suffix!r})")
        header = ','.join(field.name for field in fields(ComparisonRow))
        text = ''
        if self.path.exists():
            text = self.path.read_text(encoding='utf-8')
        if text and text.partition('\n')[0] != header:
            raise ValueError(f"'{path}' must have the columns {header} (got others)")
        self.rows = _parse(text, self.path)
        whole = _text(self.rows)
        if f'{header}\n{whole}' != text:
            # New, or with a line that was cut off.
            self.path.parent.mkdir(parents=True, exist_ok=True)
            partial = self.path.with_name(f'{self.path.name}.{os.getpid()}')
            partial.write_text(f'{header}\n{whole}', encoding='utf-8')
            partial.replace(self.path)

    def add(self, row: ComparisonRow) -> None:
        r"""Takes a row, in memory and in the file.

        Args:
            row (ComparisonRow): The row.
        """
        self.rows.append(row)
        if self.path is not None:
            with self.path.open('a', encoding='utf-8') as file:
                file.write(_text([row]))


def _text(rows: Iterable[ComparisonRow]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator='\n').writerows(astuple(row) for row in rows)
    return out.getvalue()


def _parse(text: str, path: Path) -> list[ComparisonRow]:
    kinds = get_type_hints(ComparisonRow)
    reader = csv.DictReader(io.StringIO(text))
    # What was measured twice counts once.
    found: dict[tuple[Task, int], ComparisonRow] = {}
    for line in reader:
        try:
            row = ComparisonRow(**{k: kind(line[k]) for k, kind in kinds.items()})
        except (KeyError, TypeError, ValueError):
            if reader.line_num > text.count('\n'):
                # The last line was cut off: it is measured again.
                break
            raise ValueError(
                f"'{path}' must hold a measurement in each line "
                f'(got something else in line {reader.line_num})'
            ) from None
        found[row.task, row.num_epochs] = row
    return list(found.values())
