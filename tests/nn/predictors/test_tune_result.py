import dataclasses

import pytest

from tgx_anchor.nn import RandomHeuristic, TuneResult


def test_holds_any_model() -> None:
    model = RandomHeuristic(seed=3)
    result = TuneResult([{'w': None, 'val_accuracy': 0.5}], {'w': None}, model)
    assert result.model.seed == 3
    assert result.best == {'w': None}
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.model = model  # type: ignore[misc]
