from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch

from tests.strategies import (
    SETTINGS,
    Groups,
    hypergraphs,
    incidences,
    one_line_error,
    to_data,
    to_index,
)
from tgx_anchor.data import AnchorData, HyperedgeIndex
from tgx_anchor.data.hyperedge_index import Segments, as_hyperedge_index
from tgx_anchor.loader import HyperedgeLoader

# A chain: each group shares a node with the next one.
CHAIN = to_index([[0, 1], [1, 2], [2, 3], [3, 4], [5]])


def check_order(order: Segments, source: Tensor, target: Tensor, size: int) -> None:
    # The other ends of each node or hyperedge, in the order given.
    assert order.ptr.numel() == size + 1
    perm = order.perm
    perm = torch.arange(target.numel()) if perm is None else perm
    for number in range(size):
        begin, end = order.ptr[number].item(), order.ptr[number + 1].item()
        expected = (target == number).nonzero().view(-1)
        assert torch.equal(perm[begin:end], expected)
        assert torch.equal(order.source[begin:end], source[expected])


def check(index: HyperedgeIndex) -> None:
    check_order(index.by_node, index.hyperedge, index.node, index.num_nodes)
    check_order(index.by_hyperedge, index.node, index.hyperedge, index.num_hyperedges)
    for level, row in (('node', index.node), ('hyperedge', index.hyperedge)):
        size = getattr(index, f'num_{level}s')
        count = [int((row == number).sum()) for number in range(size)]
        assert index.count(level).tolist() == count  # type: ignore[arg-type]


# The whole #######################################################################


@SETTINGS
@given(incidences())
def test_orders_and_counts(drawn: tuple[Tensor, Groups, int]) -> None:
    tensor, groups, num_nodes = drawn
    index = HyperedgeIndex(tensor, num_nodes, len(groups))
    check(index)
    assert torch.equal(index.as_tensor(), tensor)
    assert index.hyperedge_size.tolist() == [len(group) for group in groups]
    assert index.node_degree.tolist() == [
        sum(group.count(v) for group in groups) for v in range(num_nodes)
    ]
    assert index.received is index
    assert index.trim(3) == [index] * 3
    assert index.num_incidences == tensor.size(1)


def test_sizes_that_are_not_given() -> None:
    index = HyperedgeIndex(to_index([[0, 2, 2], [], [0], []]))
    assert (index.num_nodes, index.num_hyperedges) == (3, 3)
    nothing = HyperedgeIndex(CHAIN[:, :0])
    assert (nothing.num_nodes, nothing.num_hyperedges) == (0, 0)
    check(nothing)
    check(HyperedgeIndex(CHAIN[:, :0], 2, 3))


