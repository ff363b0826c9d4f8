"""Peak memory of this process."""

import sys
from contextlib import suppress
from pathlib import Path


def reset_peak_memory() -> None:
    r"""Resets the peak that :func:`peak_memory` returns to the memory in use now, on
    systems that can do so.
    """
    # Linux only, and not in all sandboxes: elsewhere the peak is not reset.
    with suppress(OSError):
        Path('/proc/self/clear_refs').write_text('5', encoding='ascii')


def peak_memory() -> float:
    r"""Returns the peak memory of this process since it started or since
    :func:`reset_peak_memory`, in GiB; NaN on systems that do not report it.
    """
    status = Path('/proc/self/status')
    if status.exists():
        # On Linux 'ru_maxrss' starts from the memory of the parent; this does not.
        for line in status.read_text(encoding='utf-8').splitlines():
            if line.startswith('VmHWM:'):
                return int(line.split()[1]) / 2**20
    if sys.platform == 'win32':
        return float('nan')
    import resource

    unit = 2**30 if sys.platform == 'darwin' else 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
