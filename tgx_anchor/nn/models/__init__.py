r"""Predictors of group anchors."""

from tgx_anchor.nn.models.anchor_model import AnchorModel
from tgx_anchor.nn.models.degree_heuristic import DegreeHeuristic
from tgx_anchor.nn.models.random_heuristic import RandomHeuristic

__all__ = ['AnchorModel', 'DegreeHeuristic', 'RandomHeuristic']
