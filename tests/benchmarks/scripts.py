"""Benchmarks are scripts, not a package: how tests import them."""

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
    """Imports a script under a name of its own, and leaves nothing of it behind."""
    key = f'benchmark_{name}'
    spec = importlib.util.spec_from_file_location(key, FOLDER / f'{name}.py')
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    num_threads = torch.get_num_threads()
    sys.modules[key] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        torch.set_num_threads(num_threads)
        del sys.modules[key]
