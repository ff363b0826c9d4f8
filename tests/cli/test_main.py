"""The program as a process of its own: exit codes, and what it imports."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import Run
from tgx_anchor.cli import app

# Runs the program, and writes which of the slow packages it has imported.
PROBE = """
import atexit, sys
slow = ('torch', 'torch_geometric', 'numpy', 'scipy', 'requests', 'pyarrow')
atexit.register(lambda: print('IMPORTED', *(set(slow) & set(sys.modules))))
from tgx_anchor.cli import main
main()
"""


@pytest.mark.parametrize(
    ('words', 'code'),
    [
        (['--help'], 0),
        (['--version'], 0),
        (['demo', '--help'], 0),
        (['datasets', '--help'], 0),
        (['benchmark', '--help'], 0),
        (['identify', '--help'], 0),
        (['report', '--help'], 0),
        (['evaluate', '--bogus'], 2),
        (['fit'], 2),
        ([], 2),
        (['--bogus'], 2),
        (['bogus'], 2),
        (['demo', '--num-nodes', 'many'], 2),
        (['demo', '--num-nodes', '0'], 2),
        (['benchmark', '--bogus'], 2),
    ],
)
def test_answers_without_slow_imports(words: list[str], code: int) -> None:
    done = subprocess.run(
        [sys.executable, '-c', PROBE, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert done.stdout.splitlines()[-1] == 'IMPORTED'
    assert 'Traceback' not in done.stderr


def test_runs_as_a_module() -> None:
    command = [sys.executable, '-m', 'tgx_anchor']
    done = subprocess.run([*command, 'bogus'], capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b'tgx-anchor: No such command')


@pytest.mark.parametrize('package', ['typer', 'rich'])
def test_missing_extra_names_the_command_that_installs_it(package: str) -> None:
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


@pytest.fixture
def process() -> Iterator['subprocess.Popen[str]']:
    with subprocess.Popen(
        [sys.executable, '-m', 'tgx_anchor', 'demo', '--num-hyperedges', '3000'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, 'OMP_NUM_THREADS': '1'},
    ) as running:
        yield running
        running.kill()


def test_ctrl_c_is_one_line_and_exit_code_130(
    process: 'subprocess.Popen[str]',
) -> None:
    assert process.stdout is not None
    # Lines reach a pipe while the program works.
    while not process.stdout.readline().startswith('DegreeHeuristic: '):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err == 'tgx-anchor: stopped\n'
    assert 'HAT' not in out


@pytest.mark.parametrize(
    ('error', 'code', 'message'),
    [
        (KeyboardInterrupt(), 130, 'tgx-anchor: stopped\n'),
        (ValueError("'x' must be\n1"), 2, "tgx-anchor: 'x' must be 1\n"),
        (ConnectionError('no internet'), 2, 'tgx-anchor: no internet\n'),
    ],
)
def test_errors_are_one_line(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    message: str,
) -> None:
    def fail(_: list[str]) -> int:
        raise error

    monkeypatch.setattr(app, 'run', fail)
    assert run('demo') == (code, '', message)


def test_other_errors_are_not_hidden(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: list[str]) -> int:
        raise RuntimeError('a defect')

    monkeypatch.setattr(app, 'run', fail)
    with pytest.raises(RuntimeError, match='a defect'):
        run('demo')


def test_closed_output_is_no_error() -> None:
    code = (
        'import os, sys; sys.argv = ["tgx-anchor", "--help"]; '
        'read, write = os.pipe(); os.close(read); os.dup2(write, 1); '
        'from tgx_anchor.cli import main; main()'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], stderr=subprocess.PIPE, check=False
    )
    assert done.returncode == 1
    assert done.stderr == b''


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / 'nowhere.csv'
    words = [
        sys.executable,
        '-m',
        'tgx_anchor',
        'identify',
        str(path),
        '--out',
        'o.csv',
    ]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1:] == [
        f"tgx-anchor: '{path}' cannot be used: no such file or directory"
    ]
    assert list(tmp_path.iterdir()) == []
