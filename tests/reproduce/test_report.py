import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from tgx_anchor.paper import BASELINES
from tgx_anchor.reproduce.cell import Cell, CellKey
from tgx_anchor.reproduce.experiments import DOWNSTREAM
from tgx_anchor.reproduce.paper_table import Entry
from tgx_anchor.reproduce.report import (
    Filled,
    benchmark_rows,
    extra_text,
    fill,
    make_lines,
    markdown_report,
    markdown_section,
    overview,
    summary,
    write_table,
)
from tgx_anchor.reproduce.run import Run
from tgx_anchor.reproduce.tables import TABLES

RUN = Run(3, '2026-01-02', 'abc1234', 'torch 2', 'x86_64, 2 cores', 'tgx-anchor x')


def filled(paper: str, *values: float, unit: str = 'percent') -> Filled:
    entry = Entry('qaBI', 'HGNN', 'methods', 'HGNN', 'accuracy', unit, paper)  # type: ignore[arg-type]
    return Filled(entry, values, 0, (3,))


def cell(
    setting: str, variant: str, value: float, split: int = 0, **kwargs: int
) -> Cell:
    key = CellKey('methods', setting, variant, split, kwargs.get('num_epochs', 0))
    return Cell(*key, 'accuracy', value, kwargs.get('run', 3))


@pytest.mark.parametrize(
    ('paper', 'values', 'outside'),
    [
        ('87.4±0.2', (87.9,), True),
        ('87.4±0.2', (87.8,), False),
        # The paper rounds to a tenth.
        ('87.4±0.2', (87.84,), False),
        ('87.4±0.2', (87.86,), True),
        # The larger deviation counts, here ours of 0.5.
        ('87.4±0.2', (87.8, 88.8), False),
        ('87.40', (87.8, 88.8), False),
        ('87.40', (88.4, 88.4), True),
        ('87.40', (87.404, 87.404), False),
        ('87.40', (88.4,), None),
        ('87.40', (89.3, 88.9), True),
        ('OOM', (80.0,), None),
        ('', (80.0,), None),
        ('87.4±0.2', (), None),
    ],
)
def test_two_standard_deviations(
    paper: str, values: tuple[float, ...], outside: bool | None
) -> None:
    assert filled(paper, *values).is_outside is outside


def test_what_does_not_vary_must_be_equal() -> None:
    entry = filled('2.08', 2.0832).entry._replace(unit='number', is_split=False)
    assert Filled(entry, (2.0832,), 0, (3,)).is_outside is False
    assert Filled(entry, (2.0951,), 0, (3,)).is_outside is True
    assert Filled(entry, (2.0951,), 5, (3,)).is_outside is None


def test_deviation_over_nodes_is_none_over_splits() -> None:
    found = filled('0.6872 (nodes ±0.4048)', 0.7, 0.71, unit='score')
    assert found.printed == (0.6872, 0.0)
    assert found.is_outside is True


def test_fills_with_the_most_trained_cells() -> None:
    cells = [
        cell('emER', 'HGNN', 0.3, num_epochs=5),
        cell('emER', 'HGNN', 0.4, run=1),
        cell('emER', 'HGNN', 0.5, split=1),
        cell('qaBI', 'HGNN', 0.6, num_epochs=5),
        cell('qaBI', 'HGNN', 0.7, num_epochs=20),
    ]
    table = TABLES['accuracy']
    settings = ['emER', 'qaBI', 'qaST']
    found = fill(table, cells, lambda name: name != 'qaST', settings)
    by_key = {(each.entry.setting, each.entry.row): each for each in found}
    assert by_key['emER', 'HGNN'].values == pytest.approx((40.0, 50.0))
    assert by_key['emER', 'HGNN'].runs == (1, 3)
    assert by_key['qaBI', 'HGNN'].values == pytest.approx((70.0,))
    lines = make_lines(found, 'markdown')
    assert lines[0] == ['setting', 'what', 'measured', 'paper', 'difference', 'splits']
    shown = {(line[0], line[1]): line[2:] for line in lines[1:]}
    assert shown['emER', 'HGNN'] == ['45.0 ± 5.0', '42.0±0.9', '+3.0', '2']
    assert shown['qaBI', 'HGNN'] == ['70.0 @20', '81.7±0.3', '-11.7', '1']
    assert shown['qaST', 'HGNN'] == ['no data', '30.4±0.5', '', '']
    assert shown['emER', 'HAT'] == ['', '42.3±7.0', '', '']


def test_summary_counts() -> None:
    cells = [cell('emER', 'HGNN', 0.42), cell('emER', 'HAT', 0.9)]
    found = fill(TABLES['accuracy'], cells, lambda n: n == 'emER', ['emER', 'qaST'])
    text = summary(found)
    assert text == (
        '2 of 24 cells are measured. Of 2 that can be compared with a printed figure, '
        '1 lie within two standard deviations of it; "!" marks the others. Data not '
        'available here: qaST ("tgx-anchor datasets" tells where to get it).'
    )
    short = [cell('emER', 'HGNN', 0.42, num_epochs=3)]
    found = fill(TABLES['accuracy'], short, lambda _: True, ['emER'])
    assert summary(found) == (
        '1 of 12 cells are measured. 1 have fewer epochs than the paper and are not '
        'compared.'
    )


