import re
import statistics

import pytest

from tests.benchmarks.scripts import FOLDER, load_script
from tgx_anchor.io import ResultTable
from tgx_anchor.reproduce.cell import cell_table
from tgx_anchor.reproduce.report import Filled, fill
from tgx_anchor.reproduce.tables import TABLES

TEXT = (FOLDER / 'README.md').read_text(encoding='utf-8')


def fill_table(name: str) -> list[Filled]:
    cells = cell_table(FOLDER / 'tables' / 'cells.csv').rows
    return fill(TABLES[name], cells, lambda _: True)


@pytest.fixture(scope='module')
def filled() -> list[Filled]:
    return fill_table('accuracy')


@pytest.fixture(scope='module')
def known(filled: list[Filled]) -> set[str]:
    # All means of accuracies, and all figures of the paper, as they are printed.
    out = set()
    for each in [*filled, *fill_table('multi'), *fill_table('observation1')]:
        out |= set(each.entry.paper.split('±'))
        if each.values:
            out.add(f'{statistics.fmean(each.values):.1f}')
    for name, column in (('reference_habits', 4), ('readings', 2)):
        with load_script(name) as script:
            rows = ResultTable(script.Row, script.OUT).rows
            for line in script.make_table(rows)[1:]:
                figure = line[column].partition(' ')[0]
                out |= {figure, f'{float(figure):.1f}', line[3]}
    report = (FOLDER / 'results' / 'stacked.md').read_text(encoding='utf-8')
    return out | set(re.findall(r'\d+\.\d+', report))


def section() -> str:
    return TEXT[TEXT.index('## Differences') :]


def test_figures_are_in_the_results(known: set[str]) -> None:
    found = re.findall(r'\d+\.\d+', section())
    assert len(found) > 20
    assert set(found) <= known


def test_all_differences_are_named(filled: list[Filled]) -> None:
    # Of methods that were trained for as long as in the paper.
    named = {}
    for line in section().splitlines():
        cells = [cell.strip() for cell in line.split('|')[1:-1]]
        if len(cells) == 4 and ' on ' in cells[0]:
            method, setting = cells[0].split(' on ')
            named[method, setting] = (cells[1], cells[2])
    expected = {
        (each.entry.row, each.entry.setting): (
            f'{statistics.fmean(each.values):.1f}',
            each.entry.paper,
        )
        for each in filled
        if each.is_outside and each.num_epochs == 0
    }
    assert named == expected


def test_scripts_are_listed() -> None:
    for path in FOLDER.glob('*.py'):
        assert f'`{path.name}`' in TEXT
    for name in re.findall(r'`(\w+)\.csv`', TEXT):
        assert (FOLDER / 'results' / f'{name}.csv').exists()
