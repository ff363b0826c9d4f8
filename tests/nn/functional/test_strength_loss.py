from decimal import Decimal, localcontext
from functools import partial
from importlib import import_module
from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.utils import softmax

from tests.devices import second_device
from tests.strategies import SETTINGS, hypergraphs, one_line_error, to_data, to_groups
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.functional import StrengthProblem, strength_loss, strength_problem
from tgx_anchor.utils.hyperedge_block import ptr_blocks

Alignment = Literal['all', 'known', 'cross_entropy']
ALIGNMENTS: tuple[Alignment, ...] = ('all', 'known', 'cross_entropy')


def slow_loss(
    strength: Tensor,
    data: AnchorData,
    reference: Tensor,
    mask: Tensor,
    alpha: float,
    alignment: Alignment,
) -> Tensor:
    # Equations 2 and 3, hyperedge by hyperedge.
    loss = strength.new_zeros(())
    node, hyperedge = data.hyperedge_index
    for e in range(data.num_hyperedges):
        row = hyperedge == e
        log_p = torch.log_softmax(strength[node[row]], dim=0)
        y, q = data['y'][row], reference[row]
        if mask[e]:
            loss = loss - log_p[y].mean()
        if int(row.sum()) < 2:
            continue
        if alignment == 'all':
            loss = loss - alpha * (log_p.exp() * q).sum()
        elif alignment == 'cross_entropy':
            loss = loss - alpha * (log_p * q).sum()
        elif mask[e]:
            loss = loss - alpha * (log_p.exp() * q)[y].sum()
    return loss


def make_problem(
    data: AnchorData, reference: Tensor, mask: Tensor, alignment: Alignment
) -> StrengthProblem:
    return strength_problem(
        reference,
        data.hyperedge_index,
        int(data.num_nodes or 0),
        data.num_hyperedges,
        data['y'],
        mask,
        alignment,
    )


