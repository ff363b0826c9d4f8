r"""Predictors of group anchors, and their parts."""

from tgx_anchor.nn.models.anchor_model import AnchorModel
from tgx_anchor.nn.models.anchor_radar import AnchorRadar
from tgx_anchor.nn.models.anchor_radar_search import TuneResult
from tgx_anchor.nn.models.anchor_strength import AnchorStrength
from tgx_anchor.nn.models.degree_heuristic import DegreeHeuristic
from tgx_anchor.nn.models.incidence_scorer import IncidenceScorer
from tgx_anchor.nn.models.random_heuristic import RandomHeuristic

__all__ = [
    'AnchorModel',
    'AnchorRadar',
    'AnchorStrength',
    'DegreeHeuristic',
    'IncidenceScorer',
    'RandomHeuristic',
    'TuneResult',
]
