r"""Models and their parts."""

from tgx_anchor.nn.models import (
    AnchorModel,
    AnchorRadar,
    AnchorStrength,
    DegreeHeuristic,
    IncidenceScorer,
    RandomHeuristic,
    TuneResult,
)

__all__ = [
    'AnchorModel',
    'AnchorRadar',
    'AnchorStrength',
    'DegreeHeuristic',
    'IncidenceScorer',
    'RandomHeuristic',
    'TuneResult',
]
