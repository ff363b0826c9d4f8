"""Hyperedges sorted by their last node, which makes products faster."""

import torch
from torch import Tensor
from torch_geometric.utils import cumsum

from tgx_anchor.utils.hyperedge_block import ptr_blocks
from tgx_anchor.utils.incidence import (
    arange_by_ptr,
    csr_matrix,
    index_ptr,
    transpose_rows,
)


def gather_hyperedges(
    hyperedge_index: Tensor, num_hyperedges: int
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Renumbers hyperedges in the order of the largest node number among their
    members, so that hyperedges of the same nodes are close in memory. Products with the
    incidence matrix of a large hypergraph are limited by memory access, and become
    several times faster.

    Nodes are mostly numbered in the order of their first appearance, so that the
    largest number is that of the rarest member. The rarest members are then read in
    order, and the others are more often frequent nodes, which stay in the cache.

    Args:
        hyperedge_index (torch.Tensor): The incidences, sorted by hyperedge.
        num_hyperedges (int): The number of hyperedges :math:`M`.

    Returns:
        The renumbered incidences, sorted again; the old place of each of them; and the
        old number of each hyperedge.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **output:** :math:`(2, P)`, :math:`(P)` and :math:`(M)`
    """
    start, count, order = _gather(hyperedge_index, num_hyperedges)
    perm, renumbered = arange_by_ptr(start, count)
    return torch.stack([hyperedge_index[0][perm], renumbered]), perm, order


def gathered_rows(
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    value: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    r"""Returns the transpose of the sparse incidence matrix
    :math:`\mathbf{H} \in \mathbb{R}^{N \times M}` in compressed rows, with hyperedges
    in the order of :func:`gather_hyperedges`. It is built block by block, which needs
    no other vector over all incidences.

    Args:
        hyperedge_index (torch.Tensor): The incidences, sorted by hyperedge.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        value (torch.Tensor, optional): The entry of each incidence; if :obj:`None`,
            ones in double precision. (default: :obj:`None`)

    Returns:
        The matrix, and the old number of each hyperedge.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **value:** :math:`(P)`
        - **output:** :math:`(M, N)` and :math:`(M)`
    """
    node = hyperedge_index[0]
    start, count, order = _gather(hyperedge_index, num_hyperedges)
    ptr = cumsum(count)
    size = max(num_nodes, num_hyperedges, node.numel())
    is_small = size <= torch.iinfo(torch.int32).max
    dtype = torch.int32 if is_small else torch.long
    col = torch.empty_like(node, dtype=dtype)
    if value is None:
        entry = torch.ones_like(col, dtype=torch.double)
    else:
        entry = torch.empty_like(value)
    for block in ptr_blocks(ptr):
        chosen = slice(block.first, block.last)
        place, _ = arange_by_ptr(start[chosen], count[chosen])
        col[block.rows] = node[place].to(dtype)
        if value is not None:
            entry[block.rows] = value[place]
    return csr_matrix(ptr.to(dtype), col, entry, (num_hyperedges, num_nodes)), order


def gathered_matrices(
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    value: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Returns the sparse incidence matrix
    :math:`\mathbf{H} \in \mathbb{R}^{N \times M}` and its transpose, both in compressed
    rows, with hyperedges in the order of :func:`gather_hyperedges`. They are built
    block by block, which needs no other vector over all incidences.

    Args:
        hyperedge_index (torch.Tensor): The incidences, sorted by hyperedge.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        value (torch.Tensor, optional): The entry of each incidence; if :obj:`None`,
            ones in double precision, which both matrices share.
            (default: :obj:`None`)

    Returns:
        The matrix, its transpose, and the old number of each hyperedge.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **value:** :math:`(P)`
        - **output:** :math:`(N, M)`, :math:`(M, N)` and :math:`(M)`
    """
    Ht, order = gathered_rows(hyperedge_index, num_nodes, num_hyperedges, value)
    ptr, col, entry = Ht.crow_indices(), Ht.col_indices(), Ht.values()
    # Ones need not be moved: a column of bytes, which takes less memory, is transposed.
    moved = entry if value is not None else torch.empty_like(col, dtype=torch.int8)
    t_ptr, t_col, t_entry = transpose_rows(ptr, col, moved, num_nodes)
    if value is None:
        t_entry = entry
    H = csr_matrix(t_ptr, t_col, t_entry, (num_nodes, num_hyperedges))
    return H, Ht, order


def _gather(
    hyperedge_index: Tensor, num_hyperedges: int
) -> tuple[Tensor, Tensor, Tensor]:
    # The first incidence, the size and the old number of each hyperedge, in the order
    # of the largest number among their members. Empty ones come first.
    node, hyperedge = hyperedge_index
    ptr = index_ptr(hyperedge, num_hyperedges)
    largest = torch.full_like(ptr[:-1], -1)
    largest.scatter_reduce_(0, hyperedge, node, 'amax')
    order = torch.argsort(largest, stable=True)
    return ptr[order], torch.diff(ptr)[order], order
