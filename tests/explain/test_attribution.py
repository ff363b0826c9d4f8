import pytest
import torch
from torch import Tensor

from tgx_anchor.explain.attribution import integrated_gradients
from tgx_anchor.nn import IncidenceScorer


def riemann(scorer: IncidenceScorer, x: Tensor, baseline: Tensor, steps: int) -> Tensor:
    """The integral as a sum over many gradients."""
    total = torch.zeros_like(x)
    for step in range(steps):
        point = baseline + (step + 0.5) / steps * (x - baseline)
        point.requires_grad_()
        (gradient,) = torch.autograd.grad(scorer(point).sum(), point)
        total += gradient / steps
    return total * (x - baseline)


@pytest.fixture
def scorer() -> IncidenceScorer:
    torch.manual_seed(0)
    return IncidenceScorer(6, 16).double()


def test_attributions_are_complete(scorer: IncidenceScorer) -> None:
    x, baseline = 3 * torch.randn(2, 200, 6, dtype=torch.double)
    out = integrated_gradients(scorer, x, baseline)
    with torch.no_grad():
        gap = scorer(x) - scorer(baseline)
    assert torch.allclose(out.sum(1), gap, atol=1e-10)


def test_closed_form_is_the_integral(scorer: IncidenceScorer) -> None:
    x, baseline = 3 * torch.randn(2, 20, 6, dtype=torch.double)
    expected = riemann(scorer, x, baseline, 4000)
    out = integrated_gradients(scorer, x, baseline)
    assert torch.allclose(out, expected, atol=2e-3)


def test_hand_computed() -> None:
    scorer = IncidenceScorer(2, 2)
    first, second = scorer.mlp.lins
    first.weight.data = torch.tensor([[1.0, 1.0], [1.0, -1.0]])
    first.bias.data = torch.tensor([-1.0, 0.0])
    second.weight.data = torch.tensor([[2.0, 5.0]])
    # Unit 1 goes from -1 to 3 and is active on 3/4 of the line; unit 2 stays at 0 or
    # below. So the attributions are (4, 0) - (0, 0) times 2 * 3/4, for W = (1, 1).
    out = integrated_gradients(
        scorer, torch.tensor([[2.0, 2.0]]), torch.tensor([[0.0, 0.0]])
    )
    assert out.tolist() == [[3.0, 3.0]]
    assert out.dtype == torch.double


def test_equal_features_get_nothing(scorer: IncidenceScorer) -> None:
    x, baseline = torch.randn(2, 10, 6, dtype=torch.double)
    x[:, 2] = baseline[:, 2]
    out = integrated_gradients(scorer, x, baseline)
    assert (out[:, 2] == 0).all()
    assert (integrated_gradients(scorer, x, x) == 0).all()


def test_no_rows(scorer: IncidenceScorer) -> None:
    nothing = torch.empty(0, 6)
    assert integrated_gradients(scorer, nothing, nothing).size() == (0, 6)
