import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / 'benchmarks' / 'compare.py'


@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        ([], []),
        (
            ['--datasets', 'emER', 'qaBI', '--splits', '3', '--methods', 'HNN'],
            ['--datasets', 'emER,qaBI', '--splits', '3', '--methods', 'HNN'],
        ),
        (
            ['--methods', 'HNN', 'HAT,HGNN', 'Degree', '--out', 'a.csv'],
            ['--methods', 'HNN,HAT,HGNN,Degree', '--out', 'a.csv'],
        ),
    ],
)
def test_lists_word_by_word(
    words: list[str], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr('tgx_anchor.cli.main', lambda: seen.append(sys.argv[1:]))
    monkeypatch.setattr(sys, 'argv', ['compare.py', *words])
    runpy.run_path(str(SCRIPT), run_name='__main__')
    out = str(SCRIPT.parent / 'results' / 'compare.csv')
    assert seen == [['benchmark', '--out', out, *expected]]
