from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.strategies import SETTINGS, by_group, scored_hypergraphs, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import AnchorEvaluator, anchor_accuracy


def slow_accuracy(score: list[float], is_anchor: list[bool]) -> float:
    # The share of the equally good choices of so many members that is right.
    anchors = {i for i, flag in enumerate(is_anchor) if flag}
    choices = [set(c) for c in combinations(range(len(score)), len(anchors))]
    best = max(sorted(score[i] for i in c) for c in choices)
    top = [c for c in choices if sorted(score[i] for i in c) == best]
    return (anchors in top) / len(top)


@SETTINGS
@given(scored_hypergraphs(), st.integers(1, 4), st.integers(0, 99))
def test_by_definition(
    drawn: tuple[AnchorData, Tensor], num_columns: int, seed: int
) -> None:
    data, score = drawn
    generator = torch.Generator().manual_seed(seed)
    others = [
        torch.randint(-1, 2, score.size(), generator=generator).to(score.dtype)
        for _ in range(num_columns)
    ]
    table = torch.stack([score, *others], dim=1)
    hyperedge, size = data.hyperedge_index[1], data.num_hyperedges
    out = anchor_accuracy(table, data['y'], hyperedge, size)
    assert out.dtype == torch.double
    assert out.size() == (size, 1 + num_columns)
    flags = [[bool(x) for x in row] for row in by_group(data, data['y'])]
    known = data.known_mask & data.choice_mask
    for k in range(1 + num_columns):
        column = table[:, k]
        assert torch.equal(
            anchor_accuracy(column, data['y'], hyperedge, size), out[:, k]
        )
        for e, row in enumerate(by_group(data, column)):
            if any(flags[e]):
                expected = slow_accuracy(row, flags[e])
                assert float(out[e, k]) == pytest.approx(expected, abs=1e-12)
        figures = AnchorEvaluator().eval(column, data, known)
        assert float(out[known, k].mean()) == pytest.approx(
            figures['accuracy'], abs=1e-12
        )


@pytest.mark.parametrize('dtype', [torch.float, torch.double])
def test_by_hand(device: torch.device, dtype: torch.dtype) -> None:
    groups = [[0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 1, 2, 3], [0, 1], [2]]
    anchors = [[0], [1], [2], [0, 1], [0, 1], [2]]
    data = to_data(groups, 4, anchors).to(device)
    score = [3, 1, 1, 2, 2, 2, 5, 5, 1, 9, 4, 4, 4, -7, 0, 0]
    out = anchor_accuracy(
        torch.tensor(score, dtype=dtype, device=device),
        data['y'],
        data.hyperedge_index[1],
        data.num_hyperedges,
    )
    assert out.device.type == device.type
    assert out.tolist() == pytest.approx([1, 1 / 3, 0, 1 / 3, 1, 1], abs=1e-14)


def test_all_extremes_count() -> None:
    data = to_data([[0, 1], [0, 1]], 2, [[0], [1]])
    big = torch.finfo(torch.double).max
    score = torch.tensor([big, -big, big, -big], dtype=torch.double)
    out = anchor_accuracy(score, data['y'], data.hyperedge_index[1], 2)
    assert out.tolist() == [1, 0]


def test_second_device() -> None:
    data = to_data([[0, 1, 2], [1, 2], [3], [0, 3, 4]], 5, [[0], [1], [3], [3, 4]])
    score = torch.tensor([1.0, 0.0, 1.0, 2.0, 2.0, 0.0, 1.0, 1.0, 3.0])
    parts = (score, data['y'], data.hyperedge_index[1])
    expected = anchor_accuracy(*parts, data.num_hyperedges)
    with second_device() as device:
        score, y, hyperedge = (part.to(device) for part in parts)
        found = anchor_accuracy(score, y, hyperedge, data.num_hyperedges)
        assert found.device == device
    assert torch.equal(found.cpu(), expected)
