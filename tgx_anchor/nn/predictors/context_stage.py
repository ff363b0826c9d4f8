"""Stage 2 of ContextAnchorRadar: learning and aggregation of strengths by context."""

import time
from collections.abc import Iterator
from math import isinf

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.functional import StrengthProblem, aggregate_strength
from tgx_anchor.nn.functional.strength_loss import StrengthBuffers, strength_gradient
from tgx_anchor.nn.models.context_strength import ContextStrength
from tgx_anchor.nn.predictors.fit_run import Record


def by_context(
    data: AnchorData, cell: Tensor, num_contexts: int
) -> tuple[AnchorData, Tensor, Tensor]:
    r"""Returns the hypergraph whose nodes are the pairs of a node and a context that
    occur, with the node and the context of each pair, and its cell.

    Args:
        data (AnchorData): The hypergraph.
        cell (torch.Tensor): The cell of each incidence.
        num_contexts (int): The number of contexts.

    Shapes:
        - **cell:** :math:`(P)`
        - **output:** the hypergraph, :math:`(2, Q)` pairs and :math:`(Q)` cells
    """
    node, hyperedge = data.hyperedge_index
    context = cell % num_contexts
    key, place = torch.unique(node * num_contexts + context, return_inverse=True)
    pair = torch.stack([key // num_contexts, key % num_contexts])
    cell_of_pair = torch.zeros_like(key)
    # Equal for all incidences of a pair.
    cell_of_pair[place] = cell
    expanded = AnchorData(
        hyperedge_index=torch.stack([place, hyperedge]),
        num_nodes=key.numel(),
        num_hyperedges=data.num_hyperedges,
    )
    return expanded, pair, cell_of_pair


def context_epochs(
    strengths: ContextStrength,
    problem: StrengthProblem,
    alpha: float,
    penalty: Tensor,
    lr: float,
    num_epochs: int,
) -> Iterator[Record]:
    r"""Trains the strengths of pairs, one epoch per step, as
    :func:`~tgx_anchor.nn.predictors.stages.strength_epochs` trains those of nodes.

    Args:
        strengths (ContextStrength): The strengths in several variants, changed in
            place.
        problem (StrengthProblem): The hypergraph of pairs and its references.
        alpha (float): The weight of the alignment.
        penalty (torch.Tensor): The penalty of each variant.
        lr (float): The learning rate.
        num_epochs (int): The number of epochs.

    Shapes:
        - **penalty:** :math:`(K)`
    """
    out = torch.zeros_like(strengths.own)
    weight = torch.as_tensor(alpha, dtype=out.dtype, device=out.device)
    buffers = StrengthBuffers(problem, out.size(1))
    # One kernel per step, which not every device has.
    fused = out.device.type in ('cpu', 'cuda')
    optimizer = torch.optim.Adam(strengths.parameters(), lr=lr, fused=fused)
    for epoch in range(num_epochs):
        start = time.perf_counter()
        with torch.no_grad():
            strength_gradient(strengths(), problem, weight, out, buffers)
        strengths.set_gradient(out, penalty)
        optimizer.step()
        yield {
            'stage': 2.0,
            'epoch': epoch + 1.0,
            'num_epochs': float(num_epochs),
            'seconds': time.perf_counter() - start,
        }
    optimizer.zero_grad()


def context_share(
    strengths: ContextStrength,
    expanded: AnchorData,
    y: Tensor,
    mask: Tensor,
    w: float,
    penalty: float,
    num_anchors: int,
    seed: int,
    weighted_degree: bool = False,
) -> Tensor:
    r"""Aggregates the strengths of pairs, as
    :func:`~tgx_anchor.nn.functional.aggregate_strength` does with those of nodes,

    .. math::
        \hat{p}_{v,c} = \frac{n_{v,c} + \lambda \, \rho_g \, \theta_v}
        {d_{v,c} + \lambda}, \qquad
        \theta_v = \frac{\sum_c n_{v,c}}{\sum_c d_{v,c} \, \rho_{g(v,c)}}, \qquad
        \rho_g = \frac{n_g + \lambda \, n / d}{d_g + \lambda},

    where :math:`n_{v,c}` is the number of hyperedges that :math:`v` anchors in the
    context :math:`c`, known ones with their weight, and :math:`d_{v,c}` the number of
    its hyperedges there; :math:`n_g` and :math:`d_g` are their sums over a cell
    :math:`g`, and :math:`n` and :math:`d` over all. So a node with few hyperedges in a
    context has there the share that it has elsewhere, relative to what is usual. With
    an infinite penalty :math:`\lambda`, contexts do not count:
    :math:`\hat{p}_{v,c} = \sum_c n_{v,c} / \sum_c d_{v,c}`.

    Args:
        strengths (ContextStrength): The strengths.
        expanded (AnchorData): The hypergraph of pairs.
        y (torch.Tensor): Whether each member anchors its hyperedge.
        mask (torch.Tensor): The hyperedges with known anchors.
        w (float): The weight of known anchors.
        penalty (float): The penalty :math:`\lambda`.
        num_anchors (int): The number of anchors of a hyperedge.
        seed (int): The seed of draws among members of equal strength.
        weighted_degree (bool, optional): As in
            :func:`~tgx_anchor.nn.functional.aggregate_strength`.
            (default: :obj:`False`)

    Shapes:
        - **y:** :math:`(P)`
        - **mask:** :math:`(M)`
        - **output:** :math:`(Q)`
    """
    pair, hyperedge = expanded.hyperedge_index
    size = int(expanded.num_nodes or 0)
    share = aggregate_strength(
        strengths().detach(),
        expanded.hyperedge_index,
        expanded.num_hyperedges,
        y,
        mask,
        w,
        num_anchors,
        seed,
        weighted_degree,
    )
    weight = torch.ones_like(pair, dtype=share.dtype)
    if weighted_degree:
        weight = torch.where(mask[hyperedge], w, weight)
    degree = scatter(weight, pair, 0, size, 'sum')
    anchored = share * degree
    node, num_nodes = strengths.pair[0], strengths.strength.size(0)

    def by_node(value: Tensor) -> Tensor:
        return scatter(value, node, 0, num_nodes, 'sum')[node]

    if isinf(penalty):
        return _ratio(by_node(anchored), by_node(degree))
    cell, num_cells = strengths.cell, strengths.offset.size(0)
    overall = _ratio(anchored.sum(), degree.sum())
    in_cell = scatter(anchored, cell, 0, num_cells, 'sum') + penalty * overall
    usual = _ratio(in_cell, scatter(degree, cell, 0, num_cells, 'sum') + penalty)[cell]
    elsewhere = usual * _ratio(by_node(anchored), by_node(degree * usual))
    return _ratio(anchored + penalty * elsewhere, degree + penalty)


def _ratio(part: Tensor, whole: Tensor) -> Tensor:
    return torch.where(whole > 0, part / whole, 0.0)
