r"""Plots of groups, strengths, features and accuracy, with matplotlib."""

from tgx_anchor.visualize.plot_features import plot_features
from tgx_anchor.visualize.plot_group import plot_group
from tgx_anchor.visualize.plot_learning_curve import plot_learning_curve
from tgx_anchor.visualize.plot_reliability import plot_reliability
from tgx_anchor.visualize.plot_strengths import plot_strengths

__all__ = [
    'plot_features',
    'plot_group',
    'plot_learning_curve',
    'plot_reliability',
    'plot_strengths',
]
