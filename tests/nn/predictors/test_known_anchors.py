from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from tests.strategies import one_line_error, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.known_anchors import (
    anchors_per_hyperedge,
    check_data,
    evidence_mask,
    given_mask,
    labelled_mask,
    training_mask,
    without_anchors,
)


def small_data() -> AnchorData:
    groups = [[0, 1], [0, 1, 2], [2], [3, 0], [1, 3], []]
    return to_data(groups, 5, [[0], [], [2], [3, 0], [1], []])


def test_training_mask() -> None:
    data = small_data()
    # Without a mask: known (0, 2, 3, 4), and not without a choice (2, 3).
    expected = [True, False, False, False, True, False]
    assert training_mask(data).tolist() == expected
    data.train_mask = torch.tensor([False, False, True, True, False, False])
    assert training_mask(data).tolist() == data.train_mask.tolist()


def test_training_mask_with_validation() -> None:
    data = small_data()
    data.train_mask = torch.tensor([True, False, False, False, False, False])
    data.val_mask = torch.tensor([False, False, False, False, True, False])
    assert training_mask(data).nonzero().flatten().tolist() == [0]
    assert training_mask(data, use_val=True).nonzero().flatten().tolist() == [0, 4]
    data.val_mask[1] = True
    with one_line_error("'val_mask'", 'hyperedge 1'):
        training_mask(data, use_val=True)
    del data.val_mask
    with one_line_error("'val_mask'", 'RandomHyperedgeSplit'):
        training_mask(data, use_val=True)
    del data.train_mask
    with one_line_error("'train_mask'", 'RandomHyperedgeSplit'):
        training_mask(data, use_val=True)


@pytest.mark.parametrize(
    ('mask', 'names'),
    [
        ([True] * 5, ("'train_mask'", '6', '5')),
        ([[True] * 2] * 6, ("'train_mask'", '[6, 2]', 'column')),
        ([1, 0, 0, 0, 1, 0], ("'train_mask'", 'torch.int64')),
        ([True, False, True, True, True, True], ("'train_mask'", 'hyperedge 5')),
        ([False] * 6, ("'train_mask'", 'no hyperedge')),
    ],
)
def test_bad_training_mask(mask: list[object], names: tuple[str, ...]) -> None:
    data = small_data()
    data.train_mask = torch.tensor(mask)
    with one_line_error(*names):
        training_mask(data)


def test_nothing_to_learn_from() -> None:
    with one_line_error("'data.y'", "'is_anchor'"):
        training_mask(to_data([[0, 1]], 2))
    for data in (
        to_data([[0, 1]], 2, [[]]),
        to_data([[0], [0, 1]], 2, [[0], [0, 1]]),
        to_data([], 0, []),
    ):
        with one_line_error("'data'", 'no hyperedge to learn from'):
            training_mask(data)


def test_labelled_mask() -> None:
    data = small_data()
    data.val_mask = torch.tensor([True, False, False, False, True, False])
    assert labelled_mask(data, 'val_mask') is data.val_mask
    data.val_mask = ~data.val_mask
    with one_line_error("'val_mask'", 'hyperedge 1'):
        labelled_mask(data, 'val_mask')
    with one_line_error("'test_mask'", 'RandomHyperedgeSplit'):
        labelled_mask(data, 'test_mask')


@pytest.mark.parametrize(
    ('chosen', 'expected'),
    # One, two, and the mean of one, two and one; one where there are none.
    [([0], 1), ([3], 2), ([0, 3, 4], 1), ([0, 3], 2), ([], 1)],
)
def test_anchors_per_hyperedge(chosen: list[int], expected: int) -> None:
    mask = torch.zeros(6, dtype=torch.bool)
    mask[chosen] = True
    assert anchors_per_hyperedge(small_data(), mask) == expected


def test_check_data() -> None:
    check_data(small_data())
    nothing: Any = Data()
    with one_line_error("'data'", 'AnchorData', 'Data'):
        check_data(nothing)
    data = small_data()
    data.hyperedge_index = data.hyperedge_index.flip(1)
    with one_line_error("'hyperedge_index"):
        check_data(data)


def test_given_and_evidence() -> None:
    # Known, unknown, a known singleton, all members known.
    data = to_data([[0, 1], [1, 2], [2], [0, 1]], 3, [[0], [], [2], [0, 1]])
    assert given_mask(data).tolist() == [True, False, True, True]
    assert evidence_mask(data).tolist() == [True, False, False, False]
    data.train_mask = torch.tensor([False, False, True, False])
    assert given_mask(data).tolist() == data.train_mask.tolist()
    assert evidence_mask(data).tolist() == data.train_mask.tolist()
    data.train_mask[1] = True
    with one_line_error("'train_mask'", 'hyperedge 1'):
        evidence_mask(data)
    data.y = None
    assert not evidence_mask(data).any()
    assert not given_mask(data).any()


def test_without_anchors() -> None:
    data = to_data([[0, 1], [1, 2], [2]], 3, [[0], [1], [2]])
    data.train_mask = torch.tensor([True, True, False])
    mask = torch.tensor([False, True, True])
    out = without_anchors(data, mask)
    assert out['y'].tolist() == [True, False, False, False, False]
    assert out.train_mask.tolist() == [True, False, False]
    assert data.known_mask.all()
    assert data.train_mask.tolist() == [True, True, False]
    # Of several splits.
    data.train_mask = torch.ones(3, 2, dtype=torch.bool)
    assert (
        without_anchors(data, mask).train_mask.tolist()
        == [[True] * 2] + [[False] * 2] * 2
    )
