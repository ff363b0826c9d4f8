import math

import pytest
import torch
from torch import Tensor

from tests.strategies import one_line_error
from tgx_anchor.benchmark.logistic_regression import LogisticRegression


def two_clouds(num_rows: int = 200, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(num_rows) % 2 == 0
    x = torch.randn(num_rows, 3, generator=generator)
    x[:, 0] += 2.0 * y
    return x, y


def loss_of(weight: Tensor, x: Tensor, y: Tensor, penalty: float) -> Tensor:
    # Row by row; the bias is the last weight.
    loss = penalty * (weight[:-1] ** 2).sum() / 2
    for row, real in zip(x.double(), y.tolist(), strict=True):
        logit = row @ weight[:-1] + weight[-1]
        p = 1 / (1 + (-logit).exp())
        loss = loss - (p if real else 1 - p).log()
    return loss


@pytest.mark.parametrize('penalty', [0.1, 1.0, 30.0])
def test_gradient_vanishes_at_the_solution(penalty: float) -> None:
    x, y = two_clouds(60)
    model = LogisticRegression(penalty).fit(x, y)
    weight = torch.cat([model.weight, torch.tensor([model.bias]).double()])
    weight.requires_grad_()
    loss_of(weight, x, y, penalty).backward()
    assert weight.grad is not None
    assert float(weight.grad.abs().max()) < 1e-3
    logit = x.double() @ model.weight + model.bias
    torch.testing.assert_close(model.logit(x), logit)


def test_by_hand() -> None:
    # Without features, the log-odds are those of the classes.
    y = torch.tensor([True, True, True, False])
    model = LogisticRegression().fit(torch.zeros(4, 1), y)
    assert model.logit(torch.zeros(1, 1)).tolist() == pytest.approx(
        [math.log(3)], abs=1e-4
    )
    # A symmetric pair: w solves w = 2 / (1 + exp(w)).
    model = LogisticRegression().fit(
        torch.tensor([[1.0], [-1.0]]), torch.tensor([True, False])
    )
    weight = float(model.weight)
    assert weight == pytest.approx(2 / (1 + math.exp(weight)), abs=1e-4)
    assert model.bias == pytest.approx(0.0, abs=1e-4)


def test_it_classifies() -> None:
    x, y = two_clouds(2000)
    model = LogisticRegression().fit(x[:1000], y[:1000])
    accuracy = ((model.logit(x[1000:]) > 0) == y[1000:]).double().mean()
    # Two normal distributions at a distance of two: 84 % at best.
    assert 0.82 < float(accuracy) < 0.87


def test_standardize() -> None:
    x, y = two_clouds()
    expected = LogisticRegression(standardize=True).fit(x, y).logit(x)
    moved = x.double() * torch.tensor([1e3, 1e-3, 1.0]).double() + 5
    model = LogisticRegression(standardize=True).fit(moved, y)
    torch.testing.assert_close(model.logit(moved), expected, atol=1e-4, rtol=1e-4)
    plain = LogisticRegression().fit(moved, y).logit(moved)
    assert not torch.allclose(plain, expected, atol=1e-2)
    # A constant column has no effect, whatever it is in other rows.
    padded = torch.cat([x, torch.full((200, 1), 0.1)], dim=1)
    model = LogisticRegression(standardize=True).fit(padded, y)
    padded[:, 3] = 7.0
    torch.testing.assert_close(model.logit(padded), expected, atol=1e-4, rtol=1e-4)


def test_same_every_time() -> None:
    x, y = two_clouds()
    first, second = (LogisticRegression().fit(x, y).logit(x) for _ in range(2))
    assert torch.equal(first, second)


def test_bad_arguments() -> None:
    with one_line_error("'penalty'", '-1'):
        LogisticRegression(-1)
