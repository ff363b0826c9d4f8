import pytest
import torch

from tgx_anchor.nn.predictors.copy_weight import copy_weight


def test_copies_share_evidence() -> None:
    # One group alone, and one that occurs eleven times: 11 / (1 + 0.1 * 10) together.
    number = torch.tensor([4] + 11 * [2])
    weight = copy_weight(number)
    assert weight.dtype == torch.double
    assert float(weight[0]) == 1.0
    assert float(weight[1:].sum()) == pytest.approx(5.5)
    assert copy_weight(torch.zeros(10**5, dtype=torch.long)).sum() < 10
