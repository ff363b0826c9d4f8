"""Imports benchmarks, which are scripts and not a package."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import torch

FOLDER = Path(__file__).parents[2] / 'benchmarks'


@contextmanager
def load_script(name: str) -> Iterator[ModuleType]:
    """Imports a script under a name of its own, and removes it afterwards."""
    key = f'benchmark_{name}'
    spec = importlib.util.spec_from_file_location(key, FOLDER / f'{name}.py')
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    num_threads = torch.get_num_threads()
    sys.modules[key] = module
    # As if it were run: scripts import their neighbours.
    sys.path.insert(0, str(FOLDER))
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(FOLDER))
        torch.set_num_threads(num_threads)
        del sys.modules[key]
