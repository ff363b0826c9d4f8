import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.nn.conv.hypergraph import features, total
from tests.strategies import SETTINGS, Groups, incidences, to_index
from tgx_anchor.data import HyperedgeIndex
from tgx_anchor.nn.conv.aggregate import (
    divisor,
    incidence_dot,
    rescale_received,
    sum_to_hyperedge,
    sum_to_node,
)


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
    part = HyperedgeIndex(index, *sizes)
    given_weight = weight if weighted else None
    out = (
        sum_to_hyperedge(x, part, given_weight),
        sum_to_node(y, part, given_weight),
        incidence_dot(x, y, part),
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
    tensor, x, y, weight = unsorted()
    index = HyperedgeIndex(tensor, 5, 4)
    for function, inputs in (
        (sum_to_hyperedge, (x, index)),
        (sum_to_node, (y, index)),
        (sum_to_hyperedge, (x, index, weight)),
        (sum_to_node, (y, index, weight)),
        (incidence_dot, (x, y, index)),
    ):
        assert torch.autograd.gradcheck(function, inputs)
        assert torch.autograd.gradgradcheck(function, inputs)


def test_gradients_of_parts() -> None:
    tensor, x, y, weight = unsorted()
    mask = torch.tensor([True, False, True, True, False, True])
    part = HyperedgeIndex(tensor, 5, 4, drawn_mask=mask).received
    for function, inputs in (
        (sum_to_hyperedge, (x, part, weight[:4])),
        (sum_to_node, (y, part, weight[:4])),
        (incidence_dot, (x, y, part)),
    ):
        assert torch.autograd.gradcheck(function, inputs)


@pytest.mark.parametrize('dtype', [torch.float, torch.double])
def test_where_the_data_is(device: torch.device, dtype: torch.dtype) -> None:
    tensor, x, _, weight = unsorted()
    expected = sum_to_hyperedge(x, HyperedgeIndex(tensor, 5, 4), weight)
    index = HyperedgeIndex(tensor.to(device), 5, 4)
    weight = weight.to(device, dtype)
    out = sum_to_hyperedge(x.to(device, dtype), index, weight)
    assert out.device.type == device.type
    torch.testing.assert_close(out, expected.to(device, dtype))
    # Slices of something larger may come in, and constants may come back.
    wide = torch.cat([x, x], dim=1).to(device, dtype)
    torch.testing.assert_close(sum_to_hyperedge(wide[:, 3:], index, weight), out)
    leaf = x.detach().to(device, dtype).requires_grad_()
    sum_to_hyperedge(leaf, index).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad[:, 0].tolist() == [2, 1, 2, 1, 0]


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.half])
def test_half_precision(dtype: torch.dtype) -> None:
    tensor, x, y, weight = unsorted()
    index = HyperedgeIndex(tensor, 5, 4)
    for function, inputs in (
        (sum_to_hyperedge, (x, index)),
        (sum_to_node, (y, index, weight)),
        (incidence_dot, (x, y, index)),
    ):
        given = [v.to(dtype) if isinstance(v, Tensor) else v for v in inputs]
        out = function(*given)
        assert out.dtype == dtype
        torch.testing.assert_close(
            out.double(), function(*inputs), rtol=0.05, atol=0.05
        )
        out.sum().backward()
    # As in autocast, where weights of a softmax are wider than values.
    assert sum_to_node(y.to(dtype), index, weight.float()).dtype == torch.float


def test_member_out_of_range() -> None:
    index = HyperedgeIndex(to_index([[0, 7]]), 8, 1)
    with pytest.raises((RuntimeError, IndexError)):
        sum_to_hyperedge(torch.ones(2, 3), index)


def test_rescaled_sums() -> None:
    # Node 0 drew one of its two incidences here, of four in the whole; node 1 none.
    mask = torch.tensor([True, False, False, True])
    degree = torch.tensor([4, 1, 1])
    tensor = to_index([[0, 1], [0, 2]])
    index = HyperedgeIndex(tensor, 3, 2, node_degree=degree, drawn_mask=mask)
    total = sum_to_node(torch.tensor([[3.0], [5.0]]), index.received)
    assert total.view(-1).tolist() == [3, 0, 5]
    assert rescale_received(total, index.received).view(-1).tolist() == [12, 0, 5]


def test_divisor() -> None:
    out = divisor(torch.tensor([5, 0, 2]), torch.double)
    assert out.dtype == torch.double
    assert out.tolist() == [[5], [1], [2]]
