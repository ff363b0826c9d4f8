import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmark.test_results import row
from tgx_anchor.benchmark import BenchmarkRow
from tgx_anchor.benchmark.report import (
    Metric,
    headline,
    headline_text,
    latex_report,
    make_table,
    markdown_report,
    most_trained,
    plot_efficiency,
    summarise,
    write_reports,
)


def rows() -> list[BenchmarkRow]:
    figures = {
        'AnchorRadar': (0.8, 2.0, 100),
        'HGNN': (0.6, 30.0, 3000),
        'HNN': (0.7, 8.0, 4000),
        'Degree': (0.5, 0.001, 0),
    }
    return [
        row(
            setting=setting,
            method=method,
            split=split,
            accuracy=factor * (accuracy + 0.02 * split),
            train_seconds=seconds / factor,
            num_parameters=parameters,
        )
        for setting, factor in (('emER', 1.0), ('coDB_last', 0.5))
        for method, (accuracy, seconds, parameters) in figures.items()
        for split in range(2)
    ]


def test_summary() -> None:
    cells = summarise(rows(), 'accuracy')
    cell = cells['HGNN', 'emER']
    assert cell.mean == pytest.approx(0.61)
    assert cell.std == pytest.approx(0.01)
    assert (cell.num_splits, cell.paper, cell.place) == (2, '42.0±0.9', 3)
    places = {key[0]: c.place for key, c in cells.items() if key[1] == 'emER'}
    assert places == {'AnchorRadar': 1, 'HNN': 2, 'HGNN': 3, 'Degree': 4}
    # Less time is better, and the paper printed no tables of it.
    times = summarise(rows(), 'train_seconds')
    assert times['AnchorRadar', 'emER'].place == 1
    assert times['Degree', 'emER'].place == 4
    assert times['HGNN', 'emER'].paper == ''


def test_tables() -> None:
    cells = summarise(rows(), 'accuracy')
    table = make_table(cells, 'accuracy', 'markdown')
    assert table[0] == ['method', 'emER', 'coDB_last']
    assert [line[0] for line in table[1:]] == ['AnchorRadar', 'HGNN', 'HNN', 'Degree']
    assert table[1][1:] == [
        '**81.0 ± 1.0** (67.8±2.6)',
        '**40.5 ± 0.5** (49.9±0.1)',
    ]
    assert table[2][1] == '61.0 ± 1.0 (42.0±0.9)'
    assert table[3][1] == '<u>71.0 ± 1.0</u> (47.1±4.3)'
    # The paper has the heuristics in another table.
    assert table[4][1] == '51.0 ± 1.0 (66.2)'
    latex = make_table(cells, 'accuracy', 'latex')
    assert latex[1][1] == r'\textbf{81.0 $\pm$ 1.0} (67.8 $\pm$ 2.6)'
    assert latex[3][1] == r'\underline{71.0 $\pm$ 1.0} (47.1 $\pm$ 4.3)'
    rich = make_table(summarise(rows(), 'num_parameters'), 'num_parameters', 'rich')
    assert rich[2][1] == '[underline]3,000[/]'
    assert rich[3][1] == '4,000'
    limited = [row(num_epochs=5)]
    expected: dict[Metric, str] = {
        'accuracy': '**50.0** (42.0±0.9) @5',
        'epoch_seconds': '**0.50**',
        'num_parameters': '**100**',
    }
    for metric, text in expected.items():
        assert make_table(summarise(limited, metric), metric, 'markdown')[1][1] == text
    single = make_table(summarise([row()], 'accuracy'), 'accuracy', 'markdown')
    assert single == [['method', 'emER'], ['HGNN', '**50.0** (42.0±0.9)']]


def test_seconds_of_an_epoch() -> None:
    given = [
        row(trained_epochs=4, train_seconds=2.0),
        row(trained_epochs=2, train_seconds=3.0, split=1),
        row(method='HNN', num_epochs=5, trained_epochs=5, train_seconds=1.0),
        row(method='Degree', trained_epochs=0),
    ]
    table = make_table(summarise(given, 'epoch_seconds'), 'epoch_seconds', 'markdown')
    # Of all numbers of epochs, but not of models without epochs.
    assert table[1:] == [['HGNN', '<u>1.00 ± 0.50</u>'], ['HNN', '**0.20**']]
    fast = summarise([row(trained_epochs=200, train_seconds=0.28)], 'epoch_seconds')
    assert make_table(fast, 'epoch_seconds', 'markdown')[1] == ['HGNN', '**0.0014**']
    title = '## Time of an epoch'
    assert title in markdown_report(given)
    assert title not in markdown_report(given[3:])


