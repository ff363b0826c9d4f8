"""Describes a table of the paper: which cells it has, and what fills them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tgx_anchor.reproduce.cell import CellKey

# How a value is written: '87.4', '0.931', '23,242', '2.08', '12.3', '<0.0001'.
Unit = Literal['percent', 'score', 'count', 'number', 'seconds', 'p-value']


class Entry(NamedTuple):
    r"""A cell of a table.

    Args:
        setting (str): The setting, which is the first column.
        row (str): What is measured, the second column.
        experiment (str): The experiment that fills the cell.
        variant (str): The method or variant that fills it.
        metric (str): The metric that fills it.
        unit (str): How its value is written.
        paper (str): The figure of the paper, :obj:`""` if it prints none.
        is_split (bool, optional): Whether it is measured on several random splits.
            (default: :obj:`True`)
        source (str, optional): Another setting whose data is needed, too.
            (default: :obj:`""`)
        has_epochs (bool, optional): Whether it depends on the number of epochs.
            (default: :obj:`True`)
    """

    setting: str
    row: str
    experiment: str
    variant: str
    metric: str
    unit: Unit
    paper: str
    is_split: bool = True
    source: str = ''
    has_epochs: bool = True

    @property
    def settings(self) -> tuple[str, ...]:
        r"""The settings whose data is needed."""
        return tuple(filter(None, (self.setting, self.source)))

    def keys(self, num_splits: int, num_epochs: int) -> list[CellKey]:
        r"""Returns the measurements that fill the cell.

        Args:
            num_splits (int): The number of random splits.
            num_epochs (int): The number of epochs; zero for the published one.
        """
        epochs = num_epochs if self.has_epochs else 0
        return [
            CellKey(self.experiment, self.setting, self.variant, split, epochs)
            for split in range(num_splits if self.is_split else 1)
        ]


@dataclass(frozen=True)
class PaperTable:
    r"""A table or figure of the paper.

    Args:
        name (str): Its name on the command line.
        title (str): Its title.
        place (str): Its place in the paper.
        note (str): What a reader should know.
        make_entries (callable): Returns the cells for some settings.
        settings (tuple[str]): The settings for which the paper has it.
        plot (str, optional): The plot that is drawn, :obj:`"efficiency"` or
            :obj:`"sensitivity"`. (default: :obj:`None`)
    """

    name: str
    title: str
    place: str
    note: str
    make_entries: Callable[[Iterable[str]], list[Entry]]
    settings: tuple[str, ...]
    plot: Literal['efficiency', 'sensitivity'] | None = None

    def entries(self, settings: Iterable[str] | None = None) -> list[Entry]:
        r"""Returns the cells.

        Args:
            settings (list[str], optional): The settings; those of the paper if
                :obj:`None`. (default: :obj:`None`)
        """
        return self.make_entries(self.settings if settings is None else settings)
