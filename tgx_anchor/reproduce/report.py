"""Writes measured cells beside the figures of the paper."""

import math
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tgx_anchor.benchmark.methods import STACKED
from tgx_anchor.benchmark.report import (
    headline,
    headline_text,
    make_table,
    plot_efficiency,
    summarise,
)
from tgx_anchor.benchmark.results import BenchmarkRow
from tgx_anchor.benchmark.tables import Style, escape, latex_table, markdown_table
from tgx_anchor.io.files import replace_file
from tgx_anchor.paper import SETTINGS
from tgx_anchor.reproduce.cell import Cell
from tgx_anchor.reproduce.experiments import SHARES
from tgx_anchor.reproduce.paper_table import Entry, PaperTable, Unit
from tgx_anchor.reproduce.plot_sensitivity import plot_sensitivity
from tgx_anchor.reproduce.run import Run

NO_DATA = 'no data'
HEADER = ('setting', 'what', 'measured', 'paper', 'difference', 'splits')
NUM_LEFT = 2
MARK = ' !'
_SCALE: dict[Unit, float] = {'percent': 100.0}
_DIGITS: dict[Unit, int] = {
    'percent': 1,
    'score': 3,
    'count': 0,
    'number': 2,
    'seconds': 1,
    'p-value': 4,
}
_SMALL_P = 0.0001
# A mean, and its deviation over splits: '87.4', '87.4±0.2'; not 'OOM' or '<0.0001'.
_PRINTED = re.compile(r'(\d+\.?\d*)(?:±(\d+\.?\d*))?')


@dataclass(frozen=True)
class Filled:
    r"""A cell with what was measured.

    Args:
        entry (Entry): The cell.
        values (tuple[float]): The values over the splits, in the unit of the paper.
        num_epochs (int): The number of epochs; zero for the published one.
        runs (tuple[int]): The runs that measured them.
        at_hand (bool): Whether the data is at hand.
    """

    entry: Entry
    values: tuple[float, ...]
    num_epochs: int
    runs: tuple[int, ...]
    at_hand: bool

    @property
    def printed(self) -> tuple[float, float] | None:
        r"""The figure of the paper and its standard deviation, zero if none is printed;
        :obj:`None` if the paper has no such number.
        """
        found = _PRINTED.match(self.entry.paper)
        return None if found is None else (float(found[1]), float(found[2] or 0))

    @property
    def difference(self) -> float | None:
        r"""The mean minus the figure of the paper, if there are both."""
        if self.printed is None or not self.values:
            return None
        return statistics.fmean(self.values) - self.printed[0]

    @property
    def is_outside(self) -> bool | None:
        r"""Whether the difference exceeds two standard deviations, the larger one of
        ours and the paper's, beyond what is lost by the rounding of the paper;
        :obj:`None` if neither is known.
        """
        if self.difference is None or self.printed is None:
            return None
        deviations = [self.printed[1]]
        if len(self.values) > 1:
            deviations.append(statistics.pstdev(self.values))
        elif self.printed[1] == 0 and self.entry.is_split:
            return None
        text, _, _ = self.entry.paper.partition('±')
        _, _, decimals = text.split()[0].partition('.')
        rounding = 0.5 * 10.0 ** -len(decimals)
        return abs(self.difference) > 2 * max(deviations) + rounding + 1e-9


def fill(
    table: PaperTable,
    cells: Iterable[Cell],
    is_at_hand: Callable[[str], bool],
    settings: Iterable[str] | None = None,
) -> list[Filled]:
    r"""Fills the cells of a table with the values of the published number of epochs, or
    else of the largest one.

    Args:
        table (PaperTable): The table.
        cells (list[Cell]): All measured cells.
        is_at_hand (callable): Tells whether the data of a setting is at hand.
        settings (list[str], optional): The settings; those of the paper if
            :obj:`None`. (default: :obj:`None`)
    """
    found: dict[tuple[str, ...], dict[int, list[Cell]]] = {}
    for cell in cells:
        where = cell.experiment, cell.setting, cell.variant, cell.metric
        found.setdefault(where, defaultdict(list))[cell.num_epochs].append(cell)
    out = []
    for entry in table.entries(settings):
        where = entry.experiment, entry.setting, entry.variant, entry.metric
        by_epochs = found.get(where, {})
        best = max(by_epochs, key=lambda number: number or math.inf, default=0)
        chosen = by_epochs.get(best, [])
        scale = _SCALE.get(entry.unit, 1.0)
        out.append(
            Filled(
                entry,
                tuple(scale * cell.value for cell in chosen),
                best,
                tuple(sorted({cell.run for cell in chosen})),
                all(is_at_hand(setting) for setting in entry.settings),
            )
        )
    return out


