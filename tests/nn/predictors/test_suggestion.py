import math
import time
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.nn.predictors.radar import planted, quick
from tests.strategies import SETTINGS, hypergraphs, one_line_error, to_data, to_groups
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.nn import RandomHeuristic
from tgx_anchor.nn.predictors.suggestion import suggest_groups


def greedy(proba: Tensor, data: AnchorData, n: int) -> list[tuple[int, float]]:
    # The definition, group by group.
    groups = to_groups(data)
    values = [proba[data.hyperedge_index[1] == i].tolist() for i in range(len(groups))]
    degree = [0] * int(data.num_nodes or 0)
    known = [0] * int(data.num_nodes or 0)
    for i, group in enumerate(groups):
        for v in group:
            degree[v] += 1
            known[v] += bool(data.known_mask[i])
    left: dict[frozenset[int], int] = {}
    for i, group in enumerate(groups):
        if data.choice_mask[i] and not data.known_mask[i]:
            left.setdefault(frozenset(group), i)
    out: list[tuple[int, float]] = []
    rest = sorted(left.values())

    def value(i: int) -> float:
        first, second = sorted(values[i], reverse=True)[:2]
        terms = [math.log(1 + degree[v]) / (1 + known[v]) for v in groups[i]]
        return float((1 - (first - second)) * sum(terms) / len(terms))

    while rest and len(out) < n:
        best = max(rest, key=lambda i: round(value(i), 9))
        out.append((best, value(best)))
        rest.remove(best)
        for v in groups[best]:
            known[v] += 1
    return out


@SETTINGS
@given(hypergraphs(), st.data())
def test_follows_the_definition(data: AnchorData, draw: st.DataObject) -> None:
    numbers = st.floats(0.05, 1)
    size = data.num_incidences
    weight = torch.tensor(
        draw.draw(st.lists(numbers, min_size=size, max_size=size)), dtype=torch.double
    )
    hyperedge = data.hyperedge_index[1]
    total = torch.zeros(data.num_hyperedges).double().index_add(0, hyperedge, weight)
    proba = weight / total[hyperedge]
    anchored = draw.draw(
        st.lists(st.booleans(), min_size=size, max_size=size).map(torch.tensor)
    )
    data.y = anchored.bool() & (torch.arange(size) % 3 == 0)
    table = suggest_groups(proba, data, 4)
    expected = greedy(proba, data, 4)
    values = [value for _, value in expected]
    assert table['value'].to_pylist() == pytest.approx(values)
    # Values fall, and no two groups have the same members.
    assert values == sorted(values, reverse=True)
    groups = [frozenset(to_groups(data)[i]) for i in table['group'].to_pylist()]
    assert len(set(groups)) == len(groups)


def test_hand_computed() -> None:
    # The people of the first groups are in many groups; the model is sure of the third.
    groups = [[0, 1], [0, 1, 2], [0, 2], [3, 4], [3, 4], [5]]
    data = to_data(groups, 6, [[], [], [], [3], [], []])
    data.hyperedge_id = list('abcdef')
    proba = torch.tensor([0.6, 0.4, 0.4, 0.4, 0.2, 1, 0, 0.5, 0.5, 0.7, 0.3, 1])
    table = suggest_groups(proba, data, 10)
    assert table.column_names == ['group', 'value', 'probability', 'margin', 'reason']
    assert table['group'].to_pylist() == ['b', 'a', 'e', 'c']
    log = math.log
    expected = [
        (log(4) + log(3) + log(3)) / 3,
        0.8 * (log(4) / 2 + log(3) / 2) / 2,
        0.6 * (log(3) / 2 + log(3) / 2) / 2,
        0.0,
    ]
    assert table['value'].to_pylist() == pytest.approx(expected)
    assert table['probability'].to_pylist() == pytest.approx([0.4, 0.6, 0.7, 1])
    assert table['margin'].to_pylist() == pytest.approx([0, 0.2, 0.4, 1])
    assert table['reason'][1].as_py() == (
        'the two most likely of 2 members are 20.0 % apart; the members occur 5 times '
        'in all groups, 2 times in groups that are known or suggested above'
    )
    assert suggest_groups(proba, data, 2)['group'].to_pylist() == ['b', 'a']
    mask = torch.tensor([False, False, True, True, True, True])
    assert suggest_groups(proba, data, 9, mask)['group'].to_pylist() == ['e', 'c']


def test_not_always_the_same_people() -> None:
    # Ten groups around node 0, and ten others of people who are in fewer groups.
    groups = [[0, i] for i in range(1, 11)] + [[20 + i, 40 + i] for i in range(10)]
    data = to_data(groups * 2, 60)
    proba = torch.full((data.num_incidences,), 0.5)
    chosen = suggest_groups(proba, data, 8)['group'].to_pylist()
    assert 1 <= sum(group < 10 for group in chosen) <= 4


def test_model() -> None:
    data = planted()
    model = quick().fit(data)
    table = model.suggest(data, 20)
    assert table.num_rows == 20
    chosen = torch.tensor(table['group'].to_pylist())
    assert not data.train_mask[chosen].any()
    assert data.choice_mask[chosen].all()
    pool = data.test_mask
    inside = torch.tensor(model.suggest(data, 20, pool)['group'].to_pylist())
    assert pool[inside].all()
    assert model.suggest(data, 10**6).num_rows < 600


def test_edge_cases_and_errors() -> None:
    empty = to_data([], 0)
    assert RandomHeuristic().suggest(empty).num_rows == 0
    data = to_data([[0, 1], [2]], 3)
    assert RandomHeuristic().suggest(data)['group'].to_pylist() == [0]
    for n in (0, -1, 1.5):
        with one_line_error("'n' must be a positive integer", str(n)):
            RandomHeuristic().suggest(data, n)  # type: ignore[arg-type]
    with one_line_error("'mask' must hold 2 booleans", '[3]'):
        RandomHeuristic().suggest(data, 3, torch.ones(3, dtype=torch.bool))


def test_probability_above_one() -> None:
    data = to_data([[0, 1], [1, 2]], 3)
    proba = torch.tensor([1 + 1e-15, 0, 1 + 1e-15, 0], dtype=torch.double)
    assert suggest_groups(proba, data)['value'].to_pylist() == [0, 0]


def test_second_device() -> None:
    data = planted()
    proba = quick().fit(data).predict_proba(data)
    expected = suggest_groups(proba, data, 10)
    with second_device() as device:
        table = suggest_groups(proba.to(device), data.to(device), 10)
    assert table.equals(expected)


def test_is_fast() -> None:
    data: Any = PlantedAnchorDataset(20_000, 100_000)[0]
    del data.y
    start = time.perf_counter()
    assert RandomHeuristic().suggest(data, 1000).num_rows == 1000
    # Naively, each of a thousand choices would look at all groups.
    assert time.perf_counter() - start < 10
