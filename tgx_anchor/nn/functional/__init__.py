r"""Losses of both stages, and the aggregation of strengths."""

from tgx_anchor.nn.functional.aggregate_strength import aggregate_strength
from tgx_anchor.nn.functional.anchor_cross_entropy import (
    anchor_cross_entropy,
    anchor_target,
)
from tgx_anchor.nn.functional.strength_loss import (
    StrengthProblem,
    strength_loss,
    strength_problem,
)

__all__ = [
    'StrengthProblem',
    'aggregate_strength',
    'anchor_cross_entropy',
    'anchor_target',
    'strength_loss',
    'strength_problem',
]
