r"""One harness for all benchmarks, and the benchmark of all methods on all settings."""

from tgx_anchor.benchmark.methods import METHODS
from tgx_anchor.benchmark.results import BenchmarkRow
from tgx_anchor.benchmark.run import run_benchmark
from tgx_anchor.benchmark.runner import Failure, fill_table, run_tasks

__all__ = [
    'METHODS',
    'BenchmarkRow',
    'Failure',
    'fill_table',
    'run_benchmark',
    'run_tasks',
]
