r"""Models and their parts."""

from tgx_anchor.nn.models import AnchorModel, DegreeHeuristic, RandomHeuristic

__all__ = ['AnchorModel', 'DegreeHeuristic', 'RandomHeuristic']