def test_headline() -> None:
    found = headline(rows())
    # The fastest baseline is HNN, 4 x in both settings; the lightest HGNN, 30 x.
    assert found.time == pytest.approx(4)
    assert found.parameters == pytest.approx(30)
    assert found.settings == ['emER', 'coDB_last']
    alone = [each for each in rows() if each.method in ('AnchorRadar', 'Degree')]
    nothing = headline(alone)
    assert math.isnan(nothing.time)
    assert nothing.settings == []
    # To stop early is not to be faster.
    short = [replace(each, num_epochs=5 * (each.method == 'HNN')) for each in rows()]
    assert headline(short).time == pytest.approx(15)
    # A limited run is as light as a whole one.
    light = [replace(each, num_epochs=5 * (each.method == 'HGNN')) for each in rows()]
    assert headline(light).parameters == pytest.approx(30)
    assert '(of ' not in headline_text(headline(rows()))
    all_short = [replace(each, num_epochs=5) for each in rows()]
    assert headline(all_short).time == pytest.approx(4)
    assert '(of 5 epochs)' in headline_text(headline(all_short))


def test_most_trained() -> None:
    given = [
        row(num_epochs=5, accuracy=0.1),
        row(num_epochs=20, accuracy=0.2),
        row(num_epochs=20, accuracy=0.4, split=1),
        row(method='HNN', num_epochs=20),
        row(method='HNN', num_epochs=0, accuracy=0.7),
        row(method='Mine', setting='emEU'),
    ]
    assert most_trained(given) == [*given[1:3], *given[4:]]
    cells = summarise(given, 'accuracy')
    assert cells['HGNN', 'emER'].mean == pytest.approx(0.3)
    assert cells['HGNN', 'emER'].num_epochs == 20
    table = make_table(cells, 'accuracy', 'markdown')
    # A method that stopped early is not ranked by time, and is marked.
    seconds = [replace(each, train_seconds=each.num_epochs or 99) for each in given]
    cells = summarise(seconds, 'train_seconds')
    places = {key[0]: cell.place for key, cell in cells.items()}
    assert places == {'HGNN': 2, 'HNN': 1, 'Mine': 1}
    # Other methods come last.
    assert [line[0] for line in table] == ['method', 'HGNN', 'HNN', 'Mine']
    assert table[1][1] == '<u>30.0 ± 10.0</u> (42.0±0.9) @20'
    assert table[2][1] == '**70.0** (47.1±4.3)'
    assert 'emER 1 to 2' in markdown_report(given)
    for axes in plot_efficiency(given).axes:
        assert [bar.get_hatch() for bar in axes.patches] == ['///', '', '']


def test_names_of_the_user() -> None:
    cells = summarise([row(method='my_model', setting='a_b')], 'accuracy')
    assert make_table(cells, 'accuracy', 'latex') == [
        ['method', r'a\_b'],
        [r'my\_model', r'\textbf{50.0}'],
    ]


def test_reports(tmp_path: Path) -> None:
    text = markdown_report(rows())
    line = '**81.0 ± 1.0** (67.8±2.6) | **40.5 ± 0.5** (49.9±0.1)'
    assert f'| AnchorRadar | {line} |' in text
    assert 'Splits: emER 2, coDB_last 2.' in text
    assert '4.0 x faster' in text
    assert '30.0 x fewer' in text
    latex = latex_report(rows())
    assert r'method & emER & coDB\_last \\' in latex
    assert latex.count(r'\hline') == 3
    figure = plot_efficiency(rows())
    # Three methods that learn, in two settings, in each of two charts.
    assert [len(axes.patches) for axes in figure.axes] == [6, 6]
    written = write_reports(rows(), tmp_path / 'out.csv')
    assert [path.name for path in written] == ['out.md', 'out.tex', 'out.png']
    assert all(path.stat().st_size > 100 for path in written)
