"""The hyperparameters of a training."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Literal, get_args

Objective = Literal['role', 'anchor']


@dataclass(frozen=True)
class TrainingOptions:
    r"""Holds the hyperparameters of a training, which are documented in
    :class:`~tgx_anchor.nn.AnchorPredictor`.
    """

    num_roles: int | None = None
    objective: Objective = 'role'
    lr: float = 0.001
    batch_size: int | None = 64
    num_neighbors: int | Sequence[int] = -1
    num_epochs: int = 100
    weight_decay: float = 0.0
    eps: float = 1e-8
    gamma: float = 0.99
    max_norm: float | None = None
    eval_every: int = 5
    patience: int = 6
    seed: int = 0

    def __post_init__(self) -> None:
        if self.objective not in get_args(Objective):
            raise ValueError(
                f"'objective' must be one of {', '.join(get_args(Objective))} "
                f'(got {self.objective!r})'
            )
        for name in ('num_roles', 'batch_size', 'num_epochs', 'eval_every', 'patience'):
            count = getattr(self, name)
            if count is not None and count < 1:
                raise ValueError(f"'{name}' must be positive (got {count})")
        given = self.num_neighbors
        for number in given if isinstance(given, Sequence) else [given]:
            if not isinstance(number, Integral) or (number < 1 and number != -1):
                raise ValueError(
                    f"'num_neighbors' must be a positive integer, or -1 for all, or a "
                    f'list with one for each layer (got {given!r})'
                )
        for name in ('lr', 'eps', 'gamma', 'max_norm'):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"'{name}' must be positive (got {value})")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(
                f"'weight_decay' must lie in [0, inf) (got {self.weight_decay})"
            )
