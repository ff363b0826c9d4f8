import math
from typing import Any

from tgx_anchor.benchmark import ComparisonRow


def row(**kwargs: Any) -> ComparisonRow:
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
    return ComparisonRow(**{**given, **kwargs})


def test_epoch_seconds() -> None:
    assert row(trained_epochs=3, train_seconds=1.5).epoch_seconds == 0.5
    assert math.isnan(row(trained_epochs=0).epoch_seconds)
    assert row(split=4).task == ('emER', 'HGNN', 4)
