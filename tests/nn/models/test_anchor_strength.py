import torch

from tgx_anchor.nn import AnchorStrength


def test_one_strength_per_node(device: torch.device) -> None:
    model = AnchorStrength(4).to(device)
    assert repr(model) == 'AnchorStrength(4)'
    assert model.strength.tolist() == [1, 1, 1, 1]
    assert model.strength.dtype == torch.double
    assert model.strength.requires_grad
    with torch.no_grad():
        model.strength.copy_(torch.tensor([1.0, -2.0, 3.0, 4.0]))
    index = torch.tensor([[3, 1, 1, 0], [0, 0, 1, 1]], device=device)
    out = model(index)
    assert out.tolist() == [4, -2, -2, 1]
    out.sum().backward()
    assert model.strength.grad is not None
    assert model.strength.grad.tolist() == [1, 2, 0, 1]
    model.reset_parameters()
    assert model(index).tolist() == [1, 1, 1, 1]


def test_variants_side_by_side() -> None:
    model = AnchorStrength(3, 2)
    assert repr(model) == 'AnchorStrength(3, 2)'
    assert sum(p.numel() for p in model.parameters()) == 6
    with torch.no_grad():
        model.strength[2, 1] = 5
    index = torch.tensor([[2, 0], [0, 0]])
    assert model(index).tolist() == [[1, 5], [1, 1]]
    assert AnchorStrength(0)(torch.empty(2, 0, dtype=torch.long)).size() == (0,)
