from typing import Any

import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.strategies import (
    SETTINGS,
    by_group,
    one_line_error,
    scored_hypergraphs,
    to_data,
    to_groups,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import RandomHeuristic
from tgx_anchor.nn.predictors.prediction_table import doubt_table, prediction_table

COLUMNS = [
    'group',
    'anchor',
    'probability',
    'runner_up',
    'runner_up_probability',
    'margin',
    'source',
]


def letters() -> tuple[AnchorData, Tensor]:
    data = to_data([[2, 0], [], [1], [0, 1, 2]], 3, [[2], [], [], []])
    data.node_id, data.hyperedge_id = ['a', 'b', 'c'], ['w', 'x', 'y', 'z']
    return data, torch.tensor([0.25, 0.75, 1.0, 0.5, 0.125, 0.375])


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def test_by_hand(device: torch.device) -> None:
    data, proba = letters()
    data, proba = data.to(device), proba.to(device)
    table = prediction_table(proba, data, None, 0)
    assert table.column_names == COLUMNS
    assert rows(table) == [
        ('w', 'a', 0.75, 'c', 0.25, 0.5, 'predicted'),
        ('x', None, None, None, None, None, 'predicted'),
        ('y', 'b', 1.0, None, None, 1.0, 'predicted'),
        ('z', 'a', 0.5, 'c', 0.375, 0.125, 'predicted'),
    ]
    table = prediction_table(proba, data, data.known_mask, 0)
    assert rows(table)[0] == ('w', 'c', 1.0, None, None, 1.0, 'known')
    assert rows(table)[1:] == rows(prediction_table(proba, data, None, 0))[1:]


def test_doubts_by_hand() -> None:
    data, proba = letters()
    table = doubt_table(proba, data, data.known_mask, 0)
    assert rows(table) == [('w', 'c', 0.25, 'a', 0.75, 0.5)]
    assert table.column_names == [
        'group',
        'anchor',
        'probability',
        'predicted',
        'predicted_probability',
        'margin',
    ]
    # The largest doubt first; ties and what agrees are none.
    data = to_data([[0, 1]] * 4, 2, [[0], [0], [0], [1]])
    proba = torch.tensor([0.375, 0.625, 0.25, 0.75, 0.5, 0.5, 0.25, 0.75])
    table = doubt_table(proba, data, data.known_mask, 0)
    assert rows(table) == [(1, 0, 0.25, 1, 0.75, 0.5), (0, 0, 0.375, 1, 0.625, 0.25)]
    nothing = doubt_table(proba, data, torch.zeros(4, dtype=torch.bool), 0)
    assert nothing.num_rows == 0


def test_several_anchors() -> None:
    # One row per group: the more likely one of the known anchors.
    data = to_data([[0, 1, 2], [0, 1, 2]], 3, [[0, 1], [1, 2]])
    proba = torch.tensor([0.25, 0.125, 0.625, 0.25, 0.125, 0.625])
    table = prediction_table(proba, data, data.known_mask, 0)
    assert [row[:3] for row in rows(table)] == [(0, 0, 1.0), (1, 2, 1.0)]
    assert rows(doubt_table(proba, data, data.known_mask, 0)) == [
        (0, 0, 0.25, 2, 0.625, 0.375)
    ]


@SETTINGS
@given(scored_hypergraphs(), st.integers(0, 3))
def test_any_hypergraph(drawn: tuple[AnchorData, Tensor], seed: int) -> None:
    data, value = drawn
    value = value.double()
    table = prediction_table(value, data, None, seed)
    for group, score, row in zip(
        to_groups(data), by_group(data, value), table.to_pylist(), strict=True
    ):
        best = sorted(score, reverse=True)
        by_node = dict(zip(group, score, strict=True))
        for place, (name, number) in enumerate(
            [('anchor', 'probability'), ('runner_up', 'runner_up_probability')]
        ):
            if place < len(group):
                assert row[number] == best[place]
                assert by_node[row[name]] == best[place]
            else:
                assert (row[name], row[number]) == (None, None)
        if len(group) > 1:
            assert row['anchor'] != row['runner_up']
            assert row['margin'] == best[0] - best[1]


@pytest.mark.parametrize('ids', [[1, 'a', 'b'], ['c', 'a', 'b'], [9, 8, 7]])
def test_types_of_ids(ids: list[Any]) -> None:
    data, proba = letters()
    data.node_id = ids
    found = prediction_table(proba, data, None, 0)['anchor'].to_pylist()
    text = not all(isinstance(each, int) for each in ids)
    expected = [str(each) if text else each for each in ids]
    assert found == [expected[0], None, expected[1], expected[0]]


def test_predictions_agree_with_predict() -> None:
    data = to_data([[0, 1, 2]] * 50 + [[]], 3)
    model = RandomHeuristic(seed=3)
    best = model.predict(data)
    assert model.predictions(data)['anchor'].to_pylist() == [
        None if node < 0 else node for node in best.tolist()
    ]


def test_what_is_known() -> None:
    data = to_data([[0, 1], [0, 1], [1, 2], [2]], 3, [[0], [1], [], [2]])
    model = RandomHeuristic()
    assert model.predictions(data)['source'].to_pylist() == [
        'known',
        'known',
        'predicted',
        'known',
    ]
    assert model.predictions(data)['anchor'].to_pylist()[:2] == [0, 1]
    shown = model.predictions(data, known='model')
    assert set(shown['source'].to_pylist()) == {'predicted'}
    # Of a split, the training groups only.
    data.train_mask = torch.tensor([True, False, False, False])
    sources = model.predictions(data)['source'].to_pylist()
    assert sources == ['known', 'predicted', 'predicted', 'predicted']
    bad: Any = 'forget'
    with one_line_error("'known'", 'keep', 'model', "'forget'"):
        model.predictions(data, known=bad)
    data.y = None
    assert set(model.predictions(data)['source'].to_pylist()) == {'predicted'}
    with one_line_error("'data.y'"):
        model.doubts(data)


def test_nothing() -> None:
    data = to_data([], 0)
    table = RandomHeuristic().predictions(data)
    assert table.column_names == COLUMNS
    assert table.num_rows == 0
