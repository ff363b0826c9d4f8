r"""All methods on all settings, side by side."""

from tgx_anchor.comparison.comparison_row import ComparisonRow
from tgx_anchor.comparison.methods import METHODS
from tgx_anchor.comparison.paper_figures import PaperFigures
from tgx_anchor.comparison.run import compare

__all__ = ['METHODS', 'ComparisonRow', 'PaperFigures', 'compare']
