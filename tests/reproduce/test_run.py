import re
import subprocess
from pathlib import Path

import pytest

import tgx_anchor
from tgx_anchor.reproduce.run import new_run, run_table


def test_runs_are_numbered(tmp_path: Path) -> None:
    table = run_table(tmp_path / 'runs.csv')
    for number in (1, 2, 3):
        found = new_run(table.rows, f'command {number}')
        assert found.run == number
        table.add(found)
    assert run_table(tmp_path / 'runs.csv').rows == table.rows


def test_versions_and_machine() -> None:
    found = new_run([], '')
    assert f'tgx_anchor {tgx_anchor.__version__}' in found.versions
    assert re.search(r'torch \d', found.versions)
    assert re.search(r'\d+ cores', found.machine)
    assert re.fullmatch(r'\d{4}-\d\d-\d\d', found.date)


def test_changed_files_are_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> None:
        name = ['-c', 'user.name=a', '-c', 'user.email=a@example.org']
        subprocess.run(['git', *name, *words], cwd=tmp_path, check=True)

    package = tmp_path / 'package'
    package.mkdir()
    source = package / '__init__.py'
    source.write_text('')
    monkeypatch.setattr(tgx_anchor, '__file__', str(source))
    assert new_run([], '').commit == ''
    git('init', '-q')
    git('add', '.')
    git('commit', '-q', '-m', 'first')
    commit = new_run([], '').commit
    assert re.fullmatch(r'[0-9a-f]{7,}', commit)
    source.write_text('changed')
    assert new_run([], '').commit == commit + '+'


def test_no_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('PATH', '')
    assert new_run([], '').commit == ''
