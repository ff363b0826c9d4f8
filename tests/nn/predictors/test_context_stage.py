"""Strengths by context, against loops."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.strategies import SETTINGS, hypergraphs, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import ContextStrength
from tgx_anchor.nn.functional import aggregate_strength, strength_loss
from tgx_anchor.nn.predictors.context_stage import (
    by_context,
    context_epochs,
    context_share,
)
from tgx_anchor.nn.predictors.stages import alignment_problem


@st.composite
def with_cells(draw: st.DrawFn) -> tuple[AnchorData, Tensor]:
    data = draw(hypergraphs(2, 5, min_anchors=1, max_anchors=1))
    size = data.num_incidences
    side = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    kind = draw(st.lists(st.integers(0, 1), min_size=5, max_size=5))
    node = data.hyperedge_index[0]
    return data, torch.tensor(kind)[node] * 3 + torch.tensor(side, dtype=torch.long)


@given(with_cells())
@SETTINGS
def test_by_context(drawn: tuple[AnchorData, Tensor]) -> None:
    data, cell = drawn
    expanded, pair, cells = by_context(data, cell, 3)
    rows = list(zip(data.hyperedge_index[0].tolist(), cell.tolist(), strict=True))
    expected = sorted({(node, code % 3) for node, code in rows})
    assert [tuple(p) for p in pair.t().tolist()] == expected
    place = [expected.index((node, code % 3)) for node, code in rows]
    assert expanded.hyperedge_index[0].tolist() == place
    assert torch.equal(expanded.hyperedge_index[1], data.hyperedge_index[1])
    assert torch.equal(cells[expanded.hyperedge_index[0]], cell)
    assert expanded.validate()


def learnt(
    data: AnchorData, cell: Tensor, penalty: list[float], num_epochs: int = 20
) -> tuple[AnchorData, ContextStrength]:
    expanded, pair, cells = by_context(data, cell, 3)
    strengths = ContextStrength(pair, cells, int(data.num_nodes or 0), 6, len(penalty))
    reference = torch.full((data.num_incidences,), 0.25)
    problem = alignment_problem(reference, expanded, data['y'], data.known_mask, 'all')
    weight = torch.tensor(penalty, dtype=torch.double)
    records = list(context_epochs(strengths, problem, 0.1, weight, 0.1, num_epochs))
    assert [r['epoch'] for r in records] == list(range(1, num_epochs + 1))
    return expanded, strengths


@given(with_cells())
@SETTINGS
def test_infinite_penalty_is_the_plain_stage(drawn: tuple[AnchorData, Tensor]) -> None:
    data, cell = drawn
    y, mask = data['y'], data.known_mask
    expanded, both = learnt(data, cell, [math.inf, 1.0], 3)
    strengths = both.variant(0)
    assert not strengths.own.any()
    assert not strengths.offset.any()
    # One step of learning: trained strengths differ where the gradient should be zero,
    # since Adam divides by it, and rounding counts.
    generator = torch.Generator().manual_seed(0)
    value = torch.rand(int(data.num_nodes or 0), generator=generator).double()
    plain = value.clone().requires_grad_()
    reference = torch.full((data.num_incidences,), 0.25)
    problem = alignment_problem(reference, data, y, mask, 'all')
    (expected_grad,) = torch.autograd.grad(strength_loss(plain, problem, 0.1), plain)
    strengths.strength.data = value
    pairs = strengths().detach().requires_grad_()
    problem = alignment_problem(reference, expanded, y, mask, 'all')
    (grad,) = torch.autograd.grad(strength_loss(pairs, problem, 0.1), pairs)
    strengths.set_gradient(grad, torch.tensor(math.inf).double())
    assert strengths.strength.grad is not None
    assert torch.allclose(strengths.strength.grad, expected_grad)
    for weighted in (False, True):
        found = context_share(
            *(strengths, expanded, y, mask, 4.0, math.inf, 1),
            0,
            weighted,
        )
        expected = aggregate_strength(
            strengths.strength.detach(),
            data.hyperedge_index,
            data.num_hyperedges,
            y,
            mask,
            4.0,
            1,
            0,
            weighted,
        )
        assert torch.allclose(found, expected[strengths.pair[0]])


def test_epochs_lower_the_penalised_loss() -> None:
    data = to_data([[0, 1], [0, 1], [1, 0], [0, 1, 2]], 3, [[0], [0], [1], [2]])
    cell = torch.tensor([0, 1, 0, 1, 0, 1, 1, 1, 0])
    reference = torch.full((9,), 0.25)

    def loss(penalty: float, num_epochs: int) -> float:
        expanded, both = learnt(data, cell, [penalty], num_epochs)
        strengths = both.variant(0)
        problem = alignment_problem(
            reference, expanded, data['y'], data.known_mask, 'all'
        )
        parts = strengths.own.square().sum() + strengths.offset.square().sum()
        out = strength_loss(strengths(), problem, 0.1) + penalty / 2 * parts
        return float(out.detach())

    for penalty in (0.5, 5.0):
        assert loss(penalty, 100) < loss(penalty, 10) < loss(penalty, 1)
    # A larger penalty leaves smaller parts.
    parts = [learnt(data, cell, [p])[1].own.detach() for p in (0.1, 1, 10)]
    sizes = [float(part.abs().sum()) for part in parts]
    assert sizes[0] > sizes[1] > sizes[2] > 0


def test_context_decides_by_hand() -> None:
    # Person 0 anchors in context 0, and person 1 in context 1.
    data = to_data([[0, 1]] * 4, 2, [[0], [0], [1], [1]])
    cell = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
    _, strengths = learnt(data, cell, [math.inf, 0.1])
    plain, own = (strengths.variant(k)().detach() for k in range(2))
    # The pairs are (0, 0), (0, 1), (1, 0) and (1, 1).
    assert torch.allclose(plain, plain[0].expand(4), atol=1e-6)
    assert float(own[0] - own[2]) == pytest.approx(float(own[3] - own[1]))
    assert own[0] - own[2] > 1


@given(with_cells(), st.sampled_from([0.5, 2.0]), st.booleans())
@SETTINGS
def test_share_matches_a_loop(
    drawn: tuple[AnchorData, Tensor], penalty: float, weighted: bool
) -> None:
    data, cell = drawn
    expanded, both = learnt(data, cell, [penalty], 5)
    strengths, w = both.variant(0), 3.0
    # All anchors are known, so that nothing is guessed.
    mask = torch.ones(data.num_hyperedges, dtype=torch.bool)
    found = context_share(
        *(strengths, expanded, data['y'], mask, w, penalty, 1),
        0,
        weighted,
    )
    pairs = [tuple(p) for p in strengths.pair.t().tolist()]
    n, d = [0.0] * len(pairs), [0.0] * len(pairs)
    for place, y in zip(
        expanded.hyperedge_index[0].tolist(), data['y'].tolist(), strict=True
    ):
        n[place] += w * y
        d[place] += w if weighted else 1
    cells = strengths.cell.tolist()
    overall = sum(n) / sum(d) if d else 0.0
    usual = {
        g: (sum(a for a, c in zip(n, cells, strict=True) if c == g) + penalty * overall)
        / (sum(a for a, c in zip(d, cells, strict=True) if c == g) + penalty)
        for g in cells
    }
    for place, (node, _) in enumerate(pairs):
        same = [i for i, (other, _) in enumerate(pairs) if other == node]
        expected = sum(d[i] * usual[cells[i]] for i in same)
        ratio = sum(n[i] for i in same) / expected if expected > 0 else 0.0
        prior = usual[cells[place]] * ratio
        share = (n[place] + penalty * prior) / (d[place] + penalty)
        assert float(found[place]) == pytest.approx(share)
