import math
from pathlib import Path
from typing import Any

from tgx_anchor.benchmark import BenchmarkRow
from tgx_anchor.benchmark.results import Task, benchmark_table


def row(**kwargs: Any) -> BenchmarkRow:
    given: dict[str, Any] = {
        'setting': 'emER',
        'method': 'HGNN',
        'split': 0,
        'num_epochs': 0,
        'accuracy': 0.5,
        'mrr': 0.6,
        'ndcg': 0.7,
        'trained_epochs': 3,
        'train_seconds': 1.5,
        'predict_seconds': 0.1,
        'num_parameters': 100,
        'peak_memory': 0.25,
        'threads': 1,
    }
    return BenchmarkRow(**{**given, **kwargs})


def test_epoch_seconds() -> None:
    assert row(trained_epochs=3, train_seconds=1.5).epoch_seconds == 0.5
    assert math.isnan(row(trained_epochs=0).epoch_seconds)
    assert row(split=4, num_epochs=7).task == Task('emER', 'HGNN', 4, 7)


def test_keys_are_tasks(tmp_path: Path) -> None:
    table = benchmark_table(tmp_path / 'rows.csv')
    table.add(row(), row(num_epochs=5), row(accuracy=0.75))
    assert Task('emER', 'HGNN', 0) in table
    assert Task('emER', 'HGNN', 0, 6) not in table
    # The last row of a task counts.
    assert benchmark_table(tmp_path / 'rows.csv').rows == [
        row(accuracy=0.75),
        row(num_epochs=5),
    ]
