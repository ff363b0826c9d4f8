"""Index arithmetic on incidences: checks, pointers, matrices, distinct groups."""

import warnings

import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch_geometric.utils import cumsum, scatter

# The number of incidences of a block, where work is done in blocks.
_BLOCK_ROWS = 1 << 22


def check_hyperedge_index(
    hyperedge_index: Tensor, num_nodes: int, num_hyperedges: int
) -> None:
    r"""Raises a :class:`ValueError` if the incidences do not fit their sizes.

    Args:
        hyperedge_index (torch.Tensor): The incidences.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
    """
    if hyperedge_index.dim() != 2 or hyperedge_index.size(0) != 2:
        raise ValueError(
            f"'hyperedge_index' must have the shape [2, num_incidences] "
            f'(got {list(hyperedge_index.size())})'
        )
    if hyperedge_index.dtype != torch.long:
        raise ValueError(
            f"'hyperedge_index' must hold 64-bit integers (got {hyperedge_index.dtype})"
        )
    for row, name, size in (
        (0, 'num_nodes', num_nodes),
        (1, 'num_hyperedges', num_hyperedges),
    ):
        if size < 0:
            raise ValueError(f"'{name}' must not be negative (got {size})")
        bad = (hyperedge_index[row] < 0) | (hyperedge_index[row] >= size)
        if bad.any():
            column = int(bad.nonzero()[0])
            raise ValueError(
                f"'hyperedge_index[{row}]' must lie in [0, {size}), its '{name}' "
                f'(got {int(hyperedge_index[row, column])} in column {column})'
            )


def is_sorted(index: Tensor) -> bool:
    r"""Returns :obj:`True` if :obj:`index` never decreases."""
    return bool((index[1:] >= index[:-1]).all())


def index_ptr(index: Tensor, size: int) -> Tensor:
    r"""Returns the CSR pointer of a sorted :obj:`index`.

    Args:
        index (torch.Tensor): The sorted group of each element.
        size (int): The number of groups.

    Shapes:
        - **index:** :math:`(P)`
        - **output:** :math:`(\mathrm{size} + 1)`
    """
    return cumsum(torch.bincount(index, minlength=size))


