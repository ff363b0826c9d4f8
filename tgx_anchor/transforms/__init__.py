r"""What is written onto the data before a model sees it."""

from tgx_anchor.transforms.add_topological_features import AddTopologicalFeatures
from tgx_anchor.transforms.random_hyperedge_split import RandomHyperedgeSplit

__all__ = ['AddTopologicalFeatures', 'RandomHyperedgeSplit']
