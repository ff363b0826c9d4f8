import math

import pytest
import torch

from tests.nn.conv.slow_sets import num_parameters, random, slow_set
from tgx_anchor.nn.conv.seeded_attention import SeededAttention

INDEX = torch.tensor([0, 0, 2, 2, 2, 3, 0])


@pytest.mark.parametrize('num_layers', [1, 2])
def test_by_definition(num_layers: int, device: torch.device) -> None:
    torch.manual_seed(0)
    block = SeededAttention(3, 8, num_layers=num_layers).double().to(device)
    x, index = random(7, 3).to(device), INDEX.to(device)
    out = block(x, index, 5)
    assert out.size() == (5, 8)
    for s in range(5):
        torch.testing.assert_close(out[s : s + 1], slow_set(block, x[index == s]))


def test_parameters() -> None:
    block = SeededAttention(128)
    assert num_parameters(block) == 66_176
    assert num_parameters(SeededAttention(128, num_layers=2)) == 66_176 + 129 * 128
    bound = math.sqrt(6 / 256)
    assert 0.9 * bound < block.seed.abs().max() <= bound
    before = {name: p.clone() for name, p in block.named_parameters()}
    block.reset_parameters()
    for name, p in block.named_parameters():
        assert not torch.equal(p, before[name])


def test_repr() -> None:
    assert repr(SeededAttention(3, 8)) == 'SeededAttention(3, 8, heads=4)'
