r"""Encoders, VilLain, and the two networks of AnchorRadar."""

from tgx_anchor.nn.models.all_set_transformer import (
    AllSetTransformer as AllSetTransformer,
)
from tgx_anchor.nn.models.anchor_strength import AnchorStrength
from tgx_anchor.nn.models.conhd import CoNHD
from tgx_anchor.nn.models.context_strength import ContextStrength
from tgx_anchor.nn.models.hat import HAT
from tgx_anchor.nn.models.hcha import HCHA
from tgx_anchor.nn.models.hgnn import HGNN
from tgx_anchor.nn.models.hnhn import HNHN
from tgx_anchor.nn.models.hnn import HNN
from tgx_anchor.nn.models.hypergraph_encoder import (
    HypergraphEncoder as HypergraphEncoder,
)
from tgx_anchor.nn.models.hypergraph_set_transformer import (
    HypergraphSetTransformer as HypergraphSetTransformer,
)
from tgx_anchor.nn.models.incidence_scorer import IncidenceScorer
from tgx_anchor.nn.models.unigcn import UniGCN
from tgx_anchor.nn.models.villain import VilLain
from tgx_anchor.nn.models.whatsnet import WHATsNet

__all__ = [
    'HAT',
    'HCHA',
    'HGNN',
    'HNHN',
    'HNN',
    'AllSetTransformer',
    'AnchorStrength',
    'CoNHD',
    'ContextStrength',
    'HypergraphEncoder',
    'HypergraphSetTransformer',
    'IncidenceScorer',
    'UniGCN',
    'VilLain',
    'WHATsNet',
]
