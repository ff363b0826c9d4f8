r"""Transforms of hypergraphs: input features and splits."""

from tgx_anchor.transforms.add_directed_features import AddDirectedFeatures
from tgx_anchor.transforms.add_pair_features import AddPairFeatures
from tgx_anchor.transforms.add_random_walk_embedding import AddRandomWalkEmbedding
from tgx_anchor.transforms.add_temporal_features import AddTemporalFeatures
from tgx_anchor.transforms.add_topological_features import AddTopologicalFeatures
from tgx_anchor.transforms.add_within_order_rank import AddWithinOrderRank
from tgx_anchor.transforms.anchor_strength_features import AnchorStrengthFeatures
from tgx_anchor.transforms.random_hyperedge_split import RandomHyperedgeSplit

__all__ = [
    'AddDirectedFeatures',
    'AddPairFeatures',
    'AddRandomWalkEmbedding',
    'AddTemporalFeatures',
    'AddTopologicalFeatures',
    'AddWithinOrderRank',
    'AnchorStrengthFeatures',
    'RandomHyperedgeSplit',
]
