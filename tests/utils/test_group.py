from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.strategies import SETTINGS, Groups, groupings, to_index
from tgx_anchor.utils import (
    draw_priority,
    group_order,
    group_rank,
    group_topk,
    relative_to_group,
)

DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]


@st.composite
def valued_groups(draw: st.DrawFn) -> tuple[Groups, int, Tensor]:
    groups, num_nodes = draw(groupings(repeated_members=True))
    size = sum(map(len, groups))
    dtype = draw(st.sampled_from(DTYPES))
    pool: list[float] = [-100, -1, 0, 1, 100]
    if dtype.is_floating_point:
        pool += [0.5, -0.0, float('inf'), float('-inf')]
    elif dtype == torch.uint8:
        pool = [0, 1, 2, 254, 255]
    value = draw(st.lists(st.sampled_from(pool), min_size=size, max_size=size))
    return groups, num_nodes, torch.tensor(value).to(dtype)


def ranked(groups: Groups, value: Tensor) -> list[list[tuple[int, float, int]]]:
    # Of each group: incidence, value and node, by descending value.
    entry = iter(enumerate(value.tolist()))
    rows = [[(*next(entry), node) for node in group] for group in groups]
    return [sorted(row, key=lambda x: -x[1]) for row in rows]


@SETTINGS
@given(valued_groups())
def test_group_order(drawn: tuple[Groups, int, Tensor]) -> None:
    groups, _, value = drawn
    before = value.clone()
    order = group_order(value, to_index(groups)[1], len(groups))
    rows = ranked(groups, value)
    assert order.perm.tolist() == [i for row in rows for i, _, _ in row]
    first, ptr = [], [0]
    for row in rows:
        values = [x for _, x, _ in row]
        first += [ptr[-1] + values.index(x) for x in values]
        ptr.append(ptr[-1] + len(row))
    assert order.first.tolist() == first
    assert order.ptr.tolist() == ptr
    assert torch.equal(order.hyperedge, to_index(groups)[1])
    assert torch.equal(order.by_incidence(value[order.perm]), value)
    assert torch.equal(value, before)


@SETTINGS
@given(valued_groups())
def test_group_rank(drawn: tuple[Groups, int, Tensor]) -> None:
    groups, _, value = drawn
    entry = iter(value.tolist())
    rows = [[next(entry) for _ in group] for group in groups]
    expected = [sum(y > x for y in row) for row in rows for x in row]
    assert group_rank(value, to_index(groups)[1], len(groups)).tolist() == expected


@SETTINGS
@given(valued_groups(), st.integers(1, 9))
def test_group_topk(drawn: tuple[Groups, int, Tensor], k: int) -> None:
    groups, _, value = drawn
    out = group_topk(value, to_index(groups), len(groups), k)
    assert out.tolist() == [
        ([node for _, _, node in row] + [-1] * k)[:k] for row in ranked(groups, value)
    ]


@SETTINGS
@given(valued_groups(), st.integers(1, 9), st.integers(0, 2**40))
def test_priority_orders_ties_only(
    drawn: tuple[Groups, int, Tensor], k: int, seed: int
) -> None:
    groups, _, value = drawn
    out = group_topk(
        value,
        to_index(groups),
        len(groups),
        k,
        draw_priority(value.numel(), seed),
    )
    for best, row in zip(out.tolist(), ranked(groups, value), strict=True):
        chosen = best[: len(row)]
        assert best[len(row) :] == [-1] * (k - len(chosen))
        # The same nodes, with multiplicity, in each run of equal values; of the last
        # run a part.
        done = 0
        for x in dict.fromkeys(x for _, x, _ in row):
            run = sorted(node for _, y, node in row if y == x)
            part = chosen[done : done + len(run)]
            if len(part) == len(run):
                assert sorted(part) == run
            else:
                for node in set(part):
                    assert part.count(node) <= run.count(node)
            done += len(run)


