r"""Loaders of mini-batches of hyperedges."""

from tgx_anchor.loader.hyperedge_loader import HyperedgeLoader

__all__ = ['HyperedgeLoader']
