from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.io.strategies import ODD_VALUES, examples, outcome
from tests.strategies import hypergraphs, one_line_error, to_data, to_groups
from tgx_anchor.data import AnchorData
from tgx_anchor.data.scipy import read_scipy, write_scipy

FORMATS = ('bsr', 'coo', 'csc', 'csr', 'dia', 'dok', 'lil')


def dense() -> Any:
    return np.array([[1.0, 0.0, 0.0], [2.5, 0.0, -1.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize('kind', FORMATS)
@pytest.mark.parametrize('container', [sparse.coo_array, sparse.coo_matrix])
def test_read_scipy_takes_all_formats(kind: str, container: Any) -> None:
    data = read_scipy(container(dense()).asformat(kind), anchor=[0, -1, 2])
    assert to_groups(data) == [[0, 1], [], [1, 2]]
    assert data.num_nodes == 3
    assert data['y'].tolist() == [True, False, False, True]
    assert data.known_mask.tolist() == [True, False, True]


def test_read_scipy_adds_entries_before_it_looks_for_zeros() -> None:
    entries = ([1, -1, 1, 1, 0], ([0, 0, 1, 1, 2], [0, 0, 0, 0, 0]))
    matrix = sparse.coo_array(entries, shape=(3, 1))
    assert to_groups(read_scipy(matrix)) == [[1]]
    assert matrix.data.tolist() == [1, -1, 1, 1, 0]


@pytest.mark.parametrize('anchor', [None, [-1, -1, -1], torch.full((3,), -1)])
def test_read_scipy_without_anchors(anchor: Any) -> None:
    data = read_scipy(sparse.csr_array(dense()), anchor)
    assert data['y'].tolist() == [False] * 4
    assert not data.known_mask.any()


@pytest.mark.parametrize(
    ('matrix', 'anchor', 'names'),
    [
        (dense(), None, ["'matrix'", 'sparse']),
        (sparse.coo_array([1.0, 2.0]), None, ["'matrix'", 'two dimensions']),
        (sparse.csr_array([[1j]]), None, ["'matrix'", 'real', 'complex']),
        (sparse.csr_array([[np.nan]]), None, ["'matrix'", 'nan', 'hyperedge 0']),
        (sparse.csr_array([[0, np.inf]]), None, ["'matrix'", 'inf', 'hyperedge 1']),
        (sparse.csr_array(dense()), [0, -1], ["'anchor'", '3', 'got 2']),
        (sparse.csr_array(dense()), [0, -1, 3], ["'anchor'", '[0, 3)', 'got 3']),
        (sparse.csr_array(dense()), [0, -2, 1], ["'anchor'", 'got -2', 'hyperedge 1']),
        (sparse.csr_array(dense()), [2, -1, 1], ["'anchor'", 'node 2', 'hyperedge 0']),
        (sparse.csr_array(dense()), [0, 0, 1], ["'anchor'", 'node 0', 'hyperedge 1']),
        (
            sparse.csr_array(dense()),
            [0, None, 1],
            ["'anchor'", 'integers', '[0, None, 1]'],
        ),
        (sparse.csr_array(dense()), np.zeros(3), ["'anchor'", 'integers', '0.']),
        (sparse.csr_array(dense()), [[0], [1], [1]], ["'anchor'", '[[0], [1], [1]]']),
        (sparse.csr_array(dense()), 1, ["'anchor'", 'list', 'got 1']),
    ],
)
def test_read_scipy_refuses(matrix: Any, anchor: Any, names: list[str]) -> None:
    with one_line_error(*names):
        read_scipy(matrix, anchor)


def test_read_scipy_refuses_indices_that_lie() -> None:
    for part, lie in (('indices', [2**20, 0, 2, 2]), ('indptr', [0, 3, 1, 4])):
        matrix = sparse.csr_array(dense())
        getattr(matrix, part)[:] = lie
        with one_line_error("'matrix'", 'well-formed'):
            read_scipy(matrix)
    entries = sparse.coo_array(dense())
    entries.coords[0][0] = -1
    with one_line_error("'matrix'", 'well-formed', 'axis 0'):
        read_scipy(entries)


@given(hypergraphs(max_anchors=1))
@examples(50)
def test_scipy_round_trip(data: AnchorData) -> None:
    matrix, anchor = write_scipy(data, return_anchor=True)
    assert isinstance(matrix, sparse.csr_array)
    assert matrix.shape == (data.num_nodes, data.num_hyperedges)
    assert set(matrix.data.tolist()) <= {1.0}
    again = read_scipy(matrix, anchor)
    expected = data.sort(sort_by_row=True)
    assert again.num_nodes == data.num_nodes
    assert again.num_hyperedges == data.num_hyperedges
    assert torch.equal(again.hyperedge_index, expected.hyperedge_index)
    assert torch.equal(again['y'], expected['y'])


def test_scipy_methods() -> None:
    data = to_data([[1, 0], [2]], 3, [[1], []])
    matrix, anchor = data.to_scipy(return_anchor=True)
    assert (matrix.toarray() == data.to_scipy().toarray()).all()
    assert anchor.tolist() == [1, -1]
    assert to_groups(AnchorData.from_scipy(matrix, anchor)) == [[0, 1], [2]]


def test_write_scipy_without_labels() -> None:
    _, anchor = write_scipy(to_data([[0], []], 1), return_anchor=True)
    assert anchor.tolist() == [-1, -1]


def test_write_scipy_refuses_what_a_matrix_cannot_say() -> None:
    with one_line_error('node 0', 'hyperedge 1'):
        write_scipy(to_data([[1], [0, 0]], 2))
    several = to_data([[1], [0, 1]], 2, [[1], [0, 1]])
    assert write_scipy(several).nnz == 3
    with one_line_error('hyperedge 1', 'got 2', "'to_hif'"):
        write_scipy(several, return_anchor=True)


CELLS = st.sampled_from([0.0, 1.0, -1.0, 2.0, np.nan, np.inf, -np.inf, 1e308])


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), CELLS), max_size=8),
    st.none()
    | st.lists(st.integers(-1, 2), min_size=4, max_size=4)
    | st.lists(st.integers(-2, 3) | st.sampled_from(ODD_VALUES), max_size=5),
    st.sampled_from(FORMATS),
)
@examples(50)
def test_read_scipy_is_right_or_refuses(
    entries: list[tuple[int, int, float]], anchor: list[Any] | None, kind: str
) -> None:
    row, col, value = ([entry[i] for entry in entries] for i in range(3))
    with np.errstate(all='ignore'):
        entered: Any = sparse.coo_array((value, (row, col)), shape=(3, 4))
        matrix = entered.asformat(kind)
        array = matrix.toarray()
    groups = [[v for v in range(3) if array[v, e] != 0] for e in range(4)]
    expected: list[list[int]] | None = groups
    if anchor is not None and (
        len(anchor) != 4
        or any(isinstance(a, bool | np.bool_) for a in anchor)
        or any(not isinstance(a, int | np.integer) for a in anchor)
        or any(a != -1 and a not in g for a, g in zip(anchor, groups, strict=True))
    ):
        expected = None
    if not np.isfinite(array).all():
        expected = None
    data = outcome(lambda: read_scipy(matrix, anchor))
    assert (None if data is None else to_groups(data)) == expected
    if data is not None and anchor is not None:
        assert data['y'].tolist() == [
            v == a for g, a in zip(groups, anchor, strict=True) for v in g
        ]
