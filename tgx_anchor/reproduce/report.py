"""Writes measured cells next to the figures of the paper."""

import math
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tgx_anchor.benchmark.downstream import ORIGINAL, WITH_STRENGTHS
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
from tgx_anchor.paper import DATASETS, SETTINGS
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
        missing (tuple[str]): The settings whose data is needed and not available.
    """

    entry: Entry
    values: tuple[float, ...]
    num_epochs: int
    runs: tuple[int, ...]
    missing: tuple[str, ...] = ()

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
        ours and the paper's, beyond what is lost by the rounding of the paper.
        :obj:`None` if the value varies and neither deviation is known, or if the method
        was trained for fewer epochs than in the paper.
        """
        if self.difference is None or self.printed is None or self.num_epochs > 0:
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
    is_available: Callable[[str], bool],
    settings: Iterable[str] | None = None,
) -> list[Filled]:
    r"""Fills the cells of a table with the values at the published number of epochs, or
    else at the largest one.

    Args:
        table (PaperTable): The table.
        cells (list[Cell]): All measured cells.
        is_available (callable): Tells whether the data of a setting is available.
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
                tuple(name for name in entry.settings if not is_available(name)),
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
        return NO_DATA if each.missing else ''
    unit = each.entry.unit
    # Of several p-values, the largest: their mean means nothing.
    value = max(each.values) if unit == 'p-value' else statistics.fmean(each.values)
    text = _number(value, unit)
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
    digits = _DIGITS[each.entry.unit]
    # No negative zero.
    text = f'{round(each.difference, digits) + 0.0:+,.{digits}f}'
    return text + MARK if each.is_outside else text


def summary(filled: Sequence[Filled]) -> str:
    r"""Counts the cells in a sentence.

    Args:
        filled (list[Filled]): The cells.
    """
    measured = [each for each in filled if each.values]
    judged = [each for each in measured if each.is_outside is not None]
    outside = sum(bool(each.is_outside) for each in judged)
    shortened = sum(each.num_epochs > 0 for each in measured)
    parts = [f'{len(measured)} of {len(filled)} cells are measured.']
    if judged:
        exact = not any(each.entry.is_split for each in judged)
        text = (
            f'Of {len(judged)} that can be compared with a printed figure, '
            f'{len(judged) - outside} '
            + ('equal it' if exact else 'lie within two standard deviations of it')
        )
        text += f'; "{MARK.strip()}" marks the others.' if outside else '.'
        parts.append(text)
    if shortened:
        parts.append(
            f'{shortened} have fewer epochs than the paper and are not compared.'
        )
    missing = dict.fromkeys(
        name for each in filled if not each.values for name in each.missing
    )
    # Data that belongs to none of the datasets is not published.
    known = [name for name in missing if name.partition('_')[0] in DATASETS]
    if known:
        parts.append(
            f'Data not available here: {", ".join(known)} ("tgx-anchor datasets" tells '
            f'where to get it).'
        )
    parts += [f'Not published: {name}.' for name in missing if name not in known]
    return ' '.join(parts)


def benchmark_rows(cells: Iterable[Cell]) -> list[BenchmarkRow]:
    r"""Converts the cells of all methods on the settings of the main table to rows of a
    benchmark.

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
        row: dict[str, Any] = {'setting': setting, 'method': method, 'split': split}
        row |= {'num_epochs': num_epochs, **numbers}
        # Lines at the end of a file that was cut off are lost.
        if all(each.name in row for each in fields(BenchmarkRow)):
            out.append(BenchmarkRow(**row))
    return out


def _in_the_paper(cells: Iterable[Cell]) -> list[BenchmarkRow]:
    # In its order, without methods that it does not have.
    rows = [row for row in benchmark_rows(cells) if row.method != STACKED]
    return sorted(rows, key=lambda row: SETTINGS.index(row.setting))


