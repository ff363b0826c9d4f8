r"""Data objects of hypergraphs, and conversions from and to other libraries."""

from tgx_anchor.data.anchor_data import AnchorData
from tgx_anchor.data.hyperedge_index import HyperedgeIndex
from tgx_anchor.data.sharded_anchor_data import ShardedAnchorData

__all__ = ['AnchorData', 'HyperedgeIndex', 'ShardedAnchorData']
