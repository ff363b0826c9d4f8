from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.strategies import SETTINGS, by_group, hypergraphs, to_data, to_groups
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.functional import aggregate_strength


def aggregate(
    strength: Tensor,
    data: AnchorData,
    mask: Tensor,
    weight: float | Tensor,
    num_anchors: int = 1,
    seed: int = 0,
) -> Tensor:
    return aggregate_strength(
        strength,
        data.hyperedge_index,
        data.num_hyperedges,
        data['y'],
        mask,
        weight,
        num_anchors,
        seed,
    )


def bounds(
    strength: list[float], data: AnchorData, mask: Tensor, num_anchors: int
) -> tuple[Counter[int], Counter[int], int]:
    # How often each node is guessed at least and at most, and all of them together.
    least: Counter[int] = Counter()
    most: Counter[int] = Counter()
    total = 0
    for group, known in zip(to_groups(data), mask.tolist(), strict=True):
        if known:
            continue
        total += min(num_anchors, len(group))
        for v in group:
            above = sum(strength[u] > strength[v] for u in group)
            beside = sum(strength[u] >= strength[v] for u in group)
            least[v] += beside <= num_anchors
            most[v] += above < num_anchors
    return least, most, total


@SETTINGS
@given(
    hypergraphs(1),
    st.sampled_from([0.0, 1.0, 4.0]),
    st.integers(1, 3),
    st.integers(1, 9),
    st.data(),
)
def test_by_definition(
    data: AnchorData, weight: float, num_anchors: int, levels: int, draw: st.DataObject
) -> None:
    num_nodes, size = int(data.num_nodes or 0), data.num_hyperedges
    flags = draw.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    mask = torch.tensor(flags, dtype=torch.bool)
    value = st.integers(-levels, levels).map(float)
    drawn = draw.draw(st.lists(value, min_size=num_nodes, max_size=num_nodes))
    strength = torch.tensor(drawn, dtype=torch.double)
    out = aggregate(strength, data, mask, weight, num_anchors)
    assert out.size() == (num_nodes,)
    groups, y = to_groups(data), by_group(data, data['y'])
    degree = Counter(v for group in groups for v in group)
    anchored = Counter(
        v
        for group, row, known in zip(groups, y, flags, strict=True)
        for v, flag in zip(group, row, strict=True)
        if known and flag
    )
    least, most, total = bounds(drawn, data, mask, num_anchors)
    guesses = [
        float(out[v]) * degree[v] - weight * anchored[v] for v in range(num_nodes)
    ]
    assert sum(guesses) == pytest.approx(total, abs=1e-9)
    for v, guess in enumerate(guesses):
        assert guess == pytest.approx(round(guess), abs=1e-9)
        assert least[v] - 1e-9 <= guess <= most[v] + 1e-9
    if len(set(drawn)) == num_nodes:
        assert least == most


def test_by_hand(device: torch.device) -> None:
    groups = [[0, 1, 2], [0, 1], [2, 3], [3], [], [1, 2, 3]]
    data = to_data(groups, 5, [[1], [], [], [], [], []]).to(device)
    strength = torch.tensor([4.0, 3.0, 2.0, 1.0, 9.0], device=device)
    mask = torch.tensor([True] + [False] * 5, device=device)
    out = aggregate(strength, data, mask, 3.0)
    assert out.device.type == device.type
    assert out.tolist() == pytest.approx([1 / 2, 4 / 3, 1 / 3, 1 / 3, 0])
    out = aggregate(strength, data, mask, 3.0, num_anchors=2)
    assert out.tolist() == pytest.approx([1 / 2, 5 / 3, 2 / 3, 2 / 3, 0])


def test_weighted_degree() -> None:
    # Node 0 anchors two known groups and would anchor one more, node 1 is in three
    # known groups, node 2 in a single unknown one, node 3 in none.
    data = to_data([[0, 1], [0, 1], [1], [0, 2]], 4, [[0], [0], [1], []])
    mask = torch.tensor([True, True, True, False])
    strength = torch.tensor([3.0, 2.0, 1.0, 9.0], dtype=torch.double)

    def share(weight: float | Tensor) -> Tensor:
        return aggregate_strength(
            strength,
            data.hyperedge_index,
            4,
            data['y'],
            mask,
            weight,
            weighted_degree=True,
        )

    assert share(3.0).tolist() == pytest.approx([7 / 7, 3 / 9, 0, 0])
    # Without weight, known groups do not count at all.
    assert share(0.0).tolist() == [1, 0, 0, 0]
    both = share(torch.tensor([3.0, 0.0]))
    assert torch.equal(both, torch.stack([share(3.0), share(0.0)], dim=1))


