r"""Predictors of group anchors, and their parts."""

from tgx_anchor.nn.models.all_set_transformer import AllSetTransformer
from tgx_anchor.nn.models.anchor_model import AnchorModel
from tgx_anchor.nn.models.anchor_predictor import AnchorPredictor
from tgx_anchor.nn.models.anchor_radar import AnchorRadar
from tgx_anchor.nn.models.anchor_radar_search import TuneResult
from tgx_anchor.nn.models.anchor_strength import AnchorStrength
from tgx_anchor.nn.models.conhd import CoNHD
from tgx_anchor.nn.models.degree_heuristic import DegreeHeuristic
from tgx_anchor.nn.models.hat import HAT
from tgx_anchor.nn.models.hcha import HCHA
from tgx_anchor.nn.models.hgnn import HGNN
from tgx_anchor.nn.models.hnhn import HNHN
from tgx_anchor.nn.models.hnn import HNN
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder
from tgx_anchor.nn.models.hypergraph_set_transformer import (
    HypergraphSetTransformer,
)
from tgx_anchor.nn.models.incidence_scorer import IncidenceScorer
from tgx_anchor.nn.models.random_heuristic import RandomHeuristic
from tgx_anchor.nn.models.unigcn import UniGCN
from tgx_anchor.nn.models.whatsnet import WHATsNet

__all__ = [
    'HAT',
    'HCHA',
    'HGNN',
    'HNHN',
    'HNN',
    'AllSetTransformer',
    'AnchorModel',
    'AnchorPredictor',
    'AnchorRadar',
    'AnchorStrength',
    'CoNHD',
    'DegreeHeuristic',
    'HypergraphEncoder',
    'HypergraphSetTransformer',
    'IncidenceScorer',
    'RandomHeuristic',
    'TuneResult',
    'UniGCN',
    'WHATsNet',
]
