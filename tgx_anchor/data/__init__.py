r"""Hypergraphs, and the incidences of one as layers take them."""

from tgx_anchor.data.anchor_data import AnchorData
from tgx_anchor.data.hyperedge_index import HyperedgeIndex

__all__ = ['AnchorData', 'HyperedgeIndex']
