from pathlib import Path

import torch

from tgx_anchor.benchmark.memory import peak_memory, reset_peak_memory


def test_reset_peak() -> None:
    block = torch.ones(2**26)
    high = peak_memory()
    del block
    reset_peak_memory()
    # Where the system cannot reset it, the peak stays.
    assert peak_memory() <= high
    if Path('/proc/self/clear_refs').exists():
        assert peak_memory() < high - 0.2
