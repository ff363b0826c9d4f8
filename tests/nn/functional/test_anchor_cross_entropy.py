from decimal import Decimal, localcontext

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.strategies import SETTINGS, hypergraphs, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.functional import anchor_cross_entropy, anchor_target


def slow_loss(score: Tensor, data: AnchorData, mask: Tensor) -> Tensor:
    # Hyperedge by hyperedge, anchor by anchor.
    loss = score.new_zeros(())
    for e in mask.nonzero().view(-1).tolist():
        row = data.hyperedge_index[1] == e
        log_probability = torch.log_softmax(score[row], dim=0)
        loss = loss - log_probability[data['y'][row]].mean()
    return loss


@st.composite
def problems(draw: st.DrawFn) -> tuple[AnchorData, Tensor, Tensor]:
    data = draw(hypergraphs(1))
    flags = draw(
        st.lists(
            st.booleans(), min_size=data.num_hyperedges, max_size=data.num_hyperedges
        )
    )
    mask = torch.tensor(flags, dtype=torch.bool) & data.known_mask
    generator = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    score = 3 * torch.randn(
        data.num_incidences, generator=generator, dtype=torch.double
    )
    return data, mask, score


@SETTINGS
@given(problems())
def test_by_definition(drawn: tuple[AnchorData, Tensor, Tensor]) -> None:
    data, mask, score = drawn
    fast, slow = score.clone().requires_grad_(), score.clone().requires_grad_()
    loss = anchor_cross_entropy(fast, data['y'], data.hyperedge_index[1], mask)
    expected = slow_loss(slow, data, mask)
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)
    (2 * loss).backward()
    assert fast.grad is not None
    if not mask.any():
        assert float(loss.detach()) == 0
        assert fast.grad.abs().sum() == 0
        return
    (2 * expected).backward()
    torch.testing.assert_close(fast.grad, slow.grad, rtol=1e-12, atol=1e-12)


@SETTINGS
@given(problems())
def test_order_of_incidences_does_not_matter(
    drawn: tuple[AnchorData, Tensor, Tensor],
) -> None:
    data, mask, score = drawn
    hyperedge = data.hyperedge_index[1]
    loss = anchor_cross_entropy(score, data['y'], hyperedge, mask)
    perm = torch.arange(data.num_incidences - 1, -1, -1)
    twin = anchor_cross_entropy(score[perm], data['y'][perm], hyperedge[perm], mask)
    torch.testing.assert_close(twin, loss, rtol=1e-12, atol=1e-12)


def test_gradcheck() -> None:
    data = to_data([[0, 1, 2], [3], [], [1, 3], [0, 2, 3]], 4, [[1], [3], [], [], [0]])
    data['y'][-1] = True
    mask = data.known_mask
    score = torch.linspace(-1, 2, 9, dtype=torch.double).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda s: anchor_cross_entropy(s, data['y'], data.hyperedge_index[1], mask),
        (score,),
    )


def test_by_hand(device: torch.device) -> None:
    data = to_data([[0, 1], [2], [0, 1, 2]], 3, [[0], [2], [1, 2]]).to(device)
    score = torch.tensor([1.0, 1.0, 5.0, 0.0, 0.0, 0.0], device=device)
    hyperedge = data.hyperedge_index[1]
    mask = torch.tensor([True, True, False], device=device)
    loss = anchor_cross_entropy(score, data['y'], hyperedge, mask)
    assert loss.device.type == device.type
    assert loss.dtype == torch.float
    assert float(loss) == pytest.approx(0.6931472)
    loss = anchor_cross_entropy(score, data['y'], hyperedge, data.known_mask)
    assert float(loss) == pytest.approx(0.6931472 + 1.0986123)
    target = anchor_target(data['y'], hyperedge, data.known_mask)
    assert target.tolist() == [1, 0, 1, 0, 0.5, 0.5]
    assert target.dtype == torch.double
    assert anchor_target(data['y'], hyperedge, mask).tolist() == [1, 0, 1, 0, 0, 0]


@pytest.mark.parametrize('dtype', [torch.float, torch.double])
def test_large_scores_in_large_groups(dtype: torch.dtype) -> None:
    # 1,000 members, scores from -100 to 100, the anchor at the bottom and at the top.
    size = 1000
    data = to_data([list(range(size))] * 2, size, [[0], [size - 1]])
    score = torch.linspace(-100, 100, size, dtype=dtype).repeat(2).requires_grad_()
    loss = anchor_cross_entropy(
        score, data['y'], data.hyperedge_index[1], data.known_mask
    )
    loss.backward()
    with localcontext(prec=50):
        exact = [Decimal(x) for x in score.detach()[:size].tolist()]
        total = sum((x.exp() for x in exact), Decimal(0))
        expected = 2 * total.ln() - exact[0] - exact[-1]
        share = [float(x.exp() / total) for x in exact]
    tolerance = 1e-6 if dtype == torch.float else 1e-13
    assert float(loss.detach()) == pytest.approx(float(expected), rel=tolerance)
    assert score.grad is not None
    gradient = torch.tensor(share, dtype=torch.double).repeat(2) - data['y'].double()
    torch.testing.assert_close(
        score.grad.double(), gradient, rtol=10 * tolerance, atol=10 * tolerance
    )


def test_second_device() -> None:
    data = to_data([[0, 1], [1, 2, 3], [], [0, 3]], 4, [[1], [2, 3], [], [0]])
    mask = torch.tensor([True, True, False, False])
    generator = torch.Generator().manual_seed(0)
    score = torch.randn(7, generator=generator, requires_grad=True)
    loss = anchor_cross_entropy(score, data['y'], data.hyperedge_index[1], mask)
    loss.backward()
    with second_device() as device:
        twin = score.detach().to(device).requires_grad_()
        given = [data['y'], data.hyperedge_index[1], mask]
        out = anchor_cross_entropy(twin, *(value.to(device) for value in given))
        out.backward()
        assert out.device == device
        assert twin.grad is not None
        grad = twin.grad.cpu()
    torch.testing.assert_close(out.cpu(), loss)
    torch.testing.assert_close(grad, score.grad)
