import pytest
import torch
from torch import Tensor

from tgx_anchor.nn import IncidenceScorer


def by_hand(model: IncidenceScorer, feature: Tensor) -> Tensor:
    first, bias, second, offset = model.parameters()
    hidden = (feature @ first.t() + bias).clamp(min=0)
    return (hidden @ second.t() + offset).view(-1)


@pytest.mark.parametrize(('in_channels', 'hidden'), [(33, 64), (1, 1), (5, 8)])
def test_two_layers(in_channels: int, hidden: int, device: torch.device) -> None:
    model = IncidenceScorer(in_channels, hidden).to(device)
    assert repr(model) == f'IncidenceScorer({in_channels}, {hidden})'
    count = sum(p.numel() for p in model.parameters())
    assert count == hidden * (in_channels + 2) + 1
    feature = torch.randn(7, in_channels, device=device)
    out = model(feature)
    assert out.size() == (7,)
    torch.testing.assert_close(out, by_hand(model, feature))
    # No normalisation over the batch, no dropout: rows do not know each other.
    torch.testing.assert_close(model(feature[2:3]), out[2:3])
    assert torch.equal(model.train()(feature), model.eval()(feature))


def test_default_size_and_no_rows() -> None:
    model = IncidenceScorer(3)
    assert model.hidden_channels == 64
    assert model(torch.empty(0, 3)).size() == (0,)


def test_reset_parameters() -> None:
    model = IncidenceScorer(3, 4)
    torch.manual_seed(5)
    model.reset_parameters()
    first = [p.clone() for p in model.parameters()]
    model.reset_parameters()
    assert not all(map(torch.equal, first, model.parameters()))
    torch.manual_seed(5)
    model.reset_parameters()
    assert all(map(torch.equal, first, model.parameters()))