def make_lines(filled: Sequence[Filled], style: Style) -> list[list[str]]:
    r"""Returns a table as lines of text, the header first. Differences of more than two
    standard deviations have an exclamation mark.

    Args:
        filled (list[Filled]): The cells.
        style (str): The markup: :obj:`"rich"`, :obj:`"markdown"` or :obj:`"latex"`.
    """
    lines = [list(HEADER)]
    for each in filled:
        entry = each.entry
        words = [
            entry.setting,
            entry.row,
            _measured(each),
            entry.paper,
            _difference(each),
            str(len(each.values)) if each.values and entry.is_split else '',
        ]
        lines.append([_in_style(word, style) for word in words])
    return lines


def _in_style(word: str, style: Style) -> str:
    word = escape(word, style)
    if style != 'latex':
        return word
    for sign, command in (('±', r' $\pm$ '), ('√', r'$\surd$'), ('<', '$<$')):
        word = word.replace(sign, command)
    return word


def _measured(each: Filled) -> str:
    if not each.values:
        return '' if each.at_hand else NO_DATA
    unit = each.entry.unit
    mean = statistics.fmean(each.values)
    text = _number(mean, unit)
    if len(each.values) > 1 and unit not in ('count', 'p-value'):
        text += f' ± {_number(statistics.pstdev(each.values), unit)}'
    return f'{text} @{each.num_epochs}' if each.num_epochs > 0 else text


def _number(value: float, unit: Unit) -> str:
    if unit == 'p-value' and value < _SMALL_P:
        return f'<{_SMALL_P:.4f}'
    return f'{value:,.{_DIGITS[unit]}f}'


def _difference(each: Filled) -> str:
    if each.difference is None:
        return ''
    text = f'{each.difference:+,.{_DIGITS[each.entry.unit]}f}'
    return text + MARK if each.is_outside else text


def summary(filled: Sequence[Filled]) -> str:
    r"""Counts the cells in a sentence.

    Args:
        filled (list[Filled]): The cells.
    """
    measured = [each for each in filled if each.values]
    judged = [each for each in measured if each.is_outside is not None]
    outside = sum(bool(each.is_outside) for each in judged)
    missing = dict.fromkeys(
        each.entry.setting for each in filled if not each.at_hand and not each.values
    )
    text = f'{len(measured)} of {len(filled)} cells are measured'
    if judged:
        text += (
            f'; {len(judged) - outside} of {len(judged)} with a figure in the paper '
            f'lie within two standard deviations of it'
        )
        if outside:
            text += f', the others are marked with "{MARK.strip()}"'
    text += '.'
    if missing:
        text += (
            f' No data at hand: {", ".join(missing)} ("tgx-anchor datasets" tells '
            f'where to get it).'
        )
    return text


def benchmark_rows(cells: Iterable[Cell]) -> list[BenchmarkRow]:
    r"""Returns the rows of a benchmark that cells of all methods on the settings of the
    main table stand for.

    Args:
        cells (list[Cell]): The cells.
    """
    found: dict[tuple[object, ...], dict[str, float]] = {}
    for cell in cells:
        if cell.experiment == next(iter(SHARES)) and cell.setting in SETTINGS:
            found.setdefault(tuple(cell.key), {})[cell.metric] = cell.value
    counts = ('trained_epochs', 'num_parameters', 'threads')
    out = []
    for (_, setting, method, split, num_epochs), values in found.items():
        numbers = {
            name: int(value) if name in counts else value
            for name, value in values.items()
        }
        row = {'setting': setting, 'method': method, 'split': split}
        out.append(BenchmarkRow(**row, num_epochs=num_epochs, **numbers))  # type: ignore[arg-type]
    return out


def _in_the_paper(cells: Iterable[Cell]) -> list[BenchmarkRow]:
    # In its order, without methods that it does not have.
    rows = [row for row in benchmark_rows(cells) if row.method != STACKED]
    return sorted(rows, key=lambda row: SETTINGS.index(row.setting))


def extra_text(table: PaperTable, cells: Sequence[Cell]) -> str:
    r"""Returns a sentence that belongs to a table besides its cells, or :obj:`""`.

    Args:
        table (PaperTable): The table.
        cells (list[Cell]): All measured cells.
    """
    if table.plot != 'efficiency':
        return ''
    ratios = headline(_in_the_paper(cells))
    return headline_text(ratios) if ratios.settings else ''


