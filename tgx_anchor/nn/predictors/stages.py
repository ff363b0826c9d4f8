"""The two stages of AnchorRadar, epoch by epoch."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call
from torch_geometric.utils import softmax

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.functional import StrengthProblem, strength_problem
from tgx_anchor.nn.functional.anchor_cross_entropy import target_cross_entropy
from tgx_anchor.nn.functional.strength_loss import (
    Alignment,
    StrengthBuffers,
    strength_gradient,
)
from tgx_anchor.nn.models.anchor_strength import AnchorStrength
from tgx_anchor.nn.models.incidence_scorer import IncidenceScorer
from tgx_anchor.nn.predictors.feature_rows import FeatureRows
from tgx_anchor.nn.predictors.fit_run import Record
from tgx_anchor.nn.predictors.known_rows import CHUNK_ROWS, known_rows
from tgx_anchor.nn.predictors.stage_checkpoint import StageCheckpoint
from tgx_anchor.utils import ALONE, Ranks


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
    feature: FeatureRows,
    data: AnchorData,
    mask: Tensor,
    lr: float,
    num_epochs: int,
    state: StageCheckpoint | None = None,
) -> Iterator[Record]:
    r"""Trains the MLP of stage 1, one epoch per step.

    Args:
        scorer (IncidenceScorer): The MLP, changed in place.
        feature (FeatureRows): The features of all incidences.
        data (AnchorData): The hypergraph.
        mask (torch.Tensor): The hyperedges to learn from.
        lr (float): The learning rate.
        num_epochs (int): The number of epochs.
        state (StageCheckpoint, optional): Keeps the state. (default: :obj:`None`)

    Shapes:
        - **mask:** :math:`(M)`
    """
    ranks = data.ranks
    optimizer = torch.optim.Adam(scorer.parameters(), lr=lr)
    begin = _resume(scorer, optimizer, 'stage 1', state)
    weights = list(scorer.parameters())
    blocks = list(_known_blocks(feature, data, mask)) if begin < num_epochs else []
    for epoch in range(begin, num_epochs):
        start = time.perf_counter()
        # In double precision, sums of blocks do not depend on which process has which.
        total = torch.zeros(
            1 + sum(w.numel() for w in weights),
            dtype=torch.double,
            device=weights[0].device,
        )
        for part, *known in blocks:
            optimizer.zero_grad()
            loss = target_cross_entropy(scorer(part), *known)
            loss.backward()
            grads = [w.grad.flatten() for w in weights if w.grad is not None]
            total += torch.cat([loss.detach().view(1), *grads])
        ranks.sum_(total)
        parts = total[1:].split([w.numel() for w in weights])
        for weight, grad in zip(weights, parts, strict=True):
            weight.grad = grad.view_as(weight).to(weight.dtype)
        optimizer.step()
        yield {
            'stage': 1.0,
            'epoch': epoch + 1.0,
            'num_epochs': float(num_epochs),
            'loss': float(total[0]),
            'seconds': time.perf_counter() - start,
        }
        _keep(scorer, optimizer, 'stage 1', state, epoch + 1, num_epochs)


def _resume(
    module: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    name: str,
    checkpoint: StageCheckpoint | None,
) -> int:
    # Returns the number of epochs that are done.
    if checkpoint is None or checkpoint.num_done(name) == 0:
        return 0
    found = checkpoint.state[name]
    module.load_state_dict(found['module'])
    optimizer.load_state_dict(found['optimizer'])
    return checkpoint.num_done(name)


def _keep(
    module: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    name: str,
    checkpoint: StageCheckpoint | None,
    epoch: int,
    num_epochs: int,
) -> None:
    if checkpoint is None:
        return
    checkpoint.keep(
        name,
        lambda: {
            'module': module.state_dict(),
            'optimizer': optimizer.state_dict(),
            'epoch': epoch,
        },
        is_last=epoch == num_epochs,
    )


def _known_blocks(
    feature: FeatureRows, data: AnchorData, mask: Tensor
) -> Iterator[tuple[Tensor, ...]]:
    # The loss is a sum over hyperedges: blocks of whole hyperedges add up to it. Yields
    # features and targets of rows, weights of hyperedges, and hyperedges of rows.
    known = known_rows(feature.select(mask), data, mask)
    number = torch.unique_consecutive(known.block, return_counts=True)[1]
    sizes = known.size.split(number.tolist())
    rows = [int(size.sum()) for size in sizes]
    for part, target, size in zip(
        known.feature.split(rows), known.target.split(rows), sizes, strict=True
    ):
        yield part, target, part.new_ones(size.numel()), torch.repeat_interleave(size)


def reference_proba(
    scorer: IncidenceScorer, feature: FeatureRows, data: AnchorData
) -> Tensor:
    r"""Computes the probabilities of stage 1, which stage 2 is aligned with: a softmax
    of the scores in each hyperedge.

    Args:
        scorer (IncidenceScorer): The MLP.
        feature (FeatureRows): The features of all incidences.
        data (AnchorData): The hypergraph.

    Shapes:
        - **output:** :math:`(P)`
    """
    dtype = next(scorer.parameters()).dtype
    # The last bits of a product depend on the number of rows. In double precision, they
    # are lost in rounding, and a row has the same score in any block.
    exact = {name: p.detach().double() for name, p in scorer.named_parameters()}
    # One tensor for all of them: many small ones would scatter the free memory.
    score = torch.empty(data.num_incidences, dtype=dtype, device=feature.device)
    start = 0
    with torch.no_grad():
        for block in feature.blocks():
            for part in block.split(CHUNK_ROWS):
                found = functional_call(scorer, exact, (part.double(),))
                score[start : start + part.size(0)] = found
                start += part.size(0)
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
    ranks: Ranks = ALONE,
    state: StageCheckpoint | None = None,
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
        ranks (Ranks, optional): The processes that hold the other hyperedges.
            (default: this process alone)
        state (StageCheckpoint, optional): Keeps the state. (default: :obj:`None`)

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
    begin = _resume(strengths, optimizer, 'stage 2', state)
    for epoch in range(begin, num_epochs):
        start, sent = time.perf_counter(), ranks.num_bytes
        strength_gradient(table, problem, weight, out, buffers)
        ranks.sum_(out)
        optimizer.step()
        yield {
            'stage': 2.0,
            'epoch': epoch + 1.0,
            'num_epochs': float(num_epochs),
            **({'num_bytes': float(ranks.num_bytes - sent)} if ranks.size > 1 else {}),
            'seconds': time.perf_counter() - start,
        }
        _keep(strengths, optimizer, 'stage 2', state, epoch + 1, num_epochs)


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
