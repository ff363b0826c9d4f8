"""The last step: a weighted sum of what the parts of a model say."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.nn.predictors.learning_rows import LearningRows

# The weight of the squared distance from the prior, relative to that of one group.
_RIDGE = 20.0
_NUM_STEPS = 50
# Likelihoods that differ by less are equal: sums of many groups are not exact.
_TOLERANCE = 1e-12


class Blend(torch.nn.Module):
    r"""Adds up the columns of several scores,
    :math:`s_{v;e} = \sum_i \beta_i c^{(i)}_{v;e}`, with weights that maximise the
    likelihood of known anchors,

    .. math::
        \sum_e w_e \sum_{v \in e} t_{v;e} \log \mathrm{softmax}_e (s)_v - \frac{\lambda}
        {2} \lVert \beta - \beta^{(0)} \rVert^2, \qquad \lambda = 20.

    The fewer groups there are, the closer the weights stay to the prior
    :math:`\beta^{(0)}`. The likelihood tells more about the weights than the accuracy,
    which changes with a few groups only, and it is concave: there is one solution.

    Args:
        prior (list[float], optional): The prior weights :math:`\beta^{(0)}`.
            (default: :obj:`()`)

    Shapes:
        - **input:** :math:`(L, C)`
        - **output:** :math:`(L)`
    """

    weight: Tensor

    def __init__(self, prior: Sequence[float] = ()) -> None:
        super().__init__()
        self.register_buffer('weight', torch.tensor(prior, dtype=torch.double))

    def fit(self, rows: LearningRows) -> None:
        r"""Fits the weights by Newton's method, starting from those that are there as
        the prior.

        Args:
            rows (LearningRows): The columns of the members of known groups that no part
                has learnt from.
        """
        column, group, count = rows.feature.double(), rows.group, rows.weight.numel()
        weight, target = rows.weight.double()[group], rows.target.double()
        prior, value = self.weight, self.weight.clone()
        ridge = _RIDGE * torch.eye(prior.numel(), dtype=prior.dtype).to(prior.device)

        def at(value: Tensor) -> tuple[float, Tensor]:
            # The objective, and the probabilities.
            log_proba = _log_softmax(column @ value, group, count)
            distance = (value - prior).square().sum()
            out = (weight * target * log_proba).sum() - 0.5 * _RIDGE * distance
            return float(out), log_proba.exp()

        objective, proba = at(value)
        for _ in range(_NUM_STEPS):
            slope = column.T @ (weight * (target - proba)) - _RIDGE * (value - prior)
            mean = scatter(proba.unsqueeze(1) * column, group, 0, count, 'sum')
            spread = column - mean[group]
            curvature = (spread * (weight * proba).unsqueeze(1)).T @ spread
            step = torch.linalg.solve(curvature + ridge, slope)
            if step.norm() < 1e-9:
                break
            least = objective - _TOLERANCE * abs(objective)
            objective, proba = at(value + step)
            # Far from the optimum, a full step may overshoot.
            while objective < least:
                step = step / 2
                objective, proba = at(value + step)
            value = value + step
        self.weight = value

    def forward(self, column: Tensor) -> Tensor:
        r"""Runs the forward pass.

        Args:
            column (torch.Tensor): The columns.

        Shapes:
            - **column:** :math:`(L, C)`
        """
        return column.double() @ self.weight

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        weight = state_dict.get(f'{prefix}weight')
        if isinstance(weight, Tensor):
            self.weight = torch.empty_like(weight, device=self.weight.device)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.weight.numel()})'


def _log_softmax(score: Tensor, group: Tensor, num_groups: int) -> Tensor:
    score = score - scatter(score, group, 0, num_groups, 'max')[group]
    return score - scatter(score.exp(), group, 0, num_groups, 'sum').log()[group]