def markdown_section(
    table: PaperTable,
    filled: Sequence[Filled],
    cells: Sequence[Cell],
    runs: Sequence[Run],
    brief: bool = False,
) -> str:
    r"""Writes a table as a section of a Markdown document, with where it comes from.

    Args:
        table (PaperTable): The table.
        filled (list[Filled]): Its cells.
        cells (list[Cell]): All measured cells.
        runs (list[Run]): All runs.
        brief (bool, optional): If set to :obj:`True`, leaves out the lines of data that
            is not at hand. (default: :obj:`False`)
    """
    shown = [each for each in filled if each.values or each.at_hand or not brief]
    parts = [
        f'## {table.title}',
        f'`tgx-anchor reproduce {table.name}` ({table.place} of the paper). '
        f'{table.note} {summary(filled)}',
        extra_text(table, cells),
        markdown_table(make_lines(shown, 'markdown'), NUM_LEFT).rstrip(),
        _origins(filled, runs),
    ]
    return '\n\n'.join(part for part in parts if part) + '\n'


def _origins(filled: Sequence[Filled], runs: Sequence[Run]) -> str:
    numbers = {number for each in filled for number in each.runs}
    lines = []
    for run in runs:
        if run.run in numbers:
            commit = f'commit {run.commit}' if run.commit else 'an installed package'
            lines.append(
                f'- run {run.run}, {run.date}: `{run.command}` at {commit} '
                f'({run.versions}; {run.machine})'
            )
    return '\n'.join(['Measured by:', '', *lines]) if lines else ''


def overview(cells: Iterable[Cell]) -> str:
    r"""Writes the accuracies of all methods with a column per setting as Markdown, or
    :obj:`""` if there are none.

    Args:
        cells (list[Cell]): All measured cells.
    """
    found = summarise(benchmark_rows(cells), 'accuracy')
    # In the order of the paper.
    ordered = {
        key: found[key] for setting in SETTINGS for key in found if key[1] == setting
    }
    if not ordered:
        return ''
    return markdown_table(make_table(ordered, 'accuracy', 'markdown'))


def markdown_report(cells: Sequence[Cell], sections: Iterable[str]) -> str:
    r"""Writes all sections as one document, after an overview.

    Args:
        cells (list[Cell]): All measured cells.
        sections (list[str]): The sections.
    """
    head = (
        '# Results beside the paper\n\n'
        'Made by `tgx-anchor reproduce` from `tables/cells.csv` and `tables/runs.csv`. '
        'Mean ± population standard deviation over random splits; the splits of the '
        'paper are not published. A number after an @ is the number of epochs where it '
        'is not the published one. A difference with an exclamation mark exceeds two '
        'standard deviations, ours or those of the paper, whichever is larger.\n'
    )
    table = overview(cells)
    if table:
        head += (
            '\n## Overview\n\nAccuracy (%); the best in bold, the second best '
            'underlined; in parentheses the figure of the paper.\n\n' + table
        )
    return '\n'.join([head, *sections])


def write_table(
    folder: Path,
    table: PaperTable,
    filled: Sequence[Filled],
    cells: Sequence[Cell],
    runs: Sequence[Run],
) -> list[Path]:
    r"""Writes a table as Markdown and LaTeX, and its plot if :obj:`matplotlib` is
    installed, and returns the paths.

    Args:
        folder (Path): The folder.
        table (PaperTable): The table.
        filled (list[Filled]): Its cells.
        cells (list[Cell]): All measured cells.
        runs (list[Run]): All runs.
    """
    texts = {
        '.md': markdown_section(table, filled, cells, runs),
        '.tex': latex_table(make_lines(filled, 'latex')),
    }
    out = []
    for suffix, text in texts.items():
        out.append(folder / f'{table.name}{suffix}')
        with replace_file(out[-1]) as part:
            part.write_text(text, encoding='utf-8')
    is_measured = any(each.values for each in filled)
    if table.plot is not None and is_measured and find_spec('matplotlib') is not None:
        drawn = (
            plot_efficiency(_in_the_paper(cells))
            if table.plot == 'efficiency'
            else plot_sensitivity(cells)
        )
        out.append(folder / f'{table.name}.png')
        with replace_file(out[-1]) as part:
            drawn.savefig(part, dpi=110)
    return out
