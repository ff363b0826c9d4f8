import pytest
import torch

from tests.nn.conv.slow_sets import random
from tgx_anchor.nn.conv import _set_product
from tgx_anchor.nn.conv._set_product import collect, dot, nonempty_sets, spread

# Sets 1 and 4 are empty; the last member belongs to the first set.
INDEX = torch.tensor([0, 0, 2, 2, 2, 3, 0])


@pytest.mark.parametrize('num_slots', [1, 3])
@pytest.mark.parametrize('block', [1, 40, 2**17])
def test_by_definition(
    num_slots: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_set_product, '_BLOCK_CPU', block)
    weight, member = random(7, num_slots, 2), random(7, 2, 5, seed=1)
    slot = random(5, num_slots, 2, 5, seed=2)
    own = slot[INDEX]
    torch.testing.assert_close(
        dot(member, slot, INDEX), torch.einsum('phc,pkhc->pkh', member, own)
    )
    torch.testing.assert_close(
        spread(weight, slot, INDEX), torch.einsum('pkh,pkhc->phc', weight, own)
    )
    expected = torch.zeros_like(slot)
    for j, s in enumerate(INDEX.tolist()):
        expected[s] += torch.einsum('kh,hc->khc', weight[j], member[j])
    torch.testing.assert_close(collect(weight, member, INDEX, 5), expected)


def test_gradcheck() -> None:
    index = torch.tensor([0, 2, 2, 0])
    weight = random(4, 2, 2).requires_grad_()
    member = random(4, 2, 2, seed=1).requires_grad_()
    slot = random(3, 2, 2, 2, seed=2).requires_grad_()
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(lambda m, s: dot(m, s, index), (member, slot))
        assert check(lambda w, s: spread(w, s, index), (weight, slot))
        assert check(lambda w, m: collect(w, m, index, 3), (weight, member))


def test_gradients_only_where_asked_for() -> None:
    member, slot = random(7, 2, 3), random(5, 1, 2, 3).requires_grad_()
    dot(member, slot, INDEX).sum().backward()
    assert member.grad is None
    assert slot.grad is not None
    weight = random(7, 1, 2)
    slot.grad = None
    spread(weight, slot, INDEX).sum().backward()
    assert slot.grad is not None
    member.requires_grad_()
    collect(weight, member, INDEX, 5).sum().backward()
    assert member.grad is not None
    assert weight.grad is None


def test_no_members() -> None:
    index = INDEX[:0]
    assert dot(random(0, 2, 3), random(5, 4, 2, 3), index).size() == (0, 4, 2)
    assert spread(random(0, 4, 2), random(5, 4, 2, 3), index).size() == (0, 2, 3)
    out = collect(random(0, 4, 2), random(0, 2, 3), index, 5)
    assert torch.equal(out, torch.zeros(5, 4, 2, 3, dtype=torch.double))
    # Not even sets.
    assert spread(random(0, 4, 2), random(0, 4, 2, 3), index).size() == (0, 2, 3)


def test_nonempty_sets(device: torch.device) -> None:
    number, count = nonempty_sets(INDEX.to(device), 6)
    assert number.tolist() == [0, 0, 1, 1, 1, 2, 0]
    assert count == 3
    number, count = nonempty_sets(INDEX[:0], 0)
    assert (number.numel(), count) == (0, 0)
    # Which is all there is to know of sets that all have members.
    assert nonempty_sets(number, 0)[1] == 0
    number, count = nonempty_sets(torch.tensor([1, 0]), 2)
    assert (number.tolist(), count) == ([1, 0], 2)
