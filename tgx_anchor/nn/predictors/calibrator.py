"""Turns the probabilities of a model into calibrated ones."""

from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.copy_weight import copy_weight
from tgx_anchor.utils import degree, hyperedge_blocks

Calibration = Literal['auto']

# The number of features by which probabilities are corrected, from the simplest to the
# richest correction.
_CANDIDATES = (1, 2, 4)
_NUM_FEATURES = _CANDIDATES[-1]
_NUM_FOLDS = 5
_NUM_STEPS = 50
# The weight of the squared coefficients, relative to that of one hyperedge.
_RIDGE = 1.0
# The least number of distinct groups per feature of a form richer than the simplest.
_GROUPS_PER_FEATURE = 20
# The least gain of a richer form in log loss, in standard errors.
_MIN_GAIN = 0.75
# Probabilities are kept this far away from zero and one in the log-odds.
_MARGIN = 0.01
# The largest share of a mixture, which therefore never levels all members.
_MAX_SHARE = 0.99


def check_calibration(calibration: object) -> None:
    r"""Raises a :class:`ValueError` if there is no such calibration.

    Args:
        calibration (str, optional): :obj:`"auto"` or :obj:`None`.
    """
    if calibration is not None and calibration not in get_args(Calibration):
        raise ValueError(f"'calibration' must be 'auto', or None (got {calibration!r})")


