"""Group-anchor identification in hypergraphs on top of PyTorch Geometric."""

__version__ = '0.1.0'

__all__ = ['__version__']
