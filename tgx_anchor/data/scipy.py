"""Sparse incidence matrices: a row per node, a column per hyperedge."""

from typing import Any, Literal, overload

import numpy as np
from scipy import sparse

from tgx_anchor.data.anchor_data import AnchorData
from tgx_anchor.data.building import (
    IntArray,
    build_data,
    flag_anchors,
    list_anchors,
    list_incidences,
)
from tgx_anchor.utils.messages import one_line, shorten


def read_scipy(matrix: Any, anchor: Any = None) -> AnchorData:
    r"""Reads a sparse incidence matrix.

    Every nonzero entry makes a node a member of a hyperedge; its value is not read.
    Entries that are stored twice are added first, as in SciPy. The members of each
    hyperedge are in the order of the rows.

    Args:
        matrix (scipy.sparse.sparray or scipy.sparse.spmatrix): The incidence matrix,
            in any sparse format.
        anchor (numpy.ndarray or torch.Tensor or list[int], optional): The node that
            anchors each hyperedge, or :obj:`-1` where it is unknown. All are
            unknown if :obj:`None`. (default: :obj:`None`)

    Shapes:
        - **matrix:** :math:`(N, M)`
        - **anchor:** :math:`(M)`
    """
    is_sparse: bool = sparse.issparse(matrix)
    if not is_sparse:
        raise ValueError(
            f"'matrix' must be a sparse matrix of SciPy (got {shorten(matrix)})"
        )
    if matrix.ndim != 2:
        raise ValueError(f"'matrix' must have two dimensions (got {matrix.ndim})")
    if matrix.dtype.kind not in 'biuf':
        raise ValueError(f"'matrix' must hold real numbers (got {matrix.dtype})")
    try:
        # SciPy's conversions trust the indices, and would read beyond the arrays.
        if hasattr(matrix, 'check_format'):
            matrix.check_format(full_check=True)
        entries = sparse.coo_array(matrix)
    except ValueError as error:
        raise ValueError(
            f"'matrix' must be well-formed (got {one_line(error)})"
        ) from error
    with np.errstate(over='ignore', invalid='ignore'):
        entries.sum_duplicates()
    finite = np.isfinite(entries.data)
    if not finite.all():
        bad = int(np.argmin(finite))
        raise ValueError(
            f"'matrix' must be finite (got {entries.data[bad].item()} for node "
            f'{entries.row[bad]} and hyperedge {entries.col[bad]})'
        )
    entries.eliminate_zeros()
    num_nodes, num_hyperedges = matrix.shape
    order = np.lexsort((entries.row, entries.col))
    node = entries.row[order].astype(np.int64)
    hyperedge = entries.col[order].astype(np.int64)
    return build_data(
        node,
        hyperedge,
        flag_anchors(anchor, node, hyperedge, num_nodes, num_hyperedges),
        num_nodes,
        num_hyperedges,
        {},
    )


@overload
def write_scipy(
    data: AnchorData, return_anchor: Literal[False] = False
) -> 'sparse.csr_array[Any, tuple[int, int]]': ...


@overload
def write_scipy(
    data: AnchorData, return_anchor: Literal[True]
) -> 'tuple[sparse.csr_array[Any, tuple[int, int]], IntArray]': ...


def write_scipy(data: AnchorData, return_anchor: bool = False) -> Any:
    r"""Writes a sparse incidence matrix of ones: the inverse of :func:`read_scipy`.

    Attributes, ids and the order of the members are not written.

    Args:
        data (AnchorData): The hypergraph.
        return_anchor (bool, optional): If set to :obj:`True`, will return the node
            that anchors each hyperedge as well, with :obj:`-1` where it is unknown.
            (default: :obj:`False`)

    Shapes:
        - **output:** :math:`(N, M)`, and :math:`(M)` for the anchors
    """
    index = list_incidences(data)
    matrix = sparse.csr_array(
        (np.ones(data.num_incidences), index),
        shape=(int(data.num_nodes or 0), data.num_hyperedges),
    )
    return (matrix, list_anchors(data)) if return_anchor else matrix
