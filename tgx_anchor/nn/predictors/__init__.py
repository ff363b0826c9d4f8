r"""Predictors of group anchors, with methods fit and predict."""

from tgx_anchor.nn.predictors.anchor_model import AnchorModel
from tgx_anchor.nn.predictors.anchor_predictor import AnchorPredictor
from tgx_anchor.nn.predictors.anchor_radar import AnchorRadar
from tgx_anchor.nn.predictors.assessment import Assessment
from tgx_anchor.nn.predictors.context_anchor_radar import ContextAnchorRadar
from tgx_anchor.nn.predictors.degree_heuristic import DegreeHeuristic
from tgx_anchor.nn.predictors.random_heuristic import RandomHeuristic
from tgx_anchor.nn.predictors.stacked_anchor_radar import StackedAnchorRadar
from tgx_anchor.nn.predictors.tune_result import TuneResult

__all__ = [
    'AnchorModel',
    'AnchorPredictor',
    'AnchorRadar',
    'Assessment',
    'ContextAnchorRadar',
    'DegreeHeuristic',
    'RandomHeuristic',
    'StackedAnchorRadar',
    'TuneResult',
]
