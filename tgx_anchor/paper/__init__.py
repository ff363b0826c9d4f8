r"""Figures and hyperparameters that the paper printed."""

from tgx_anchor.paper.settings import (
    DATASETS,
    SETTINGS,
    figure,
    figures,
    hyperparameters,
    tables,
)

__all__ = [
    'DATASETS',
    'SETTINGS',
    'figure',
    'figures',
    'hyperparameters',
    'tables',
]
