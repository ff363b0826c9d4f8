r"""Data object of hypergraphs, and its conversion from and to other formats."""

from tgx_anchor.data.anchor_data import AnchorData
from tgx_anchor.data.hyperedge_index import HyperedgeIndex

__all__ = ['AnchorData', 'HyperedgeIndex']
