r"""Tables and plots of all benchmarks, from the CSV files that they are kept in."""

import importlib.util
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tgx_anchor.benchmark.report import plot_efficiency
from tgx_anchor.benchmark.tables import markdown_table
from tgx_anchor.io import ResultTable
from tgx_anchor.reproduce import TABLES, Cell
from tgx_anchor.reproduce.cell import cell_table
from tgx_anchor.reproduce.plot_sensitivity import plot_sensitivity
from tgx_anchor.reproduce.report import (
    benchmark_rows,
    describe_runs,
    fill,
    markdown_section,
    overview,
)
from tgx_anchor.reproduce.run import run_table
from tgx_site.pictures import card

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BENCHMARKS = Path(__file__).parents[3] / 'benchmarks'
# Columns of words in the tables of scripts, before the numbers.
NUM_LEFT = {
    'features': 3,
    'labelling': 2,
    'old_and_new': 2,
    'readings': 2,
    'reference_habits': 3,
    'scale': 2,
    'speed': 3,
}


@cache
def cells() -> list[Cell]:
    r"""Returns all measured cells of the tables of the paper."""
    return list(cell_table(BENCHMARKS / 'tables' / 'cells.csv').rows)


def fold(text: str, num_rows: int = 30) -> str:
    r"""Folds long tables of a Markdown text, so that they open on a click.

    Args:
        text (str): The text.
        num_rows (int, optional): The number of rows from which on a table is long.
            (default: :obj:`30`)
    """

    def wrap(match: re.Match[str]) -> str:
        count = match[0].count('\n') - 2
        if count < num_rows:
            return match[0]
        return (
            f'<details><summary>Show {count} rows</summary>\n\n{match[0]}\n</details>\n'
        )

    return re.sub(r'(?:^\|.*\n)+', wrap, text, flags=re.MULTILINE)


def paper_overview() -> str:
    r"""Writes the accuracies of all methods on all settings as Markdown."""
    return overview(cells())


def paper_tables() -> str:
    r"""Writes all measured tables of the paper as Markdown, with a section for each."""
    runs = run_table(BENCHMARKS / 'tables' / 'runs.csv').rows
    parts = []
    for table in TABLES.values():
        filled = fill(table, cells(), lambda _: True)
        if any(each.values for each in filled):
            parts.append(markdown_section(table, filled, cells(), runs, brief=True))
    used = {cell.run for cell in cells()}
    listed = describe_runs(run for run in runs if run.run in used)
    return fold('\n'.join([*parts, f'## Runs\n\n{listed}\n']))


def paper_plot(name: str, text: str) -> str:
    r"""Writes a plot of the paper as Markdown.

    Args:
        name (str): :obj:`"efficiency"` or :obj:`"sensitivity"`.
        text (str): Its description, for those who do not see it.
    """
    draw: dict[str, Callable[[], Figure]] = {
        'efficiency': lambda: plot_efficiency(
            [row for row in benchmark_rows(cells()) if row.method in _printed()]
        ),
        'sensitivity': lambda: plot_sensitivity(cells()),
    }
    return card(f'paper-{name}', text, lambda path: draw[name]().savefig(path))


def _printed() -> set[str]:
    return {entry.variant for entry in TABLES['accuracy'].entries()}


def result_table(name: str, section: str | None = None) -> str:
    r"""Writes the table of a benchmark as Markdown.

    Args:
        name (str): The script, without its ending.
        section (str, optional): The section of a report with several tables.
            (default: :obj:`None`)
    """
    script, rows = _rows(name)
    if section is None:
        return fold(markdown_table(script.make_table(rows), NUM_LEFT.get(name, 1)))
    note, table = script.make_report(rows)[section]
    return f'{note}\n\n{markdown_table(table)}'


def result_plot(name: str, text: str) -> str:
    r"""Writes the plot of a benchmark as Markdown.

    Args:
        name (str): The script, without its ending.
        text (str): Its description, for those who do not see it.
    """
    script, rows = _rows(name)
    return card(f'result-{name}', text, lambda path: script.plot(rows, path))


@cache
def _rows(name: str) -> tuple[ModuleType, Sequence[Any]]:
    script = load_script(name)
    return script, ResultTable(script.Row, BENCHMARKS / 'results' / f'{name}.csv').rows


@cache
def load_script(name: str) -> ModuleType:
    r"""Imports a benchmark, which is a script and not part of a package.

    Args:
        name (str): The script, without its ending.
    """
    key = f'benchmark_{name}'
    spec = importlib.util.spec_from_file_location(key, BENCHMARKS / f'{name}.py')
    if spec is None or spec.loader is None:
        raise ValueError(f"'name' must be a script of 'benchmarks' (got {name!r})")
    module = importlib.util.module_from_spec(spec)
    sys.modules[key] = module
    # As if it were run: scripts import their neighbours.
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module
