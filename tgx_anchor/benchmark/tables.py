"""Tables of text in Markdown, LaTeX and the terminal."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tgx_anchor.io.files import replace_file

if TYPE_CHECKING:
    from rich.table import Table

# Lines of cells, the header first.
TextTable = Sequence[Sequence[str]]
Style = Literal['rich', 'markdown', 'latex']

_LOG_WIDTH = 170
_SPECIAL: dict[Style, str] = {'rich': '[', 'markdown': '|', 'latex': '&%$#_{}'}


def escape(text: str, style: Style) -> str:
    r"""Escapes the characters of a text that have a meaning in a style.

    Args:
        text (str): The text.
        style (str): :obj:`"rich"`, :obj:`"markdown"` or :obj:`"latex"`.
    """
    return ''.join(f'\\{sign}' if sign in _SPECIAL[style] else sign for sign in text)


def markdown_table(table: TextTable, num_left: int = 1) -> str:
    r"""Writes a table as Markdown.

    Args:
        table (list[list[str]]): The lines, the header first.
        num_left (int, optional): The number of columns that are aligned to the left.
            (default: :obj:`1`)
    """
    header, *lines = table
    rule = ['---' if i < num_left else '---:' for i in range(len(header))]
    return ''.join(f'| {" | ".join(line)} |\n' for line in (header, rule, *lines))


def latex_table(table: TextTable) -> str:
    r"""Writes a table as LaTeX.

    Args:
        table (list[list[str]]): The lines, the header first.
    """
    header, *lines = (' & '.join(line) + r' \\' for line in table)
    begin = rf'\begin{{tabular}}{{l{"c" * (len(table[0]) - 1)}}}'
    parts = [begin, r'\hline', header, r'\hline', *lines, r'\hline', r'\end{tabular}']
    return '\n'.join(parts) + '\n'


def rich_table(
    table: TextTable, title: str | None = None, num_left: int = 1
) -> 'Table':
    r"""Returns a table for the terminal.

    Args:
        table (list[list[str]]): The lines, the header first.
        title (str, optional): The title. (default: :obj:`None`)
        num_left (int, optional): The number of columns that are aligned to the left.
            (default: :obj:`1`)
    """
    from rich.table import Table

    out = Table(title=title)
    for i, name in enumerate(table[0]):
        out.add_column(name, justify='left' if i < num_left else 'right')
    for line in table[1:]:
        out.add_row(*line)
    return out


def publish_table(
    table: TextTable, path: Path, title: str | None = None, num_left: int = 1
) -> None:
    r"""Prints a table, and writes it as Markdown next to a CSV file.

    Args:
        table (list[list[str]]): The lines, the header first.
        path (Path): The CSV file.
        title (str, optional): The title in the terminal. (default: :obj:`None`)
        num_left (int, optional): The number of columns that are aligned to the left.
            (default: :obj:`1`)
    """
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        # A log file has no width of its own.
        console = Console(width=_LOG_WIDTH)
    console.print(rich_table(table, title, num_left))
    with replace_file(path.with_suffix('.md')) as part:
        part.write_text(markdown_table(table, num_left), encoding='utf-8')


def mean_text(values: Sequence[float], digits: int, scale: float = 1.0) -> str:
    r"""Writes the mean, and the population standard deviation of several values.

    Args:
        values (list[float]): The values.
        digits (int): The number of decimal digits.
        scale (float, optional): The factor of all values: 100 for percent.
            (default: :obj:`1.0`)
    """
    if not values:
        return ''
    text = f'{scale * statistics.fmean(values):.{digits}f}'
    if len(values) == 1:
        return text
    return f'{text} ± {scale * statistics.pstdev(values):.{digits}f}'


def difference_text(
    values: Sequence[float], printed: str, digits: int, scale: float = 1.0
) -> str:
    r"""Writes the difference of the mean to a figure that the paper printed.

    Args:
        values (list[float]): The measured values.
        printed (str): The figure of the paper, :obj:`""` if there is none.
        digits (int): The number of decimal digits.
        scale (float, optional): The factor of the measured values.
            (default: :obj:`1.0`)
    """
    mean, _, _ = printed.partition('±')
    try:
        paper = float(mean)
    except ValueError:
        # None, or 'OOM'.
        return ''
    if not values:
        return ''
    return f'{scale * statistics.fmean(values) - paper:+.{digits}f}'
