"""Rows of a benchmark."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tgx_anchor.io import ResultTable


class Task(NamedTuple):
    r"""One method on one split of one setting.

    Args:
        setting (str): The setting.
        method (str): The method.
        split (int): The number of the random split.
        num_epochs (int): The number of epochs; zero for the published one.
    """

    setting: str
    method: str
    split: int
    num_epochs: int = 0


@dataclass(frozen=True)
class BenchmarkRow:
    r"""The measurements of one task.

    Args:
        setting (str): The setting.
        method (str): The method.
        split (int): The number of the random split.
        num_epochs (int): The number of epochs asked for; zero for the published one.
        accuracy (float): The accuracy on the test hyperedges.
        mrr (float): The mean reciprocal rank by :meth:`AnchorModel.rank_score`.
        ndcg (float): The normalized discounted cumulative gain by the same score.
        trained_epochs (int): The number of epochs in the history of the model; zero for
            models that have none.
        train_seconds (float): The seconds of :meth:`AnchorModel.fit`, those before an
            interruption included.
        predict_seconds (float): The seconds of :meth:`AnchorModel.predict_proba`.
        num_parameters (int): The number of learnable parameters.
        peak_memory (float): The peak memory of the process while it fitted and
            predicted, in GiB. For models of your own, this includes all that the
            calling process holds.
        threads (int): The number of threads of PyTorch.
    """

    setting: str
    method: str
    split: int
    num_epochs: int
    accuracy: float
    mrr: float
    ndcg: float
    trained_epochs: int
    train_seconds: float
    predict_seconds: float
    num_parameters: int
    peak_memory: float
    threads: int

    @property
    def task(self) -> Task:
        r"""The task that was measured."""
        return Task(self.setting, self.method, self.split, self.num_epochs)

    @property
    def epoch_seconds(self) -> float:
        r"""The seconds of an epoch; NaN for models without epochs."""
        if self.trained_epochs == 0:
            return math.nan
        return self.train_seconds / self.trained_epochs


def benchmark_table(path: str | Path | None = None) -> ResultTable[BenchmarkRow]:
    r"""Opens the table of a benchmark, whose keys are tasks.

    Args:
        path (str, optional): The CSV file; if :obj:`None`, rows are kept in memory
            only. (default: :obj:`None`)
    """
    return ResultTable(BenchmarkRow, path, key=Task._fields)
