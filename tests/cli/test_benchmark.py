"""The benchmark, from the command line."""

from pathlib import Path

import pytest

from tests.cli.command import Run


def test_benchmark_goes_on(run: Run, tmp_path: Path) -> None:
    path = tmp_path / 'rows.csv'
    words = ('benchmark', '--out', str(path), '--root', str(tmp_path), '--methods')
    code, out, _ = run(*words, 'Degree')
    assert code == 0
    assert 'planted Degree split 0: ' in out
    first = path.read_text(encoding='utf-8')
    code, out, _ = run(*words, 'Random, Degree')
    assert code == 0
    assert path.read_text(encoding='utf-8').startswith(first)
    assert 'planted Random split 0: ' in out
    assert 'planted Degree split 0: ' not in out
    table = [line for line in out.splitlines() if line.startswith('│ ')]
    assert len([line for line in table if 'Degree' in line]) == 3
    for suffix in ('.md', '.tex'):
        assert 'Random' in path.with_suffix(suffix).read_text(encoding='utf-8')


def test_a_missing_plot_is_mentioned(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tgx_anchor.benchmark import report

    words = ('benchmark', '--root', str(tmp_path), '--methods', 'Random', '--out')
    code, out, _ = run(*words, str(tmp_path / 'with.csv'))
    assert (code, 'no plot' in out) == (0, False)
    monkeypatch.setattr(report, 'find_spec', lambda _: None)
    code, out, _ = run(*words, str(tmp_path / 'without.csv'))
    assert (code, "pip install 'tgx_anchor[viz]'" in out) == (0, True)
    assert not (tmp_path / 'without.png').exists()


@pytest.mark.parametrize(
    ('words', 'named'),
    [
        (['--datasets', 'coDB'], 'coDB'),
        (['--methods', 'HGCN'], 'HGCN'),
        (['--datasets', ','], "','"),
        (['--splits', '0'], "'--splits' must be positive (got 0)"),
        (['--out', 'table.md'], "'table.md' must end in '.csv'"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(
    run: Run, words: list[str], named: str
) -> None:
    code, _, err = run('benchmark', *words)
    assert code == 2
    assert err.startswith('tgx-anchor: ')
    assert err.count('\n') == 1
    assert named in err
