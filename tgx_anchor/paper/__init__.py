r"""Figures and hyperparameters that the paper printed."""

from tgx_anchor.paper.settings import (
    BASELINES,
    DATASETS,
    SETTINGS,
    figure,
    figures,
    hyperparameters,
    tables,
)

__all__ = [
    'BASELINES',
    'DATASETS',
    'SETTINGS',
    'figure',
    'figures',
    'hyperparameters',
    'tables',
]
