"""The figures that the paper printed."""

import csv
import os
from pathlib import Path


class PaperFigures:
    r"""The tables of the `"Identifying Group Anchors in Real-World Group Interactions
    Under Label Scarcity" <https://arxiv.org/abs/2509.20762>`_ paper, from a folder of
    CSV files: one file per table, one line per :obj:`method`, one column per setting.

    Args:
        folder (str, optional): The folder. If :obj:`None`, it is :obj:`reference`
            beside the mirror of raw files that :obj:`TGX_ANCHOR_MIRROR` names; where
            there is none, no figure is known. (default: :obj:`None`)
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        if folder is None and 'TGX_ANCHOR_MIRROR' in os.environ:
            folder = Path(os.environ['TGX_ANCHOR_MIRROR']).parent / 'reference'
        elif folder is not None and not Path(folder).is_dir():
            raise ValueError(
                f"'{folder}' must be a folder with the paper's tables (got none)"
            )
        self.folder = None if folder is None else Path(folder)

    def cell(self, table: str, method: str, setting: str) -> str:
        r"""A figure as printed, or an empty text where there is none.

        Args:
            table (str): The name of the table: :obj:`"accuracy"`, :obj:`"mrr"`.
            method (str): The name of the method in it.
            setting (str): The column.
        """
        for row in self.rows(table):
            if row.get('method') == method:
                return row.get(setting) or ''
        return ''

    def rows(self, table: str) -> list[dict[str, str]]:
        r"""The lines of a table.

        Args:
            table (str): The name of the table.
        """
        path = None if self.folder is None else self.folder / f'{table}.csv'
        if path is None or not path.is_file():
            return []
        with path.open(newline='', encoding='utf-8') as file:
            return list(csv.DictReader(file))
