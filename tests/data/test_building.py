"""The parts that readers and writers share, against plain loops."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import SETTINGS, hypergraphs, one_line_error, to_data, to_groups
from tgx_anchor.data import AnchorData
from tgx_anchor.data.building import (
    build_data,
    check_anchors,
    check_ids,
    check_matrix,
    check_max_anchors,
    find_repeats,
    flag_anchors,
    get_matrix,
    list_anchors,
    list_flags,
    list_ids,
    list_incidences,
    list_roles,
    list_sides,
    list_types,
    merge_repeats,
    to_features,
    to_integers,
    to_numpy,
    warn_unwritten,
)

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)


@SETTINGS
@given(PAIRS, st.sampled_from([1, 2**40]))
def test_find_repeats(pairs: list[tuple[int, int]], scale: int) -> None:
    node, hyperedge = np.array(pairs, dtype=np.int64).reshape(-1, 2).T * scale
    expected = [i for i, pair in enumerate(pairs) if pair in pairs[:i]]
    assert find_repeats(node, hyperedge).tolist() == expected


@SETTINGS
@given(PAIRS.map(lambda pairs: list(dict.fromkeys(pairs))))
def test_build_data_sorts_by_hyperedge(pairs: list[tuple[int, int]]) -> None:
    node, hyperedge = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    y = np.arange(len(node)) % 3 == 0
    order = {'incidence_order': torch.arange(len(node))}
    data = build_data(node, hyperedge, y, 4, 4, order, node_id=list('abcd'))
    assert to_groups(data) == [[v for v, e in pairs if e == j] for j in range(4)]
    by_edge = sorted(range(len(pairs)), key=lambda i: pairs[i][1])
    assert data.incidence_order.tolist() == by_edge
    assert data['y'].tolist() == [i % 3 == 0 for i in by_edge]
    assert data.node_id == list('abcd')


def test_check_anchors() -> None:
    hyperedge = np.array([0, 0, 1, 1])
    y = np.array([True, True, False, False])
    locate = 'row {}'.format
    check_anchors(hyperedge, y, ['x', 'y'], 2, locate)
    with one_line_error("group 'x'", 'at most 1', 'got 2', 'row 1', "'max_anchors'"):
        check_anchors(hyperedge, y, ['x', 'y'], 1, locate)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3))), st.booleans())
def test_merge_repeats(pairs: list[tuple[int, int]], large: bool) -> None:
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2) * (2**60 if large else 1)
    place, code = merge_repeats(array[:, 0], array[:, 1])
    assert place.tolist() == [i for i, p in enumerate(pairs) if p not in pairs[:i]]
    distinct = list(dict.fromkeys(pairs))
    assert code.tolist() == [distinct.index(pair) for pair in pairs]


@pytest.mark.parametrize('limit', [0, -1, 1.0, True, '1'])
def test_check_max_anchors(limit: Any) -> None:
    check_max_anchors(None)
    check_max_anchors(3)
    with one_line_error("'max_anchors'"):
        check_max_anchors(limit)


def test_to_integers() -> None:
    for value in ([1, -2], np.array([1, -2], 'i2'), torch.tensor([1, -2])):
        out = to_integers('a', value)
        assert out.dtype == np.int64
        assert out.tolist() == [1, -2]
    assert to_integers('a', []).tolist() == []
    odd: list[Any] = [
        [1.0],
        [True, 1],
        ['1'],
        [None],
        3,
        'ab',
        [[1]],
        [[1], 2],
        [2**64],
    ]
    for value in [*odd, np.ones(2), np.array([2**63], 'u8'), torch.tensor(1)]:
        with one_line_error("'a' must"):
            to_integers('a', value)


@SETTINGS
@given(hypergraphs(max_anchors=1))
def test_anchors_round_trip(data: AnchorData) -> None:
    node, hyperedge = list_incidences(data)
    size = int(data.num_nodes or 0), data.num_hyperedges
    y = flag_anchors(list_anchors(data), node, hyperedge, *size)
    assert y.tolist() == data['y'].tolist()
    assert not flag_anchors(None, node, hyperedge, *size).any()


def test_numbers_fit_in_32_bits() -> None:
    matrix = check_matrix('m', np.array([[1, 2]]))
    assert to_features(matrix).tolist() == [[1.0, 2.0]]
    assert to_numpy('m', torch.tensor([1.5]).half()).dtype == np.float32
    with one_line_error("'m'", '32 bits', '1e+39 in position 1'):
        check_matrix('m', np.array([[0.0, 1.0], [2.0, 1e39]]))
    with one_line_error("'m'", 'numbers', "'a'"):
        check_matrix('m', np.array([['a']]))
    with one_line_error("'m'", 'dense'):
        to_numpy('m', torch.zeros(2).to_sparse())


def test_writers_list_names() -> None:
    data = to_data([[1, 0], [1]], 2, [[1], []])
    assert list_ids(data, 'node_id', 2) == [0, 1]
    assert list_flags(data) == [True, False, None]
    assert list_roles(data) is None
    data.node_id, data.role = ['a', 'b'], torch.tensor([1, 0, 1])
    assert list_ids(data, 'node_id', 2) == ['a', 'b']
    assert list_roles(data) == [1, 0, 1]
    data.role_names = ['to', 'cc']
    assert list_roles(data) == ['cc', 'to', 'cc']
    data.role_names = ['to']
    with one_line_error("'role'", '[0, 1)', 'got 1'):
        list_roles(data)
    assert list_sides(data) is None
    data.incidence_side = torch.tensor([1, 0, -1])
    assert list_sides(data) == ['head', 'tail', None]
    assert list_types(data, 'node_type') is None
    data.node_type = torch.tensor([-1, 1])
    assert list_types(data, 'node_type') == [None, 1]
    data.node_type_names = ['x', 'y']
    assert list_types(data, 'node_type') == [None, 'y']


def test_get_matrix() -> None:
    data = to_data([[0]], 1)
    assert get_matrix(data, 'x') is None
    data.x = torch.tensor([3])
    matrix = get_matrix(data, 'x')
    assert matrix is not None
    assert matrix.tolist() == [[3.0]]
    data.x = torch.zeros(1, 1, 1)
    with one_line_error("'x'", 'dimensions', '[1, 1, 1]'):
        get_matrix(data, 'x')


@pytest.mark.parametrize(
    'ids', [['a', 'a'], ['a', ''], ['a', 1], [1, 'a'], [True], [1.5], torch.ones(1)]
)
def test_check_ids(ids: Any) -> None:
    assert check_ids('id', torch.tensor([3, 1])) == [3, 1]
    with one_line_error("'id' must", 'position'):
        check_ids('id', ids)


def test_warn_unwritten() -> None:
    data = to_data([[0]], 1, [[0]])
    data.node_colour = torch.ones(1)
    with pytest.warns(UserWarning, match="^a file does not hold 'node_colour'$"):
        warn_unwritten(data, ('y',), 'a file')
