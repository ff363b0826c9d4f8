"""Group-anchor identification in hypergraphs on top of PyTorch Geometric."""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # type checkers and editors do not follow '__getattr__'
    from tgx_anchor import (
        benchmark,
        cli,
        data,
        datasets,
        explain,
        io,
        loader,
        metrics,
        nn,
        paper,
        report,
        reproduce,
        transforms,
        utils,
        visualize,
    )

__version__ = '0.1.0'

__all__ = [
    '__version__',
    'benchmark',
    'cli',
    'data',
    'datasets',
    'explain',
    'io',
    'loader',
    'metrics',
    'nn',
    'paper',
    'report',
    'reproduce',
    'transforms',
    'utils',
    'visualize',
]


def __getattr__(name: str) -> ModuleType:
    # Importing PyTorch and PyG takes seconds: a package is imported on first use.
    if name in __all__:
        return importlib.import_module(f'{__name__}.{name}')
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
