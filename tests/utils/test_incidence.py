from collections.abc import Callable

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.strategies import (
    SETTINGS,
    Groups,
    groupings,
    incidences,
    one_line_error,
    to_index,
)
from tgx_anchor.utils import (
    arange_by_ptr,
    check_hyperedge_index,
    collapse_incidences,
    distinct_hyperedges,
    incidence,
    incidence_fingerprint,
    incidence_matrix,
    index_ptr,
    is_sorted,
)
from tgx_anchor.utils.incidence import transpose_rows

EMPTY = torch.empty((2, 0), dtype=torch.long)
# A constant, hashes that collide often, and sums of members: {0, 3} and {1, 2} agree.
WEAK_HASHES: dict[str, Callable[[Tensor], Tensor]] = {
    'constant': torch.zeros_like,
    'parity': lambda value: value % 2,
    'identity': lambda value: value,
}


def dense(groups: Groups, num_nodes: int) -> Tensor:
    matrix = torch.zeros(num_nodes, len(groups), dtype=torch.float64)
    for e, group in enumerate(groups):
        for v in group:
            matrix[v, e] += 1
    return matrix


def number_sets(groups: Groups) -> list[int]:
    seen: dict[frozenset[int], int] = {}
    return [seen.setdefault(frozenset(group), len(seen)) for group in groups]


@pytest.mark.parametrize(
    ('index', 'sizes'),
    [
        (EMPTY, (0, 0)),
        (EMPTY, (3, 2)),
        (torch.tensor([[0], [0]]), (1, 1)),
        (torch.tensor([[4, 0], [0, 2]]), (5, 3)),
    ],
)
def test_check_accepts(index: Tensor, sizes: tuple[int, int]) -> None:
    check_hyperedge_index(index, *sizes)


@pytest.mark.parametrize(
    ('index', 'sizes', 'names'),
    [
        ([[0, -1], [0, 0]], (3, 2), ("'hyperedge_index[0]'", 'num_nodes', '-1')),
        ([[0, 3], [0, 0]], (3, 2), ("'hyperedge_index[0]'", '[0, 3)', 'column 1')),
        ([[0, 0], [-7, 0]], (3, 2), ("'hyperedge_index[1]'", '-7', 'column 0')),
        ([[0, 0], [0, 2]], (3, 2), ("'hyperedge_index[1]'", 'num_hyperedges')),
        ([[0], [0]], (0, 1), ("'hyperedge_index[0]'", '[0, 0)')),
        ([[0], [0]], (-1, 1), ("'num_nodes'", '-1')),
        ([[0], [0]], (1, -2), ("'num_hyperedges'", '-2')),
        ([[0.0], [0.0]], (1, 1), ("'hyperedge_index'", 'torch.float32')),
        ([[False], [False]], (1, 1), ("'hyperedge_index'", 'torch.bool')),
        ([0, 0], (1, 1), ("'hyperedge_index'", '[2]')),
        ([[0], [0], [0]], (1, 1), ("'hyperedge_index'", '[3, 1]')),
        ([[[0]], [[0]]], (1, 1), ("'hyperedge_index'", '[2, 1, 1]')),
    ],
)
def test_check_rejects(
    index: list[object], sizes: tuple[int, int], names: tuple[str, ...]
) -> None:
    with one_line_error(*names):
        check_hyperedge_index(torch.tensor(index), *sizes)


@SETTINGS
@given(st.lists(st.integers(-2, 3), max_size=6))
def test_is_sorted(values: list[int]) -> None:
    assert is_sorted(torch.tensor(values, dtype=torch.long)) == (
        values == sorted(values)
    )


@SETTINGS
@given(groupings(repeated_members=True))
def test_index_ptr(drawn: tuple[Groups, int]) -> None:
    groups, _ = drawn
    expected = [sum(map(len, groups[:e])) for e in range(len(groups) + 1)]
    assert index_ptr(to_index(groups)[1], len(groups)).tolist() == expected


@SETTINGS
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 4)), max_size=6))
@example([])
@example([(3, 0)])
@example([(0, 0), (5, 2), (5, 2), (9, 0), (1, 1)])
def test_arange_by_ptr(ranges: list[tuple[int, int]]) -> None:
    start, count = torch.tensor(ranges, dtype=torch.long).view(-1, 2).t()
    position, owner = arange_by_ptr(start, count)
    assert position.tolist() == [s + j for s, c in ranges for j in range(c)]
    assert owner.tolist() == [i for i, (_, c) in enumerate(ranges) for _ in range(c)]


