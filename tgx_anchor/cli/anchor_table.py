"""Writes tables of results: to a file in the format of its ending, or to the output."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def check_output(out: str) -> None:
    r"""Raises a :class:`ValueError` if a table cannot be written there, before any work
    is done.

    Args:
        out (str): The path, or :obj:`"-"`.
    """
    if out == '-':
        return
    from tgx_anchor.io.table import get_suffix

    path = Path(out)
    get_suffix(path)
    check_folder(path)


def check_folder(path: Path) -> None:
    r"""Raises a :class:`ValueError` if a file cannot be made at a path.

    Args:
        path (Path): The path.
    """
    if path.is_dir():
        raise ValueError(f"'--out' must be a file (got the folder {str(path)!r})")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"'--out' must be in a folder that exists (got {str(path)!r})")


def write_output(table: 'pa.Table', out: str) -> None:
    r"""Writes a table.

    Args:
        table (pyarrow.Table): The table.
        out (str): The path, or :obj:`"-"` for CSV on the standard output.
    """
    from tgx_anchor.io.table import write_table, write_text

    if out != '-':
        write_table(table, Path(out))
        return
    sys.stdout.flush()
    write_text(table, '.csv', sys.stdout.buffer)
    sys.stdout.buffer.flush()
