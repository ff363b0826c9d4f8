"""Memory of freed tensors, kept for the next ones."""

import ctypes
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager

# Parameters of 'mallopt' in glibc.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
_MIB = 2**20


@contextmanager
def kept_memory() -> Iterator[None]:
    r"""Keeps the CPU memory of freed tensors in this process for the tensors that
    follow, and returns it to the system at the end.

    A step of training frees as much memory as the next step needs. Without this
    context, glibc returns large blocks to the system at once, and clearing their pages
    again may take half of the time. With other C libraries than glibc, and where the
    user has set how glibc allocates memory (variables :obj:`MALLOC_...` or
    :obj:`GLIBC_TUNABLES`), it does nothing.

    .. code-block:: python

        with kept_memory():
            for batch in loader:
                train(batch)
    """
    if platform.libc_ver()[0] != 'glibc' or _is_set_by_user():
        yield
        return
    libc = ctypes.CDLL(None)
    libc.mallopt(_MMAP_MAX, 0)
    libc.mallopt(_TRIM_THRESHOLD, -1)
    try:
        yield
    finally:
        # glibc no longer adjusts its thresholds once they are set: these are the
        # largest values that it takes by itself.
        libc.mallopt(_MMAP_MAX, 2**16)
        libc.mallopt(_MMAP_THRESHOLD, 32 * _MIB)
        libc.mallopt(_TRIM_THRESHOLD, 64 * _MIB)
        libc.malloc_trim(0)


def _is_set_by_user() -> bool:
    return any(
        name.startswith('MALLOC_') or name == 'GLIBC_TUNABLES' for name in os.environ
    )
