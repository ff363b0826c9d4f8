"""Rows of the CSV file that holds all measured cells."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tgx_anchor.io import ResultTable


class CellKey(NamedTuple):
    r"""One measurement, from which several cells of several tables are filled.

    Args:
        experiment (str): The experiment, see :mod:`tgx_anchor.reproduce.experiments`.
        setting (str): The dataset, with its kind of anchor where there are several.
        variant (str): The method, or what is changed in it.
        split (int): The number of the random split, from zero.
        num_epochs (int): The number of epochs; zero for the published one.
    """

    experiment: str
    setting: str
    variant: str
    split: int
    num_epochs: int = 0


@dataclass(frozen=True)
class Cell:
    r"""One measured value.

    Args:
        experiment (str): The experiment.
        setting (str): The setting.
        variant (str): The method, or what is changed in it.
        split (int): The number of the random split.
        num_epochs (int): The number of epochs; zero for the published one.
        metric (str): The name of the value.
        value (float): The value.
        run (int): The number of the :class:`Run` that measured it.
    """

    experiment: str
    setting: str
    variant: str
    split: int
    num_epochs: int
    metric: str
    value: float
    run: int

    @property
    def key(self) -> CellKey:
        r"""The measurement that the cell belongs to."""
        return CellKey(
            self.experiment, self.setting, self.variant, self.split, self.num_epochs
        )


def cell_table(path: str | Path | None = None) -> ResultTable[Cell]:
    r"""Opens the table of measured cells.

    Args:
        path (str, optional): The CSV file; if :obj:`None`, cells are kept in memory
            only. (default: :obj:`None`)
    """
    return ResultTable(Cell, path, key=(*CellKey._fields, 'metric'))
