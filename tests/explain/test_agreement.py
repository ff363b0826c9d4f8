import math

import pytest
import torch

from tests.strategies import to_data
from tgx_anchor.explain.agreement import agreement, record_skill


def test_a_feature_that_always_tells() -> None:
    data = to_data([[0, 1], [0, 2], [1, 2]], 3, [[0], [0], [1]])
    value = torch.tensor([3.0, 2.0, 1.0])[data.hyperedge_index[0]]
    found = agreement(value, data)
    assert (found.rate, found.highest, found.error) == (1.0, True, 0.0)
    # Chance is a half in each of three groups.
    error = math.sqrt(0.25 / 3)
    assert found.skill == pytest.approx(max((0.5 - 2 * error) / 0.5, 0))


def test_the_lowest_value_tells() -> None:
    data = to_data([[0, 1]] + [[i, i + 1] for i in range(2, 40)], 41, None)
    data.y = torch.tensor([True, False] * 39)
    value = data.hyperedge_index[0].double()
    found = agreement(value, data)
    assert (found.rate, found.highest) == (1.0, False)
    assert found.skill == pytest.approx(1 - 2 * math.sqrt(0.25 / 39) / 0.5)


def test_equal_values_are_chance() -> None:
    data = to_data([[0, 1], [1, 2, 3]], 4, [[0], [3]])
    found = agreement(torch.zeros(5), data)
    assert found.rate == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert found.skill == 0.0


def test_copies_of_a_group_share_a_vote() -> None:
    data = to_data([[0, 1], [0, 1], [0, 1], [2, 3]], 4, [[0], [0], [0], [2]])
    value = torch.tensor([1.0, 0.0, 0.0, 1.0])[data.hyperedge_index[0]]
    assert agreement(value, data).rate == pytest.approx(0.5)


def test_only_the_mask_counts() -> None:
    data = to_data([[0, 1], [2, 3], [0, 2]], 4, [[0], [3], []])
    value = torch.tensor([1.0, 0.0, 1.0, 0.0])[data.hyperedge_index[0]]
    mask = torch.tensor([True, False, False])
    assert agreement(value, data, mask).rate == 1.0
    mask = torch.tensor([True, True, False])
    assert agreement(value, data, mask).rate == 0.5


def test_record_of_people() -> None:
    # Node 0 anchors all its groups, and everybody else none.
    groups = [[0, i] for i in range(1, 41)]
    data = to_data(groups, 41, [[0]] * 40)
    assert record_skill(data) == 1.0
    # Nobody is in two groups: there is no record.
    pairs = [[2 * i, 2 * i + 1] for i in range(40)]
    data = to_data(pairs, 80, [[2 * i] for i in range(40)])
    assert record_skill(data) == 0.0


def test_a_group_is_no_evidence_of_itself() -> None:
    # Each group occurs many times with the same anchor: copies are one group.
    data = to_data([[0, 1]] * 30 + [[2, 3]] * 30, 4, [[0]] * 30 + [[2]] * 30)
    assert record_skill(data) == 0.0