def test_gain_by_strengths() -> None:
    values = {
        ('emEU', 'Original VilLain'): (0.80, 0.82),
        ('emEU', '+ Anchor Strengths'): (0.86, 0.87),
        ('qaPH', 'Original VilLain'): (0.75,),
        ('emER', 'Original VilLain'): (0.88,),
        ('emER', '+ Anchor Strengths'): (0.878,),
    }
    cells = [
        Cell(DOWNSTREAM, setting, variant, split, 0, 'accuracy', value, 3)
        for (setting, variant), numbers in values.items()
        for split, value in enumerate(numbers)
    ]
    table = TABLES['downstream']
    found = fill(table, cells, lambda _: True)
    # In the paper 92.01 - 87.22 and 90.73 - 87.45.
    text = 'Gain by anchor strengths (in the paper): emEU +5.5 (+4.8), emER -0.2 (+3.3)'
    assert extra_text(table, found, cells) == f'{text}.'
    assert extra_text(table, fill(table, [], lambda _: True), []) == ''


def test_styles() -> None:
    each = filled('<0.0001', 0.00001, unit='p-value')
    latex = make_lines([each], 'latex')[1]
    assert latex[2] == '$<$0.0001'
    count = filled('23242', 23242.0, unit='count')
    assert make_lines([count], 'rich')[1][2] == '23,242'
    two = filled('87.4±0.2', 87.0, 87.2)
    assert make_lines([two], 'latex')[1][3] == r'87.4 $\pm$ 0.2'
    assert make_lines([filled('87.4±0.2', 87.38)], 'rich')[1][4] == '+0.0'
    several = filled('<0.0001', 0.00001, 0.03, unit='p-value')
    assert make_lines([several], 'rich')[1][2] == '0.0300'


def test_section_names_its_origin() -> None:
    cells = [cell('emER', 'HGNN', 0.42)]
    table = TABLES['accuracy']
    found = fill(table, cells, lambda _: True, ['emER'])
    other = Run(9, '2020-01-01', '', 'torch 1', 'm', 'another')
    text = markdown_section(table, found, cells, [RUN, other])
    assert '`tgx-anchor reproduce accuracy`' in text
    assert 'commit abc1234 (torch 2; x86_64, 2 cores)' in text
    assert 'another' not in text
    assert text in markdown_report([], [text], [])
    report = markdown_report(cells, ['section'], [RUN, other])
    assert report.endswith('(torch 2; x86_64, 2 cores)\n')
    assert 'another' not in report


METRICS = {
    'accuracy': 0.5,
    'mrr': 0.6,
    'ndcg': 0.7,
    'trained_epochs': 10.0,
    'train_seconds': 2.0,
    'predict_seconds': 0.1,
    'num_parameters': 100.0,
    'peak_memory': 0.2,
    'threads': 1.0,
}


def benchmark_cells() -> list[Cell]:
    out = []
    for method, factor in (('AnchorRadar', 1), *((name, 6) for name in BASELINES)):
        key = CellKey('methods', 'emER', method, 0)
        for metric, value in METRICS.items():
            scaled = value * factor if metric.startswith(('train_', 'num')) else value
            out.append(Cell(*key, metric, scaled, 3))
    return out


def test_rows_of_a_benchmark() -> None:
    rows = benchmark_rows(benchmark_cells())
    assert len(rows) == 10
    assert rows[0].method == 'AnchorRadar'
    assert rows[0].train_seconds == 2.0
    assert isinstance(rows[0].num_parameters, int)
    assert statistics.fmean(row.num_parameters for row in rows[1:]) == 600
    other = [replace(cell, setting='planted') for cell in benchmark_cells()]
    assert benchmark_rows(other) == []
    assert len(benchmark_rows(benchmark_cells()[:-1])) == 9


def test_overview_is_in_the_order_of_the_paper() -> None:
    cells = [
        replace(cell, setting=name)
        for name in ('emER', 'qaBI')
        for cell in benchmark_cells()
    ]
    lines = overview(cells).splitlines()
    assert lines[0] == '| method | qaBI | emER |'
    assert lines[2].startswith('| AnchorRadar | **50.0** (87.4±0.2) | **50.0** (67.8')
    assert overview([]) == ''
    assert '## Overview' in markdown_report(cells, [], [])


def test_files_of_a_table(tmp_path: Path) -> None:
    pytest.importorskip('matplotlib')
    cells = benchmark_cells()
    table = TABLES['efficiency']
    found = fill(table, cells, lambda _: True, ['emER'])
    paths = write_table(tmp_path, table, found, cells, [RUN])
    assert [path.name for path in paths] == [
        'efficiency.md',
        'efficiency.tex',
        'efficiency.png',
    ]
    assert all(path.stat().st_size > 0 for path in paths)
    text = paths[0].read_text(encoding='utf-8')
    assert 'AnchorRadar trains 6.0 x faster' in text
    assert '6.0 x fewer parameters' in text
    empty = fill(table, [], lambda _: True, ['emER'])
    (tmp_path / 'other').mkdir()
    assert len(write_table(tmp_path / 'other', table, empty, [], [])) == 2
