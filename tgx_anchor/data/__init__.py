r"""Hypergraphs, their incidences as layers take them, and conversions."""

from tgx_anchor.data.anchor_data import AnchorData
from tgx_anchor.data.hyperedge_index import HyperedgeIndex

__all__ = ['AnchorData', 'HyperedgeIndex']
