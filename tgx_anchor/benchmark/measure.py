"""Measures one method on one split."""

import time
from pathlib import Path

import torch

from tgx_anchor.benchmark.memory import peak_memory, reset_peak_memory
from tgx_anchor.benchmark.methods import (
    MakeModel,
    load_setting,
    make_model,
    new_model,
    one_split,
    prepare,
)
from tgx_anchor.benchmark.results import BenchmarkRow, Task
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.metrics import AnchorEvaluator


def measure(
    task: Task,
    tell: Tell | None = None,
    *,
    root: str | None = None,
    cache: str | None = None,
    checkpoint: str | None = None,
    make: MakeModel | None = None,
    train: float = 0.075,
) -> list[BenchmarkRow]:
    r"""Fits a model, evaluates it on the test hyperedges, and returns a single row.

    Args:
        task (Task): The task.
        tell (callable, optional): Called with a line on the progress after each epoch.
            (default: :obj:`None`)
        root (str, optional): The folder of the datasets. (default: :obj:`None`)
        cache (str, optional): The folder of the embeddings. (default: :obj:`None`)
        checkpoint (str, optional): A folder for the state of training, from which an
            interrupted training continues. (default: :obj:`None`)
        make (callable, optional): Returns the model for a setting, if the method is not
            one of :obj:`METHODS`. (default: :obj:`None`)
        train (float, optional): The share of training hyperedges.
            (default: :obj:`0.075`)
    """
    folder = None if cache is None else Path(cache)
    if make is None:
        model = new_model(task.method, task.setting, task.num_epochs or None)
    else:
        model = make_model(make, task.method, task.setting)
    data = prepare(load_setting(task.setting, root), model, folder)
    data = one_split(data, task.split, train)
    if checkpoint is not None:
        Path(checkpoint).mkdir(parents=True, exist_ok=True)
    reset_peak_memory()
    # The seconds of this call's epochs, which the history holds, and of the callback.
    excluded: list[float] = []

    def on_epoch(record: dict[str, float]) -> None:
        start = time.perf_counter()
        # Part of the history, hence of the checkpoint.
        record['peak_memory'] = peak_memory()
        if tell is not None:
            tell(progress_line(task, record))
        excluded.append(record['seconds'] + time.perf_counter() - start)

    start = time.perf_counter()
    model.fit(data, callback=on_epoch, on_interrupt='raise', checkpoint=checkpoint)
    train_seconds = time.perf_counter() - start
    # All epochs, also those before an interruption.
    train_seconds += sum(record['seconds'] for record in model.history)
    train_seconds -= sum(excluded)
    start = time.perf_counter()
    score = model.predict_proba(data)
    predict_seconds = time.perf_counter() - start
    ranks = model.rank_score(data)
    result = AnchorEvaluator().eval(score, data, data.test_mask, ranks)
    peaks = [record.get('peak_memory', 0.0) for record in model.history]
    row = BenchmarkRow(
        setting=task.setting,
        method=task.method,
        split=task.split,
        num_epochs=task.num_epochs,
        accuracy=round(result['accuracy'], 6),
        mrr=round(result['mrr'], 6),
        ndcg=round(result['ndcg'], 6),
        trained_epochs=len(model.history),
        train_seconds=round(train_seconds, 3),
        predict_seconds=round(predict_seconds, 3),
        num_parameters=sum(parameter.numel() for parameter in model.parameters()),
        peak_memory=round(max([peak_memory(), *peaks]), 3),
        threads=torch.get_num_threads(),
    )
    return [row]


def progress_line(task: Task, record: dict[str, float]) -> str:
    r"""Describes the progress of a training in one line.

    Args:
        task (Task): The task.
        record (dict): The last entry of the history of the model.
    """
    line = f'{task.setting} {task.method}'
    if 'stage' in record:
        line += f' stage {record["stage"]:.0f}'
    line += f' {record["epoch"]:.0f}/{record["num_epochs"]:.0f}'
    if 'val_accuracy' not in record:
        return line
    return f'{line} (val {100 * record["val_accuracy"]:.1f} %)'
