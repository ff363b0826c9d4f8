"""Ctrl-C at any moment: one line, and exit code 130."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tgx_anchor.cli.interrupt import Interrupt

LINE = 'tgx-anchor: stopped\n'


@pytest.mark.parametrize('seconds', [0.3, 0.6, 0.9, 1.4, 2.0, 3.0])
def test_at_any_moment(seconds: float, mails: Path, tmp_path: Path) -> None:
    """While Python starts, PyTorch is imported, a table is read, and at the end."""
    out = tmp_path / 'anchors.csv'
    # Says when Python is ready, since its own start is not ours.
    code = (
        'import sys; sys.argv[0] = "tgx-anchor"; '
        'from tgx_anchor.cli import main; print("ready", flush=True); main()'
    )
    with subprocess.Popen(
        [sys.executable, '-c', code, 'identify', str(mails), '-q', '--out', str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, 'OMP_NUM_THREADS': '1'},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == 'ready\n'
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    if process.returncode == 0:
        assert err == ''
        assert out.exists()
    else:
        assert (process.returncode, err) == (130, LINE)
    # Nothing half-written stays.
    assert {path.name for path in tmp_path.iterdir()} <= {'mails.csv', 'anchors.csv'}


CASES = {
    # An error that Python ignores.
    'finaliser': """
class Slow:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
def run(words):
    Slow()
    time.sleep(5)
    return 0
""",
    # A package that turns it into an error of its own.
    'import': """
def run(words):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    except KeyboardInterrupt:
        raise ImportError('half of a package') from None
""",
    'value': """
def run(words):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    except KeyboardInterrupt:
        raise ValueError('half of a value') from None
""",
    # A library that cannot be destroyed after it was interrupted.
    'end': """
class Library:
    def __del__(self):
        os.abort()
library = Library()
def run(words):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
""",
    # A second one while the first is handled.
    'twice': """
def run(words):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    finally:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
""",
}


@pytest.mark.parametrize('name', CASES)
def test_in_odd_places(name: str) -> None:
    code = (
        f'import os, signal, time\n{CASES[name]}\n'
        'import tgx_anchor.cli.app as app\napp.run = run\n'
        'from tgx_anchor.cli import main\nmain()\n'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, '', LINE)


def test_other_ignored_errors_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[object] = []
    monkeypatch.setattr(sys, 'unraisablehook', seen.append)
    handler = signal.getsignal(signal.SIGINT)
    try:
        Interrupt().install()
        sys.unraisablehook('an error')  # type: ignore[arg-type]
    finally:
        signal.signal(signal.SIGINT, handler)
    assert seen == ['an error']
    assert capsys.readouterr().err == ''
