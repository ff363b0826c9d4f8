import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import SETTINGS
from tgx_anchor.nn import ContextStrength

# Nodes 0 and 2, in the contexts 1 and 3, and 1.
PAIR = torch.tensor([[0, 0, 2], [1, 3, 1]])
CELL = torch.tensor([1, 0, 1])


def filled(num_variants: int | None = None) -> ContextStrength:
    out = ContextStrength(PAIR, CELL, 3, 2, num_variants)
    generator = torch.Generator().manual_seed(0)
    for value in out.parameters():
        value.data = torch.randn(value.size(), generator=generator, dtype=value.dtype)
    return out


def test_starts_at_one() -> None:
    strengths = ContextStrength(PAIR, CELL, 3, 2)
    assert strengths().tolist() == [1, 1, 1]
    assert str(strengths) == 'ContextStrength(3, 3, 2)'
    filled_in = filled()
    filled_in.reset_parameters()
    assert filled_in().tolist() == [1, 1, 1]


def test_sums_its_parts() -> None:
    strengths = ContextStrength(PAIR, CELL, 3, 2)
    strengths.strength.data = torch.tensor([1.0, 2.0, 4.0]).double()
    strengths.own.data = torch.tensor([0.1, 0.2, 0.3]).double()
    strengths.offset.data = torch.tensor([10.0, 20.0]).double()
    assert strengths().tolist() == pytest.approx([21.1, 11.2, 24.3])


@pytest.mark.parametrize('penalty', [0.0, 2.0])
def test_gradient_is_that_of_autograd(penalty: float) -> None:
    strengths = filled(2)
    weight = torch.tensor([[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0]]).double()
    loss = (weight * strengths()).sum()
    loss = loss + penalty / 2 * (
        strengths.own.square().sum() + strengths.offset.square().sum()
    )
    expected = torch.autograd.grad(loss, list(strengths.parameters()))
    strengths.set_gradient(weight, torch.full((2,), penalty).double())
    for value, slope in zip(strengths.parameters(), expected, strict=True):
        assert value.grad is not None
        assert torch.allclose(value.grad, slope)


def test_infinite_penalty_leaves_the_shared_part_only() -> None:
    strengths = filled(2)
    weight = torch.ones(3, 2).double()
    strengths.set_gradient(weight, torch.tensor([torch.inf, 1.0]).double())
    assert strengths.strength.grad is not None
    assert strengths.strength.grad.tolist() == [[2, 2], [0, 0], [1, 1]]
    for part in (strengths.own, strengths.offset):
        assert part.grad is not None
        assert not part.grad[:, 0].any()
        assert part.grad[:, 1].all()


def test_variant() -> None:
    strengths = filled(3)
    for number in range(3):
        one = strengths.variant(number)
        assert torch.equal(one(), strengths()[:, number])
        assert all(value.dim() == 1 for value in one.parameters())


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 5)), min_size=1), st.data())
@SETTINGS
def test_find(pairs: set[tuple[int, int]], draw: st.DataObject) -> None:
    ordered = sorted(pairs)
    size = len(ordered)
    pair = torch.tensor(ordered).t().contiguous()
    strengths = ContextStrength(pair, torch.zeros(size, dtype=torch.long), 10, 1)
    asked = draw.draw(st.lists(st.sampled_from(ordered), min_size=1, max_size=9))
    node, context = torch.tensor(asked).t()
    assert strengths.find(node, context).tolist() == list(map(ordered.index, asked))
