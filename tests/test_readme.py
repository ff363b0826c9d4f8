"""The README says what is true, and its code runs."""

import re
from pathlib import Path

import pytest

from tgx_anchor import nn
from tgx_anchor.datasets import catalog_table

README = Path(__file__).parents[1] / 'README.md'
TEXT = README.read_text(encoding='utf-8')
BLOCKS = re.findall(r'^```python\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL)


def test_python_blocks_run_in_order(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    said = []
    for block in BLOCKS:
        exec(compile(block, str(README), 'exec'), scope)  # noqa: S102
        said.append(capsys.readouterr().out)
        for comment in re.findall(r'^anchors = .*# (\[.*\])$', block, re.MULTILINE):
            assert str(scope['anchors']) == comment
    assert "'accuracy'" in said[0]
    assert 'runner_up' in said[2]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        'model.tgx',
        'report.html',
    ]


def test_there_is_code_to_run() -> None:
    assert len(BLOCKS) >= 2
    assert any('anchors = ' in block for block in BLOCKS)


def test_dataset_table_is_the_catalogue() -> None:
    header, *rows = catalog_table()
    lines = [f'| {" | ".join(row)} |' for row in (header, ['---'] * len(header), *rows)]
    begin, end = '<!-- tgx-anchor datasets --markdown -->\n', '<!-- end -->'
    assert TEXT.split(begin)[1].split(end)[0].splitlines() == lines


def test_ratios_are_measured() -> None:
    report = README.parent / 'benchmarks' / 'RESULTS.md'
    found = re.search(
        r'trains (\S+) x faster .* has (\S+) x fewer',
        report.read_text(encoding='utf-8'),
    )
    assert found is not None
    said = re.search(
        r'trains (\d+) times faster.*?has (\d+) times fewer', TEXT, re.DOTALL
    )
    assert said is not None
    for word, number in zip(said.groups(), found.groups(), strict=True):
        assert int(word) == round(float(number))


def test_figures_of_the_text_are_in_the_results() -> None:
    # The tables are compared whole, see 'tests/benchmarks/test_fill_readme.py'.
    section = TEXT.split('## Results')[1].split('\n## ')[0]
    section = re.sub(r'<!-- .*? -->.*?<!-- end -->', '', section, flags=re.DOTALL)
    section = re.sub(r'`[^`]*`|\([^)]*\)', '', section)
    folder = README.parent / 'benchmarks'
    reports = [folder / 'RESULTS.md', *(folder / 'results').glob('*.md')]
    known = '\n'.join(path.read_text(encoding='utf-8') for path in reports)
    for number in re.findall(r'\d+\.\d+', section):
        assert re.search(rf'(?<![\d.]){re.escape(number)}(?!\d)', known), number


def test_every_model_is_in_the_table_of_methods() -> None:
    table = TEXT.split('### Methods')[1].split('## Datasets')[0]
    listed = set(re.findall(r'^\| `(\w+)` \|', table, re.MULTILINE))
    bases = (nn.AnchorModel, nn.HypergraphEncoder)
    exported = {
        name
        for name in (*nn.models.__all__, *nn.predictors.__all__)
        if issubclass(getattr(nn, name), bases) and getattr(nn, name) not in bases
    }
    assert listed == exported
