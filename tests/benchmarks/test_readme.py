import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.benchmarks.scripts import FOLDER, load_script
from tgx_anchor.benchmark.report import most_trained
from tgx_anchor.benchmark.results import benchmark_table
from tgx_anchor.io import ResultTable
from tgx_anchor.paper import BASELINES, figure

TEXT = (FOLDER / 'README.md').read_text(encoding='utf-8')
SETTINGS = ('emER', 'qaBI')


def means(name: str) -> dict[tuple[str, str], float]:
    values: dict[tuple[str, str], list[float]] = {}
    for row in most_trained(benchmark_table(FOLDER / 'results' / name).rows):
        values.setdefault((row.method, row.setting), []).append(100 * row.accuracy)
    return {key: statistics.fmean(found) for key, found in values.items()}


@pytest.fixture(scope='module')
def known() -> Iterator[set[str]]:
    # All means of accuracies, and all figures of the paper, as they are printed.
    out = {f'{mean:.1f}' for mean in means('compare.csv').values()}
    out |= {f'{mean:.1f}' for mean in means('compare_light.csv').values()}
    with load_script('reference_habits') as script:
        rows = ResultTable(script.Row, script.OUT).rows
        lines = script.make_table(rows)[1:]
        out |= {line[4].partition(' ')[0] for line in lines}
        for method in BASELINES:
            for setting in SETTINGS:
                out |= set(figure('accuracy', method, setting).split('±'))
        yield out


def test_figures_are_in_the_results(known: set[str]) -> None:
    section = TEXT[TEXT.index('## Differences') :]
    found = re.findall(r'\d+\.\d+', section)
    assert len(found) > 20
    assert set(found) <= known


def test_all_differences_are_named() -> None:
    section = TEXT[TEXT.index('## Differences') :]
    named = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.split('|')[1:-1]]
        if len(cells) == 4 and ' on ' in cells[0]:
            where, _, splits = cells[0].partition(', ')
            method, setting = where.split(' on ')
            named[method, setting, splits] = (cells[1], cells[2])
    expected = {}
    for name, splits in (('compare.csv', ''), ('compare_light.csv', 'five splits')):
        for (method, setting), mean in means(name).items():
            printed = figure('accuracy', method, setting)
            if method not in BASELINES or setting not in SETTINGS:
                continue
            center, deviation = map(float, printed.split('±'))
            is_named = (method, setting, '') in expected
            if abs(round(mean, 1) - center) > 2 * deviation and not is_named:
                expected[method, setting, splits] = (f'{mean:.1f}', printed)
    assert named == expected


def test_scripts_are_listed() -> None:
    for path in FOLDER.glob('*.py'):
        assert f'`{path.name}`' in TEXT
    for name in re.findall(r'`(\w+)\.csv`', TEXT):
        # The times of encoders are measured where they are needed.
        path = Path(FOLDER / 'results' / f'{name}.csv')
        assert path.exists() or name == 'encoders'
