"""Runs the command line inside the process of the tests."""

import signal
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tgx_anchor.cli import main


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv('COLUMNS', '80')

    # The program takes both over for the rest of its process.
    monkeypatch.setattr(sys, 'unraisablehook', sys.unraisablehook)
    handler = signal.getsignal(signal.SIGINT)

    def call(*words: str) -> Done:
        monkeypatch.setattr(sys, 'argv', ['tgx-anchor', *words])
        with pytest.raises(SystemExit) as done:
            main()
        signal.signal(signal.SIGINT, handler)
        assert isinstance(done.value.code, int)
        return Done(done.value.code, *capsys.readouterr())

    return call