def random_reference(data: AnchorData, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    score = torch.randn(data.num_incidences, generator=generator, dtype=torch.double)
    return softmax(score, data.hyperedge_index[1], num_nodes=data.num_hyperedges)


def random_strength(*size: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(*size, generator=generator, dtype=torch.double)


def random_data(seed: int = 0) -> AnchorData:
    # Forty groups of one to six of twelve members, the first ten with anchors.
    generator = torch.Generator().manual_seed(seed)
    groups, anchors = [], []
    for e in range(40):
        members = torch.randperm(12, generator=generator).tolist()[: 1 + e % 6]
        groups.append(members)
        anchors.append(members[:1] if e < 10 else [])
    return to_data(groups, 12, anchors)


@SETTINGS
@given(
    hypergraphs(1),
    st.sampled_from(ALIGNMENTS),
    st.sampled_from([0.0, 0.06, 2.5]),
    st.integers(0, 99),
    st.data(),
)
def test_by_definition(
    data: AnchorData, alignment: Alignment, alpha: float, seed: int, draw: st.DataObject
) -> None:
    size = data.num_hyperedges
    flags = draw.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    mask = torch.tensor(flags, dtype=torch.bool) & data.known_mask
    reference = random_reference(data, seed)
    start = random_strength(int(data.num_nodes or 0), seed=seed)
    fast, slow = start.clone().requires_grad_(), start.clone().requires_grad_()
    problem = make_problem(data, reference, mask, alignment)
    loss = strength_loss(fast, problem, alpha)
    assert loss.dim() == 0
    expected = slow_loss(slow, data, reference, mask, alpha, alignment)
    torch.testing.assert_close(loss, expected, rtol=1e-11, atol=1e-11)
    (3 * loss).backward()
    # Keeps the node in the graph where no hyperedge has a say.
    (3 * expected + 0 * slow.sum()).backward()
    assert fast.grad is not None
    torch.testing.assert_close(fast.grad, slow.grad, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize('num_rows', [1, 4, 9])
def test_matrices_in_blocks(num_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = random_data()
    reference = random_reference(data, 4)
    whole = make_problem(data, reference, data.known_mask, 'all')
    # The function hides the module of the same name.
    module = import_module('tgx_anchor.nn.functional.strength_loss')
    monkeypatch.setattr(module, 'ptr_blocks', partial(ptr_blocks, num_rows=num_rows))
    found = make_problem(data, reference, data.known_mask, 'all')
    for name in ('to_hyperedge', 'to_node'):
        expected = getattr(whole, name).to_dense()
        assert torch.equal(getattr(found, name).to_dense(), expected)


@pytest.mark.parametrize('alignment', ALIGNMENTS)
def test_gradcheck(alignment: Alignment) -> None:
    groups = [[0, 1, 2], [3], [], [1, 3], [0, 2, 3], [4, 0]]
    data = to_data(groups, 5, [[1], [3], [], [], [0, 2], [4]])
    problem = make_problem(data, random_reference(data, 1), data.known_mask, alignment)
    alpha = torch.tensor([0.0, 0.3, 2.0], dtype=torch.double)
    start = random_strength(5, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: strength_loss(s, problem, alpha), start)


def train(problem: StrengthProblem, alpha: float | Tensor, start: Tensor) -> Tensor:
    strength = torch.nn.Parameter(start.clone())
    optimizer = torch.optim.Adam([strength], lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        strength_loss(strength, problem, alpha).sum().backward()
        optimizer.step()
    return strength.detach()


@pytest.mark.parametrize('alignment', ALIGNMENTS)
def test_several_alpha_at_once(alignment: Alignment) -> None:
    data = random_data()
    problem = make_problem(data, random_reference(data, 2), data.known_mask, alignment)
    values = [0.0, 0.01, 0.06, 0.5, 1.0]
    alpha = torch.tensor(values, dtype=torch.double)
    strength = random_strength(12, 5, seed=3)
    loss = strength_loss(strength, problem, alpha)
    assert loss.size() == (5,)
    together = train(problem, alpha, strength)
    # Where a gradient is zero but for rounding, Adam magnifies what it is rounded to.
    ones = torch.ones_like(strength)
    from_ones = train(problem, alpha, ones)
    for k, value in enumerate(values):
        alone = strength_loss(strength[:, k], problem, value)
        torch.testing.assert_close(loss[k], alone, rtol=1e-12, atol=1e-12)
        for several, start, atol in (
            (together, strength, 1e-12),
            (from_ones, ones, 1e-7),
        ):
            torch.testing.assert_close(
                several[:, k], train(problem, value, start[:, k]), rtol=0, atol=atol
            )
    # The weights do make a difference.
    assert (from_ones[:, 0] - from_ones[:, 4]).abs().max() > 0.1


def exact_loss(
    strength: Tensor,
    data: AnchorData,
    reference: Tensor,
    mask: Tensor,
    alpha: float,
    alignment: Alignment,
) -> tuple[float, list[float]]:
    # The same to fifty digits, with its gradient.
    rows = iter(zip(reference.tolist(), data['y'].tolist(), strict=True))
    with localcontext(prec=50):
        x = [Decimal(value).exp() for value in strength.tolist()]
        weight, loss = Decimal(alpha), Decimal(0)
        gradient = [Decimal(0)] * len(x)
        for group, known in zip(to_groups(data), mask.tolist(), strict=True):
            entries = [next(rows) for _ in group]
            q = [Decimal(value) for value, _ in entries]
            anchors = sum(flag for _, flag in entries)
            total = sum((x[v] for v in group), Decimal(0))
            p = [x[v] / total for v in group]
            if alignment == 'known':
                q = [a * flag for a, (_, flag) in zip(q, entries, strict=True)]
            aligned = len(group) > 1 and (alignment != 'known' or known)
            agreement = sum((a * b for a, b in zip(p, q, strict=True)), Decimal(0))
            for i, v in enumerate(group):
                if known:
                    gradient[v] += p[i]
                    if entries[i][1]:
                        loss -= p[i].ln() / anchors
                        gradient[v] -= Decimal(1) / anchors
                if aligned and alignment == 'cross_entropy':
                    loss -= weight * q[i] * p[i].ln()
                    gradient[v] += weight * (p[i] - q[i])
                elif aligned:
                    loss -= weight * q[i] * p[i]
                    gradient[v] -= weight * p[i] * (q[i] - agreement)
        return float(loss), [float(value) for value in gradient]


@pytest.mark.parametrize('alignment', ALIGNMENTS)
def test_wide_range_in_large_groups(alignment: Alignment) -> None:
    # Strengths from -100 to 100, in a group of 1,000 and in small ones at both ends.
    size = 1000
    every = list(range(size))
    groups = [every, every[:3], every[-3:], [0, size - 1], [5], [], [2, 500]]
    anchors = [[0], [0, 1], [size - 1], [0], [5], [], []]
    data = to_data(groups, size, anchors)
    strength = torch.linspace(-100, 100, size, dtype=torch.double).requires_grad_()
    reference, mask = random_reference(data, 3), data.known_mask
    loss = strength_loss(strength, make_problem(data, reference, mask, alignment), 0.7)
    loss.backward()
    expected, gradient = exact_loss(
        strength.detach(), data, reference, mask, 0.7, alignment
    )
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-12)
    assert strength.grad is not None
    assert strength.grad.tolist() == pytest.approx(gradient, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize('alignment', ALIGNMENTS)
def test_beyond_the_range_of_doubles(alignment: Alignment) -> None:
    data = to_data([[0, 1], [1, 2], [0, 2]], 3, [[1], [1], [0]])
    problem = make_problem(data, random_reference(data, 0), data.known_mask, alignment)
    strength = torch.tensor([5000.0, 0.0, -5000.0], dtype=torch.double)
    strength.requires_grad_()
    loss = strength_loss(strength, problem, 1.0)
    loss.backward()
    assert strength.grad is not None
    assert torch.isfinite(loss)
    assert torch.isfinite(strength.grad).all()
    # Up with the anchor 1, down with its rival 0.
    assert strength.grad[1] < -0.4
    assert strength.grad[0] > 0.4


@pytest.mark.parametrize('alignment', ALIGNMENTS)
def test_shift_does_not_matter(alignment: Alignment) -> None:
    data = random_data(1)
    problem = make_problem(data, random_reference(data, 5), data.known_mask, alignment)
    strength = random_strength(12, 2, seed=6)
    moved = strength + torch.tensor([1000.0, -30.0], dtype=torch.double)
    torch.testing.assert_close(
        strength_loss(moved, problem, 0.3),
        strength_loss(strength, problem, 0.3),
        rtol=1e-10,
        atol=1e-10,
    )


def test_nothing_known_and_no_members() -> None:
    data = to_data([[], [0], []], 1, [[], [], []])
    for alignment in ALIGNMENTS:
        problem = make_problem(
            data, random_reference(data, 0), data.known_mask, alignment
        )
        strength = torch.zeros(1, dtype=torch.double, requires_grad=True)
        loss = strength_loss(strength, problem, 1.0)
        loss.backward()
        assert float(loss.detach()) == 0
        assert strength.grad is not None
        assert strength.grad.tolist() == [0]
    nobody = to_data([[]], 0, [[]])
    problem = make_problem(nobody, torch.zeros(0), nobody.known_mask, 'all')
    assert float(strength_loss(torch.zeros(0, dtype=torch.double), problem, 1.0)) == 0


def test_runs_where_the_data_is(device: torch.device) -> None:
    data = random_data()
    reference = random_reference(data, 1).to(device)
    data = data.to(device)
    problem = make_problem(data, reference, data.known_mask, 'all')
    strength = random_strength(12).to(device)
    loss = strength_loss(strength, problem, 0.5)
    assert loss.device.type == device.type
    expected = slow_loss(strength, data, reference, data.known_mask, 0.5, 'all')
    torch.testing.assert_close(loss, expected, rtol=1e-11, atol=1e-11)


def test_differentiable_once() -> None:
    # A second derivative would silently be zero.
    data = to_data([[0, 1]], 2, [[0]])
    problem = make_problem(data, torch.ones(2), data.known_mask, 'all')
    strength = torch.zeros(2, dtype=torch.double, requires_grad=True)
    loss = strength_loss(strength, problem, 0.5)
    (grad,) = torch.autograd.grad(loss, strength, create_graph=True)
    with pytest.raises(RuntimeError, match=r'require grad|once_differentiable'):
        grad.sum().backward()


def test_bad_input() -> None:
    data = to_data([[0, 1]], 2, [[0]])
    problem = make_problem(data, torch.ones(2), data.known_mask, 'all')
    with one_line_error("'strength'", 'float32'):
        strength_loss(torch.zeros(2), problem, 0.5)
    alpha = torch.tensor(0.5, requires_grad=True)
    with one_line_error("'alpha'", 'gradient'):
        strength_loss(torch.zeros(2, dtype=torch.double), problem, alpha)


def test_unknown_alignment() -> None:
    data = to_data([[0, 1]], 2, [[0]])
    with one_line_error("'alignment'", 'cross_entropy', "'some'"):
        make_problem(data, torch.zeros(2), data.known_mask, 'some')  # type: ignore[arg-type]


@pytest.mark.parametrize('alignment', ALIGNMENTS)
@pytest.mark.parametrize('alpha', [0.3, torch.tensor([0.0, 0.3], dtype=torch.double)])
def test_second_device(alignment: Alignment, alpha: float | Tensor) -> None:
    data = to_data([[0, 1], [1, 2, 3], [], [0, 3]], 4, [[1], [2, 3], [], [0]])
    mask = torch.tensor([True, True, False, False])
    reference = torch.tensor([0.4, 0.6, 0.2, 0.5, 0.3, 0.9, 0.1])
    shape = (4,) if isinstance(alpha, float) else (4, 2)
    strength = torch.arange(float(len(shape) * 4), dtype=torch.double).view(-1)
    strength = strength[: torch.Size(shape).numel()].view(shape).requires_grad_()
    problem = strength_problem(
        reference, data.hyperedge_index, 4, 4, data['y'], mask, alignment
    )
    loss = strength_loss(strength, problem, alpha).sum()
    loss.backward()
    with second_device() as device:
        moved = [reference, data.hyperedge_index, data['y'], mask]
        values, index, y, known = (value.to(device) for value in moved)
        problem = strength_problem(values, index, 4, 4, y, known, alignment)
        twin = strength.detach().to(device).requires_grad_()
        weight = alpha if isinstance(alpha, float) else alpha.to(device)
        out = strength_loss(twin, problem, weight).sum()
        out.backward()
        assert out.device == device
        assert twin.grad is not None
        grad = twin.grad.cpu()
    torch.testing.assert_close(out.cpu(), loss)
    torch.testing.assert_close(grad, strength.grad)
