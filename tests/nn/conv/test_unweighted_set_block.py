import torch

from tests.nn.conv.slow_sets import num_parameters, random, slow_set
from tgx_anchor.nn.conv.unweighted_set_block import UnweightedSetBlock

# Sets 1 and 4 are empty.
INDEX = torch.tensor([0, 0, 2, 2, 2, 3, 0])


def test_by_definition(device: torch.device) -> None:
    torch.manual_seed(0)
    block = UnweightedSetBlock(5).double().to(device)
    index, x = INDEX.to(device), random(7, 5).to(device).requires_grad_()
    wish = random(7, 5, seed=1).to(device)
    out = block(x, index, 5)
    expected = torch.empty_like(out)
    for s in (0, 2, 3):
        expected[index == s] = slow_set(block, x[index == s])
    torch.testing.assert_close(out, expected)
    given = [x, *block.parameters()]
    fast = torch.autograd.grad((out * wish).sum(), given)
    slow = torch.autograd.grad((expected * wish).sum(), given)
    torch.testing.assert_close(fast, slow)
    assert all(grad.abs().max() > 1e-5 for grad in fast)


def test_some_members_only() -> None:
    torch.manual_seed(0)
    block, x = UnweightedSetBlock(5).double(), random(7, 5)
    row = torch.tensor([6, 2, 5])
    returned: list[int] = []
    block.lin2.register_forward_pre_hook(lambda _, args: returned.append(len(args[0])))
    torch.testing.assert_close(block(x, INDEX, 5, row), block(x, INDEX, 5)[row])
    assert returned == [3, 7]


def test_no_members() -> None:
    block = UnweightedSetBlock(5)
    assert block(torch.zeros(0, 5), INDEX[:0], 3).size() == (0, 5)


def test_parameters() -> None:
    block = UnweightedSetBlock()
    assert num_parameters(block) == 82_432
    before = {name: p.clone() for name, p in block.named_parameters()}
    block.reset_parameters()
    for name, p in block.named_parameters():
        assert not torch.equal(p, before[name])
    assert repr(block) == 'UnweightedSetBlock(128)'
