r"""All methods on all settings, side by side."""

from tgx_anchor.benchmark.comparison_row import ComparisonRow
from tgx_anchor.benchmark.methods import METHODS
from tgx_anchor.benchmark.paper_figures import PaperFigures
from tgx_anchor.benchmark.run import compare

__all__ = ['METHODS', 'ComparisonRow', 'PaperFigures', 'compare']
