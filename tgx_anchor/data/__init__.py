r"""Data objects of hypergraphs, and conversions from and to other libraries."""

from tgx_anchor.data.anchor_data import AnchorData
from tgx_anchor.data.hyperedge_index import HyperedgeIndex

__all__ = ['AnchorData', 'HyperedgeIndex']