class Calibrator(torch.nn.Module):
    r"""Calibrates the probability of the most likely member of each hyperedge.

    With :math:`q_e` the highest probability in hyperedge :math:`e`, the calibrated one
    is

    .. math::
        g_e = \sigma \left( \beta_0 + \beta_1 \, \mathrm{logit}(q_e) + \beta_2 \log
        (|e| - 1) + \beta_3 \log d_{\hat{v}} + \beta_4 \log \sum_{u \in e \setminus
        \hat{v}} d_u \right),

    where :math:`\hat{v}` is the most likely member and :math:`d_v` the degree. The
    coefficients are fitted by log loss on hyperedges that the model has not learnt
    from, and shrunk towards :math:`g_e = q_e`. Whether sizes and degrees are used is
    decided by cross-validated log loss: a richer form is chosen only if it is better by
    more than 0.75 standard errors, and if there are 20 distinct groups per feature.
    Copies of a group are weighted by
    :func:`~tgx_anchor.nn.predictors.copy_weight.copy_weight`.

    The probabilities of all members are mixed with those of a uniform choice if
    :math:`g_e < q_e`, and with the choice of :math:`\hat{v}` otherwise, such that the
    most likely member gets :math:`g_e`. So the order of the members stays the same, and
    the probabilities of a hyperedge sum to one.

    In a hyperedge with several anchors, the probability is that of drawing the member
    when one of the anchors is drawn.
    """

    coefficient: Tensor
    low: Tensor
    high: Tensor
    num_hyperedges: Tensor

    def __init__(self) -> None:
        super().__init__()
        size = _NUM_FEATURES
        self.register_buffer('coefficient', torch.zeros(size + 1, dtype=torch.double))
        self.register_buffer('low', torch.zeros(size, dtype=torch.double))
        self.register_buffer('high', torch.zeros(size, dtype=torch.double))
        self.register_buffer('num_hyperedges', torch.tensor(0))

    @property
    def is_fitted(self) -> bool:
        r"""Whether :meth:`fit` was called."""
        return bool(self.num_hyperedges > 0)

    def fit(
        self, proba: Tensor, data: AnchorData, mask: Tensor, number: Tensor
    ) -> Tensor:
        r"""Fits the coefficients to hyperedges with known anchors, and returns the
        calibrated probability of the most likely member of these hyperedges. It comes
        from coefficients that were fitted without the hyperedge and its copies, so that
        it can be compared with its anchor.

        Args:
            proba (torch.Tensor): The probabilities of a model that has not learnt from
                the hyperedges in :obj:`mask`.
            data (AnchorData): The hypergraph.
            mask (torch.Tensor): The hyperedges with known anchors.
            number (torch.Tensor): The number of the node set of each hyperedge; copies
                are never on both sides of a cross-validation.

        Shapes:
            - **proba:** :math:`(P)`
            - **mask, number:** :math:`(M)`
            - **output:** :math:`(H)`, the hyperedges in :obj:`mask` of all processes
        """
        node, hyperedge = data.hyperedge_index
        row = mask[hyperedge]
        place = (mask.long().cumsum(0) - 1)[hyperedge[row]]
        index, size = torch.stack([node[row], place]), int(mask.sum())
        top = _winners(proba[row].double(), index, size, _degree(data))
        correct = _correct(top, data['y'][row].double(), place)
        # Each process has few of these rows, and fits the same coefficients to all.
        feature, correct, limit, number = (
            data.ranks.gather(value)
            for value in (top.feature, correct, 1 / top.ties, number[mask])
        )
        weight = copy_weight(number)

        _, number = torch.unique(number, return_inverse=True)
        count = int(number.max()) + 1
        generator = torch.Generator().manual_seed(0)
        place = torch.randperm(count, generator=generator).to(number.device)
        fold = (place % _NUM_FOLDS)[number]

        best_loss: Tensor | None = None
        chosen, held_out = _CANDIDATES[0], torch.zeros_like(correct)
        for size in _CANDIDATES:
            if size > _CANDIDATES[0] and count < size * _GROUPS_PER_FEATURE:
                break
            found = torch.zeros_like(correct)
            for each in range(min(_NUM_FOLDS, count)):
                rest = fold != each
                value = _fit_logistic(feature[rest], correct[rest], weight[rest], size)
                found[~rest] = _stated(value, feature[~rest], limit[~rest])
            loss = weight * _log_loss(found, correct)
            # Copies err together.
            loss = scatter(loss, number, 0, count, 'sum')
            if best_loss is not None:
                gain = best_loss - loss
                if gain.sum() <= _MIN_GAIN * gain.std() * count**0.5:
                    continue
            best_loss, chosen, held_out = loss, size, found
        self.coefficient = _fit_logistic(feature, correct, weight, chosen)
        self.low, self.high = feature.min(0).values, feature.max(0).values
        self.num_hyperedges = torch.full_like(self.num_hyperedges, correct.numel())
        return held_out

    def forward(self, proba: Tensor, data: AnchorData) -> Tensor:
        r"""Returns calibrated probabilities; if not fitted, the given ones.

        Args:
            proba (torch.Tensor): The probabilities of the model.
            data (AnchorData): The hypergraph.

        Shapes:
            - **proba:** :math:`(P)`
            - **output:** :math:`(P)`, in double precision if fitted
        """
        if not self.is_fitted or data.ranks.total(proba.numel()) == 0:
            return proba
        count, out = _degree(data), torch.empty_like(proba, dtype=torch.double)
        # In blocks, since there are many vectors over incidences on the way.
        for block in hyperedge_blocks(data.hyperedge_index[1], data.num_hyperedges):
            index = block.incidences(data.hyperedge_index)
            size = block.last - block.first
            part = proba[block.rows].double()
            top = _winners(part, index, size, count)
            out[block.rows] = self._calibrated(part, top, index[1])
        return out

    def _calibrated(self, proba: Tensor, top: '_Winners', hyperedge: Tensor) -> Tensor:
        # Nothing is known about features outside of the range that was seen.
        feature = top.feature.clamp(self.low, self.high)
        goal = _stated(self.coefficient, feature, 1 / top.ties)
        uniform = 1 / top.size
        raised = (goal - top.proba) / (1 / top.ties - top.proba)
        lowered = (top.proba - goal) / (top.proba - uniform)
        is_raised = goal > top.proba
        share = torch.where(is_raised, raised, lowered)
        # If all members are equally likely, there is nothing to move.
        share = share.nan_to_num(0.0, 0.0, 0.0).clamp(0.0, _MAX_SHARE)
        other = torch.where(
            is_raised[hyperedge],
            top.is_winner / top.ties[hyperedge],
            uniform[hyperedge],
        )
        share = share[hyperedge]
        out = (1 - share) * proba + share * other
        # Rounding must not make another member equally likely.
        winner = scatter(out * top.is_winner, hyperedge, 0, top.size.numel(), 'max')
        below = torch.nextafter(winner, torch.zeros_like(winner))[hyperedge]
        return torch.where(top.is_winner, out, torch.minimum(out, below))


