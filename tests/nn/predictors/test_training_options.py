from dataclasses import fields
from inspect import signature
from typing import Any

import pytest

from tests.strategies import one_line_error
from tgx_anchor.nn import AnchorPredictor
from tgx_anchor.nn.predictors.training_options import TrainingOptions


def test_defaults_are_those_of_the_predictor() -> None:
    parameters = signature(AnchorPredictor.__init__).parameters
    options = {each.name: each.default for each in fields(TrainingOptions)}
    assert options == {
        name: parameter.default
        for name, parameter in parameters.items()
        if name not in ('self', 'encoder', 'calibration')
    }


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('objective', 'both'),
        ('num_roles', 0),
        ('batch_size', 0),
        ('num_epochs', 0),
        ('eval_every', 0),
        ('patience', 0),
        ('num_neighbors', 0),
        ('num_neighbors', -2),
        ('num_neighbors', [3, 0]),
        ('num_neighbors', 2.5),
        ('num_neighbors', ['all']),
        ('num_neighbors', 'all'),
        ('num_neighbors', None),
        ('lr', 0.0),
        ('lr', float('nan')),
        ('eps', -1.0),
        ('gamma', 0.0),
        ('max_norm', 0.0),
        ('weight_decay', -0.1),
    ],
)
def test_bad_options(name: str, value: Any) -> None:
    with one_line_error(f"'{name}'", str(value)):
        TrainingOptions(**{name: value})


def test_good_options() -> None:
    options = TrainingOptions(batch_size=None, max_norm=None, num_neighbors=3)
    assert (options.lr, options.num_neighbors) == (0.001, 3)
    assert TrainingOptions(num_neighbors=[3, -1]).num_neighbors == [3, -1]
