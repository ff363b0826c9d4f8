"""Generates synthetic group interactions with known anchor strengths."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import InMemoryDataset

from tgx_anchor.data import AnchorData

# The share of groups with a single member, as in the co-authorship datasets.
_SINGLETONS = 0.1
# The tail exponent of activity: few people are in very many groups.
_ACTIVITY_TAIL = 1.5
# The reach of a group along the line of people, as a number of people.
_REACH = 25.0
_ROLES = ['anchor', 'member']


class PlantedAnchorDataset(InMemoryDataset):
    r"""Seeded synthetic group interactions of any size, which follow the two
    observations of the `"Identifying Group Anchors in Real-World Group Interactions
    Under Label Scarcity" <https://arxiv.org/abs/2509.20762>`_ paper.

    Each person :math:`v` has an activity :math:`a_v` with a heavy tail and a strength

    .. math::
        s_v = \beta \left( \rho \, z(\log a_v) + \sqrt{1 - \rho^2} \, \epsilon_v
        \right), \qquad \epsilon_v \sim \mathcal{N}(0, 1),

    where :math:`z` standardises. People are placed on a line, and groups are drawn
    among neighbours; active people are drawn more often and reach further. Some groups
    have one member, some occur several times. In each group :math:`e`, the members
    compete for the anchor, :math:`P(v \mid e) = \exp(s_v) / \sum_{u \in e} \exp(s_u)`.
    So the degree hints at the anchor, but does not decide it (Observation 1), and the
    anchors of different groups tend to be the same people (Observation 2).

    **Directed and typed groups.** With :obj:`directed`, every member has a side in
    every group, the tail more often the higher its own tendency is; with
    :obj:`num_types`, every group has a type. The strength of a person then depends on
    this context :math:`c`,

    .. math::
        s_{v,c} = \sqrt{1 - \kappa} \, s_v + \sqrt{\kappa} \, \beta \, \epsilon_{v,c},

    where :math:`\epsilon_{v,c}` is normal and has the correlation :math:`\rho` with the
    tendency of the person to be on this side. With :math:`\kappa = 0`, sides and types
    say nothing about anchors. Groups are the same as without them.

    The data holds :obj:`y`, :obj:`role`, the planted :obj:`node_strength`, numbers as
    :obj:`node_id` and :obj:`hyperedge_id`, and a :obj:`source` that names the arguments
    it was drawn with.

    .. code-block:: python

        data = PlantedAnchorDataset(num_nodes=1000, num_hyperedges=2000, seed=0)[0]

    Args:
        num_nodes (int, optional): The number of people. (default: :obj:`1000`)
        num_hyperedges (int, optional): The number of groups. (default: :obj:`10000`)
        mean_size (float, optional): The mean size of a group before repeated members
            are merged, which makes it a little smaller. (default: :obj:`3.0`)
        repeat (float, optional): The share of groups that are copies of another one,
            with an anchor of their own. (default: :obj:`0.2`)
        correlation (float, optional): The correlation :math:`\rho` of strength with
            activity. (default: :obj:`0.25`)
        scale (float, optional): The standard deviation :math:`\beta` of the strengths;
            zero makes all anchors random. (default: :obj:`2.5`)
        directed (bool, optional): If set to :obj:`True`, adds
            :obj:`incidence_side`. (default: :obj:`False`)
        num_types (int, optional): If larger than zero, adds :obj:`hyperedge_type`, with
            this number of types. (default: :obj:`0`)
        context (float, optional): The share :math:`\kappa` of the variance of strengths
            that belongs to sides and types. (default: :obj:`0.5`)
        seed (int, optional): The seed of all random draws. (default: :obj:`0`)
        transform (callable, optional): A function that takes the data on every
            access and returns a transformed version. (default: :obj:`None`)
    """

    def __init__(
        self,
        num_nodes: int = 1000,
        num_hyperedges: int = 10000,
        mean_size: float = 3.0,
        repeat: float = 0.2,
        correlation: float = 0.25,
        scale: float = 2.5,
        directed: bool = False,
        num_types: int = 0,
        context: float = 0.5,
        seed: int = 0,
        transform: Callable[[AnchorData], AnchorData] | None = None,
    ) -> None:
        for name, count in (
            ('num_nodes', num_nodes),
            ('num_hyperedges', num_hyperedges),
        ):
            if count < 1:
                raise ValueError(f"'{name}' must be positive (got {count})")
        if not 2 <= mean_size < np.inf:
            raise ValueError(f"'mean_size' must lie in [2, inf) (got {mean_size})")
        if not 0 <= repeat < 1:
            raise ValueError(f"'repeat' must lie in [0, 1) (got {repeat})")
        if not -1 <= correlation <= 1:
            raise ValueError(f"'correlation' must lie in [-1, 1] (got {correlation})")
        if not 0 <= scale < np.inf:
            raise ValueError(f"'scale' must lie in [0, inf) (got {scale})")
        if num_types < 0:
            raise ValueError(f"'num_types' must not be negative (got {num_types})")
        if not 0 <= context <= 1:
            raise ValueError(f"'context' must lie in [0, 1] (got {context})")
        super().__init__(None, transform)
        self.seed = seed
        rng = np.random.default_rng(seed)
        activity = 1 + rng.pareto(_ACTIVITY_TAIL, num_nodes)
        strength = _strengths(rng, activity, correlation) * scale
        num_new = max(num_hyperedges - round(repeat * num_hyperedges), 1)
        node, hyperedge = _draw_groups(rng, activity, num_new, mean_size)
        node, hyperedge = _repeat_groups(rng, node, hyperedge, num_new, num_hyperedges)
        # The largest of the strengths plus Gumbel noise is a draw from their softmax.
        member = strength[node]
        contexts: dict[str, Any] = {}
        if directed or num_types > 0:
            # Draws of their own leave the groups as they are.
            own, contexts = _draw_contexts(
                np.random.default_rng([seed, 1]),
                (node, hyperedge, num_hyperedges),
                num_nodes,
                directed,
                num_types,
                correlation,
            )
            member = np.sqrt(1 - context) * member + np.sqrt(context) * scale * own
            contexts['incidence_strength'] = _to_float(member)
        noisy = member + rng.gumbel(size=node.size)
        best = np.full(num_hyperedges, -np.inf)
        np.maximum.at(best, hyperedge, noisy)
        y = torch.from_numpy(noisy == best[hyperedge])
        data = AnchorData(
            hyperedge_index=torch.from_numpy(np.stack([node, hyperedge])),
            num_nodes=num_nodes,
            num_hyperedges=num_hyperedges,
            y=y,
            role=(~y).long(),
            role_names=_ROLES,
            node_strength=_to_float(strength),
            **contexts,
            node_id=torch.arange(num_nodes),
            hyperedge_id=torch.arange(num_hyperedges),
            # Other arguments draw other people.
            source=(
                f'planted {num_nodes} {num_hyperedges} {mean_size:g} {repeat:g} '
                f'{correlation:g} {scale:g} seed {seed}'
                + (f' {directed:d} {num_types} {context:g}' if contexts else '')
            ),
        )
        self.data, self.slices = self.collate([data])

    @property
    def roles(self) -> list[str]:
        r"""The names of the roles, in the order of their numbers."""
        return list(_ROLES)

    def __repr__(self) -> str:
        data: Any = self.get(0)
        return (
            f'{self.__class__.__name__}(num_nodes={data.num_nodes}, '
            f'num_hyperedges={data.num_hyperedges}, seed={self.seed})'
        )


def _strengths(
    rng: np.random.Generator, activity: NDArray[np.float64], correlation: float
) -> NDArray[np.float64]:
    log_activity = np.log(activity)
    known = (log_activity - log_activity.mean()) / max(log_activity.std(), 1e-12)
    own = rng.standard_normal(activity.size)
    return np.asarray(correlation * known + np.sqrt(1 - correlation**2) * own)


def _to_float(value: NDArray[np.float64]) -> Tensor:
    return torch.from_numpy(value).to(torch.get_default_dtype())


def _draw_contexts(
    rng: np.random.Generator,
    groups: tuple[NDArray[np.int64], NDArray[np.int64], int],
    num_nodes: int,
    directed: bool,
    num_types: int,
    correlation: float,
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    # The part of the strength of each member that belongs to its context, and sides
    # and types.
    node, hyperedge, num_hyperedges = groups
    out: dict[str, Any] = {}
    side = np.zeros(node.size, dtype=np.int64)
    kind = np.zeros(num_hyperedges, dtype=np.int64)
    tendency = rng.standard_normal(num_nodes)
    if directed:
        is_tail = rng.random(node.size) < 1 / (1 + np.exp(-tendency[node]))
        side = 1 - is_tail.astype(np.int64)
        out['incidence_side'] = torch.from_numpy(side)
    if num_types > 0:
        kind = rng.integers(num_types, size=num_hyperedges)
        out['hyperedge_type'] = torch.from_numpy(kind)
        out['hyperedge_type_names'] = [f'type {k}' for k in range(num_types)]
    own = rng.standard_normal((num_nodes, 2, max(num_types, 1)))
    if directed:
        hint = np.stack([tendency, -tendency], axis=1)[:, :, None]
        own = correlation * hint + np.sqrt(1 - correlation**2) * own
    return np.asarray(own[node, side, kind[hyperedge]]), out


def _draw_groups(
    rng: np.random.Generator,
    activity: NDArray[np.float64],
    num_groups: int,
    mean_size: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    num_nodes = activity.size
    extra = (mean_size - _SINGLETONS) / (1 - _SINGLETONS) - 2
    size = 1 + rng.geometric(1 / (1 + max(extra, 0.0)), num_groups)
    size[rng.random(num_groups) < _SINGLETONS] = 1
    size = np.minimum(size, num_nodes)

    # Seats are given out in proportion to activity, but everybody gets one first.
    num_seats = int(size.sum())
    seats = np.zeros(num_nodes, dtype=np.int64)
    seats[rng.permutation(num_nodes)[:num_seats]] = 1
    share = activity / activity.sum()
    seats += rng.multinomial(max(num_seats - num_nodes, 0), share)
    node = np.repeat(np.arange(num_nodes), seats)
    # Groups are runs of seats along a line; people with many seats also reach far.
    reach = _REACH * np.sqrt(1 + seats)
    order = np.argsort(node + reach[node] * rng.standard_cauchy(node.size))
    hyperedge = np.repeat(np.arange(num_groups), size)
    key = np.unique(hyperedge * num_nodes + node[order])
    return key % num_nodes, key // num_nodes


def _repeat_groups(
    rng: np.random.Generator,
    node: NDArray[np.int64],
    hyperedge: NDArray[np.int64],
    num_new: int,
    num_total: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    # Each copy picks its original, popular ones more often; then all are shuffled.
    weight = np.cumsum(1 + rng.pareto(_ACTIVITY_TAIL, num_new))
    drawn = rng.random(num_total - num_new) * weight[-1]
    origin = np.concatenate([np.arange(num_new), np.searchsorted(weight, drawn)])
    origin = origin[rng.permutation(num_total)]
    size = np.bincount(hyperedge, minlength=num_new)
    start = np.cumsum(size) - size
    count = size[origin]
    offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return (
        node[np.repeat(start[origin], count) + offset],
        np.repeat(np.arange(num_total), count),
    )