@SETTINGS
@given(incidences())
def test_incidence_matrix(drawn: tuple[Tensor, Groups, int]) -> None:
    index, groups, num_nodes = drawn
    before = index.clone()
    expected = dense(groups, num_nodes)
    # Repeated incidences are separate entries: a product adds them up.
    H = incidence_matrix(index, num_nodes, len(groups))
    assert H.layout == torch.sparse_csr
    assert H.size() == (num_nodes, len(groups))
    assert H.values().tolist() == [1.0] * index.size(1)
    assert torch.equal(H @ torch.eye(len(groups), dtype=torch.float64), expected)
    Ht = incidence_matrix(index, num_nodes, len(groups), transpose=True)
    assert torch.equal(Ht @ torch.eye(num_nodes, dtype=torch.float64), expected.t())
    assert torch.equal(index, before)


@SETTINGS
@given(incidences(), st.booleans())
def test_incidence_matrix_values(
    drawn: tuple[Tensor, Groups, int], transpose: bool
) -> None:
    index, groups, num_nodes = drawn
    value = torch.arange(1, index.size(1) + 1, dtype=torch.float32)
    expected = torch.zeros(num_nodes, len(groups))
    for (v, e), entry in zip(index.t().tolist(), value.tolist(), strict=True):
        expected[v, e] += entry
    expected = expected.t() if transpose else expected
    H = incidence_matrix(index, num_nodes, len(groups), value, transpose)
    assert H.dtype == torch.float32
    assert torch.equal(H @ torch.eye(expected.size(1)), expected)


def test_incidence_matrix_dtype(device: torch.device) -> None:
    index = torch.tensor([[1, 0], [0, 1]], device=device)
    H = incidence_matrix(index, 2, 2, dtype=torch.float32)
    assert H.dtype == torch.float32
    assert H.device.type == device.type
    assert incidence_matrix(index, 2, 2).dtype == torch.float64


@pytest.mark.parametrize('dtype', [torch.double, torch.int8])
def test_transpose_rows(dtype: torch.dtype, device: torch.device) -> None:
    # The matrix [[0, 1, 2], [0, 0, 0], [3, 4, 0]], whose last entry comes in two parts.
    ptr = torch.tensor([0, 2, 2, 5], device=device)
    col = torch.tensor([1, 2, 0, 1, 1], device=device)
    value = torch.tensor([1, 2, 3, 3, 1], dtype=dtype, device=device)
    found = transpose_rows(ptr, col, value, 4)
    assert [part.dtype for part in found] == [torch.int32, torch.int32, dtype]
    assert found[0].tolist() == [0, 1, 4, 5, 5]
    assert found[1].tolist() == [2, 0, 2, 2, 0]
    assert found[2].tolist() == [3, 1, 3, 1, 2]


@SETTINGS
@given(incidences())
def test_collapse_incidences(drawn: tuple[Tensor, Groups, int]) -> None:
    index, groups, num_nodes = drawn
    before = index.clone()
    distinct, inverse = collapse_incidences(index, num_nodes)
    pairs = sorted({(e, v) for e, group in enumerate(groups) for v in group})
    assert distinct.t().tolist() == [[v, e] for e, v in pairs]
    assert torch.equal(distinct[:, inverse], index)
    assert torch.equal(index, before)


@SETTINGS
@given(groupings(repeated_members=True))
def test_collapse_of_distinct_incidences_is_the_identity(
    drawn: tuple[Groups, int],
) -> None:
    groups, num_nodes = drawn
    index = to_index([sorted(set(group)) for group in groups])
    distinct, inverse = collapse_incidences(index, num_nodes)
    assert torch.equal(distinct, index)
    assert inverse.tolist() == list(range(index.size(1)))


def test_collapse_by_hand(device: torch.device) -> None:
    index = torch.tensor([[2, 0, 2, 1, 2], [0, 0, 0, 1, 1]], device=device)
    distinct, inverse = collapse_incidences(index, 3)
    assert distinct.tolist() == [[0, 2, 1, 2], [0, 0, 1, 1]]
    assert inverse.tolist() == [1, 0, 1, 2, 3]


@SETTINGS
@given(incidences())
def test_distinct_hyperedges(drawn: tuple[Tensor, Groups, int]) -> None:
    index, groups, num_nodes = drawn
    before = index.clone()
    number = distinct_hyperedges(index, num_nodes, len(groups))
    assert number.tolist() == number_sets(groups)
    assert torch.equal(index, before)


