r"""Mini-batches of hypergraphs that are too large, or too slow, as a whole."""

from tgx_anchor.loader.hyperedge_loader import HyperedgeLoader

__all__ = ['HyperedgeLoader']
