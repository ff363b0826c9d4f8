"""Ends the program on Ctrl-C with one line, whatever it is doing."""

import atexit
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

STOPPED = 130


class Interrupt:
    r"""Handles Ctrl-C: the first one raises :class:`KeyboardInterrupt`, so that
    temporary files are removed; the second one, or one that Python would ignore, ends
    the process at once.

    Python ignores errors in finalisers and callbacks, and packages that are being
    imported may turn them into others: :obj:`is_set` tells whether Ctrl-C was pressed.
    """

    def __init__(self) -> None:
        self.is_set = False
        self._is_stopped = False
        self._unraisable: Callable[[Any], Any] = sys.unraisablehook

    def install(self) -> None:
        r"""Begins to handle Ctrl-C."""
        try:
            signal.signal(signal.SIGINT, self._on_signal)
        except ValueError:
            return  # not the main thread, which has its own way
        sys.unraisablehook = self._on_unraisable
        # The first to be registered is the last to run.
        atexit.register(self._at_exit)

    def _on_signal(self, *_: int | FrameType | None) -> None:
        if self.is_set:
            self.end()
        self.is_set = True
        raise KeyboardInterrupt

    def _on_unraisable(self, ignored: Any) -> None:
        if self.is_set:
            self.end()
        self._unraisable(ignored)

    def _at_exit(self) -> None:
        # Libraries that were interrupted while they started threads may abort when they
        # are destroyed.
        if self.is_set and self._is_stopped:
            with suppress(OSError, ValueError):
                sys.stdout.flush()
            os._exit(STOPPED)

    def end(self) -> None:
        r"""Ends the process at once."""
        say_stopped()
        os._exit(STOPPED)

    def finish(self) -> None:
        r"""Ignores Ctrl-C from now on: the process is about to end."""
        with suppress(ValueError):
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def stop(self) -> None:
        r"""Writes that the program was stopped. It ends with this exit code."""
        say_stopped()
        self._is_stopped = True


def say_stopped() -> None:
    r"""Writes that the program was stopped."""
    sys.stderr.write('tgx-anchor: stopped\n')
    sys.stderr.flush()
