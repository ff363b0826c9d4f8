import re
import statistics

import pytest

from tgx_anchor.reproduce import TABLES
from tgx_site import results


def test_overview_is_made_from_the_cells() -> None:
    values = [
        100 * cell.value
        for cell in results.cells()
        if (cell.experiment, cell.setting, cell.variant, cell.metric)
        == ('methods', 'qaBI', 'AnchorRadar', 'accuracy')
    ]
    assert f'{statistics.fmean(values):.1f} ± ' in results.paper_overview()


def test_measured_tables_of_the_paper_are_shown() -> None:
    text = results.paper_tables()
    titles = [
        line.removeprefix('## ') for line in text.splitlines() if line[:3] == '## '
    ]
    assert titles[-1] == 'Runs'
    assert set(titles) <= {table.title for table in TABLES.values()} | {'Runs'}
    assert len(titles) > 10
    # Others may reproduce them: no table without its command.
    for title in titles[:-1]:
        (name,) = (table.name for table in TABLES.values() if table.title == title)
        assert f'`tgx-anchor reproduce {name}`' in text


@pytest.mark.parametrize('name', sorted({*results.NUM_LEFT, 'calibration', 'explain'}))
def test_table_of_a_script_is_that_of_its_report(name: str) -> None:
    report = results.BENCHMARKS / 'results' / f'{name}.md'
    table = re.sub(
        r'^</?details>.*$', '', results.result_table(name), flags=re.MULTILINE
    )
    assert table.strip() in report.read_text(encoding='utf-8')


def test_section_of_a_report() -> None:
    pytest.importorskip('lightgbm')
    report = (results.BENCHMARKS / 'results' / 'stacked.md').read_text(encoding='utf-8')
    assert results.result_table('stacked', 'summary').strip() in report


def test_long_tables_are_folded() -> None:
    table = '| a |\n| --- |\n| 1 |\n| 2 |\n'
    text = f'before\n\n{table}\nafter\n'
    assert results.fold(text, 3) == text
    assert results.fold(text, 2) == (
        'before\n\n<details><summary>Show 2 rows</summary>\n\n'
        f'{table}\n</details>\n\nafter\n'
    )


def test_unknown_script() -> None:
    with pytest.raises(FileNotFoundError):
        results.load_script('bogus')
