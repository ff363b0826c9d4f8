r"""Losses, and the aggregation of strengths."""

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
from tgx_anchor.nn.functional.virtual_label_loss import (
    VirtualLabelLoss,
    virtual_label_loss,
)

__all__ = [
    'StrengthProblem',
    'VirtualLabelLoss',
    'aggregate_strength',
    'anchor_cross_entropy',
    'anchor_target',
    'strength_loss',
    'strength_problem',
    'virtual_label_loss',
]
