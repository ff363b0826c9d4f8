"""The outcome of a search for hyperparameters."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tgx_anchor.nn.predictors.anchor_model import AnchorModel

Model = TypeVar('Model', bound=AnchorModel)


@dataclass(frozen=True)
class TuneResult(Generic[Model]):
    r"""Holds the outcome of :meth:`AnchorRadar.tune` and
    :meth:`StackedAnchorRadar.tune`.

    Args:
        table (list[dict]): One row per point of the grid: its hyperparameters, and
            :obj:`val_accuracy` and :obj:`val_std` over the splits.
        best (dict): The hyperparameters of the best point.
        model (AnchorModel): A model with these, fitted on the first split.
    """

    table: list[dict[str, Any]]
    best: dict[str, Any]
    model: Model
