"""Second-order random walks from node to node through shared hyperedges."""

import torch
from torch import Tensor
from torch_geometric.utils import cumsum, scatter
from tqdm import tqdm

from tgx_anchor.utils import (
    arange_by_ptr,
    collapse_incidences,
    distinct_hyperedges,
    index_ptr,
)

# The number of walks that advance together, whose rows fit into the cache.
_BLOCK = 2**16
# The number of memberships that are looked up together.
_LOOKUPS = 2**22
# The largest number of candidates that are drawn at once for the same step.
_MAX_COPIES = 64


class HypergraphWalk:
    r"""Draws the second-order random walks of :class:`AddRandomWalkEmbedding`.

    Candidates are drawn in proportion to :math:`w(c \to x)`, without a clique graph:
    first a hyperedge :math:`e` of :math:`c`, with probability proportional to
    :math:`m_c(e) / |e| \cdot \sum_{u \in e \setminus c} m_u(e) \, d_u^{-1/2}`,
    then its member :math:`x`, with probability proportional to
    :math:`m_x(e) \, d_x^{-1/2}`. They are accepted with probability
    :math:`\beta / \max \beta`, so that the walk has exactly its distribution.
    A candidate is accepted with a probability of at least
    :math:`\min \beta / \max \beta > 0`, independently of earlier ones: the draw ends
    with probability one, after at most :math:`\max \beta / \min \beta` candidates on
    average (8 by default).

    Args:
        hyperedge_index (torch.Tensor): The incidences, sorted by hyperedge.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        p (float): The penalty for staying in the last hyperedge.
        q (float): The penalty for leaving the last neighbourhood.
    """

    def __init__(
        self,
        hyperedge_index: Tensor,
        num_nodes: int,
        num_hyperedges: int,
        p: float,
        q: float,
    ) -> None:
        index, place = collapse_incidences(hyperedge_index, num_nodes)
        several = torch.bincount(index[1], minlength=num_hyperedges) > 1
        kept = several[index[1]]
        count = torch.bincount(place, minlength=index.size(1))[kept]
        degree = torch.bincount(hyperedge_index[0], minlength=num_nodes)
        size = torch.bincount(hyperedge_index[1], minlength=num_hyperedges)
        index = index[:, kept]
        self.node, hyperedge = index

        # Cumulative weights of the members of all hyperedges: each hyperedge has an
        # interval, in which a uniform number picks a member.
        weight = count * degree[self.node].double().rsqrt()
        self.line = cumsum(weight)
        ptr = index_ptr(hyperedge, num_hyperedges)
        total = torch.diff(self.line[ptr])
        weight = torch.diff(self.line)

        # The same for the hyperedges of each node.
        order = torch.argsort(self.node, stable=True)
        node_ptr = index_ptr(self.node[order], num_nodes)
        others = (total[hyperedge] - weight) * count / size[hyperedge]
        self.node_line = cumsum(others[order])
        self.node_begin = self.node_line[node_ptr[:-1]]
        self.node_span = torch.diff(self.node_line[node_ptr])
        self.node_last = node_ptr[1:] - 1

        # For each incidence (c, e): the start of e, the weight of its other members,
        # the start of c and its weight.
        rows = [self.line[ptr[hyperedge]], total[hyperedge] - weight]
        rows += [self.line[:-1], weight]
        self.incidence = torch.stack(rows, dim=1)[order]
        self.last = (ptr[1:] - 1)[hyperedge][order]

        highest = max(1 / p, 1.0, 1 / q)
        # The acceptance of a member of a hyperedge of s and c; of another one that
        # shares a hyperedge with s; of all others.
        self.close = 1 / p / highest
        self.near = 1.0 / highest
        self.far = 1 / q / highest
        self.neighbourhood = Neighbourhood(index, num_nodes, num_hyperedges)
        # Nodes of one distinct group, which therefore holds all of s, c and x.
        self.is_single = self.neighbourhood.degree == 1

    def sample(
        self,
        start: Tensor,
        length: int,
        generator: torch.Generator | None = None,
        progress: bool = False,
    ) -> Tensor:
        r"""Draws one walk from each node in :obj:`start`.

        Args:
            start (torch.Tensor): The first node of each walk.
            length (int): The number of nodes of a walk, the first one included.
            generator (torch.Generator, optional): Draws all random numbers, on its
                own device. (default: :obj:`None`)
            progress (bool, optional): If set to :obj:`True`, will show a bar.
                (default: :obj:`False`)

        Shapes:
            - **start:** :math:`(W)`
            - **output:** :math:`(W, \mathrm{length})`, of 32-bit integers
        """
        walk = start.to(torch.int32).view(-1, 1).repeat(1, length)
        # A node with co-members only meets nodes with co-members.
        moving = (self.node_span[start] > 0).nonzero().view(-1)
        blocks = moving.split(_BLOCK)
        for rows in tqdm(blocks, desc='walks', disable=not progress):
            previous, current = None, start[rows]
            for step in range(1, length):
                previous, current = current, self.step(previous, current, generator)
                walk[rows, step] = current.to(torch.int32)
        return walk

    def step(
        self,
        previous: Tensor | None,
        current: Tensor,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        r"""Draws the next node of each walk.

        Args:
            previous (torch.Tensor or None): The nodes before the current ones;
                :obj:`None` for the first step.
            current (torch.Tensor): The current nodes, which have co-members.
            generator (torch.Generator, optional): Draws all random numbers.
                (default: :obj:`None`)

        Shapes:
            - **previous, current, output:** :math:`(W)`
        """
        out = torch.empty_like(current)
        todo = torch.arange(current.numel(), device=current.device)
        budget = max(current.numel(), 1024)
        while todo.numel() > 0:
            # The last few walks get several candidates each, which saves rounds.
            copies = min(budget // todo.numel(), _MAX_COPIES)
            row = todo.repeat_interleave(copies) if copies > 1 else todo
            node = _take(current, row)
            candidate = self._candidate(node, generator)
            # Equal only where rounding stepped over a border.
            accepted = candidate != node
            if previous is not None:
                last = _take(previous, row)
                accepted &= self._accept(last, node, candidate, generator)
            accepted, candidate = accepted.view(-1, copies), candidate.view(-1, copies)
            # The first of the accepted ones.
            chosen = accepted.byte().argmax(dim=1, keepdim=True)
            done = accepted.gather(1, chosen).view(-1)
            out[todo[done]] = candidate.gather(1, chosen).view(-1)[done]
            todo = todo[~done]
        return out

    def _candidate(self, node: Tensor, generator: torch.Generator | None) -> Tensor:
        draw = _rand(2, node, generator)
        place = draw[0].mul_(_take(self.node_span, node))
        place.add_(_take(self.node_begin, node))
        entry = torch.searchsorted(self.node_line, place, right=True).sub_(1)
        entry = torch.minimum(entry, _take(self.node_last, node))
        begin, span, own, own_weight = _take(self.incidence, entry).unbind(1)
        place = draw[1].mul_(span).add_(begin)
        place.addcmul_(place >= own, own_weight)
        member = torch.searchsorted(self.line, place, right=True).sub_(1)
        return _take(self.node, torch.minimum(member, _take(self.last, entry)))

    def _accept(
        self,
        previous: Tensor,
        node: Tensor,
        candidate: Tensor,
        generator: torch.Generator | None,
    ) -> Tensor:
        # Neighbourhoods are looked up only where the drawn number leaves it open.
        draw = _rand(1, node, generator)[0]
        if_close, if_near = draw < self.close, draw < self.near
        accepted = draw < self.far
        # Where all neighbours are close, none is preferred: each is accepted.
        only = _take(self.is_single, node)
        unsure = (if_close != accepted) | (if_near != accepted)
        row = (unsure & ~only).nonzero().view(-1)
        near = self.neighbourhood.share(_take(previous, row), _take(candidate, row))
        row = row[near]
        accepted[row] = _take(if_near, row)
        row = row[_take(if_close != if_near, row)]
        close = self.neighbourhood.share_all(
            _take(previous, row), _take(node, row), _take(candidate, row)
        )
        row = row[close]
        accepted[row] = _take(if_close, row)
        return accepted | only


class Neighbourhood:
    r"""Tells whether two or three nodes share a hyperedge.

    Pairs of nodes in small hyperedges are listed, up to a number in proportion to the
    incidences. For larger hyperedges, and for three nodes, the hyperedges of the node
    that has fewest are searched for the others. Repeated groups count once, which
    leaves few hyperedges to the hubs of e-mail data.

    Args:
        hyperedge_index (torch.Tensor): The distinct incidences, sorted by hyperedge,
            then node.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        max_pairs (int, optional): The number of pairs to list at most; eight per
            incidence and a million if :obj:`None`. (default: :obj:`None`)
    """

    def __init__(
        self,
        hyperedge_index: Tensor,
        num_nodes: int,
        num_hyperedges: int,
        max_pairs: int | None = None,
    ) -> None:
        self.num_nodes = num_nodes
        number = distinct_hyperedges(hyperedge_index, num_nodes, num_hyperedges)
        every = torch.arange(num_hyperedges, device=number.device)
        first = scatter(every, number, 0, reduce='min')
        index = hyperedge_index[:, (first[number] == every)[hyperedge_index[1]]]
        size = torch.bincount(index[1], minlength=num_hyperedges)
        self.degree = torch.bincount(index[0], minlength=num_nodes)

        if max_pairs is None:
            max_pairs = 8 * hyperedge_index.size(1) + 2**20
        count = torch.bincount(size)
        width = torch.arange(count.numel(), device=count.device)
        num_pairs = (count * (width * (width - 1) // 2)).cumsum(0)
        narrow = size < int((num_pairs <= max_pairs).sum())
        self.pairs = self._list_pairs(index[:, narrow[index[1]]], num_hyperedges)
        self.wide = Membership(index[:, ~narrow[index[1]]], num_nodes)
        self.large = Membership(index[:, (size > 2)[index[1]]], num_nodes)

    def _list_pairs(self, index: Tensor, num_hyperedges: int) -> Tensor:
        node, hyperedge = index
        end = index_ptr(hyperedge, num_hyperedges)[1:][hyperedge]
        place = torch.arange(node.numel(), device=node.device) + 1
        other, owner = arange_by_ptr(place, end - place)
        pairs = torch.unique(node[owner] * self.num_nodes + node[other])
        return _padded(pairs)

    def share(self, a: Tensor, b: Tensor) -> Tensor:
        r"""Returns whether each :obj:`a` is :obj:`b`, or shares a hyperedge with it.

        Shapes:
            - **a, b, output:** :math:`(n)`
        """
        pair = torch.minimum(a, b) * self.num_nodes + torch.maximum(a, b)
        found = _found(self.pairs, pair) | (a == b)
        if self.wide.hyperedge.numel() > 0:
            row = (~found).nonzero().view(-1)
            found[row] = self.wide.common(a[row], b[row])
        return found

    def share_all(self, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        r"""Returns whether each :obj:`a`, :obj:`b` and :obj:`c` share a hyperedge,
        where :obj:`a` and :obj:`b` are known to share one.

        Shapes:
            - **a, b, c, output:** :math:`(n)`
        """
        found = (c == a) | (c == b)
        row = (~found).nonzero().view(-1)
        found[row] = self.large.common(a[row], b[row], c[row])
        return found


class Membership:
    r"""Finds hyperedges of given members.

    Args:
        hyperedge_index (torch.Tensor): The distinct incidences, sorted by hyperedge,
            then node.
        num_nodes (int): The number of nodes :math:`N`.
    """

    def __init__(self, hyperedge_index: Tensor, num_nodes: int) -> None:
        node, hyperedge = hyperedge_index
        self.num_nodes = num_nodes
        self.key = _padded(hyperedge * num_nodes + node)
        order = torch.argsort(node, stable=True)
        self.hyperedge = hyperedge[order]
        self.ptr = index_ptr(node[order], num_nodes)
        self.degree = torch.diff(self.ptr)

    def common(self, *nodes: Tensor) -> Tensor:
        r"""Returns whether some hyperedge holds the n-th node of every argument, in
        time that grows with the number of hyperedges of the least active one.

        Shapes:
            - **nodes, output:** :math:`(n)`
        """
        node = torch.stack(nodes)
        degree, order = self.degree[node].sort(dim=0, stable=True)
        node = node.gather(0, order)
        count = degree[0]
        found = torch.zeros_like(count, dtype=torch.bool)
        # Whole rows, cut where the number of look-ups passes the next multiple.
        part = torch.bincount(count.cumsum(0) // _LOOKUPS)
        row = torch.arange(count.numel(), device=count.device)
        for rows in row.split(part.tolist()):
            place, owner = arange_by_ptr(self.ptr[node[0, rows]], count[rows])
            key, owner = self.hyperedge[place] * self.num_nodes, rows[owner]
            for other in node[1:]:
                held = _found(self.key, key + other[owner])
                key, owner = key[held], owner[held]
            found[owner] = True
        return found


def _padded(key: Tensor) -> Tensor:
    # The last entry is larger than all keys, so that every search ends at an entry.
    return torch.cat([key, key.new_full((1,), torch.iinfo(torch.long).max)])


def _found(sorted_key: Tensor, key: Tensor) -> Tensor:
    return _take(sorted_key, torch.searchsorted(sorted_key, key)) == key


def _take(value: Tensor, index: Tensor) -> Tensor:
    # Twice as fast as 'value[index]'.
    return value.index_select(0, index)


def _rand(count: int, like: Tensor, generator: torch.Generator | None) -> Tensor:
    device = like.device if generator is None else generator.device
    size = (count, like.numel())
    draw = torch.rand(size, generator=generator, dtype=torch.double, device=device)
    return draw.to(like.device)
