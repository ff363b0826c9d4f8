"""What is measured, and what was."""

import math
from dataclasses import dataclass
from typing import NamedTuple


class Task(NamedTuple):
    r"""One method on one split of one setting."""

    setting: str
    method: str
    split: int


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
        trained_epochs (int): The number of epochs of an :class:`AnchorPredictor` until
            it stopped; zero for all others.
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
    trained_epochs: int
    train_seconds: float
    predict_seconds: float
    num_parameters: int
    peak_memory: float
    threads: int

    @property
    def task(self) -> Task:
        r"""What was measured."""
        return Task(self.setting, self.method, self.split)

    @property
    def epoch_seconds(self) -> float:
        r"""The seconds of an epoch; not a number for what was not trained by epochs."""
        if self.trained_epochs == 0:
            return math.nan
        return self.train_seconds / self.trained_epochs
