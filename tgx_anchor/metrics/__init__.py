r"""Metrics of predicted anchors."""

from tgx_anchor.metrics.anchor_accuracy import anchor_accuracy
from tgx_anchor.metrics.anchor_evaluator import AnchorEvaluator

__all__ = ['AnchorEvaluator', 'anchor_accuracy']
