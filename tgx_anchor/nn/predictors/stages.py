"""The two stages of AnchorRadar, epoch by epoch."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.utils import softmax

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.functional import StrengthProblem, anchor_target, strength_problem
from tgx_anchor.nn.functional.anchor_cross_entropy import target_cross_entropy
from tgx_anchor.nn.functional.strength_loss import (
    Alignment,
    StrengthBuffers,
    strength_gradient,
)
from tgx_anchor.nn.models.anchor_strength import AnchorStrength
from tgx_anchor.nn.models.incidence_scorer import IncidenceScorer
from tgx_anchor.nn.predictors.fit_run import Record

# The number of rows that pass through the MLP at once: few enough for the memory of
# its hidden layer to be reused.
_CHUNK_ROWS = 1 << 15


@dataclass(frozen=True)
class StageOptions:
    r"""Holds the arguments of :class:`~tgx_anchor.nn.AnchorRadar` that a search does
    not vary.

    Args:
        hidden_channels (int): The size of the hidden layer of the MLP.
        num_epochs (int): The number of epochs of each stage.
        alignment (str): The form of the alignment.
        seed (int): The seed of the first weights of the MLP.
    """

    hidden_channels: int
    num_epochs: int
    alignment: Alignment
    seed: int


def new_scorer(in_channels: int, options: StageOptions) -> IncidenceScorer:
    r"""Makes the MLP of stage 1 with weights that depend on the seed only.

    Args:
        in_channels (int): The number of features.
        options (StageOptions): The arguments of the model.
    """
    # Only the generator of the CPU draws here: others stay as they are.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(options.seed)
        return IncidenceScorer(in_channels, options.hidden_channels)


def scorer_epochs(
    scorer: IncidenceScorer,
    feature: Tensor,
    data: AnchorData,
    mask: Tensor,
    lr: float,
    num_epochs: int,
) -> Iterator[Record]:
    r"""Trains the MLP of stage 1, one epoch per step.

    Args:
        scorer (IncidenceScorer): The MLP, changed in place.
        feature (torch.Tensor): The features of all incidences.
        data (AnchorData): The hypergraph.
        mask (torch.Tensor): The hyperedges to learn from.
        lr (float): The learning rate.
        num_epochs (int): The number of epochs.

    Shapes:
        - **feature:** :math:`(P, F)`
        - **mask:** :math:`(M)`
    """
    # Only the rows of hyperedges to learn from take part.
    row = mask[data.hyperedge_index[1]]
    known_feature = feature[row]
    hyperedge = (mask.long().cumsum(0) - 1)[data.hyperedge_index[1][row]]
    weight = known_feature.new_ones(int(mask.sum()))
    target = anchor_target(data['y'][row], hyperedge, weight > 0)
    # The loss is a sum over hyperedges: blocks of whole hyperedges add up to it.
    end = hyperedge.bincount(minlength=weight.numel()).cumsum(0)
    number = torch.unique_consecutive(end // _CHUNK_ROWS, return_counts=True)[1]
    first = number.cumsum(0) - number
    rows = torch.diff(end[first + number - 1], prepend=end.new_zeros(1)).tolist()
    blocks = list(
        zip(
            known_feature.split(rows),
            target.to(weight.dtype).split(rows),
            weight.split(number.tolist()),
            (hyperedge - first.repeat_interleave(number)[hyperedge]).split(rows),
            strict=True,
        )
    )
    optimizer = torch.optim.Adam(scorer.parameters(), lr=lr)
    for epoch in range(num_epochs):
        start = time.perf_counter()
        optimizer.zero_grad()
        total = weight.new_zeros(())
        for part, *known in blocks:
            loss = target_cross_entropy(scorer(part), *known)
            loss.backward()
            total += loss.detach()
        optimizer.step()
        yield {
            'stage': 1.0,
            'epoch': epoch + 1.0,
            'num_epochs': float(num_epochs),
            'loss': float(total),
            'seconds': time.perf_counter() - start,
        }


def reference_proba(
    scorer: IncidenceScorer, feature: Tensor, data: AnchorData
) -> Tensor:
    r"""Computes the probabilities of stage 1, which stage 2 is aligned with: a softmax
    of the scores in each hyperedge.

    Args:
        scorer (IncidenceScorer): The MLP.
        feature (torch.Tensor): The features of all incidences.
        data (AnchorData): The hypergraph.

    Shapes:
        - **feature:** :math:`(P, F)`
        - **output:** :math:`(P)`
    """
    with torch.no_grad():
        score = torch.cat([scorer(part) for part in feature.split(_CHUNK_ROWS)])
    return softmax(score, data.hyperedge_index[1], num_nodes=data.num_hyperedges)


def alignment_problem(
    reference: Tensor,
    data: AnchorData,
    y: Tensor,
    mask: Tensor,
    alignment: Alignment,
) -> StrengthProblem:
    r"""Prepares the loss of stage 2 for a hypergraph.

    Args:
        reference (torch.Tensor): The probabilities of stage 1.
        data (AnchorData): The hypergraph.
        y (torch.Tensor): Whether each member anchors its hyperedge.
        mask (torch.Tensor): The hyperedges to learn from; may be empty.
        alignment (str): The form of the alignment.

    Shapes:
        - **reference, y:** :math:`(P)`
        - **mask:** :math:`(M)`
    """
    return strength_problem(
        reference,
        data.hyperedge_index,
        int(data.num_nodes or 0),
        data.num_hyperedges,
        y,
        mask,
        alignment,
    )


def strength_epochs(
    strengths: AnchorStrength,
    problem: StrengthProblem,
    alpha: float | Tensor,
    lr: float,
    num_epochs: int,
) -> Iterator[Record]:
    r"""Trains the strengths of stage 2, one epoch per step. Their loss is not known,
    since only its gradient is computed.

    Args:
        strengths (AnchorStrength): The strengths, changed in place.
        problem (StrengthProblem): The hypergraph and its references.
        alpha (float or torch.Tensor): The weight of the alignment, or one weight per
            column of the strengths.
        lr (float): The learning rate.
        num_epochs (int): The number of epochs.

    Shapes:
        - **alpha:** scalar or :math:`(K)`
    """
    strength = strengths.strength
    # The gradient in closed form needs no graph.
    strength.grad = torch.zeros_like(strength)
    table, out = (
        value if value.dim() == 2 else value.unsqueeze(1)
        for value in (strength.detach(), strength.grad)
    )
    weight = torch.as_tensor(alpha, dtype=table.dtype, device=table.device)
    buffers = StrengthBuffers(problem, table.size(1))
    # One kernel per step, which not every device has.
    fused = table.device.type in ('cpu', 'cuda')
    optimizer = torch.optim.Adam([strength], lr=lr, fused=fused)
    for epoch in range(num_epochs):
        start = time.perf_counter()
        strength_gradient(table, problem, weight, out, buffers)
        optimizer.step()
        yield {
            'stage': 2.0,
            'epoch': epoch + 1.0,
            'num_epochs': float(num_epochs),
            'seconds': time.perf_counter() - start,
        }


def check_converged(module: torch.nn.Module, stage: int, lr: float) -> None:
    r"""Raises a :class:`ValueError` if a stage left parameters that are not finite.

    Args:
        module (torch.nn.Module): The parameters.
        stage (int): The number of the stage.
        lr (float): The learning rate.
    """
    if not all(torch.isfinite(p).all() for p in module.parameters()):
        raise ValueError(
            f"'lr_stage{stage}' must be smaller: stage {stage} diverged (got {lr})"
        )
