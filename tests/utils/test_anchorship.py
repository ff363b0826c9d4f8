from itertools import combinations
from math import isnan

import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.devices import second_device
from tests.strategies import SETTINGS, hypergraphs, renamings, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.utils import anchor_degree, anchor_proportion, anchor_purity

FUNCTIONS = (anchor_degree, anchor_proportion, anchor_purity)


@SETTINGS
@given(hypergraphs())
def test_by_definition(data: AnchorData) -> None:
    flags: list[list[bool]] = [[] for _ in range(int(data.num_nodes or 0))]
    for node, flag in zip(
        data.hyperedge_index[0].tolist(), data['y'].tolist(), strict=True
    ):
        flags[node].append(flag)
    degree, proportion, purity = (
        f(data['y'], data.hyperedge_index, len(flags)).tolist() for f in FUNCTIONS
    )
    assert degree == [sum(x) for x in flags]
    assert proportion == [sum(x) / len(x) if x else 0.0 for x in flags]
    assert len(purity) == len(flags)
    for value, x in zip(purity, flags, strict=True):
        pairs = [a == b for a, b in combinations(x, 2)]
        assert value == sum(pairs) / len(pairs) if pairs else isnan(value)


@SETTINGS
@given(hypergraphs(), st.data())
def test_names_do_not_matter(data: AnchorData, draw: st.DataObject) -> None:
    other = draw.draw(renamings(data))
    size = int(data.num_nodes or 0)
    for f in FUNCTIONS:
        before = f(data['y'], data.hyperedge_index, size)
        after = f(other.data['y'], other.data.hyperedge_index, size)
        torch.testing.assert_close(
            after, other.nodes(before), rtol=0, atol=0, equal_nan=True
        )


def test_by_hand(device: torch.device) -> None:
    groups = [[0, 1], [0, 1, 2], [0, 2], [0], [3, 1]]
    data = to_data(groups, 5, [[0], [1], [0], [], [1, 3]]).to(device)
    degree, proportion, purity = (
        f(data['y'], data.hyperedge_index, 5) for f in FUNCTIONS
    )
    assert degree.tolist() == [2, 2, 0, 1, 0]
    assert degree.dtype == torch.long
    assert proportion.tolist() == [0.5, 2 / 3, 0.0, 1.0, 0.0]
    assert proportion.dtype == torch.float64
    # Node 0: two of six pairs agree; node 1: one of three; node 2: its only pair.
    assert purity[:3].tolist() == [2 / 6, 1 / 3, 1.0]
    assert purity[3:].isnan().all()


def test_second_device() -> None:
    data = to_data([[0, 1, 2], [1, 2], [1]], 4, [[0], [1], [1]])
    with second_device() as device:
        moved = data.clone().to(device)
        found = [f(moved['y'], moved.hyperedge_index, 4) for f in FUNCTIONS]
        assert all(value.device == device for value in found)
    for f, value in zip(FUNCTIONS, found, strict=True):
        expected = f(data['y'], data.hyperedge_index, 4)
        assert torch.equal(value.cpu().nan_to_num(-1), expected.nan_to_num(-1))
