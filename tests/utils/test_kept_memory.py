import os
import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != 'glibc', reason='Only glibc has these settings'
)

# Prints how often a step of two tensors clears the pages of one, before the context and
# inside; then the MiB in use after it, and after a large tensor below a small one was
# freed.
SCRIPT = """
import resource
from pathlib import Path

import torch

from tgx_anchor.utils import kept_memory

MIB = 2**20
PAGE = resource.getpagesize()


def zeros(size):
    return torch.zeros(size * MIB, dtype=torch.uint8)


def clearings():
    for _ in range(5):
        zeros(48), zeros(48)
    start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        zeros(48), zeros(48)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - start
    return faults * PAGE / (10 * 48 * MIB)


def in_use():
    return int(Path('/proc/self/statm').read_text().split()[1]) * PAGE / MIB


torch.set_num_threads(1)
start = in_use()
before = clearings()
with kept_memory():
    inside = clearings()
after = in_use() - start
large, small = zeros(500), zeros(1)
del large
print(before, inside, after, in_use() - start)
"""


def run(**variables: str) -> list[float]:
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith('MALLOC_') and name != 'GLIBC_TUNABLES'
    }
    out = subprocess.run(
        [sys.executable, '-c', SCRIPT],
        env=own | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(word) for word in out.stdout.split()]


def test_pages_are_cleared_once() -> None:
    before, inside, after, at_end = run()
    assert before > 1.9
    assert inside < 0.1
    # Otherwise the two tensors, and the large one.
    assert after < 40
    assert at_end < 100


def test_settings_of_the_user_stay() -> None:
    _, inside, _, _ = run(MALLOC_MMAP_THRESHOLD_='65536')
    assert inside > 1.9
    before, inside, *_ = run(MALLOC_MMAP_MAX_='0', MALLOC_TRIM_THRESHOLD_='1000000000')
    assert max(before, inside) < 0.1
