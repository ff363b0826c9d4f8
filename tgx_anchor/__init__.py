"""Group-anchor identification in hypergraphs on top of PyTorch Geometric."""

import importlib
from types import ModuleType

__version__ = '0.1.0'

_ROOMS = [
    'benchmark',
    'cli',
    'data',
    'datasets',
    'io',
    'loader',
    'metrics',
    'nn',
    'paper',
    'report',
    'transforms',
    'utils',
    'visualize',
]

__all__ = ['__version__', *_ROOMS]


def __getattr__(name: str) -> ModuleType:
    # Rooms are imported when they are first used: PyTorch and PyG take seconds.
    if name in _ROOMS:
        return importlib.import_module(f'{__name__}.{name}')
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def __dir__() -> list[str]:
    return sorted(__all__)