def test_by_hand(device: torch.device) -> None:
    index = to_index([[4, 1, 3], [], [2], [0, 4]]).to(device)
    value = torch.tensor([1.0, 5.0, 1.0, -2.0, 0.0, 0.5], device=device)
    order = group_order(value, index[1], 4)
    assert order.perm.tolist() == [1, 0, 2, 3, 5, 4]
    assert order.first.tolist() == [0, 1, 1, 3, 4, 5]
    assert group_rank(value, index[1], 4).tolist() == [1, 0, 1, 0, 1, 0]
    assert group_topk(value, index, 4).tolist() == [[1], [-1], [2], [4]]
    expected = [[1, 4, 3], [-1, -1, -1], [2, -1, -1], [4, 0, -1]]
    assert group_topk(value, index, 4, k=3).tolist() == expected


@pytest.mark.parametrize('dtype', [torch.int8, torch.uint8, torch.int32])
def test_range_of_narrow_integers(dtype: torch.dtype) -> None:
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    index = to_index([[0, 1, 2], [0, 1, 2]])
    value = torch.tensor([low, high, 1, 1, low, high], dtype=dtype)
    assert group_rank(value, index[1], 2).tolist() == [2, 0, 1, 1, 2, 0]
    assert group_topk(value, index, 2).tolist() == [[1], [2]]


def test_no_incidences() -> None:
    index, value = to_index([]), torch.empty(0)
    assert group_order(value, index[1], 0).ptr.tolist() == [0]
    assert group_rank(value, index[1], 2).tolist() == []
    assert group_topk(value, index, 2, k=2).tolist() == [[-1, -1], [-1, -1]]
    assert draw_priority(0, 0).tolist() == []
    assert group_topk(value, index, 0, 1, draw_priority(0, 0)).tolist() == []
    for num_hyperedges in (0, 2):
        parts = relative_to_group(torch.empty(0, 3), index[1], num_hyperedges)
        assert [part.size() for part in parts] == [(0, 3), (0, 3)]


def test_ties_are_drawn_evenly() -> None:
    # Four equal members and one below them; pairs of the best two are all as likely.
    num_hyperedges = 24_000
    member = torch.tensor([5, 2, 9, 4, 7]).repeat(num_hyperedges)
    index = torch.stack(
        [member, torch.arange(num_hyperedges).repeat_interleave(5)],
    )
    value = torch.tensor([1.0, 1.0, 0.0, 1.0, 1.0]).repeat(num_hyperedges)
    out = group_topk(
        value, index, num_hyperedges, 2, draw_priority(value.numel(), 0)
    ).tolist()
    mean = num_hyperedges / 12
    for pair in permutations([5, 2, 4, 7], 2):
        # Five standard deviations of a binomial count.
        assert abs(out.count(list(pair)) - mean) < 5 * (mean * 11 / 12) ** 0.5


def test_draws_repeat_and_leave_the_global_generator_alone() -> None:
    index = to_index([[0, 1, 2, 3, 4]] * 50)
    value = torch.zeros(index.size(1))
    torch.manual_seed(1)
    before = torch.get_rng_state()
    draws = [
        group_topk(value, index, 50, 3, draw_priority(value.numel(), seed))
        for seed in (7, 7, 8)
    ]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    assert torch.equal(torch.get_rng_state(), before)


def slow_relative(groups: Groups, value: Tensor) -> tuple[Tensor, Tensor]:
    minus_mean, minus_best = torch.zeros_like(value), torch.zeros_like(value)
    member = iter(range(len(value)))
    for group in groups:
        places = [next(member) for _ in group]
        for i in places:
            others = [j for j in places if j != i]
            for k in range(value.size(1)):
                x = float(value[i, k])
                mean = sum(float(value[j, k]) for j in places) / len(places)
                best = max((float(value[j, k]) for j in others), default=x)
                minus_mean[i, k], minus_best[i, k] = x - mean, x - best
    return minus_mean, minus_best


