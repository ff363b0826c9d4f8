import torch

from tests.nn.predictors.learning import cross_entropy, to_rows
from tgx_anchor.nn.predictors.learning_rows import LearningRows


def test_fields() -> None:
    feature, target = torch.zeros((3, 2)), torch.tensor([0.5, 0.5, 1.0])
    rows = to_rows(feature, [2, 1], target)
    assert LearningRows._fields == ('feature', 'group', 'target', 'weight')
    assert rows.group.tolist() == [0, 0, 1]
    assert rows.weight.tolist() == [1, 1]
    # Equal scores: a coin is thrown in the first group.
    loss = cross_entropy(rows, torch.zeros(3))
    torch.testing.assert_close(loss, torch.tensor(2.0).log())
