"""The tables of the paper, from the command line."""

from pathlib import Path

import pytest

from tests.cli.command import Run
from tgx_anchor.reproduce import TABLES


@pytest.fixture(autouse=True)
def _no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('TGX_ANCHOR_MIRROR', raising=False)
    monkeypatch.setenv('PYG_HOME', str(tmp_path / 'home'))


def test_list_has_all_tables(run: Run) -> None:
    code, out, _ = run('reproduce', 'list')
    assert code == 0
    for name in TABLES:
        assert f'│ {name} ' in out


def test_quick_trial_and_its_report(run: Run, tmp_path: Path) -> None:
    words = ('reproduce', 'features', '--out', str(tmp_path / 'out'))
    code, out, err = run(*words, '--quick')
    assert code == 0
    assert 'planted with attributes (variants) split 0: ' in err
    assert '2 of 2 cells are measured' in out
    assert '2 have fewer epochs than the paper' in out
    assert '@2' in out
    runs = (tmp_path / 'out' / 'tables' / 'runs.csv').read_text(encoding='utf-8')
    assert (
        'reproduce features --splits 1 --datasets planted --epochs 2 --jobs 1' in runs
    )
    assert str(tmp_path) not in runs
    code, out, err = run(*words, '--report-only')
    assert (code, err) == (0, '')
    assert '2 of 6 cells are measured' in out
    assert 'Data not available here: coAA_first, coAA_last (' in ' '.join(out.split())
    assert 'Not published: attributes of authors.' in ' '.join(out.split())


def test_nothing_at_hand(run: Run, tmp_path: Path) -> None:
    code, out, _ = run('reproduce', 'statistics', '--out', str(tmp_path / 'out'))
    assert code == 0
    assert 'nothing is measured' in out
    assert 'Data not available here: coAA_first' in out


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (('weather',), "'table' must be among statistics"),
        (('ablation', '--datasets', 'emXX'), "'--datasets' must be one of coAA"),
        (('ablation', '--splits', '0'), "'--splits' must be positive"),
        (('ablation', '--methods', 'Stage 3'), "'--methods' must be among Stage 1"),
        (
            ('multi', '--datasets', 'emER'),
            "'--datasets' must be among coAA_first_second",
        ),
        (('ablation', '--report-only'), "'--out' must hold 'tables/cells.csv'"),
        (('ablation', '--jobs', '0'), "'--jobs' must be positive"),
        ((',',), "'table' must have names, separated by commas (got ',')"),
    ],
)
def test_bad_words(
    run: Run, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    code, _, err = run('reproduce', *words, '--out', str(tmp_path / 'out'))
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1