@SETTINGS
@given(
    groupings(repeated_members=True),
    st.integers(0, 3),
    st.sampled_from([torch.float32, torch.float64]),
    st.data(),
)
def test_relative_to_group(
    grouping: tuple[Groups, int], width: int, dtype: torch.dtype, draw: st.DataObject
) -> None:
    groups, _ = grouping
    size = sum(map(len, groups)) * width
    pool = st.sampled_from([-1e6, -2.5, -1.0, -0.0, 0.0, 0.25, 3.0])
    drawn = draw.draw(st.lists(pool, min_size=size, max_size=size))
    value = torch.tensor(drawn, dtype=dtype).view(sum(map(len, groups)), width)
    before = value.clone()
    found = relative_to_group(value, to_index(groups)[1], len(groups))
    for part, expected in zip(found, slow_relative(groups, value), strict=True):
        assert part.dtype == dtype
        torch.testing.assert_close(part, expected)
    assert torch.equal(value, before)


def test_relative_to_group_by_hand(device: torch.device) -> None:
    # Alone at the top and shared, a group of one, an empty one, and all below zero.
    index = to_index([[0, 1, 2], [3], [], [0, 4]]).to(device)
    value = torch.tensor(
        [[1.0, 4.0], [5.0, 4.0], [3.0, 1.0], [-7.0, 7.0], [-2.0, 0.0], [-6.0, 0.0]],
        device=device,
    )
    minus_mean, minus_best = relative_to_group(value, index[1], 4)
    assert minus_mean.device.type == device.type
    assert minus_mean.tolist() == [[-2, 1], [2, 1], [0, -2], [0, 0], [2, 0], [-2, 0]]
    assert minus_best.tolist() == [[-4, 0], [2, 0], [-2, -3], [0, 0], [4, 0], [-4, 0]]


def test_gradient_of_relative_to_group() -> None:
    value = torch.tensor([[1.0], [5.0], [3.0], [8.0]], requires_grad=True)
    index = torch.tensor([0, 0, 0, 1])
    for i, expected in enumerate(([-1 / 3, 2 / 3, -1 / 3, 0.0], [0.0, 1.0, -1.0, 0.0])):
        part = relative_to_group(value, index, 2)[i]
        (gradient,) = torch.autograd.grad(part[1, 0] + part[3, 0], value)
        torch.testing.assert_close(gradient.view(-1), torch.tensor(expected))


@settings(SETTINGS, max_examples=10)
@given(valued_groups(), st.integers(1, 3), st.booleans())
def test_second_device(
    drawn: tuple[Groups, int, Tensor], k: int, shuffled: bool
) -> None:
    groups, _, value = drawn
    index = to_index(groups)
    finite = value.double().nan_to_num().view(-1, 1)

    def run(value: Tensor, index: Tensor) -> list[Tensor]:
        priority = draw_priority(value.numel(), 0, device=value.device)
        return [
            *group_order(value, index[1], len(groups)),
            group_rank(value, index[1], len(groups)),
            group_topk(value, index, len(groups), k, priority if shuffled else None),
            *relative_to_group(finite.to(value.device), index[1], len(groups)),
        ]

    with second_device() as device:
        found = run(value.to(device), index.to(device))
        assert all(part.device == device for part in found)
    for part, expected in zip(found, run(value, index), strict=True):
        assert torch.equal(part.cpu(), expected)


@pytest.mark.parametrize('seed', [0, 7, -3, 2**64 - 1])
def test_draws_of_a_part_are_those_of_the_whole(seed: int) -> None:
    whole = draw_priority(1000, seed)
    assert torch.equal(draw_priority(300, seed, first=500), whole[500:800])
    assert whole.unique().numel() == 1000
    assert 0 <= float(whole.min()) <= float(whole.max()) < 1
    # The mean of uniform numbers, give or take five deviations.
    assert abs(float(whole.mean()) - 0.5) < 5 * (1 / 12 / 1000) ** 0.5
    assert not torch.equal(whole, draw_priority(1000, seed + 1))
