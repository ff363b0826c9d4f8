"""Node centralities of a hypergraph, computed on its incidences."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.utils.exact_sum import BLOCK_TERMS, add_terms_, sum_base_
from tgx_anchor.utils.gathering import gathered_rows
from tgx_anchor.utils.hyperedge_block import hyperedge_blocks, ptr_blocks
from tgx_anchor.utils.incidence import (
    arange_by_ptr,
    check_hyperedge_index,
    collapse_incidences,
    incidence_matrix,
    index_ptr,
    is_sorted,
    transpose_rows,
)
from tgx_anchor.utils.ranks import ALONE, Ranks


def degree(
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    ranks: Ranks = ALONE,
) -> Tensor:
    r"""Counts the incidences of each node, :math:`d_v`.

    Args:
        hyperedge_index (torch.Tensor): The incidences.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        ranks (Ranks, optional): The processes that hold the other hyperedges, if they
            are divided; all get the same result. (default: this process alone)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **output:** :math:`(N)`, integers
    """
    check_hyperedge_index(hyperedge_index, num_nodes, num_hyperedges)
    return ranks.sum_(torch.bincount(hyperedge_index[0], minlength=num_nodes))


class _CliqueProduct:
    # The map x -> W x of the clique expansion, where W has a zero diagonal. Its bits do
    # not depend on the order of hyperedges, nor on their division among processes:
    # on a large table, training amplifies a change of the last digits to another model.
    def __init__(
        self,
        hyperedge_index: Tensor,
        num_nodes: int,
        num_hyperedges: int,
        ranks: Ranks,
    ) -> None:
        self.ranks = ranks
        index, count = _distinct_members(hyperedge_index, num_nodes, num_hyperedges)
        value = None if count is None else count.double()
        # W = H Hᵀ - diag(H Hᵀ) does not depend on the order of hyperedges.
        self.Ht, _ = gathered_rows(index, num_nodes, num_hyperedges, value)
        self.multiplicity = None if count is None else self.Ht.values()
        self.blocks = list(ptr_blocks(self.Ht.crow_indices().long(), BLOCK_TERMS))
        x = torch.ones(num_nodes, dtype=torch.double, device=index.device)
        self.total = x.new_zeros(num_hyperedges)
        # The diagonal is the sum of squared multiplicities. Sums of integers are exact.
        if value is None:
            self.diagonal = torch.bincount(index[0], minlength=num_nodes).double()
        else:
            self.diagonal = scatter(value.square(), index[0], 0, num_nodes, 'sum')
        ranks.sum_(self.diagonal)
        # H Hᵀ 1, the sums of a vector of ones. Added to this base, no integer is
        # rounded.
        self.base = torch.full_like(x, 2.0**50)
        self.reach = self._gather(x, self.base.clone())

    def strength(self) -> Tensor:
        # The sum of each row, W 1.
        return self.reach - self.diagonal

    def __call__(self, x: Tensor, limit: Tensor, out: Tensor) -> Tensor:
        # Writes W x, which must not exceed the limit, to the last argument; the limit
        # is overwritten.
        bound = limit.addcmul_(self.diagonal, x)
        torch.mul(self.reach, x.max(), out=self.base)
        sum_base_(torch.minimum(self.base, bound, out=self.base))
        return self._gather(x, out.copy_(self.base)).addcmul_(
            self.diagonal, x, value=-1
        )

    def _gather(self, x: Tensor, out: Tensor) -> Tensor:
        # H Hᵀ x, from sums that start from the base.
        torch.mv(self.Ht, x, out=self.total)
        ptr, col = self.Ht.crow_indices(), self.Ht.col_indices()
        for block in self.blocks:
            size = torch.diff(ptr[block.first : block.last + 1])
            term = self.total[block.first : block.last].repeat_interleave(size)
            if self.multiplicity is not None:
                term *= self.multiplicity[block.rows]
            add_terms_(out, col[block.rows], term)
        return self.ranks.sum_(out.sub_(self.base))


def _clique_graph(
    hyperedge_index: Tensor, num_nodes: int, num_hyperedges: int
) -> Tensor:
    # Whether two nodes meet at all does not factor through the incidences: this is the
    # one place that builds the (sparse) clique graph.
    size = (num_nodes, num_hyperedges)
    distinct, _ = _distinct_members(hyperedge_index, *size)
    H = incidence_matrix(distinct, *size)
    graph = (H @ incidence_matrix(distinct, *size, transpose=True)).to_sparse()
    index = graph.indices()[:, graph.indices()[0] != graph.indices()[1]]
    return incidence_matrix(index, num_nodes, num_nodes)


def _distinct_members(
    hyperedge_index: Tensor, num_nodes: int, num_hyperedges: int
) -> tuple[Tensor, Tensor | None]:
    # The incidences without repeated members, and how often each of them occurs; None
    # if all occur once, as usual, for which no memory is needed.
    if is_sorted(hyperedge_index[1]):
        blocks = hyperedge_blocks(hyperedge_index[1], num_hyperedges)
        keys = (hyperedge_index[:, block.rows] for block in blocks)
        sorted_keys = (torch.sort(e * num_nodes + v).values for v, e in keys)
        if not any(bool((key[1:] == key[:-1]).any()) for key in sorted_keys):
            return hyperedge_index, None
    distinct, inverse = collapse_incidences(hyperedge_index, num_nodes)
    ones = torch.ones_like(inverse)
    return distinct, scatter(ones, inverse, 0, distinct.size(1), 'sum')


def _power_iteration(
    step: Callable[[Tensor, Tensor], object],
    num_nodes: int,
    device: torch.device,
    max_iter: int,
    tol: float,
) -> Tensor:
    # A step writes the vector that follows its first argument to the second. Both are
    # used again, since large vectors cost more to allocate than to fill.
    if max_iter < 1:
        raise ValueError(f"'max_iter' must be positive (got {max_iter})")
    x = torch.full(
        (num_nodes,), 1 / max(num_nodes, 1), dtype=torch.float64, device=device
    )
    other = torch.zeros_like(x)
    for _ in range(max_iter if num_nodes > 0 else 0):
        step(x, other)
        x, other = other, x
        if other.sub_(x).abs_().sum() < tol:
            break
    return x


def _growth(x: Tensor, out: Tensor, buffer: Tensor) -> float:
    # The largest factor by which a number grows in a step of a power iteration with a
    # nonnegative matrix, which no later step exceeds (Collatz and Wielandt).
    return float(torch.div(out, x, out=buffer).nan_to_num_(nan=0.0).max())


def eigenvector_centrality(
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    weighted: bool = True,
    max_iter: int = 100,
    tol: float = 1e-6,
    ranks: Ranks = ALONE,
) -> Tensor:
    r"""Computes the eigenvector centrality of the clique expansion by the shifted
    power iteration

    .. math::
        \mathbf{x} \leftarrow \frac{\mathbf{x} + \mathbf{W} \mathbf{x}}
        {{\| \mathbf{x} + \mathbf{W} \mathbf{x} \|}_2}, \qquad
        \mathbf{W} \mathbf{x} = \mathbf{H} (\mathbf{H}^{\top} \mathbf{x}) -
        \mathrm{diag}(\mathbf{H} \mathbf{H}^{\top}) \circ \mathbf{x}

    from :math:`1/N`, where :math:`W_{uv}` is the number of hyperedges that
    :math:`u` and :math:`v` share. The clique graph is never built.

    .. note::
        The files published with the edge-dependent node classification datasets
        follow NetworkX: :obj:`weighted=False` and :obj:`tol=num_nodes * 1e-6`.

    Args:
        hyperedge_index (torch.Tensor): The incidences, repeated ones counted.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        weighted (bool, optional): If set to :obj:`False`, all pairs that share a
            hyperedge weigh one; this builds a sparse clique graph.
            (default: :obj:`True`)
        max_iter (int, optional): The largest number of iterations.
            (default: :obj:`100`)
        tol (float, optional): Stops once :math:`{\| \Delta \mathbf{x} \|}_1` is
            below it. (default: :obj:`1e-6`)
        ranks (Ranks, optional): The processes that hold the other hyperedges, if they
            are divided; all get the same result. (default: this process alone)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **output:** :math:`(N)`, in double precision
    """
    check_hyperedge_index(hyperedge_index, num_nodes, num_hyperedges)
    size = num_nodes, num_hyperedges
    device = hyperedge_index.device
    if not weighted:
        if ranks.size > 1:
            raise ValueError(
                "'weighted' must be True with hyperedges in many processes"
            )
        A = _clique_graph(hyperedge_index, *size)

        def graph_step(x: Tensor, out: Tensor) -> None:
            torch.mv(A, x, out=out).add_(x)
            out.div_(torch.linalg.vector_norm(out))

        return _power_iteration(graph_step, num_nodes, device, max_iter, tol)

    product = _CliqueProduct(hyperedge_index, *size, ranks)
    limit = torch.empty_like(product.diagonal)
    growth = math.inf

    def step(x: Tensor, out: Tensor) -> None:
        nonlocal growth
        product(x, torch.mul(x, growth, out=limit), out).add_(x)
        growth = _growth(x, out, limit)
        out.div_(torch.linalg.vector_norm(out))

    return _power_iteration(step, num_nodes, device, max_iter, tol)


def pagerank(
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    damping: float = 0.85,
    max_iter: int = 100,
    tol: float = 1e-6,
    ranks: Ranks = ALONE,
) -> Tensor:
    r"""Computes the PageRank of the weighted clique expansion

    .. math::
        \mathbf{x} \leftarrow \gamma \left( \mathbf{W}
        (\mathbf{x} \oslash \mathbf{W} \mathbf{1}) +
        \frac{1}{N} \sum_{v : {(\mathbf{W} \mathbf{1})}_v = 0} x_v \right) +
        \frac{1 - \gamma}{N}

    from :math:`1/N`, where :math:`W_{uv}` is the number of hyperedges that
    :math:`u` and :math:`v` share. The clique graph is never built.

    .. note::
        The files published with the edge-dependent node classification datasets
        follow NetworkX: :obj:`tol=num_nodes * 1e-6`, which truncates early.

    Args:
        hyperedge_index (torch.Tensor): The incidences, repeated ones counted.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        damping (float, optional): The damping factor :math:`\gamma`.
            (default: :obj:`0.85`)
        max_iter (int, optional): The largest number of iterations.
            (default: :obj:`100`)
        tol (float, optional): Stops once :math:`{\| \Delta \mathbf{x} \|}_1` is
            below it. (default: :obj:`1e-6`)
        ranks (Ranks, optional): The processes that hold the other hyperedges, if they
            are divided; all get the same result. (default: this process alone)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **output:** :math:`(N)`, in double precision, sums to one
    """
    if not 0 <= damping < 1:
        raise ValueError(f"'damping' must lie in [0, 1) (got {damping})")
    check_hyperedge_index(hyperedge_index, num_nodes, num_hyperedges)
    product = _CliqueProduct(hyperedge_index, num_nodes, num_hyperedges, ranks)
    strength = product.strength()
    dangling = strength == 0
    inverse = torch.where(dangling, 0.0, 1 / strength)
    share, limit = strength, torch.zeros_like(strength)
    growth = math.inf

    def step(x: Tensor, out: Tensor) -> None:
        nonlocal growth
        spread = (damping * x[dangling].sum() + (1 - damping)) / num_nodes
        torch.mul(x, inverse, out=share)
        torch.mul(x, growth, out=limit).div_(damping)
        product(share, limit, out).mul_(damping).add_(spread)
        growth = _growth(x, out, limit)

    return _power_iteration(step, num_nodes, hyperedge_index.device, max_iter, tol)


def coreness(
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    ranks: Ranks = ALONE,
) -> Tensor:
    r"""Computes the hypergraph coreness: the largest :math:`k` for which the node is
    left when nodes with fewer than :math:`k` incidences are removed repeatedly, where a
    hyperedge is removed with the first of its members.

    All nodes below the current level are removed at once, so that the time in Python
    grows with the number of rounds, not of nodes.

    Args:
        hyperedge_index (torch.Tensor): The incidences, repeated ones counted.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        ranks (Ranks, optional): The processes that hold the other hyperedges, if they
            are divided; all get the same result. (default: this process alone)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **output:** :math:`(N)`, integers
    """
    check_hyperedge_index(hyperedge_index, num_nodes, num_hyperedges)
    node, hyperedge = hyperedge_index
    if not is_sorted(hyperedge):
        hyperedge, perm = torch.sort(hyperedge, stable=True)
        node = node[perm]
    ptr = index_ptr(hyperedge, num_hyperedges)
    nothing = torch.empty_like(node, dtype=torch.int8)
    star_ptr, star, _ = transpose_rows(ptr, node, nothing, num_nodes)
    star_ptr = star_ptr.long()

    current = ranks.sum_(torch.diff(star_ptr))
    core = torch.zeros_like(current)
    present = torch.ones_like(current, dtype=torch.bool)
    alive = torch.ones(num_hyperedges, dtype=torch.bool, device=node.device)
    remaining = torch.arange(num_nodes, device=node.device)
    while remaining.numel() > 0:
        level = int(current[remaining].min())
        front = remaining[current[remaining] <= level]
        while front.numel() > 0:
            core[front] = level
            present[front] = False
            position, _ = arange_by_ptr(
                star_ptr[front], star_ptr[front + 1] - star_ptr[front]
            )
            dead = star[position]
            dead = torch.unique(dead[alive[dead]])
            alive[dead] = False
            position, _ = arange_by_ptr(ptr[dead], ptr[dead + 1] - ptr[dead])
            touched = node[position]
            touched = ranks.gather(touched[present[touched]])
            current.scatter_add_(0, touched, torch.full_like(touched, -1))
            front = torch.unique(touched[current[touched] <= level])
        remaining = remaining[present[remaining]]
    return core
