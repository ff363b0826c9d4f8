import math

import pytest
import torch

from tests.strategies import to_data
from tgx_anchor.nn.predictors.degree_score import degree_sign, log_degree


def test_log_degree() -> None:
    data = to_data([[0, 1], [0, 2], [0, 1, 2], []], 4)
    expected = [3, 2, 3, 2, 3, 2, 2]
    assert log_degree(data).tolist() == pytest.approx(list(map(math.log, expected)))


def test_sign_is_that_of_most_distinct_groups() -> None:
    # Member 0 has the highest degree, and anchors the copies of one group only.
    groups = [[0, 1]] * 5 + [[0, 2], [0, 3]]
    data = to_data(groups, 4, [[0]] * 5 + [[2], [3]])
    everything = torch.ones(7, dtype=torch.bool)
    assert degree_sign(data, everything) == -1
    assert degree_sign(data, torch.arange(7) < 5) == 1
