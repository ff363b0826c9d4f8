from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tgx_anchor.benchmark.tables import (
    Style,
    difference_text,
    escape,
    latex_table,
    markdown_table,
    mean_text,
    publish_table,
    rich_table,
)

TABLE = [['method', 'split', 'emER'], ['HGNN', '0', '61.2'], ['HNN', '1', '5']]


def test_markdown() -> None:
    assert markdown_table(TABLE, num_left=2) == (
        '| method | split | emER |\n'
        '| --- | --- | ---: |\n'
        '| HGNN | 0 | 61.2 |\n'
        '| HNN | 1 | 5 |\n'
    )


def test_latex() -> None:
    assert latex_table(TABLE) == (
        '\\begin{tabular}{lcc}\n\\hline\nmethod & split & emER \\\\\n\\hline\n'
        'HGNN & 0 & 61.2 \\\\\nHNN & 1 & 5 \\\\\n\\hline\n\\end{tabular}\n'
    )


@pytest.mark.parametrize(
    ('style', 'expected'),
    [
        ('rich', r'my_model \[v2] | a & b'),
        ('markdown', r'my_model [v2] \| a & b'),
        ('latex', r'my\_model [v2] | a \& b'),
    ],
)
def test_names_of_the_user(style: Style, expected: str) -> None:
    assert escape('my_model [v2] | a & b', style) == expected


def test_terminal() -> None:
    table = [['method', 'emER'], [escape('mine [v2]', 'rich'), '61.2'], ['x', '5']]
    console = Console(width=80, file=StringIO(), record=True)
    console.print(rich_table(table, 'Accuracy'))
    text = console.export_text()
    assert 'Accuracy' in text
    assert '│ mine [v2] │ 61.2 │' in text
    # Numbers are aligned to the right.
    assert '│ x         │    5 │' in text


def test_published_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish_table(TABLE, tmp_path / 'rows.csv', 'Accuracy', num_left=2)
    assert '│ HGNN   │ 0     │ 61.2 │' in capsys.readouterr().out
    text = (tmp_path / 'rows.md').read_text(encoding='utf-8')
    assert text == markdown_table(TABLE, num_left=2)


def test_means() -> None:
    assert mean_text([], 1) == ''
    assert mean_text([0.614], 1, 100) == '61.4'
    # The population standard deviation of 1 and 3 is 1.
    assert mean_text([1.0, 3.0], 2) == '2.00 ± 1.00'


def test_differences() -> None:
    assert difference_text([0.61, 0.63], '61.2±1.0', 2, 100) == '+0.80'
    assert difference_text([0.5], '0.75', 3) == '-0.250'
    assert difference_text([], '0.75', 3) == ''
    assert difference_text([0.5], '', 3) == ''
    assert difference_text([0.5], 'OOM', 3) == ''