class _Winners(NamedTuple):
    # The most likely members, [P], and per hyperedge, [M]: the probability of each of
    # them, their number, the number of members, and the features, [M, 4].
    is_winner: Tensor
    proba: Tensor
    ties: Tensor
    size: Tensor
    feature: Tensor


def _degree(data: AnchorData) -> Tensor:
    sizes = int(data.num_nodes or 0), data.num_hyperedges
    return degree(data.hyperedge_index, *sizes, ranks=data.ranks).double()


def _winners(
    proba: Tensor, hyperedge_index: Tensor, num_hyperedges: int, count: Tensor
) -> _Winners:
    # With the number of hyperedges of each node, [N].
    node, hyperedge = hyperedge_index

    def total(value: Tensor) -> Tensor:
        return scatter(value, hyperedge, 0, num_hyperedges, 'sum')

    best = scatter(proba, hyperedge, 0, num_hyperedges, 'max')
    is_winner = proba == best[hyperedge]
    # Empty hyperedges get harmless numbers.
    ties = total(is_winner.double()).clamp(min=1)
    size = torch.bincount(hyperedge, minlength=num_hyperedges).double().clamp(min=1)
    weight = count[node]
    of_winner = total(weight * is_winner) / ties
    of_others = total(weight) - of_winner * ties
    inner = best.clamp(_MARGIN, 1 - _MARGIN)
    feature = torch.stack(
        [
            torch.logit(inner),
            (size - 1).clamp(min=1).log(),
            of_winner.clamp(min=1).log(),
            of_others.clamp(min=1).log(),
        ],
        dim=1,
    )
    return _Winners(is_winner, best, ties, size, feature)


def _correct(top: _Winners, y: Tensor, hyperedge: Tensor) -> Tensor:
    # The probability that a drawn winner is a drawn anchor.
    num_hyperedges = top.ties.numel()
    anchors = scatter(y, hyperedge, 0, num_hyperedges, 'sum').clamp(min=1)
    hits = scatter(y * top.is_winner, hyperedge, 0, num_hyperedges, 'sum')
    return hits / top.ties / anchors


def _stated(coefficient: Tensor, feature: Tensor, limit: Tensor) -> Tensor:
    value = coefficient[0] + feature @ coefficient[1:]
    return torch.minimum(torch.sigmoid(value), limit)


def _log_loss(proba: Tensor, correct: Tensor) -> Tensor:
    proba = proba.clamp(1e-6, 1 - 1e-6)
    return -(correct * proba.log() + (1 - correct) * (1 - proba).log())


def _fit_logistic(
    feature: Tensor, correct: Tensor, weight: Tensor, size: int
) -> Tensor:
    # Newton's method on what must be added to the log-odds of the model, from the first
    # columns. They are standardised, so that the ridge treats them alike.
    table = feature[:, :size]
    mean = (weight.unsqueeze(1) * table).sum(0) / weight.sum()
    spread = (weight.unsqueeze(1) * (table - mean).square()).sum(0) / weight.sum()
    std = torch.where(spread > 1e-12, spread.sqrt(), 1.0)
    table = torch.cat([torch.ones_like(table[:, :1]), (table - mean) / std], dim=1)
    ridge = table.new_full((size + 1,), _RIDGE)
    value = torch.zeros_like(ridge)
    for _ in range(_NUM_STEPS):
        proba = torch.sigmoid(feature[:, 0] + table @ value)
        slope = table.T @ (weight * (correct - proba)) - ridge * value
        curvature = (table * (weight * proba * (1 - proba)).unsqueeze(1)).T @ table
        step = torch.linalg.solve(curvature + torch.diag(ridge), slope)
        # Far from the optimum, a full step may overshoot.
        value = value + step.clamp(-1.0, 1.0)
        if step.abs().max() < 1e-9:
            break
    out = feature.new_zeros(_NUM_FEATURES + 1)
    out[0] = value[0] - (value[1:] * mean / std).sum()
    out[1 : size + 1] = value[1:] / std
    out[1] += 1
    return out