def test_everything_is_sorted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    sort = torch.sort

    def counted(*args: object, **kwargs: object) -> object:
        nonlocal count
        count += 1
        return sort(*args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(torch, 'sort', counted)
    drawn = torch.arange(9) % 3 != 1
    tensor = to_index([[1, 0], [2, 1], [3, 2], [4, 3], [5]])
    index = HyperedgeIndex(tensor, 6, 5, drawn_mask=drawn, num_targets=1)
    for part in index.trim(3):
        for each in (part, part.received):
            assert each.by_node is each.by_node
            assert each.by_hyperedge.ptr.numel() == each.num_hyperedges + 1
    assert index.node_degree is index.node_degree
    assert index.received is index.received
    # By node; they come in the order of hyperedges.
    assert count == 1


def test_given_counts_win() -> None:
    degree, size = torch.arange(6) + 7, torch.arange(5) + 3
    index = HyperedgeIndex(CHAIN, 6, 5, degree, size, num_targets=1)
    assert index.node_degree is degree
    assert index.hyperedge_size is size
    assert index.count('node').tolist() == [1, 2, 2, 2, 1, 1]
    part = index.trim(1)[0]
    assert torch.equal(part.node_degree, degree[: part.num_nodes])
    assert torch.equal(part.hyperedge_size, size[: part.num_hyperedges])


@SETTINGS
@given(hypergraphs(1), st.integers(1, 2))
def test_from_data(data: AnchorData, count: int) -> None:
    index = HyperedgeIndex.from_data(data)
    assert torch.equal(index.as_tensor(), data.hyperedge_index)
    assert (index.num_nodes, index.num_hyperedges) == (
        data.num_nodes,
        data.num_hyperedges,
    )
    assert index.drawn_mask is None
    assert index.num_targets is None
    for batch in HyperedgeLoader(data, count, 2, batch_size=2):
        index = HyperedgeIndex.from_data(batch)
        assert index.num_targets == batch.num_targets
        assert torch.equal(index.node_degree, batch.node_degree)
        assert torch.equal(index.hyperedge_size, batch.hyperedge_degree)
        received = index.received
        assert torch.equal(
            received.as_tensor(), batch.hyperedge_index[:, batch.incidence_drawn]
        )
        for part in index.trim(2):
            check(part)
            check(part.received)
            rows = torch.arange(index.num_incidences)
            assert torch.equal(index.as_tensor()[:, part.take(rows)], part.as_tensor())


# Copies ##########################################################################


def check_copies(index: HyperedgeIndex) -> None:
    # The members of a hyperedge, each with its multiplicity, lie in one new hyperedge.
    copies = index.copies
    if copies is None:
        return
    incidence, hyperedge, row = copies
    first = incidence[row]
    assert torch.equal(index.node[first], index.node)
    for number in index.hyperedge.unique().tolist():
        rows = row[index.hyperedge == number]
        (new,) = hyperedge[rows].unique()
        assert sorted(rows.tolist()) == (hyperedge == new).nonzero().view(-1).tolist()
    assert int(hyperedge.max()) < index.num_hyperedges


@SETTINGS
@given(incidences())
def test_copies(drawn: tuple[Tensor, Groups, int]) -> None:
    tensor, groups, num_nodes = drawn
    # Once more in reverse order, so that there are some.
    again = torch.stack([tensor[0], tensor[1] + len(groups)]).flip(1)
    tensor = torch.cat([tensor, again], dim=1)
    index = HyperedgeIndex(tensor, num_nodes, 2 * len(groups))
    assert (index.copies is None) == (tensor.numel() == 0)
    assert index.copies is index.copies
    check_copies(index)


def test_copies_by_hand() -> None:
    groups = [[2, 0], [1], [], [0, 2], [2, 2, 0], [0, 0, 2], [1], [0, 2, 2], [0, 2]]
    copies = HyperedgeIndex(to_index(groups), 3).copies
    assert copies is not None
    # Members in the order of their nodes; [2, 2, 0] has another multiplicity, and is
    # not compared with its own copies, since its nodes are those of [2, 0].
    assert copies.incidence[:3].tolist() == [1, 0, 2]
    assert copies.hyperedge[:3].tolist() == [0, 0, 1]
    assert copies.row[:5].tolist() == [1, 0, 2, 0, 1]
    assert copies.row[-2:].tolist() == [0, 1]
    check_copies(HyperedgeIndex(to_index(groups), 3))


def test_few_copies_are_not_worth_it() -> None:
    groups = [[v, v + 1] for v in range(40)]
    assert HyperedgeIndex(to_index([*groups, [1, 0]])).copies is None
    assert HyperedgeIndex(to_index(groups * 2)).copies is not None
    assert HyperedgeIndex(CHAIN[:, :0], 3, 4).copies is None


def test_copies_of_parts_and_on_devices(device: torch.device) -> None:
    tensor = to_index([[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 4], [4, 3]])
    index = HyperedgeIndex(tensor, 5, 7, num_targets=1)
    assert index.copies is not None
    for part in index.trim(2):
        assert part.copies is not None
        assert part.copies.row.numel() == part.num_incidences
        check_copies(part)
        check_copies(part.received)
    moved = index.to(device)
    assert moved.copies is not None
    for value in moved.copies:
        assert value.device.type == device.type
    check_copies(moved.cpu())


# Parts ###########################################################################


def sizes(part: HyperedgeIndex) -> tuple[int, int, int]:
    return part.num_nodes, part.num_hyperedges, part.received.num_nodes


def test_parts_by_hand() -> None:
    index = HyperedgeIndex(CHAIN, 6, 5, num_targets=1)
    first, last = index.trim(2)
    # Members of the target receive from their groups, which need all their members.
    assert sizes(last) == (3, 2, 2)
    assert sizes(first) == (4, 3, 3)
    assert torch.equal(last.as_tensor(), CHAIN[:, :4])
    assert torch.equal(first.as_tensor(), CHAIN[:, :6])
    assert last.received.rows is not None
    assert last.received.take(torch.arange(4)).tolist() == [0, 1, 2]
    assert last.take(torch.arange(9)).tolist() == [0, 1, 2, 3]
    for part in (first, last):
        check(part)
        check(part.received)
        # Degrees are those of the whole, not of the part.
        assert part.node_degree.tolist() == [1, 2, 2, 2][: part.num_nodes]


def test_what_is_not_drawn_is_not_received(device: torch.device) -> None:
    # Node 1 did not draw its second group.
    drawn = torch.tensor([(v, e) != (1, 1) for v, e in CHAIN.t().tolist()])
    index = HyperedgeIndex(CHAIN, 6, 5, drawn_mask=drawn, num_targets=1).to(device)
    for part in index.trim(2):
        assert sizes(part) == (2, 1, 2)
        assert part.received.num_incidences == 2
        assert part.device.type == part.received.device.type == device.type
    assert torch.equal(index.received.as_tensor().cpu(), CHAIN[:, drawn])


def test_parts_at_the_limits() -> None:
    # More targets than hyperedges, hyperedges without members, and none at all.
    (part,) = HyperedgeIndex(CHAIN, 6, 8, num_targets=7).trim(1)
    assert sizes(part) == (6, 7, 6)
    (part,) = HyperedgeIndex(CHAIN, 6, 5, num_targets=9).trim(1)
    assert sizes(part) == (6, 5, 6)
    (part,) = HyperedgeIndex(CHAIN[:, :0], 0, 0, num_targets=3).trim(1)
    assert sizes(part) == (0, 0, 0)
    (part,) = HyperedgeIndex(CHAIN, 6, 5, num_targets=0).trim(1)
    assert sizes(part) == (0, 0, 0)


@pytest.mark.parametrize('seed', range(3))
def test_any_order_of_incidences(seed: int) -> None:
    perm = torch.randperm(9, generator=torch.Generator().manual_seed(seed))
    drawn = torch.arange(9) != 2
    for tensor, mask in ((CHAIN, drawn), (CHAIN[:, perm], drawn[perm])):
        index = HyperedgeIndex(tensor, 6, 5, drawn_mask=mask, num_targets=2)
        check(index)
        check(index.received)
        assert torch.equal(index.received.as_tensor(), tensor[:, mask])
        parts = index.trim(2)
        found = [sizes(part) for part in parts]
        assert found == [(5, 4, 4), (4, 3, 3)]
        for part in parts:
            check(part)
            check(part.received)
            assert torch.equal(part.take(tensor[0]), part.node)
            received = part.received
            assert torch.equal(received.take(part.node), received.node)
            assert torch.equal(part.take(tensor[1]), part.hyperedge)


# Conversions #####################################################################


def test_moving_takes_everything_along(device: torch.device) -> None:
    drawn = torch.arange(9) % 2 == 0
    index = HyperedgeIndex(CHAIN, 6, 5, drawn_mask=drawn)
    check(index.received)
    moved = index.to(device)
    assert moved is not index
    for each in (moved, moved.received):
        for tensor in (
            *(each.node, each.hyperedge, each.node_degree, each.hyperedge_size),
            *(each.by_node.ptr, each.by_node.source, each.by_hyperedge.ptr),
        ):
            assert tensor.device.type == device.type
    back = moved.cpu()
    check(back)
    check(back.received)
    if torch.cuda.is_available():
        assert index.cuda().device.type == 'cuda'


def test_repr() -> None:
    index = HyperedgeIndex(CHAIN, 7, 5)
    expected = 'num_nodes=7, num_hyperedges=5, num_incidences=9'
    assert repr(index) == f'HyperedgeIndex({expected})'
    drawn = torch.arange(9) < 4
    index = HyperedgeIndex(CHAIN, 7, 5, drawn_mask=drawn, num_targets=2)
    assert repr(index) == f'HyperedgeIndex({expected}, num_drawn=4, num_targets=2)'


def test_what_a_layer_is_given() -> None:
    index = as_hyperedge_index(CHAIN, 8)
    assert (index.num_nodes, index.num_hyperedges) == (8, 5)
    assert as_hyperedge_index(CHAIN, 8, 9).num_hyperedges == 9
    assert as_hyperedge_index(index, 8, 5) is as_hyperedge_index(index) is index
    with one_line_error("'x'", '8', '7'):
        as_hyperedge_index(index, 7)
    with one_line_error("'num_hyperedges'", '5', '4'):
        as_hyperedge_index(index, 8, 4)


def test_bad_arguments() -> None:
    with one_line_error("'hyperedge_index'", '[3, 9]'):
        HyperedgeIndex(torch.zeros(3, 9, dtype=torch.long))
    with one_line_error("'hyperedge_index'", 'int32'):
        HyperedgeIndex(CHAIN.int())
    for name, size in (('node_degree', 6), ('hyperedge_size', 5), ('drawn_mask', 9)):
        with one_line_error(f"'{name}'", f'[{size}]', '[4]'):
            options: dict[str, Any] = {name: torch.ones(4, dtype=torch.bool)}
            HyperedgeIndex(CHAIN, 6, 5, **options)
    with one_line_error("'drawn_mask'", 'int64'):
        HyperedgeIndex(CHAIN, 6, 5, drawn_mask=torch.ones(9, dtype=torch.long))
    with one_line_error("'num_targets'", '-1'):
        HyperedgeIndex(CHAIN, 6, 5, num_targets=-1)
    with one_line_error("'hyperedge_index[0]'", '5', '[0, 4)'):
        HyperedgeIndex(CHAIN, 4, 5).node_degree  # noqa: B018
    with one_line_error("'hyperedge_index[1]'", '-1', '[0, 5)'):
        HyperedgeIndex(CHAIN - 1, 6, 5).hyperedge_size  # noqa: B018


def test_batches_of_pyg() -> None:
    # Sizes of a batch are totals.
    batch: Any = Batch.from_data_list([to_data([[0, 1]], 3), to_data([[1], [0, 1]], 2)])
    index = HyperedgeIndex.from_data(batch)
    assert (index.num_nodes, index.num_hyperedges) == (5, 3)
    assert index.node_degree.tolist() == [1, 1, 0, 1, 2]
