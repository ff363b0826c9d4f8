"""The second device, against the CPU."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch_geometric.utils import scatter, softmax

from tests.devices import WrongDeviceError, second_device
from tgx_anchor.utils import incidence_matrix


def test_tensor_knows_its_device() -> None:
    with second_device() as device:
        moved = torch.arange(4).to(device)
        made = torch.zeros(4, device=moved.device)
        derived = [
            moved + 1,
            moved[moved > 1],
            moved.new_ones(2),
            made.cpu().to(device),
        ]
        assert all(t.device == device for t in [moved, made, *derived])
        assert moved.cpu().device.type == 'cpu'
        assert torch.tensor([1.0], device=device).device == device
        assert torch.rand(3).device.type == 'cpu'


def test_values_are_real() -> None:
    with second_device() as device:
        value = torch.tensor([3.0, 1.0, 3.0], device=device)
        assert torch.unique(value).tolist() == [1.0, 3.0]
        assert value.nonzero().view(-1).tolist() == [0, 1, 2]
        assert float(value.sum()) == 7.0
        assert bool((value > 0).all())
        value[1:] = torch.zeros(2, device=device)
        value += 1
        assert value.tolist() == [4.0, 1.0, 1.0]
        assert torch.equal(value.cpu(), torch.tensor([4.0, 1.0, 1.0]))


def test_devices_do_not_mix() -> None:
    with second_device() as device:
        here, there = torch.arange(3), torch.arange(3).to(device)
        mixtures: list[Callable[[], Tensor]] = [
            lambda: here + there,
            lambda: there[here],
            lambda: here[there],
            lambda: torch.cat([here, there]),
            lambda: there.index_add_(0, there, here),
        ]
        for mix in mixtures:
            with pytest.raises(WrongDeviceError, match='of one device'):
                mix()
        assert (there * torch.tensor(2)).tolist() == [0, 2, 4]
        assert here.copy_(there + 1).tolist() == [1, 2, 3]
        assert there.copy_(here).tolist() == [1, 2, 3]


def test_reductions_of_pyg() -> None:
    index = torch.tensor([0, 0, 1])
    value = torch.tensor([1.0, 2.0, 3.0])
    with second_device() as device:
        there = (value.to(device), index.to(device))
        assert scatter(*there, 0, 3, 'max').tolist() == [2.0, 3.0, 0.0]
        assert torch.equal(
            softmax(*there, num_nodes=3).cpu(), softmax(value, index, num_nodes=3)
        )


def test_sparse_matrix() -> None:
    index = torch.tensor([[0, 0, 1], [0, 1, 1]])
    with second_device() as device:
        matrix = incidence_matrix(index.to(device), 2, 2)
        out = matrix @ torch.tensor([1.0, 5.0], dtype=torch.double, device=device)
        assert out.device == device
        assert out.tolist() == [6.0, 5.0]


def train(device: torch.device) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    first = torch.nn.Linear(3, 4).to(device)
    model = torch.nn.Sequential(first, torch.nn.Linear(4, 1).to(device))
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.arange(6.0).view(2, 3).to(device)
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
    weight, grad = first.weight, first.weight.grad
    assert grad is not None
    assert weight.device == grad.device == device
    return weight.detach().cpu(), grad.cpu()


def test_modules_learn_the_same() -> None:
    expected = train(torch.device('cpu'))
    with second_device() as device:
        found = train(device)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