def extra_text(
    table: PaperTable, filled: Sequence[Filled], cells: Sequence[Cell]
) -> str:
    r"""Returns a sentence that accompanies the cells of a table, or :obj:`""`.

    Args:
        table (PaperTable): The table.
        filled (list[Filled]): Its cells.
        cells (list[Cell]): All measured cells.
    """
    if any(each.entry.variant == WITH_STRENGTHS for each in filled):
        return _gain_text(filled)
    if table.plot != 'efficiency':
        return ''
    ratios = headline(_in_the_paper(cells))
    return headline_text(ratios) if ratios.settings else ''


def _gain_text(filled: Iterable[Filled]) -> str:
    found = {
        (each.entry.setting, each.entry.variant): each
        for each in filled
        if each.entry.metric == 'accuracy'
    }
    parts = []
    for setting, variant in found:
        if variant != WITH_STRENGTHS:
            continue
        after, before = found[setting, WITH_STRENGTHS], found[setting, ORIGINAL]
        if not (after.values and before.values and after.printed and before.printed):
            continue
        gain = statistics.fmean(after.values) - statistics.fmean(before.values)
        printed = after.printed[0] - before.printed[0]
        parts.append(f'{setting} {gain:+.1f} ({printed:+.1f})')
    if not parts:
        return ''
    return f'Gain by anchor strengths (in the paper): {", ".join(parts)}.'


def markdown_section(
    table: PaperTable,
    filled: Sequence[Filled],
    cells: Sequence[Cell],
    runs: Sequence[Run],
    brief: bool = False,
) -> str:
    r"""Writes a table as a section of a Markdown document, with its origin.

    Args:
        table (PaperTable): The table.
        filled (list[Filled]): Its cells.
        cells (list[Cell]): All measured cells.
        runs (list[Run]): All runs.
        brief (bool, optional): If set to :obj:`True`, leaves out the lines without a
            measurement, and the list of runs. (default: :obj:`False`)
    """
    shown = [each for each in filled if each.values or not brief]
    numbers = sorted({number for each in filled for number in each.runs})
    origin = f'Runs: {", ".join(map(str, numbers))}.'
    if not brief:
        origin = describe_runs([run for run in runs if run.run in numbers])
    parts = [
        f'## {table.title}',
        f'`tgx-anchor reproduce {table.name}` ({table.place} of the paper). '
        f'{table.note} {summary(filled)}',
        extra_text(table, filled, cells),
        markdown_table(make_lines(shown, 'markdown'), NUM_LEFT).rstrip(),
        origin if numbers else '',
    ]
    return '\n\n'.join(part for part in parts if part) + '\n'


def describe_runs(runs: Iterable[Run]) -> str:
    r"""Writes a list of runs as Markdown.

    Args:
        runs (list[Run]): The runs.
    """
    lines = []
    for run in runs:
        commit = f'commit {run.commit}' if run.commit else 'an installed package'
        lines.append(
            f'- Run {run.run}, {run.date}: `{run.command}` at {commit} '
            f'({run.versions}; {run.machine})'
        )
    return '\n'.join(lines)


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


def markdown_report(
    cells: Sequence[Cell], sections: Iterable[str], runs: Sequence[Run]
) -> str:
    r"""Writes all sections as one document, between an overview and the list of runs.

    Args:
        cells (list[Cell]): All measured cells.
        sections (list[str]): The sections.
        runs (list[Run]): All runs.
    """
    head = (
        '# Results beside the paper\n\n'
        'Made by `tgx-anchor reproduce` from `tables/cells.csv` and `tables/runs.csv`. '
        'Mean ± population standard deviation over random splits; the splits of the '
        'paper are not published. A number after an @ is the number of epochs where it '
        'is not the published one. A difference with an exclamation mark exceeds two '
        'standard deviations, ours or those of the paper, whichever is larger. Cells '
        'that are not measured are left out here; the files in `tables` have them. '
        'Numbers of runs refer to the list at the end.\n'
    )
    table = overview(cells)
    if table:
        head += (
            '\n## Overview\n\nAccuracy (%); the best in bold, the second best '
            'underlined; in parentheses the figure of the paper.\n\n' + table
        )
    used = {cell.run for cell in cells}
    listed = describe_runs(run for run in runs if run.run in used)
    tail = [f'## Runs\n\n{listed}\n'] if listed else []
    return '\n'.join([head, *sections, *tail])


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
