r"""Layers of hypergraph encoders, one equation each."""

from tgx_anchor.nn.conv.conhd_conv import CoNHDConv
from tgx_anchor.nn.conv.hat_conv import HATConv
from tgx_anchor.nn.conv.hcha_conv import HCHAConv
from tgx_anchor.nn.conv.hgnn_conv import HGNNConv
from tgx_anchor.nn.conv.hnhn_conv import HNHNConv
from tgx_anchor.nn.conv.hnn_conv import HNNConv
from tgx_anchor.nn.conv.induced_set_attention import InducedSetAttention
from tgx_anchor.nn.conv.multihead_attention_block import MultiheadAttentionBlock
from tgx_anchor.nn.conv.seeded_attention import SeededAttention
from tgx_anchor.nn.conv.set_encoder import SetEncoder
from tgx_anchor.nn.conv.unigcn_conv import UniGCNConv
from tgx_anchor.nn.conv.unweighted_set_block import UnweightedSetBlock
from tgx_anchor.nn.conv.whatsnet_conv import WHATsNetConv

__all__ = [
    'CoNHDConv',
    'HATConv',
    'HCHAConv',
    'HGNNConv',
    'HNHNConv',
    'HNNConv',
    'InducedSetAttention',
    'MultiheadAttentionBlock',
    'SeededAttention',
    'SetEncoder',
    'UniGCNConv',
    'UnweightedSetBlock',
    'WHATsNetConv',
]
