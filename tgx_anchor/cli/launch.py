"""Tells which of the processes of torchrun this is, and lets one of them speak."""

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path


def world_size() -> int:
    r"""Returns the number of processes that torchrun has started, or one."""
    return int(os.environ.get('WORLD_SIZE', '1'))


def is_first() -> bool:
    r"""Returns :obj:`True` in the process that prints for all."""
    return int(os.environ.get('RANK', '0')) == 0


def speak_once(text: str) -> None:
    r"""Writes a line to the standard error, unless another process of the same run on
    this machine has written one.

    Args:
        text (str): The line.
    """
    if world_size() > 1:
        attempt = os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')
        # Process numbers are reused: the address tells this run from others.
        run = os.environ.get('MASTER_PORT', '0')
        name = f'tgx-anchor-{os.getuid()}-{os.getppid()}-{run}-{attempt}'
        try:
            # The process that makes the file speaks.
            os.close(
                os.open(
                    Path(tempfile.gettempdir(), name), os.O_CREAT | os.O_EXCL, 0o600
                )
            )
        except FileExistsError:
            return
        except OSError:
            pass
    with suppress(OSError):
        sys.stderr.write(f'tgx-anchor: {text}\n')
        sys.stderr.flush()
