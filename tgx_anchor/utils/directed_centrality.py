"""Node centralities of a directed hypergraph, computed on its incidences."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.utils.centrality import _power_iteration
from tgx_anchor.utils.gathering import gather_hyperedges
from tgx_anchor.utils.incidence import (
    arange_by_ptr,
    check_hyperedge_index,
    collapse_incidences,
    incidence_matrix,
    index_ptr,
)

TAIL, HEAD = 0, 1


def check_side(side: Tensor, hyperedge_index: Tensor) -> None:
    r"""Checks that there is one side per incidence: 0 in the tail of its hyperedge, 1
    in its head, -1 if it is unknown.

    Args:
        side (torch.Tensor): The side of each incidence.
        hyperedge_index (torch.Tensor): The incidences.

    Shapes:
        - **side:** :math:`(P)`
        - **hyperedge_index:** :math:`(2, P)`
    """
    size = hyperedge_index.size(1)
    if list(side.size()) != [size] or side.is_floating_point():
        raise ValueError(
            f"'side' must hold {size} integers, one per incidence (got {side.dtype} of "
            f'shape {list(side.size())})'
        )
    outside = side[(side < -1) | (side > HEAD)]
    if outside.numel() > 0:
        raise ValueError(
            f"'side' must be 0 (tail), 1 (head) or -1 (unknown) "
            f'(got {outside[0].item()})'
        )


def out_degree(
    hyperedge_index: Tensor, side: Tensor, num_nodes: int, num_hyperedges: int
) -> Tensor:
    r"""Counts the incidences of each node in tails. With the sides swapped, it counts
    those in heads: see :func:`in_degree`.

    Args:
        hyperedge_index (torch.Tensor): The incidences.
        side (torch.Tensor): The side of each incidence: 0 in the tail, 1 in the head,
            -1 if it is unknown.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **side:** :math:`(P)`
        - **output:** :math:`(N)`, integers
    """
    check_hyperedge_index(hyperedge_index, num_nodes, num_hyperedges)
    check_side(side, hyperedge_index)
    return torch.bincount(hyperedge_index[0, side == TAIL], minlength=num_nodes)


def in_degree(
    hyperedge_index: Tensor, side: Tensor, num_nodes: int, num_hyperedges: int
) -> Tensor:
    r"""Counts the incidences of each node in heads: the :func:`out_degree` with the
    sides swapped, which has the same arguments.

    Args:
        hyperedge_index (torch.Tensor): The incidences.
        side (torch.Tensor): The side of each incidence.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **side:** :math:`(P)`
        - **output:** :math:`(N)`, integers
    """
    check_hyperedge_index(hyperedge_index, num_nodes, num_hyperedges)
    check_side(side, hyperedge_index)
    return torch.bincount(hyperedge_index[0, side == HEAD], minlength=num_nodes)


def swap_sides(side: Tensor) -> Tensor:
    r"""Returns the sides of the reversed hypergraph, in which tails are heads.

    Args:
        side (torch.Tensor): The side of each incidence; unknown ones stay unknown.

    Shapes:
        - **side, output:** :math:`(P)`
    """
    return torch.where(side >= 0, HEAD - side, side)


class _Arcs(NamedTuple):
    # The matrix A of arcs from tails to heads, in factors: A = T Hᵀ - diag(diagonal).
    tail: Tensor
    tail_t: Tensor
    head: Tensor
    head_t: Tensor
    diagonal: Tensor

    def forward(self, x: Tensor) -> Tensor:
        # A x: each node gathers from the heads that it points to.
        return self.tail @ (self.head_t @ x) - self.diagonal * x

    def backward(self, x: Tensor) -> Tensor:
        # Aᵀ x: each node gathers from the tails that point to it.
        return self.head @ (self.tail_t @ x) - self.diagonal * x


def _arcs(
    hyperedge_index: Tensor, side: Tensor, num_nodes: int, num_hyperedges: int
) -> _Arcs:
    check_hyperedge_index(hyperedge_index, num_nodes, num_hyperedges)
    check_side(side, hyperedge_index)
    size = (num_nodes, num_hyperedges)
    distinct, inverse = collapse_incidences(hyperedge_index, num_nodes)
    count = [
        scatter((side == each).double(), inverse, 0, distinct.size(1), 'sum')
        for each in (TAIL, HEAD)
    ]
    # A member on both sides does not point to itself.
    diagonal = scatter(count[0] * count[1], distinct[0], 0, num_nodes, 'sum')
    # Sums do not depend on the order of hyperedges then.
    distinct, perm, _ = gather_hyperedges(distinct, num_hyperedges)
    matrices = []
    for value in count:
        on_side = value[perm] > 0
        index, weight = distinct[:, on_side], value[perm][on_side]
        matrices.append(incidence_matrix(index, *size, value=weight))
        matrices.append(incidence_matrix(index, *size, value=weight, transpose=True))
    tail, tail_t, head, head_t = matrices
    return _Arcs(tail, tail_t, head, head_t, diagonal)


def directed_pagerank(
    hyperedge_index: Tensor,
    side: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    damping: float = 0.85,
    max_iter: int = 100,
    tol: float = 1e-6,
) -> Tensor:
    r"""Computes the PageRank of a walk from tails to heads

    .. math::
        \mathbf{x} \leftarrow \gamma \left( \mathbf{A}^{\top}
        (\mathbf{x} \oslash \mathbf{A} \mathbf{1}) +
        \frac{1}{N} \sum_{v : {(\mathbf{A} \mathbf{1})}_v = 0} x_v \right) +
        \frac{1 - \gamma}{N}, \qquad
        \mathbf{A} = \mathbf{T} \mathbf{H}^{\top}

    from :math:`1/N`, where :math:`A_{uv}` is the number of hyperedges with :math:`u` in
    the tail and :math:`v \neq u` in the head. The product of the incidences in tails
    and in heads, :math:`\mathbf{T} \mathbf{H}^{\top}`, is never built.

    Args:
        hyperedge_index (torch.Tensor): The incidences, repeated ones counted.
        side (torch.Tensor): The side of each incidence: 0 in the tail, 1 in the head,
            -1 if it is unknown.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        damping (float, optional): The damping factor :math:`\gamma`.
            (default: :obj:`0.85`)
        max_iter (int, optional): The largest number of iterations.
            (default: :obj:`100`)
        tol (float, optional): Stops once :math:`{\| \Delta \mathbf{x} \|}_1` is
            below it. (default: :obj:`1e-6`)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **side:** :math:`(P)`
        - **output:** :math:`(N)`, in double precision, sums to one
    """
    if not 0 <= damping < 1:
        raise ValueError(f"'damping' must lie in [0, 1) (got {damping})")
    arcs = _arcs(hyperedge_index, side, num_nodes, num_hyperedges)
    total = arcs.forward(torch.ones_like(arcs.diagonal))
    dangling = total == 0
    inverse = torch.where(dangling, 0.0, 1 / total)

    def step(x: Tensor, out: Tensor) -> None:
        spread = (damping * x[dangling].sum() + (1 - damping)) / num_nodes
        torch.add(damping * arcs.backward(x * inverse), spread, out=out)

    return _power_iteration(step, num_nodes, hyperedge_index.device, max_iter, tol)


def authority(
    hyperedge_index: Tensor,
    side: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    max_iter: int = 100,
    tol: float = 1e-6,
) -> Tensor:
    r"""Computes the authority of each node, the eigenvector centrality of an asymmetric
    matrix from the `"Authoritative Sources in a Hyperlinked Environment"
    <https://doi.org/10.1145/324133.324140>`_ paper, by the power iteration

    .. math::
        \mathbf{x} \leftarrow \frac{\mathbf{A}^{\top} \mathbf{A} \, \mathbf{x}}
        {{\| \mathbf{A}^{\top} \mathbf{A} \, \mathbf{x} \|}_2}

    from :math:`1/N`, where :math:`A_{uv}` is the number of hyperedges with :math:`u` in
    the tail and :math:`v \neq u` in the head. With the sides swapped, it is the hub
    value. It is zero for all nodes if there are no arcs. The eigenvector of
    :math:`\mathbf{A}` itself would be zero in every hypergraph without cycles.

    Args:
        hyperedge_index (torch.Tensor): The incidences, repeated ones counted.
        side (torch.Tensor): The side of each incidence: 0 in the tail, 1 in the head,
            -1 if it is unknown.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        max_iter (int, optional): The largest number of iterations.
            (default: :obj:`100`)
        tol (float, optional): Stops once :math:`{\| \Delta \mathbf{x} \|}_1` is
            below it. (default: :obj:`1e-6`)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **side:** :math:`(P)`
        - **output:** :math:`(N)`, in double precision
    """
    arcs = _arcs(hyperedge_index, side, num_nodes, num_hyperedges)

    def step(x: Tensor, out: Tensor) -> None:
        x = arcs.backward(arcs.forward(x))
        norm: Tensor = torch.linalg.vector_norm(x)
        torch.div(x, norm.clamp(min=torch.finfo(x.dtype).tiny), out=out)

    return _power_iteration(step, num_nodes, hyperedge_index.device, max_iter, tol)


def in_coreness(
    hyperedge_index: Tensor, side: Tensor, num_nodes: int, num_hyperedges: int
) -> Tensor:
    r"""Computes the directed coreness: the largest :math:`k` for which the node is left
    when nodes in fewer than :math:`k` heads are removed repeatedly, where a hyperedge
    counts as long as its tail has a member left.

    These are the :math:`(k, 0)`-cores from the `"D-cores: Measuring Collaboration of
    Directed Graphs Based on Degeneracy"
    <https://doi.org/10.1007/s10115-012-0539-0>`_ paper, generalised to hyperedges with
    several tails. With the sides swapped, they are the :math:`(0, l)`-cores.

    All nodes below the current level are removed at once, so that the time in Python
    grows with the number of rounds, not of nodes.

    Args:
        hyperedge_index (torch.Tensor): The incidences, repeated ones counted.
        side (torch.Tensor): The side of each incidence: 0 in the tail, 1 in the head,
            -1 if it is unknown.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **side:** :math:`(P)`
        - **output:** :math:`(N)`, integers
    """
    check_hyperedge_index(hyperedge_index, num_nodes, num_hyperedges)
    check_side(side, hyperedge_index)
    # The hyperedges by the node in their tail, and the heads by their hyperedge.
    tail, perm = torch.sort(hyperedge_index[0, side == TAIL], stable=True)
    star = hyperedge_index[1, side == TAIL][perm]
    star_ptr = index_ptr(tail, num_nodes)
    hyperedge, perm = torch.sort(hyperedge_index[1, side == HEAD], stable=True)
    head = hyperedge_index[0, side == HEAD][perm]
    ptr = index_ptr(hyperedge, num_hyperedges)

    num_tails = torch.bincount(star, minlength=num_hyperedges)
    current = torch.bincount(head[num_tails[hyperedge] > 0], minlength=num_nodes)
    core = torch.zeros_like(current)
    present = torch.ones_like(current, dtype=torch.bool)
    remaining = torch.arange(num_nodes, device=hyperedge_index.device)
    while remaining.numel() > 0:
        level = int(current[remaining].min())
        front = remaining[current[remaining] <= level]
        while front.numel() > 0:
            core[front] = level
            present[front] = False
            position, _ = arange_by_ptr(
                star_ptr[front], star_ptr[front + 1] - star_ptr[front]
            )
            left, count = torch.unique(star[position], return_counts=True)
            num_tails[left] -= count
            dead = left[num_tails[left] == 0]
            position, _ = arange_by_ptr(ptr[dead], ptr[dead + 1] - ptr[dead])
            touched = head[position]
            touched = touched[present[touched]]
            current.scatter_add_(0, touched, torch.full_like(touched, -1))
            front = torch.unique(touched[current[touched] <= level])
        remaining = remaining[present[remaining]]
    return core
