"""Order statistics of the values of incidences in each hyperedge."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.utils.incidence import index_ptr, mix_bits


class GroupOrder(NamedTuple):
    r"""The incidences of each hyperedge in descending order of value.

    Shapes:
        - **perm:** :math:`(P)`, the incidence at each sorted position
        - **first:** :math:`(P)`, the sorted position at which the run of equal
          values in the same hyperedge begins
        - **ptr:** :math:`(M + 1)`, where each hyperedge begins
        - **hyperedge:** :math:`(P)`, the hyperedge of each sorted position
    """

    perm: Tensor
    first: Tensor
    ptr: Tensor
    hyperedge: Tensor

    def by_incidence(self, value: Tensor) -> Tensor:
        r"""Brings values of sorted positions back to the order of incidences."""
        return torch.empty_like(value).scatter_(0, self.perm, value)


def group_order(value: Tensor, hyperedge: Tensor, num_hyperedges: int) -> GroupOrder:
    r"""Sorts the incidences of each hyperedge by descending :obj:`value`.

    Args:
        value (torch.Tensor): The value of each incidence. Integers are faster; their
            range times :math:`M` must stay below :math:`2^{63}`.
        hyperedge (torch.Tensor): The sorted hyperedge of each incidence.
        num_hyperedges (int): The number of hyperedges :math:`M`.

    Shapes:
        - **value:** :math:`(P)`
        - **hyperedge:** :math:`(P)`
    """
    if value.is_floating_point():
        _, level = torch.unique(value, return_inverse=True)
    else:
        # The range of narrow integers does not fit into their own type.
        level = value.long()
    low, high = torch.aminmax(level) if level.numel() > 0 else (0, 0)
    # One stable sort of one integer key; hyperedges are nearly in place already.
    key = hyperedge * (high - low + 1) + (high - level)
    perm = torch.argsort(key, stable=True)
    ranked = value.index_select(0, perm)
    starts = torch.ones_like(hyperedge, dtype=torch.bool)
    starts[1:] = (hyperedge[1:] != hyperedge[:-1]) | (ranked[1:] != ranked[:-1])
    position = torch.arange(value.numel(), device=value.device)
    first = torch.where(starts, position, 0)
    if first.numel() > 0:
        first = first.cummax(0).values
    return GroupOrder(perm, first, index_ptr(hyperedge, num_hyperedges), hyperedge)


def group_rank(value: Tensor, hyperedge: Tensor, num_hyperedges: int) -> Tensor:
    r"""Counts the strictly larger values in the same hyperedge.

    Args:
        value (torch.Tensor): The value of each incidence.
        hyperedge (torch.Tensor): The sorted hyperedge of each incidence.
        num_hyperedges (int): The number of hyperedges :math:`M`.

    Shapes:
        - **output:** :math:`(P)`, integers from zero; equal values share a rank
    """
    order = group_order(value, hyperedge, num_hyperedges)
    return order.by_incidence(order.first - order.ptr[hyperedge])


def draw_priority(
    size: int, seed: int, first: int = 0, device: torch.device | None = None
) -> Tensor:
    r"""Draws a number for each incidence, by which equals are ordered: the higher one
    comes first. It depends on nothing but the seed and the number of the incidence, so
    that a part of a hypergraph gets the same draws as the whole.

    Args:
        size (int): The number of incidences.
        seed (int): The seed.
        first (int, optional): The number of the first incidence.
            (default: :obj:`0`)
        device (torch.device, optional): The device. (default: :obj:`None`)

    Shapes:
        - **output:** :math:`(P)`, in :math:`[0, 1)`, in double precision
    """
    number = torch.arange(first, first + size, device=device)
    # Seeds may be unsigned.
    word = (seed + 2**63) % 2**64 - 2**63
    start = mix_bits(torch.tensor(word, device=device))
    # As many bits as double precision holds.
    return ((mix_bits(number ^ start) >> 11) & (2**53 - 1)).double().mul_(2.0**-53)


def group_topk(
    value: Tensor,
    hyperedge_index: Tensor,
    num_hyperedges: int,
    k: int = 1,
    priority: Tensor | None = None,
) -> Tensor:
    r"""Returns the :obj:`k` nodes of highest value in each hyperedge, best first.

    Args:
        value (torch.Tensor): The value of each incidence.
        hyperedge_index (torch.Tensor): The incidences, sorted by hyperedge.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        k (int, optional): The number of nodes. (default: :obj:`1`)
        priority (torch.Tensor, optional): The order of equal values, highest first, as
            :func:`draw_priority` draws it. If :obj:`None`, they keep the order of their
            incidences. (default: :obj:`None`)

    Shapes:
        - **value, priority:** :math:`(P)`
        - **hyperedge_index:** :math:`(2, P)`
        - **output:** :math:`(M, k)`, :obj:`-1` where a hyperedge has fewer members
    """
    node, hyperedge = hyperedge_index
    if priority is not None:
        shuffle = torch.argsort(priority, descending=True, stable=True)
        shuffle = shuffle[torch.argsort(hyperedge[shuffle], stable=True)]
        node, value = node[shuffle], value[shuffle]
    order = group_order(value, hyperedge, num_hyperedges)
    offset = torch.arange(value.numel(), device=value.device) - order.ptr[hyperedge]
    chosen = offset < k
    out = torch.full((num_hyperedges, k), -1, device=node.device)
    out[hyperedge[chosen], offset[chosen]] = node[order.perm[chosen]]
    return out


def relative_to_group(
    value: Tensor, hyperedge: Tensor, num_hyperedges: int
) -> tuple[Tensor, Tensor]:
    r"""Compares the values of each incidence with those of the same hyperedge: with
    their mean, and with the largest value among the *other* members.

    The second difference is positive for a member that is alone at the top, and zero
    for members that share it. It is zero in a hyperedge of one member, too.

    Args:
        value (torch.Tensor): The values of each incidence, finite floating-point
            numbers; columns are independent.
        hyperedge (torch.Tensor): The sorted hyperedge of each incidence.
        num_hyperedges (int): The number of hyperedges :math:`M`.

    Returns:
        The values minus their mean, and minus the best of the other members.

    Shapes:
        - **value:** :math:`(P, F)`
        - **hyperedge:** :math:`(P)`
        - **output:** :math:`(P, F)` and :math:`(P, F)`
    """
    mean = scatter(value, hyperedge, 0, num_hyperedges, 'mean')
    best = scatter(value, hyperedge, 0, num_hyperedges, 'max')
    top = best.index_select(0, hyperedge)
    is_top = value == top
    count = scatter(is_top.long(), hyperedge, 0, num_hyperedges, 'sum')
    lower = value.masked_fill(is_top, -torch.inf)
    second = scatter(lower, hyperedge, 0, num_hyperedges, 'max')
    # Those that share the top have each other as the best other member.
    rival = torch.where(count == 1, second, best).index_select(0, hyperedge)
    other = torch.where(is_top, rival, top)
    # Nobody is below the only member of a hyperedge.
    minus_best = torch.where(torch.isneginf(other), 0.0, value - other)
    return value - mean.index_select(0, hyperedge), minus_best
