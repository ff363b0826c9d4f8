"""Fits and judges one method on one split."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

from tgx_anchor.benchmark.comparison_row import ComparisonRow, Task
from tgx_anchor.benchmark.memory import forget_peak_memory, peak_memory
from tgx_anchor.benchmark.methods import (
    load_setting,
    new_model,
    one_split,
    prepare,
)
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import AnchorModel, AnchorPredictor

# Makes a model, not yet fitted, for a setting.
MakeModel = Callable[[str], AnchorModel]


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


# Takes how far a training is.
Tell = Callable[[Progress], None]


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
        checkpoint (str, optional): A folder that keeps the state of a long training,
            which goes on from what is there. (default: :obj:`None`)
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
        model = make_model(make, task.method, task.setting)
    data = prepare(load_setting(task.setting, root), model, folder)
    data = one_split(data, task.split)
    forget_peak_memory()
    found: float | None = None

    def report(record: dict[str, float]) -> None:
        nonlocal found
        record['peak_memory'] = peak_memory()
        found = record.get('val_accuracy', found)
        if tell is not None:
            epoch, num_epochs = int(record['epoch']), int(record['num_epochs'])
            tell(Progress(task, epoch, num_epochs, found))

    start = time.perf_counter()
    if checkpoint is not None:
        Path(checkpoint).mkdir(parents=True, exist_ok=True)
    model.fit(data, callback=report, on_interrupt='raise', checkpoint=checkpoint)
    train_seconds = time.perf_counter() - start
    history: list[dict[str, float]] = []
    if isinstance(model, AnchorPredictor):
        history = model.history
        # What was done before an interruption counts, too.
        train_seconds = sum(record['seconds'] for record in history)
    start = time.perf_counter()
    score = model.predict_proba(data)
    predict_seconds = time.perf_counter() - start
    ranks = model.rank_score(data)
    result = AnchorEvaluator().eval(score, data, data.test_mask, ranks)
    peaks = [peak_memory(), *(record.get('peak_memory', 0.0) for record in history)]
    return ComparisonRow(
        setting=task.setting,
        method=task.method,
        split=task.split,
        num_epochs=num_epochs or 0,
        accuracy=round(result['accuracy'], 6),
        mrr=round(result['mrr'], 6),
        ndcg=round(result['ndcg'], 6),
        trained_epochs=len(history),
        train_seconds=round(train_seconds, 3),
        predict_seconds=round(predict_seconds, 3),
        num_parameters=sum(parameter.numel() for parameter in model.parameters()),
        peak_memory=round(max(peaks), 3),
        threads=threads,
    )


def make_model(make: MakeModel, method: str, setting: str) -> AnchorModel:
    r"""A model of the user's own, not yet fitted.

    Args:
        make (callable): Makes it for a setting.
        method (str): The name that the user gave it.
        setting (str): The setting.
    """
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
