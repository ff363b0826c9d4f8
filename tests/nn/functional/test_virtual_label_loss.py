import importlib
import math

import pytest
import torch
from torch import Tensor

from tests.devices import second_device
from tests.strategies import one_line_error
from tgx_anchor.nn.functional import virtual_label_loss


def random_labels(*size: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(size, generator=generator).mul(2).softmax(dim=1)


def slow_loss(prob: Tensor) -> list[float]:
    # Entry by entry.
    n, c, num_subspaces = prob.size()
    m = prob.double().tolist()
    local = balance = distinct = 0.0
    for s in range(num_subspaces):
        for r in range(n):
            for a in range(c):
                local -= m[r][a][s] * math.log(m[r][a][s] + 1e-10)
        for a in range(c):
            mean = sum(m[r][a][s] for r in range(n)) / n
            balance += mean * math.log(mean + 1e-10)
        columns = [[m[r][a][s] for r in range(n)] for a in range(c)]
        for a in range(c):
            cosine = [
                sum(x * y for x, y in zip(columns[a], other, strict=True))
                / math.hypot(*columns[a])
                / math.hypot(*other)
                for other in columns
            ]
            total = sum(math.exp(value) for value in cosine)
            distinct -= math.log(math.exp(cosine[a]) / total)
    size = num_subspaces
    return [local / size / n, balance / size, distinct / size / c]


@pytest.mark.parametrize('num_labels', [2, 3, 8])
@pytest.mark.parametrize('num_rows', [1, 5, 40])
def test_slow_version(
    num_labels: int, num_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    prob = random_labels(num_rows, num_labels, 4)
    expected = pytest.approx(slow_loss(prob), abs=1e-5)
    assert [float(term) for term in virtual_label_loss(prob)] == expected
    # Blocks of a few rows, the last one shorter than the others.
    module = importlib.import_module('tgx_anchor.nn.functional.virtual_label_loss')
    monkeypatch.setattr(module, '_BLOCK_CPU', 3 * num_labels * 4)
    assert [float(term) for term in virtual_label_loss(prob)] == expected


def test_by_hand() -> None:
    # Two rows, sure of two labels.
    sure = torch.eye(2).unsqueeze(2)
    local, balance, distinct = virtual_label_loss(sure)
    assert float(local) == pytest.approx(0.0, abs=1e-6)
    assert float(balance) == pytest.approx(-math.log(2), abs=1e-6)
    assert float(distinct) == pytest.approx(math.log(1 + math.exp(-1)), abs=1e-6)
    # Both sure of the same label: its column is alone, the other one is zero.
    same = torch.tensor([[1.0, 0.0], [1.0, 0.0]]).unsqueeze(2)
    local, balance, distinct = virtual_label_loss(same)
    assert float(local) == pytest.approx(0.0, abs=1e-6)
    assert float(balance) == pytest.approx(0.0, abs=1e-6)
    expected = (math.log(1 + math.exp(-1)) + math.log(2)) / 2
    assert float(distinct) == pytest.approx(expected, abs=1e-6)
    # No idea at all.
    even = torch.full((3, 4, 5), 0.25)
    local, balance, distinct = virtual_label_loss(even)
    assert float(local) == pytest.approx(math.log(4), abs=1e-6)
    assert float(balance) == pytest.approx(-math.log(4), abs=1e-6)
    assert float(distinct) == pytest.approx(math.log(4), abs=1e-6)


@pytest.mark.parametrize('term', ['local', 'balance', 'distinct'])
def test_gradients(term: str) -> None:
    prob = random_labels(7, 3, 4).double().requires_grad_()
    weight = torch.tensor([1.0, 2, 1, 0, 3, 1, 1]).double()
    assert torch.autograd.gradcheck(
        lambda prob: getattr(virtual_label_loss(prob, weight), term), prob
    )


def test_gradients_of_several_blocks() -> None:
    prob = random_labels(3000, 2, 64)
    parts = [prob.clone().requires_grad_(), prob.double().requires_grad_()]
    for part in parts:
        sum(virtual_label_loss(part)).backward()  # type: ignore[union-attr]
    first, second = (part.grad for part in parts)
    assert first is not None
    torch.testing.assert_close(first, second, check_dtype=False, atol=1e-7, rtol=1e-4)


def test_weights_count_copies() -> None:
    prob = random_labels(5, 3, 4)
    copies = torch.tensor([3, 1, 0, 2, 1])
    expected = virtual_label_loss(prob.repeat_interleave(copies, dim=0))
    for weight in (copies.float(), 10 * copies.float()):
        torch.testing.assert_close(virtual_label_loss(prob, weight), expected)


def test_invariances() -> None:
    prob = random_labels(9, 3, 4)
    expected = virtual_label_loss(prob)
    rows, subspaces = torch.randperm(9), torch.randperm(4)
    moved = prob[rows][:, [2, 0, 1]][:, :, subspaces]
    torch.testing.assert_close(virtual_label_loss(moved), expected)
    # Whatever the order in memory.
    strided = prob.transpose(1, 2).contiguous().transpose(1, 2)
    torch.testing.assert_close(virtual_label_loss(strided), expected)


def test_no_rows() -> None:
    prob = torch.zeros((0, 3, 4), requires_grad=True)
    local, balance, distinct = virtual_label_loss(prob)
    assert float(local.detach()) == 0.0
    assert float(balance.detach()) == 0.0
    assert float(distinct.detach()) == pytest.approx(math.log(3))
    (local + balance + distinct).backward()
    assert prob.grad is not None


def test_rows_of_no_weight_need_no_distribution() -> None:
    prob = random_labels(4, 3, 2)
    padded = torch.cat([prob, torch.zeros(2, 3, 2)]).requires_grad_()
    weight = torch.tensor([1.0, 1, 1, 1, 0, 0])
    found = virtual_label_loss(padded, weight)
    torch.testing.assert_close(tuple(found), tuple(virtual_label_loss(prob)))
    sum(found).backward()  # type: ignore[union-attr]
    assert padded.grad is not None
    assert bool((padded.grad[4:] == 0).all())
    assert bool((padded.grad[:4] != 0).any())


def test_bad_arguments() -> None:
    with one_line_error("'prob'", '[2, 3]'):
        virtual_label_loss(torch.zeros(2, 3))
    with one_line_error("'weight'", '[2]', '[3]'):
        virtual_label_loss(torch.zeros(2, 3, 1), torch.zeros(3))


def test_second_device() -> None:
    prob = random_labels(6, 3, 4)
    weight = torch.arange(6.0)
    expected = [float(term) for term in virtual_label_loss(prob, weight)]
    with second_device() as device:
        found = virtual_label_loss(prob.to(device), weight.to(device))
        assert all(term.device == device for term in found)
    assert [float(term.cpu()) for term in found] == expected
