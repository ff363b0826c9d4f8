r"""Figures that say how good predictions are."""

from tgx_anchor.metrics.anchor_evaluator import AnchorEvaluator

__all__ = ['AnchorEvaluator']
