"""Tensors in files."""

import tempfile
from pathlib import Path

import pytest
import torch

from tgx_anchor.utils.mapped import mapped, mapped_empty


@pytest.mark.parametrize('dtype', [torch.long, torch.int32, torch.double, torch.float])
def test_values(
    dtype: torch.dtype, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    value = torch.arange(12).view(3, 4).to(dtype)
    found = mapped(value)
    assert torch.equal(found, value)
    assert found.dtype == dtype
    # A tensor of its own, without a file that anybody could see.
    found[0, 0] = 7
    assert value[0, 0] == 0
    assert list(tmp_path.iterdir()) == []
    assert torch.equal(mapped_empty((2, 5), dtype), torch.zeros(2, 5, dtype=dtype))


def test_nothing() -> None:
    assert mapped_empty((0, 3), torch.float).size() == (0, 3)
    assert mapped(torch.empty(2, 0)).size() == (2, 0)


@pytest.mark.skipif(not Path('/proc/self/smaps').exists(), reason='needs Linux')
def test_pages_are_those_of_a_file() -> None:
    found = mapped(torch.ones(10**6, dtype=torch.double))
    text = Path('/proc/self/smaps').read_text(encoding='utf-8')
    name = next(line for line in text.splitlines() if 'tgx-anchor-' in line)
    assert 'deleted' in name
    assert float(found.sum()) == 10**6
