r"""All tables and figures of the paper, measured again."""

from tgx_anchor.reproduce.cell import Cell
from tgx_anchor.reproduce.reproduction import reproduce
from tgx_anchor.reproduce.tables import TABLES

__all__ = ['TABLES', 'Cell', 'reproduce']
