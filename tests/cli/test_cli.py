"""The command line, as a person runs it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tgx_anchor import __version__
from tgx_anchor.cli import main
from tgx_anchor.datasets import CATALOG
from tgx_anchor.nn.predictors.training import PredictorTraining


def run(
    *words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, 'argv', ['tgx-anchor', *words])
    monkeypatch.setenv('COLUMNS', '80')
    with pytest.raises(SystemExit) as done:
        main()
    out, err = capsys.readouterr()
    assert isinstance(done.value.code, int)
    return done.value.code, out, err


def test_version(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run('--version', monkeypatch=monkeypatch, capsys=capsys)
    assert (code, out.strip()) == (0, __version__)


def test_demo_ranks_the_heuristics(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ('demo', '--num-nodes', '300', '--num-hyperedges', '900')
    code, out, _ = run(*words, monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0
    accuracy = {
        cells[1].strip(): float(cells[2])
        for cells in (line.split('│') for line in out.splitlines())
        if len(cells) == 8
    }
    learners = ['HGNN', 'HNHN', 'HAT', 'AnchorRadar']
    assert list(accuracy) == ['RandomHeuristic', 'DegreeHeuristic', *learners]
    assert accuracy['DegreeHeuristic'] > accuracy['RandomHeuristic'] + 5
    assert '900 groups' in out


def test_demo_stops_when_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    epoch = PredictorTraining._train_epoch

    def stopped(self: PredictorTraining) -> float:
        if self.epoch == 1:
            raise KeyboardInterrupt
        return epoch(self)

    monkeypatch.setattr(PredictorTraining, '_train_epoch', stopped)
    words = ('demo', '--num-nodes', '200', '--num-hyperedges', '500')
    code, out, _ = run(*words, monkeypatch=monkeypatch, capsys=capsys)
    assert code == 130
    assert 'HGNN' not in out


def test_benchmark_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / 'rows.csv'
    words = ('benchmark', '--out', str(path), '--root', str(tmp_path), '--methods')
    code, out, _ = run(*words, 'Degree', monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0
    assert 'planted Degree split 0: ' in out
    first = path.read_text(encoding='utf-8')
    code, out, _ = run(*words, 'Random, Degree', monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0
    assert path.read_text(encoding='utf-8').startswith(first)
    assert 'planted Random split 0: ' in out
    assert 'planted Degree split 0: ' not in out
    table = [line for line in out.splitlines() if line.startswith('│ ')]
    assert len([line for line in table if 'Degree' in line]) == 3
    for suffix in ('.md', '.tex'):
        assert 'Random' in path.with_suffix(suffix).read_text(encoding='utf-8')


def test_demo_is_repeatable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ('demo', '--num-nodes', '200', '--num-hyperedges', '500', '--seed', '3')
    seen = []
    for _ in range(2):
        _, out, _ = run(*words, monkeypatch=monkeypatch, capsys=capsys)
        # All but the column of seconds.
        lines = [line.split('│') for line in out.splitlines() if '│' in line]
        seen.append([[*cells[:5], *cells[6:]] for cells in lines])
    assert seen[0] == seen[1] != []


def test_datasets_lists_all_thirteen_with_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv('PYG_HOME', str(tmp_path / 'home'))
    monkeypatch.setattr('tgx_anchor.datasets.location.get_home_dir', lambda: tmp_path)
    raw = tmp_path / 'tgx_anchor' / 'qaBI' / 'raw'
    raw.mkdir(parents=True)
    for name in ('hypergraph.txt', 'hypergraph_pos.txt'):
        (raw / name).touch()
    mirror = tmp_path / 'mirror'
    enron = mirror / CATALOG['emER'].folder
    enron.mkdir(parents=True)
    for name in ('incidence.csv', 'roles.csv', 'edges.csv'):
        (enron / name).touch()
    monkeypatch.setenv('TGX_ANCHOR_MIRROR', str(mirror))
    code, out, _ = run('datasets', monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0
    status = {
        line.split()[0]: ' '.join(line.split()[-2:])
        for line in out.splitlines()
        if line.split() and line.split()[0] in CATALOG
    }
    assert list(status) == list(CATALOG)
    assert status['qaBI'].endswith('present')
    assert status['emER'] == 'in mirror'
    assert status['coAA'].endswith('downloadable')
    assert status['moML'] == 'shared drive'
    assert '1,712,433 2,037,605 1,454,250 1-115 2.55' in out


@pytest.mark.parametrize(
    ('words', 'named'),
    [
        (['demo', '--num-nodes', '0'], "'num_nodes' must be positive (got 0)"),
        (['demo', '--train', '2'], "'train' must lie in [0, 1] (got 2.0)"),
        (['demo', '--num-nodes', 'many'], '--num-nodes'),
        (['demo', '--bogus'], '--bogus'),
        (['demo', '--seed', '-1'], '--seed'),
        (['benchmark', '--datasets', 'coDB'], 'coDB'),
        (['benchmark', '--methods', 'HGCN'], 'HGCN'),
        (['benchmark', '--datasets', ','], "','"),
        (['benchmark', '--splits', '0'], "'num_splits' must be positive (got 0)"),
        (['benchmark', '--out', 'table.md'], "'table.md' must end in '.csv'"),
        (['bogus'], 'bogus'),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    words: list[str],
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, err = run(*words, monkeypatch=monkeypatch, capsys=capsys)
    assert code == 2
    assert err.startswith('tgx-anchor: ')
    assert err.count('\n') == 1
    assert named in err


def test_bad_mirror_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv('TGX_ANCHOR_MIRROR', str(tmp_path / 'nowhere'))
    code, _, err = run('datasets', monkeypatch=monkeypatch, capsys=capsys)
    assert code == 2
    assert 'TGX_ANCHOR_MIRROR' in err


@pytest.mark.parametrize('package', ['typer', 'rich'])
def test_missing_extra_says_how_to_get_it(package: str) -> None:
    code = (
        f'import sys; sys.modules[{package!r}] = None; '
        f'sys.argv = ["tgx-anchor", "demo"]; '
        f'from tgx_anchor.cli import main; main()'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"tgx-anchor: {package} is missing: pip install 'tgx_anchor[cli]'\n"
    )


def test_help_shows_an_example(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ('demo', 'datasets', 'benchmark'):
        code, out, _ = run(command, '--help', monkeypatch=monkeypatch, capsys=capsys)
        assert code == 0
        assert 'Example:' in out
