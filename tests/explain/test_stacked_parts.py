import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.utils import softmax

from tests.nn.predictors.stacked import planted, quick
from tgx_anchor.data import AnchorData
from tgx_anchor.explain.stacked_parts import StackedParts, _replaced

VARIANTS: list[dict[str, Any]] = [
    {},
    {'learner': 'both'},
    {'learner': 'boosting'},
    {'views': 'ABCF'},
    {'views': 'D'},
    {'last_step': 'share'},
]


def two_of_each(data: AnchorData, hyperedges: Tensor) -> tuple[Tensor, Tensor]:
    """The first two incidences of hyperedges."""
    first = data.hyperedge_ptr[hyperedges]
    return first, first + 1


@pytest.mark.parametrize('options', VARIANTS)
def test_contributions_add_up(options: dict[str, Any]) -> None:
    data = planted(num_hyperedges=400)
    data.x = torch.randn(data.num_nodes, 2, generator=torch.Generator().manual_seed(0))
    model = quick(**options).fit(data)
    parts = StackedParts(model, data)
    chosen = (data.choice_mask & ~data.train_mask).nonzero().view(-1)
    first, second = two_of_each(data, chosen)
    found = parts.contributions(first, second)
    assert found.size() == (chosen.numel(), len(parts.features))
    score = model.blend(parts.columns.last)
    assert torch.allclose(found.sum(1), score[first] - score[second], atol=1e-5)
    # The other way round.
    assert torch.allclose(parts.contributions(second, first), -found, atol=1e-5)


@pytest.mark.parametrize('options', VARIANTS)
def test_columns_are_those_of_the_prediction(options: dict[str, Any]) -> None:
    data = planted(num_hyperedges=300)
    model = quick(**options).fit(data)
    columns = model.member_columns(data)
    table = columns.table(torch.arange(data.num_incidences))
    assert table.size() == (data.num_incidences, len(columns.names))
    hyperedge = data.hyperedge_index[1]
    proba = softmax(model.blend(columns.last), hyperedge, num_nodes=data.num_hyperedges)
    copies = data.hyperedge_size == 0
    for group in model.memory.known_mask.nonzero().view(-1):
        members = data.hyperedge_index[0, hyperedge == group].sort().values
        for other in range(data.num_hyperedges):
            mine = data.hyperedge_index[0, hyperedge == other].sort().values
            copies[other] |= torch.equal(members, mine)
    # Beliefs about groups that were learnt from are other ones.
    row = ~copies[hyperedge]
    assert row.sum() > 100
    assert torch.allclose(proba[row], columns.proba[row])


def test_other_hypergraph() -> None:
    data, other = planted(), planted(1)
    del other['train_mask']
    other.y = torch.zeros_like(other['y'])
    model = quick().fit(data)
    columns = model.member_columns(other)
    hyperedge = other.hyperedge_index[1]
    proba = softmax(
        model.blend(columns.last), hyperedge, num_nodes=other.num_hyperedges
    )
    assert torch.allclose(proba, columns.proba)
    assert torch.allclose(proba, model.rank_score(other))


def test_shares_of_two_features_are_shapley_values() -> None:
    def score(table: Tensor) -> Tensor:
        a, b, c, d = table.unbind(1)
        return torch.stack([a * b + 2 * c, a * a + d], dim=1)

    learner: Any = score
    generator = torch.Generator().manual_seed(0)
    high, low = torch.randn(2, 5, 4, generator=generator, dtype=torch.double)
    high[:, 3] = low[:, 3]
    parts = [[0], [1], [2], [3]]
    found = _replaced([learner], high, low, parts).squeeze(2)

    def value(chosen: tuple[int, ...]) -> Tensor:
        table = low.clone()
        table[:, list(chosen)] = high[:, list(chosen)]
        return score(table).mean(dim=1)

    for k in range(4):
        others = [i for i in range(4) if i != k]
        expected = torch.zeros(5, dtype=torch.double)
        for size in range(4):
            weight = math.factorial(size) * math.factorial(3 - size) / math.factorial(4)
            for chosen in itertools.combinations(others, size):
                expected += weight * (value((*chosen, k)) - value(chosen))
        assert torch.allclose(found[:, k], expected)
    # It is the same for both.
    assert torch.equal(found[:, 3], torch.zeros(5, dtype=torch.double))


def test_several_columns_and_learners() -> None:
    def total(table: Tensor) -> Tensor:
        return table.sum(dim=1, keepdim=True)

    def first(table: Tensor) -> Tensor:
        return 3 * table[:, :1]

    learners: Any = [total, first]
    high, low = torch.tensor([[5.0, 4.0, 3.0]]), torch.tensor([[1.0, 1.0, 1.0]])
    found = _replaced(learners, high, low, [[0, 2], [1], []])
    assert found.tolist() == [[[6, 12], [3, 0], [0, 0]]]


def test_shares_of_groups() -> None:
    data = planted()
    model = quick().fit(data)
    node = data.hyperedge_index[0]
    share = torch.zeros(int(data.num_nodes or 0), dtype=torch.double)
    share[node] = StackedParts(model, data).share
    assert share.min() >= 0
    assert share.max() <= 1
    # If all groups of a person are known, it is the share that it anchors.
    data.train_mask = torch.ones_like(data.train_mask) & data.choice_mask
    del data['val_mask']
    model = quick(calibration=None).fit(data)
    share[node] = StackedParts(model, data).share
    y = data['y'] & data.train_mask[data.hyperedge_index[1]]
    anchored = torch.bincount(node[y], minlength=share.numel())
    degree = torch.bincount(node, minlength=share.numel())
    single = torch.bincount(
        node[~data.choice_mask[data.hyperedge_index[1]]], minlength=share.numel()
    )
    row = (degree > 0) & (single == 0)
    assert row.sum() > 5
    assert torch.allclose(share[row], (anchored / degree)[row].double(), atol=1e-6)


def test_attribute_that_decides() -> None:
    data = planted(num_hyperedges=400)
    generator = torch.Generator().manual_seed(0)
    data.x = torch.randn(data.num_nodes, 1, generator=generator)
    data.name_columns('x', ['age'])
    node, hyperedge = data.hyperedge_index
    age = data.x[node, 0]
    top = torch.full((data.num_hyperedges,), -math.inf)
    top = top.scatter_reduce(0, hyperedge, age, 'amax')
    data.y = age == top[hyperedge]
    model = quick(views='A', calibration=None).fit(data)
    parts = StackedParts(model, data)
    chosen = (data.choice_mask & ~data.train_mask).nonzero().view(-1)
    first, second = two_of_each(data, chosen)
    found = parts.contributions(first, second)
    place = [feature.name for feature in parts.features].index('age')
    gap = age[first] - age[second]
    row = gap.abs() > 1
    assert ((found[:, place] * gap)[row] > 0).double().mean() > 0.95
