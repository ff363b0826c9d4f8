import os
from typing import Any

import pytest

from tests.strategies import one_line_error
from tgx_anchor.benchmark import compare


def die(*_: Any) -> None:
    """Stands for a process that the system kills."""
    os._exit(9)


def test_a_killed_process_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('tgx_anchor.benchmark.processes._work', die)
    with one_line_error('1 of 1', 'Random', 'ended with 9'):
        compare(['planted'], ['Random'], progress=False)
