import math

import pytest
import torch

from tests.nn.conv.slow_sets import num_parameters, random, slow_set
from tests.strategies import one_line_error
from tgx_anchor.nn.conv.induced_set_attention import InducedSetAttention

# Sets 1 and 4 are empty, the last member belongs to the first set.
INDEX = torch.tensor([0, 0, 2, 2, 2, 3, 0])
SIZE = 5


def make(**options: int) -> InducedSetAttention:
    torch.manual_seed(0)
    return InducedSetAttention(3, 8, **options).double()


@pytest.mark.parametrize('options', [{}, {'heads': 2}, {'num_inducing': 1}])
def test_by_definition(options: dict[str, int]) -> None:
    block, x = make(**options), 2 * random(7, 3)
    out = block(x, INDEX, SIZE)
    assert out.size() == (7, 8)
    for s in set(INDEX.tolist()):
        torch.testing.assert_close(out[s == INDEX], slow_set(block, x[s == INDEX]))


def test_a_large_set_among_small_ones() -> None:
    block = make()
    index = torch.cat([torch.arange(50), torch.full((3000,), 50), torch.arange(51, 99)])
    x = random(index.numel(), 3)
    out = block(x, index, 99)
    torch.testing.assert_close(out[index == 50], slow_set(block, x[index == 50]))
    torch.testing.assert_close(out[-1:], slow_set(block, x[-1:]))


def test_gradients_by_definition() -> None:
    block, x = make(), random(7, 3).requires_grad_()
    wish = random(7, 8, seed=3)
    given = [x, *block.parameters()]
    fast = torch.autograd.grad((block(x, INDEX, SIZE) * wish).sum(), given)
    total = x.new_zeros(())
    for s in set(INDEX.tolist()):
        row = s == INDEX
        total = total + (slow_set(block, x[row]) * wish[row]).sum()
    slow = torch.autograd.grad(total, given)
    names = ['x', *(name for name, _ in block.named_parameters())]
    for name, a, b in zip(names, fast, slow, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)
        assert name.endswith('lin_key.bias') or a.abs().max() > 1e-5


def test_some_members_only() -> None:
    block, x = make(), random(7, 3)
    row = torch.tensor([6, 2, 5])
    returned: list[int] = []
    block.spread.lin_query.register_forward_pre_hook(
        lambda _, args: returned.append(len(args[0]))
    )
    torch.testing.assert_close(block(x, INDEX, SIZE, row), block(x, INDEX, SIZE)[row])
    assert returned == [3, 7]


def test_the_order_of_members_does_not_matter() -> None:
    block, x = make(), random(7, 3)
    perm = torch.tensor([6, 2, 0, 5, 4, 1, 3])
    torch.testing.assert_close(
        block(x[perm], INDEX[perm], SIZE),
        block(x, INDEX, SIZE)[perm],
        rtol=1e-9,
        atol=0,
    )


def test_initialisation() -> None:
    block = InducedSetAttention(44)
    bound = math.sqrt(6 / 640)
    assert 0.95 * bound < block.inducing.abs().max() <= bound
    assert abs(float(block.inducing.detach().std()) / bound * math.sqrt(3) - 1) < 0.1
    before = {name: p.clone() for name, p in block.named_parameters()}
    block.reset_parameters()
    for name, p in block.named_parameters():
        assert not torch.equal(p, before[name])


def test_number_of_parameters() -> None:
    assert num_parameters(InducedSetAttention(128)) == 132_608
    assert num_parameters(InducedSetAttention(44)) == 83_456 + 384 * 44
    assert num_parameters(InducedSetAttention(44, num_inducing=8)) == (
        83_456 + 384 * 44 + 4 * 128
    )


def test_runs_where_the_data_is(device: torch.device) -> None:
    block, x, index = make().to(device), random(7, 3).to(device), INDEX.to(device)
    out = block(x, index, SIZE)
    torch.testing.assert_close(out[2:5], slow_set(block, x[2:5]))


def test_bad_arguments() -> None:
    with one_line_error("'num_inducing'", '0'):
        InducedSetAttention(3, 8, num_inducing=0)
    with one_line_error("'heads'", '3'):
        InducedSetAttention(3, 8, heads=3)


def test_repr() -> None:
    assert repr(make()) == 'InducedSetAttention(3, 8, heads=4, num_inducing=4)'
