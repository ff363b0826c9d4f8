from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.strategies import (
    SETTINGS,
    Groups,
    clique_weights,
    groupings,
    renamings,
    round_to_bits,
    slow_coreness,
    slow_eigenvector,
    slow_pagerank,
    to_data,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.transforms import AddWithinOrderRank


def rank(data: AnchorData, weighted: bool = False) -> Tensor:
    out = AddWithinOrderRank(weighted)(data).incidence_rank
    assert isinstance(out, Tensor)
    return out


def slow_ranks(groups: Groups, num_nodes: int, weighted: bool) -> list[list[float]]:
    weight = clique_weights(groups, num_nodes)
    simple = [[min(w, 1) for w in row] for row in weight]
    values: list[list[float]] = [
        [sum(g.count(v) for g in groups) for v in range(num_nodes)],
        slow_eigenvector(weight if weighted else simple),
        slow_pagerank(weight),
        list(slow_coreness(groups, num_nodes)),
    ]
    rows = []
    for group in groups:
        for v in group:
            row = []
            for exact in values:
                value = [round_to_bits(x) for x in exact]
                distinct = sorted({value[u] for u in group})
                row.append((distinct.index(value[v]) + 1) / len(group))
            rows.append(row)
    return rows


@SETTINGS
@given(groupings(repeated_members=True), st.booleans())
def test_by_definition(grouping: tuple[Groups, int], weighted: bool) -> None:
    groups, num_nodes = grouping
    data = to_data(groups, num_nodes)
    expected = torch.tensor(slow_ranks(groups, num_nodes, weighted)).view(-1, 4)
    torch.testing.assert_close(rank(data, weighted), expected)


@settings(SETTINGS, max_examples=25)
@given(groupings(repeated_members=True), st.data())
def test_names_do_not_matter(grouping: tuple[Groups, int], draw: st.DataObject) -> None:
    data = to_data(*grouping)
    other = draw.draw(renamings(data))
    assert torch.equal(rank(other.data), other.incidences(rank(data)))


def test_by_hand(device: torch.device) -> None:
    # Degrees 3, 2, 2, 1 and coreness 1; node 4 is alone.
    groups = [[0, 1], [0, 1, 2], [0, 2, 3], [4], []]
    out = rank(to_data(groups, 6).to(device))
    assert out.device.type == device.type
    assert out.dtype == torch.float32
    degree = [1, 1 / 2, 2 / 3, 1 / 3, 1 / 3, 1, 2 / 3, 1 / 3, 1]
    torch.testing.assert_close(out[:, 0].cpu(), torch.tensor(degree))
    # In the graph where 0 meets 1, 2, 3, and 2 meets 1 and 3.
    eigenvector = [1, 1 / 2, 2 / 3, 1 / 3, 2 / 3, 2 / 3, 2 / 3, 1 / 3, 1]
    torch.testing.assert_close(out[:, 1].cpu(), torch.tensor(eigenvector))
    assert out[-1].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize('seed', range(3))
def test_equals_share_a_rank(seed: int) -> None:
    # All nodes look alike, however the sums of their centralities were rounded.
    size = 101
    generator = torch.Generator().manual_seed(seed)
    name = torch.randperm(size, generator=generator).tolist()
    groups = [[name[(v + o) % size] for o in (0, 5, 6, 20)] for v in range(size)]
    assert torch.equal(rank(to_data(groups, size)), torch.full((4 * size, 4), 0.25))


@pytest.mark.parametrize('num_hyperedges', [0, 2])
@pytest.mark.parametrize('num_nodes', [0, 3])
def test_no_incidences(num_nodes: int, num_hyperedges: int) -> None:
    data = to_data([[]] * num_hyperedges, num_nodes)
    assert rank(data).size() == (0, 4)


def test_level_and_copy() -> None:
    data = to_data([[0, 1], [1]], 2)
    out = AddWithinOrderRank()(data)
    assert out.validate()
    assert out.is_node_attr('incidence_rank') is False
    assert 'incidence_rank' not in data
    kept = out.hyperedge_subgraph(torch.tensor([False, True]))
    assert kept.incidence_rank.tolist() == [[1, 1, 1, 1]]


def test_repr_shows_all_parameters() -> None:
    assert repr(AddWithinOrderRank()) == 'AddWithinOrderRank(weighted=False)'
    assert repr(AddWithinOrderRank(True)) == 'AddWithinOrderRank(weighted=True)'


def test_names_reach_the_data() -> None:
    out = AddWithinOrderRank()(to_data([[0, 1, 2], [1, 2]], 3))
    names = ('degree', 'eigenvector', 'pagerank', 'coreness')
    assert out.names('incidence_rank') == [f'{n}_within_order_rank' for n in names]
    assert out.validate()


@pytest.mark.parametrize('weighted', [False, True])
def test_second_device(weighted: bool) -> None:
    data: Any = PlantedAnchorDataset(num_nodes=50, num_hyperedges=80)[0]
    expected = AddWithinOrderRank(weighted)(data).incidence_rank
    with second_device() as device:
        out = AddWithinOrderRank(weighted)(data.clone().to(device)).incidence_rank
        assert out.device == device
    assert torch.equal(out.cpu(), expected)