@pytest.mark.parametrize('name', WEAK_HASHES)
@SETTINGS
@given(drawn=incidences())
def test_collisions_cost_no_correctness(
    name: str, drawn: tuple[Tensor, Groups, int]
) -> None:
    index, groups, num_nodes = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(incidence, 'mix_bits', WEAK_HASHES[name])
        number = distinct_hyperedges(index, num_nodes, len(groups))
    assert number.tolist() == number_sets(groups)


@pytest.mark.parametrize('name', [None, *WEAK_HASHES])
def test_distinct_hyperedges_by_hand(
    name: str | None, device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name is not None:
        monkeypatch.setattr(incidence, 'mix_bits', WEAK_HASHES[name])
    groups = [[0, 3], [1, 2], [], [3, 0, 0], [3], [2, 1], [0, 1, 2], [], [0, 1, 3]]
    index = to_index(groups).to(device)
    number = distinct_hyperedges(index, 4, len(groups))
    assert number.tolist() == [0, 1, 2, 0, 3, 1, 4, 2, 5]


@pytest.mark.parametrize('name', [None, *WEAK_HASHES])
def test_distinct_hyperedges_of_many(
    name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name is not None:
        monkeypatch.setattr(incidence, 'mix_bits', WEAK_HASHES[name])
    generator = torch.Generator().manual_seed(0)
    member = torch.randint(0, 9, (3000, 4), generator=generator)
    index = torch.stack([member.flatten(), torch.arange(3000).repeat_interleave(4)])
    number = distinct_hyperedges(index, 9, 3000).tolist()
    assert number == number_sets(member.tolist())
    assert 200 < len(set(number)) < 3000


def test_mix_is_injective() -> None:
    value = torch.cat([torch.arange(100_000), torch.arange(100_000) << 32])
    assert torch.unique(incidence.mix_bits(value)).numel() == 199_999
    # Sums of few values stand for sets: no two of all pairs agree.
    mixed = incidence.mix_bits(torch.arange(1500))
    pairs = torch.combinations(mixed).sum(dim=1)
    assert torch.unique(pairs).numel() == 1500 * 1499 // 2


@SETTINGS
@given(incidences())
def test_fingerprint_ignores_the_order(drawn: tuple[Tensor, Groups, int]) -> None:
    index, groups, num_nodes = drawn
    value = incidence_fingerprint(index, num_nodes)
    assert value == incidence_fingerprint(to_index(groups), num_nodes)


def test_fingerprint_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    index = torch.randint(0, 50, (2, 20), generator=torch.Generator().manual_seed(0))
    whole = incidence_fingerprint(index, 50)
    code = incidence.mix_bits(index[1] * 50 + index[0]).sum()
    assert whole == int(code)
    monkeypatch.setattr(incidence, '_BLOCK_ROWS', 7)
    assert incidence_fingerprint(index, 50) == whole


def test_fingerprints_tell_hypergraphs_apart() -> None:
    groups = [[0, 1], [1, 2], [2, 0, 3]]
    index = to_index(groups)
    others = [(index, 5), (to_index(groups[::-1]), 4), (to_index(groups[:2]), 4)]
    for column in range(index.size(1)):
        for row in range(2):
            for step in (1, -1):
                changed = index.clone()
                changed[row, column] += step
                others.append((changed, 4))
    others.append((torch.cat([index, index[:, :1]], dim=1), 4))
    values = {incidence_fingerprint(*other) for other in [*others, (index, 4)]}
    assert len(values) == len(others) + 1


@settings(SETTINGS, max_examples=10)
@given(incidences())
def test_second_device(drawn: tuple[Tensor, Groups, int]) -> None:
    index, groups, num_nodes = drawn
    size = (num_nodes, len(groups))
    in_order = index[:, torch.argsort(index[1], stable=True)]

    def run(index: Tensor, in_order: Tensor) -> list[Tensor]:
        ptr = index_ptr(in_order[1], size[1])
        ones = torch.ones(size[1], dtype=torch.double, device=index.device)
        return [
            ptr,
            *arange_by_ptr(ptr[:-1], torch.diff(ptr)),
            incidence_matrix(index, *size) @ ones,
            *collapse_incidences(index, num_nodes),
            distinct_hyperedges(index, *size),
        ]

    with second_device() as device:
        moved = (index.to(device), in_order.to(device))
        check_hyperedge_index(moved[0], *size)
        assert is_sorted(moved[1][1])
        found = run(*moved)
        assert all(part.device == device for part in found)
        fingerprint = incidence_fingerprint(moved[0], num_nodes)
    assert fingerprint == incidence_fingerprint(index, num_nodes)
    for part, expected in zip(found, run(index, in_order), strict=True):
        assert torch.equal(part.cpu(), expected)
