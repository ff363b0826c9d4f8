r"""Loaders of mini-batches of hyperedges."""

from tgx_anchor.loader.hyperedge_loader import HyperedgeLoader
from tgx_anchor.loader.target_part import TargetPart

__all__ = ['HyperedgeLoader', 'TargetPart']