def arange_by_ptr(start: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    r"""Concatenates the ranges :obj:`start[i], ..., start[i] + count[i] - 1`.

    Returns:
        The concatenated ranges, and for each element the :obj:`i` it came from.
    """
    owner = torch.repeat_interleave(count)
    offset = cumsum(count)
    position = torch.arange(owner.numel(), device=start.device)
    return position + (start - offset[:-1])[owner], owner


def incidence_matrix(
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    value: Tensor | None = None,
    transpose: bool = False,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    r"""Returns the sparse incidence matrix
    :math:`\mathbf{H} \in \mathbb{R}^{N \times M}` in compressed rows, so that a product
    costs one pass over the incidences.

    Repeated incidences stay separate entries and add up in a product.

    Args:
        hyperedge_index (torch.Tensor): The incidences, in any order.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        value (torch.Tensor, optional): The entry of each incidence, one if
            :obj:`None`. (default: :obj:`None`)
        transpose (bool, optional): If set to :obj:`True`, will return
            :math:`\mathbf{H}^{\top}` instead. (default: :obj:`False`)
        dtype (torch.dtype, optional): The type of the entries where
            :obj:`value` is :obj:`None`. (default: :obj:`torch.float64`)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **value:** :math:`(P)`
        - **output:** :math:`(N, M)`, or :math:`(M, N)` if transposed
    """
    row, col = hyperedge_index.flip(0) if transpose else hyperedge_index
    size = (num_hyperedges, num_nodes) if transpose else (num_nodes, num_hyperedges)
    if value is None:
        value = torch.ones(row.numel(), dtype=dtype, device=row.device)
    # Half the memory, and MKL would convert 64-bit indices to it in each product.
    is_small = max(*size, col.numel()) <= torch.iinfo(torch.int32).max
    if is_sorted(row):
        ptr = index_ptr(row, size[0])
    elif is_sorted(col):
        ptr, col, value = transpose_rows(index_ptr(col, size[1]), row, value, size[0])
    else:
        row, perm = torch.sort(row, stable=True)
        col, value = col[perm], value[perm]
        ptr = index_ptr(row, size[0])
    if is_small:
        ptr, col = ptr.int(), col.int()
    return csr_matrix(ptr, col, value, size)


def csr_matrix(
    ptr: Tensor, col: Tensor, value: Tensor, size: tuple[int, int]
) -> Tensor:
    r"""Returns a sparse matrix in compressed rows, without checks of its indices.

    Args:
        ptr (torch.Tensor): Where each row begins.
        col (torch.Tensor): The column of each entry.
        value (torch.Tensor): The entries.
        size (tuple[int, int]): The numbers of rows :math:`R` and of columns :math:`C`.

    Shapes:
        - **ptr:** :math:`(R + 1)`
        - **col, value:** :math:`(P)`
        - **output:** :math:`(R, C)`
    """
    with warnings.catch_warnings():
        # PyTorch calls its CSR layout "beta" on first use; users cannot act on it.
        warnings.filterwarnings('ignore', message='Sparse CSR tensor support')
        return torch.sparse_csr_tensor(ptr, col, value, size, check_invariants=False)


def transpose_rows(
    ptr: Tensor, col: Tensor, value: Tensor, num_columns: int
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Transposes a matrix in compressed rows. Entries of the same row of the result
    keep their order.

    Args:
        ptr (torch.Tensor): Where each row begins.
        col (torch.Tensor): The column of each entry.
        value (torch.Tensor): The entries.
        num_columns (int): The number of columns :math:`C`.

    Returns:
        The same three tensors of the transpose, with indices of 32 bits where they fit.

    Shapes:
        - **ptr:** :math:`(R + 1)`
        - **col, value:** :math:`(P)`
        - **output:** :math:`(C + 1)`, :math:`(P)` and :math:`(P)`
    """
    num_rows = ptr.numel() - 1
    is_small = max(num_rows, num_columns, col.numel()) <= torch.iinfo(torch.int32).max
    if is_small and col.device.type == 'cpu':
        # SciPy counts instead of sorting: several times faster, with a quarter of the
        # memory.
        parts = (value.numpy(), col.int().numpy(), ptr.int().numpy())
        out = csr_array(parts, shape=(num_rows, num_columns)).tocsc()
        ptr, col, value = map(torch.from_numpy, (out.indptr, out.indices, out.data))
        return ptr, col, value
    row = torch.repeat_interleave(torch.diff(ptr))
    col, perm = torch.sort(col, stable=True)
    ptr, col = index_ptr(col, num_columns), row[perm]
    return (ptr.int(), col.int(), value[perm]) if is_small else (ptr, col, value[perm])


def collapse_incidences(
    hyperedge_index: Tensor, num_nodes: int
) -> tuple[Tensor, Tensor]:
    r"""Merges repeated members of a hyperedge, sorting by hyperedge, then node.

    Args:
        hyperedge_index (torch.Tensor): The incidences, in any order.
        num_nodes (int): The number of nodes :math:`N`.

    Returns:
        The distinct incidences, and for each given one its place among them.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **output:** :math:`(2, P')` and :math:`(P)`
    """
    key = hyperedge_index[1] * num_nodes + hyperedge_index[0]
    if bool((key[1:] > key[:-1]).all()):
        return hyperedge_index, torch.arange(key.numel(), device=key.device)
    key, inverse = torch.unique(key, return_inverse=True)
    node, hyperedge = key % max(num_nodes, 1), key // max(num_nodes, 1)
    return torch.stack([node, hyperedge]), inverse


def mix_bits(value: Tensor) -> Tensor:
    r"""Scrambles 64-bit integers one to one (multiply, fold the high half down), so
    that sums of the results can stand for sets.

    Shapes:
        - **value:** :math:`(*)`
        - **output:** :math:`(*)`
    """
    value = (value + 1) * -7046029254386353131
    value = (value ^ ((value >> 32) & 0xFFFFFFFF)) * -4417276706812531889
    return value ^ ((value >> 29) & 0x7FFFFFFFF)


def incidence_fingerprint(
    hyperedge_index: Tensor, num_nodes: int, first_hyperedge: int = 0
) -> int:
    r"""Computes a number that tells hypergraphs apart and does not depend on the order
    of their incidences. The numbers of parts of a hypergraph add up to that of the
    whole, modulo :math:`2^{64}`.

    Args:
        hyperedge_index (torch.Tensor): The incidences.
        num_nodes (int): The number of nodes :math:`N`.
        first_hyperedge (int, optional): The number of the first hyperedge of a part.
            (default: :obj:`0`)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
    """
    total = 0
    # In blocks, since each step of the mixing makes another vector.
    for node, hyperedge in zip(
        *(row.split(_BLOCK_ROWS) for row in hyperedge_index), strict=True
    ):
        code = mix_bits((hyperedge + first_hyperedge) * num_nodes + node)
        total += int(code.sum())
    return (total + 2**63) % 2**64 - 2**63


def _refine_by_member(label: Tensor, start: Tensor, member: Tensor) -> Tensor:
    # Exact: after round k, two hyperedges share a label if and only if their first
    # k sorted members agree. All hyperedges here have the same size where they share
    # a label; those alone in their class need no further comparison.
    position = 0
    size = torch.diff(start)
    active = torch.arange(label.numel(), device=label.device)
    while True:
        _, inverse, count = torch.unique(
            label[active], return_inverse=True, return_counts=True
        )
        active = active[(count[inverse] > 1) & (size[active] > position)]
        if active.numel() == 0:
            return label
        pair = torch.stack([label[active], member[start[active] + position]])
        _, inverse = torch.unique(pair, dim=1, return_inverse=True)
        label[active] = inverse + int(label.max()) + 1
        position += 1


def node_set_hash(
    hyperedge_index: Tensor, num_nodes: int, num_hyperedges: int
) -> Tensor:
    r"""Computes a number of 64 bits for each hyperedge, the same for the same nodes.
    Different sets of nodes very rarely share it.

    Args:
        hyperedge_index (torch.Tensor): The incidences, in any order. Members
            repeated in a hyperedge count once.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **output:** :math:`(M)`
    """
    (member, hyperedge), _ = collapse_incidences(hyperedge_index, num_nodes)
    return scatter(mix_bits(member), hyperedge, 0, num_hyperedges, 'sum')


def distinct_hyperedges(
    hyperedge_index: Tensor, num_nodes: int, num_hyperedges: int
) -> Tensor:
    r"""Numbers the distinct node sets: two hyperedges get the same number if and
    only if they hold the same nodes.

    Sets are compared by hash, and every match is then verified member by member,
    so that a collision costs time, never correctness.

    Args:
        hyperedge_index (torch.Tensor): The incidences, in any order. Members
            repeated in a hyperedge count once.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **output:** :math:`(M)`, numbered in order of first appearance
    """
    index, _ = collapse_incidences(hyperedge_index, num_nodes)
    member, hyperedge = index
    ptr = index_ptr(hyperedge, num_hyperedges)
    size = torch.diff(ptr)
    hashed = node_set_hash(index, num_nodes, num_hyperedges)
    _, label = torch.unique(hashed, return_inverse=True)
    _, label = torch.unique(label * (member.numel() + 1) + size, return_inverse=True)

    # Each class is represented by its first hyperedge.
    order = torch.arange(num_hyperedges, device=label.device)
    first = scatter(order, label, 0, reduce='min')
    twin = first[label][hyperedge]
    offset = torch.arange(member.numel(), device=member.device) - ptr[hyperedge]
    differs = member != member[ptr[twin] + offset]
    if differs.any():
        collided = torch.zeros(first.numel(), dtype=torch.bool, device=label.device)
        collided[label[hyperedge[differs]]] = True
        chosen = collided[label].nonzero().view(-1)
        position, owner = arange_by_ptr(ptr[chosen], size[chosen])
        label[chosen] = (
            int(label.max())
            + 1
            + _refine_by_member(
                label[chosen],
                index_ptr(owner, chosen.numel()),
                member[position],
            )
        )
        _, label = torch.unique(label, return_inverse=True)
        first = scatter(order, label, 0, reduce='min')
    number: Tensor = torch.unique(first[label], return_inverse=True)[1]
    return number