def test_columns_and_weights() -> None:
    groups = [[0, 1, 2], [0, 1], [2, 3], [1, 2, 3], [0, 3]]
    data = to_data(groups, 4, [[1], [0], [], [], []])
    mask = data.known_mask
    strength = torch.tensor([[4.0, 1.0], [3.0, 2.0], [2.0, 3.0], [1.0, 4.0]])
    weight = torch.tensor([0.0, 1.0, 7.0])
    out = aggregate(strength, data, mask, weight)
    assert out.size() == (4, 2, 3)
    for i, w in enumerate(weight.tolist()):
        table = aggregate(strength, data, mask, w)
        assert table.size() == (4, 2)
        assert torch.equal(out[:, :, i], table)
        assert torch.equal(
            aggregate(strength[:, 0], data, mask, weight)[:, i], out[:, 0, i]
        )
        for k in range(2):
            assert torch.equal(aggregate(strength[:, k], data, mask, w), table[:, k])
    assert not torch.equal(out[:, 0], out[:, 1])
    assert aggregate(strength, data, mask, torch.empty(0)).size() == (4, 2, 0)


def test_ties_are_drawn_among_the_strongest() -> None:
    # 300 groups of three equals and a weaker fourth: each copy has nodes of its own.
    groups = [[4 * e, 4 * e + 1, 4 * e + 2, 4 * e + 3] for e in range(300)]
    data = to_data(groups, 1200, [[]] * 300)
    strength = torch.tensor([1.0, 1.0, 1.0, 0.5]).repeat(300)
    mask = torch.zeros(300, dtype=torch.bool)
    out = aggregate(strength, data, mask, 1.0, seed=1)
    assert torch.equal(out, aggregate(strength, data, mask, 1.0, seed=1))
    assert not torch.equal(out, aggregate(strength, data, mask, 1.0, seed=2))
    place = out.view(300, 4).sum(0).tolist()
    assert place[3] == 0
    assert sum(place) == 300
    # 100 each, give or take five deviations.
    assert all(abs(count - 100) < 41 for count in place[:3])
    two = aggregate(strength, data, mask, 1.0, num_anchors=2, seed=1).view(300, 4)
    assert two.sum(1).tolist() == [2.0] * 300
    assert two[:, 3].sum() == 0


def test_global_random_state() -> None:
    data = to_data([[0, 1]] * 50, 2, [[]] * 50)
    mask, strength = torch.zeros(50, dtype=torch.bool), torch.zeros(2)
    state = torch.get_rng_state()
    aggregate(strength, data, mask, 1.0)
    assert torch.equal(torch.get_rng_state(), state)
    found = {float(aggregate(strength, data, mask, 1.0, seed=s)[0]) for s in range(5)}
    assert len(found) > 1


@pytest.mark.parametrize('weight', [3.0, torch.tensor([0.0, 2.0])])
def test_second_device(weight: float | Tensor) -> None:
    data = to_data([[0, 1], [1, 2, 3], [], [0, 3]], 4, [[1], [2, 3], [], [0]])
    mask = torch.tensor([True, True, False, False])
    strength = torch.tensor([1.0, 2.0, 0.5, 1.0])
    expected = aggregate(strength, data, mask, weight, num_anchors=2)
    with second_device() as device:
        moved = data.clone().to(device)
        given = weight.to(device) if isinstance(weight, Tensor) else weight
        out = aggregate(
            strength.to(device), moved, mask.to(device), given, num_anchors=2
        )
        assert out.device == device
    assert torch.equal(out.cpu(), expected)


def test_rounding_decides_nothing() -> None:
    # Two members who differ in their last digits are drawn like equals.
    data = to_data([[0, 1]] * 40, 2, [[]] * 40)
    mask = torch.zeros(40, dtype=torch.bool)
    equal = torch.tensor([0.3, 0.3], dtype=torch.double)
    expected = aggregate(equal, data, mask, 1.0)
    for shift in (1e-12, -1e-12):
        close = equal + torch.tensor([shift, 0.0], dtype=torch.double)
        assert torch.equal(aggregate(close, data, mask, 1.0), expected)
    apart = equal + torch.tensor([1e-6, 0.0], dtype=torch.double)
    assert aggregate(apart, data, mask, 1.0).tolist() == [1.0, 0.0]
    assert expected[0] not in (0.0, 1.0)
