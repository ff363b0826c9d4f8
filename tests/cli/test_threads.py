"""Threads: what is set, and what the user set before stays."""

import os
import subprocess
import sys

import pytest
import torch

from tgx_anchor.cli.threads import set_threads, set_wait_policy

VARIABLES = ('OMP_WAIT_POLICY', 'GOMP_SPINCOUNT', 'KMP_BLOCKTIME')


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, 'OMP_NUM_THREADS'):
        # Noted before it is deleted, so that it is deleted again after the test.
        monkeypatch.setenv(name, '')
        monkeypatch.delenv(name)


def test_threads_sleep_while_they_wait() -> None:
    set_wait_policy()
    assert {name: os.environ.get(name) for name in VARIABLES} == {
        'OMP_WAIT_POLICY': 'passive',
        'GOMP_SPINCOUNT': None,
        'KMP_BLOCKTIME': None,
    }


@pytest.mark.parametrize('name', VARIABLES)
def test_choice_of_the_user_stays(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, '7')
    set_wait_policy()
    assert {n: os.environ[n] for n in VARIABLES if n in os.environ} == {name: '7'}


def test_openmp_sees_the_policy() -> None:
    code = (
        'from tgx_anchor.cli.threads import set_wait_policy; set_wait_policy(); '
        'import torch; torch.ones(3).sum()'
    )
    done = subprocess.run(
        [sys.executable, '-c', code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, 'OMP_DISPLAY_ENV': 'true'},
    )
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in done.stderr


def test_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    try:
        set_threads(3)
        assert torch.get_num_threads() == 3
        monkeypatch.setenv('OMP_NUM_THREADS', '3')
        set_threads(None)
        assert torch.get_num_threads() == 3
        monkeypatch.delenv('OMP_NUM_THREADS')
        set_threads(None)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
