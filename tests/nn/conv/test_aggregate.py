import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.nn.conv.hypergraph import features, total
from tests.strategies import SETTINGS, Groups, incidences, to_index
from tgx_anchor.nn.conv.aggregate import Aggregate, count_degree, count_hyperedges


def slow_sums(
    index: Tensor, sizes: tuple[int, int], x: Tensor, y: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    width = x.size(1)
    pairs = list(zip(*index.tolist(), weight, strict=True))
    to_hyperedge = [
        total([w * x[v] for v, e, w in pairs if e == target], width)
        for target in range(sizes[1])
    ]
    to_node = [
        total([w * y[e] for v, e, w in pairs if v == target], width)
        for target in range(sizes[0])
    ]
    dot = [(x[v] * y[e]).sum() for v, e, _ in pairs]
    empty = x.new_zeros(0, width)
    return (
        torch.stack(to_hyperedge) if to_hyperedge else empty,
        torch.stack(to_node) if to_node else empty,
        torch.stack(dot) if dot else x.new_zeros(0),
    )


@SETTINGS
@given(incidences(), st.booleans(), st.integers(0, 99))
def test_by_definition(
    drawn: tuple[Tensor, Groups, int], weighted: bool, seed: int
) -> None:
    index, groups, num_nodes = drawn
    sizes = num_nodes, len(groups)
    x, y = features(sizes[0], 3, seed), features(sizes[1], 3, seed + 1)
    weight = features(index.size(1), 1, seed + 2).view(-1)
    sums = Aggregate(index, *sizes)
    given_weight = weight if weighted else None
    out = (
        sums.to_hyperedge(x, given_weight),
        sums.to_node(y, given_weight),
        sums.dot(x, y),
    )
    expected = slow_sums(
        index, sizes, x, y, weight if weighted else torch.ones_like(weight)
    )
    for fast, slow in zip(out, expected, strict=True):
        torch.testing.assert_close(fast, slow)


def unsorted() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    index = to_index([[0, 2, 2], [], [3, 0], [1]])[:, [3, 0, 5, 1, 4, 2]]
    x, y = features(5, 3).requires_grad_(), features(4, 3, 1).requires_grad_()
    return index, x, y, features(6, 1, 2).view(-1).requires_grad_()


def test_gradients_of_both_orders() -> None:
    index, x, y, weight = unsorted()
    sums = Aggregate(index, 5, 4)
    for function, inputs in (
        (sums.to_hyperedge, (x,)),
        (sums.to_node, (y,)),
        (sums.to_hyperedge, (x, weight)),
        (sums.to_node, (y, weight)),
        (sums.dot, (x, y)),
    ):
        assert torch.autograd.gradcheck(function, inputs)
        assert torch.autograd.gradgradcheck(function, inputs)


def test_select() -> None:
    index, x, y, _ = unsorted()
    sums = Aggregate(index, 5, 4)
    assert sums.select(None) is sums
    mask = torch.tensor([True, False, True, True, False, False])
    chosen = sums.select(mask)
    assert torch.equal(torch.stack([chosen.node, chosen.hyperedge]), index[:, mask])
    flags = mask.double()
    torch.testing.assert_close(chosen.to_hyperedge(x), sums.to_hyperedge(x, flags))
    torch.testing.assert_close(chosen.to_node(y), sums.to_node(y, flags))
    none = sums.select(torch.zeros_like(mask))
    assert not none.to_node(y).any()


@pytest.mark.parametrize('dtype', [torch.float, torch.double])
def test_where_the_data_is(device: torch.device, dtype: torch.dtype) -> None:
    index, x, _, weight = unsorted()
    expected = Aggregate(index, 5, 4).to_hyperedge(x, weight)
    sums = Aggregate(index.to(device), 5, 4)
    out = sums.to_hyperedge(x.to(device, dtype), weight.to(device, dtype))
    assert out.device.type == device.type
    torch.testing.assert_close(out, expected.to(device, dtype))
    # Slices of something larger may come in, and constants may come back.
    wide = torch.cat([x, x], dim=1).to(device, dtype)
    torch.testing.assert_close(
        sums.to_hyperedge(wide[:, 3:], weight.to(device, dtype)), out
    )
    leaf = x.detach().to(device, dtype).requires_grad_()
    sums.to_hyperedge(leaf).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad[:, 0].tolist() == [2, 1, 2, 1, 0]


def test_member_out_of_range() -> None:
    sums = Aggregate(to_index([[0, 7]]), 8, 1)
    with pytest.raises((RuntimeError, IndexError)):
        sums.to_hyperedge(torch.ones(2, 3))


def test_counts() -> None:
    index = to_index([[0, 2, 2], [], [0], []])
    assert count_hyperedges(index) == 3
    assert count_hyperedges(index, 4) == 4
    assert count_hyperedges(index[:, :0]) == 0
    assert count_hyperedges(index[:, :0], 2) == 2
    assert count_degree(index[0], 4, torch.double).tolist() == [2, 1, 2, 1]
    given_degree = torch.tensor([5, 0, 2, 3])
    out = count_degree(index[0], 4, torch.float, given_degree)
    assert out.dtype == torch.float
    assert out.tolist() == [5, 1, 2, 3]
