"""How much memory a process held."""

import sys
from contextlib import suppress
from pathlib import Path


def forget_peak_memory() -> None:
    r"""Makes :func:`peak_memory` begin with what is held now, where the system can."""
    # Not on all systems, and not in all sandboxes: then the peak is that of the whole.
    with suppress(OSError):
        Path('/proc/self/clear_refs').write_text('5', encoding='ascii')


def peak_memory() -> float:
    r"""The most memory that this process has held so far, or since
    :func:`forget_peak_memory`, in GiB; not a number where the system does not tell.
    """
    status = Path('/proc/self/status')
    if status.exists():
        # On Linux 'ru_maxrss' begins with what the parent held; this does not.
        for line in status.read_text(encoding='utf-8').splitlines():
            if line.startswith('VmHWM:'):
                return int(line.split()[1]) / 2**20
    if sys.platform == 'win32':
        return float('nan')
    import resource

    unit = 2**30 if sys.platform == 'darwin' else 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
