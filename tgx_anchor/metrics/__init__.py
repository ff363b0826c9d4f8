r"""Metrics of predicted anchors."""

from tgx_anchor.metrics.anchor_accuracy import anchor_accuracy
from tgx_anchor.metrics.anchor_evaluator import AnchorEvaluator
from tgx_anchor.metrics.calibration_bins import CalibrationBins, calibration_bins
from tgx_anchor.metrics.expected_accuracy import ExpectedAccuracy
from tgx_anchor.metrics.expected_calibration_error import expected_calibration_error
from tgx_anchor.metrics.wilson_interval import wilson_interval

__all__ = [
    'AnchorEvaluator',
    'CalibrationBins',
    'ExpectedAccuracy',
    'anchor_accuracy',
    'calibration_bins',
    'expected_calibration_error',
    'wilson_interval',
]
