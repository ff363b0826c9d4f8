from statistics import fmean, pstdev
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.devices import second_device
from tests.strategies import (
    SETTINGS,
    Groups,
    Renaming,
    clique_weights,
    hypergraphs,
    one_line_error,
    renamings,
    round_to_bits,
    slow_coreness,
    slow_eigenvector,
    slow_pagerank,
    to_data,
    to_groups,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.transforms import AddTopologicalFeatures

GLOBAL_NAMES = [
    'degree_minmax',
    'degree_rank',
    'degree_local_minmax_mean',
    'degree_local_minmax_std',
    'degree_local_rank_mean',
    'degree_local_rank_std',
    'eigenvector_minmax',
    'eigenvector_rank',
    'eigenvector_local_minmax_mean',
    'eigenvector_local_minmax_std',
    'eigenvector_local_rank_mean',
    'eigenvector_local_rank_std',
    'pagerank_minmax',
    'pagerank_rank',
    'pagerank_local_minmax_mean',
    'pagerank_local_minmax_std',
    'pagerank_local_rank_mean',
    'pagerank_local_rank_std',
    'coreness_minmax',
    'coreness_rank',
    'coreness_local_minmax_mean',
    'coreness_local_minmax_std',
    'coreness_local_rank_mean',
    'coreness_local_rank_std',
]
LOCAL_NAMES = [
    'degree_local_minmax',
    'degree_local_rank',
    'eigenvector_local_minmax',
    'eigenvector_local_rank',
    'pagerank_local_minmax',
    'pagerank_local_rank',
    'coreness_local_minmax',
    'coreness_local_rank',
    'hyperedge_size',
]
NAMES = GLOBAL_NAMES + LOCAL_NAMES


def minmax(value: float, among: list[float]) -> float:
    low, high = min(among), max(among)
    return 0.0 if low == high else (value - low) / (high - low)


def rank(value: float, among: list[float]) -> float:
    return sum(other > value for other in among) / max(len(among) - 1, 1)


def slow_features(groups: Groups, num_nodes: int) -> list[dict[str, float]]:
    # One row per incidence, from the words of the paper.
    weight = clique_weights(groups, num_nodes)
    raw: dict[str, list[float]] = {
        'degree': [sum(v in group for group in groups) for v in range(num_nodes)],
        'eigenvector': slow_eigenvector(weight),
        'pagerank': slow_pagerank(weight),
        'coreness': list(slow_coreness(groups, num_nodes)),
    }
    rows = []
    for group in groups:
        for v in group:
            row: dict[str, float] = {'hyperedge_size': len(group)}
            for name, exact in raw.items():
                value = [round_to_bits(x) for x in exact]
                row[f'{name}_minmax'] = minmax(value[v], value)
                row[f'{name}_rank'] = rank(value[v], value)
                for kind, f in (('minmax', minmax), ('rank', rank)):
                    local = [
                        f(value[v], [value[u] for u in other])
                        for other in groups
                        if v in other
                    ]
                    row[f'{name}_local_{kind}'] = f(value[v], [value[u] for u in group])
                    row[f'{name}_local_{kind}_mean'] = fmean(local)
                    row[f'{name}_local_{kind}_std'] = pstdev(local)
            rows.append(row)
    return rows


def features(data: AnchorData, transform: AddTopologicalFeatures) -> torch.Tensor:
    out = transform(data).incidence_attr
    assert isinstance(out, torch.Tensor)
    return out


def shuffled(data: AnchorData, seed: int) -> Renaming:
    generator = torch.Generator().manual_seed(seed)
    sizes = (int(data.num_nodes or 0), data.num_hyperedges, data.num_incidences)
    orders = [torch.randperm(n, generator=generator).tolist() for n in sizes]
    return Renaming(data, *orders)


@SETTINGS
@given(hypergraphs())
def test_all_columns(data: AnchorData) -> None:
    transform = AddTopologicalFeatures()
    assert transform.feature_names == NAMES
    rows = slow_features(to_groups(data), int(data.num_nodes or 0))
    expected = torch.tensor([[row[name] for name in NAMES] for row in rows])
    torch.testing.assert_close(
        features(data, transform), expected.view(-1, 33), rtol=0, atol=2e-6
    )


@SETTINGS
@given(hypergraphs(), st.data())
def test_names_do_not_matter(data: AnchorData, draw: st.DataObject) -> None:
    other = draw.draw(renamings(data))
    transform = AddTopologicalFeatures()
    torch.testing.assert_close(
        features(other.data, transform),
        other.incidences(features(data, transform)),
        rtol=0,
        atol=2e-6,
    )


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize(
    'offsets', [(0, 1), (0, 1, 3), (0, 1, 2, 3, 4, 5, 6), (0, 5, 6, 20, 21, 40)]
)
def test_equals_stay_equal(offsets: tuple[int, ...], seed: int) -> None:
    # All nodes look alike, however the sums of their centralities were rounded.
    size = 101
    groups = [[(v + o) % size for o in offsets] for v in range(size)] * 2
    groups += [list(range(size))]
    data = shuffled(to_data(groups, size), seed).data
    attr = features(data, AddTopologicalFeatures())
    assert torch.equal(attr[:, :32], torch.zeros(data.num_incidences, 32))
    size_of = data.hyperedge_size[data.hyperedge_index[1]]
    assert attr[:, 32].tolist() == size_of.tolist()


@pytest.mark.parametrize('seed', range(3))
def test_two_kinds_of_nodes_have_two_kinds_of_rows(seed: int) -> None:
    # Three hubs meet each of 40 leaves, in groups of all hubs and one leaf.
    groups = [[0, 1, 2, 3 + leaf] for leaf in range(40)]
    other = shuffled(to_data(groups, 43), seed)
    attr = features(other.data, AddTopologicalFeatures())
    is_hub = torch.isin(other.data.hyperedge_index[0], other.node[:3])
    hub = [1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    # Three of 42 others rank higher, in the group all three of three.
    leaf = [0.0, 3 / 42, 0.0, 0.0, 1.0, 0.0]
    # The leaves take all groups of the hubs with them: all have coreness one.
    core, size = [0.0] * 6, [0.0, 0.0, 4.0]
    expected_hub = torch.tensor(hub * 3 + core + [1.0, 0.0] * 3 + size)
    expected_leaf = torch.tensor(leaf * 3 + core + [0.0, 1.0] * 3 + size)
    assert torch.equal(attr[is_hub], expected_hub.expand(120, -1))
    assert torch.equal(attr[~is_hub], expected_leaf.expand(40, -1))


def test_by_hand(device: torch.device) -> None:
    # Degrees 3, 2, 2, 1, 0.
    groups = [[0, 1], [0, 1, 2], [0, 2, 3]]
    data = to_data(groups, 5).to(device)
    transform = AddTopologicalFeatures(centralities=['degree'])
    attr = features(data, transform)
    assert attr.device.type == device.type
    assert attr.dtype == torch.float32
    expected = {
        'degree_minmax': [1, 2 / 3, 1, 2 / 3, 2 / 3, 1, 2 / 3, 1 / 3],
        'degree_rank': [0, 0.25, 0, 0.25, 0.25, 0, 0.25, 0.75],
        'degree_local_minmax_mean': [1, 0, 1, 0, 0.25, 1, 0.25, 0],
        'degree_local_minmax_std': [0, 0, 0, 0, 0.25, 0, 0.25, 0],
        'degree_local_rank_mean': [0, 0.75, 0, 0.75, 0.5, 0, 0.5, 1],
        'degree_local_rank_std': [0, 0.25, 0, 0.25, 0, 0, 0, 0],
        'degree_local_minmax': [1, 0, 1, 0, 0, 1, 0.5, 0],
        'degree_local_rank': [0, 1, 0, 0.5, 0.5, 0, 0.5, 1],
        'hyperedge_size': [2, 2, 3, 3, 3, 3, 3, 3],
    }
    assert transform.feature_names == list(expected)
    for i, name in enumerate(transform.feature_names):
        column = torch.tensor(expected[name], dtype=torch.float32)
        torch.testing.assert_close(attr[:, i].cpu(), column)


def test_nothing_to_compare_is_zero() -> None:
    # A singleton, and a pair of equals; node 3 keeps the extremes apart.
    data = to_data([[0], [1, 2], [1, 2]], 4)
    attr = features(data, AddTopologicalFeatures(global_=False))
    assert torch.equal(attr[:, :8], torch.zeros(5, 8))
    assert attr[:, 8].tolist() == [1, 2, 2, 2, 2]
    attr = features(data, AddTopologicalFeatures(local=False))
    for i, name in enumerate(GLOBAL_NAMES):
        if 'local' in name:
            assert attr[:, i].tolist() == [0.0] * 5
    # One node alone.
    attr = features(to_data([[0], [0]], 1), AddTopologicalFeatures())
    assert torch.equal(attr, torch.tensor([[0.0] * 32 + [1.0]]).expand(2, -1))


@pytest.mark.parametrize('num_hyperedges', [0, 2])
@pytest.mark.parametrize('num_nodes', [0, 1, 3])
def test_no_incidences(num_nodes: int, num_hyperedges: int) -> None:
    data = to_data([[]] * num_hyperedges, num_nodes)
    assert features(data, AddTopologicalFeatures()).size() == (0, 33)


def test_parts_are_columns_of_the_whole() -> None:
    groups = [[0, 1], [0, 1, 2], [3, 2, 0], [4], [], [5, 2], [0, 1], [0, 1, 2, 3, 5]]
    data = to_data(groups, 7)
    whole = features(data, AddTopologicalFeatures())
    for transform, names in (
        (AddTopologicalFeatures(local=False), GLOBAL_NAMES),
        (AddTopologicalFeatures(global_=False), LOCAL_NAMES),
        (
            AddTopologicalFeatures(centralities=('coreness', 'degree')),
            [NAMES[i] for i in (*range(18, 24), *range(6), 30, 31, 24, 25, 32)],
        ),
    ):
        assert transform.feature_names == names
        columns = [NAMES.index(name) for name in names]
        assert torch.equal(features(data, transform), whole[:, columns])
    assert len(GLOBAL_NAMES) == 24
    assert len(LOCAL_NAMES) == 9


def test_appends_to_what_is_there() -> None:
    data = to_data([[0, 1], [1, 2, 0]], 3)
    plain = features(data, AddTopologicalFeatures())
    previous = torch.arange(10.0).view(5, 2).double()
    data.incidence_attr = previous
    out = features(data, AddTopologicalFeatures())
    assert out.dtype == torch.float32
    assert torch.equal(out, torch.cat([previous.float(), plain], dim=1))
    assert torch.equal(features(data, AddTopologicalFeatures(cat=False)), plain)
    # The given data is left as it was.
    assert data.incidence_attr is previous


def test_repr_shows_all_parameters() -> None:
    assert repr(AddTopologicalFeatures()) == (
        'AddTopologicalFeatures(local=True, global_=True, '
        "centralities=['degree', 'eigenvector', 'pagerank', 'coreness'], cat=True)"
    )
    transform = AddTopologicalFeatures(False, True, ('pagerank',), cat=False)
    assert repr(transform) == (
        'AddTopologicalFeatures(local=False, global_=True, '
        "centralities=['pagerank'], cat=False)"
    )


def test_bad_arguments() -> None:
    with one_line_error("'centralities'", "'betweenness'", 'eigenvector'):
        AddTopologicalFeatures(centralities=['degree', 'betweenness'])
    with one_line_error("'centralities'", 'degree'):
        AddTopologicalFeatures(centralities=['degree', 'coreness', 'degree'])
    with one_line_error("'local'", "'global_'"):
        AddTopologicalFeatures(local=False, global_=False)


def test_names_reach_the_data() -> None:
    transform = AddTopologicalFeatures()
    data = to_data([[0, 1, 2], [1, 2]], 3)
    out = transform(data)
    assert out.names('incidence_attr') == transform.feature_names
    assert data.column_names == {}
    data.incidence_attr = torch.zeros(5, 2)
    short = AddTopologicalFeatures(global_=False, centralities=['degree'])
    added = ['degree_local_minmax', 'degree_local_rank', 'hyperedge_size']
    out = short(data)
    assert out.names('incidence_attr') == ['incidence_0', 'incidence_1', *added]
    assert short(out).names('incidence_attr')[2:] == added + added
    replaced = AddTopologicalFeatures(global_=False, centralities=[], cat=False)
    assert replaced(out).names('incidence_attr') == ['hyperedge_size']
    assert all(part.validate() for part in (out, short(out), replaced(out)))


def test_second_device() -> None:
    data: Any = PlantedAnchorDataset(num_nodes=50, num_hyperedges=80)[0]
    expected = AddTopologicalFeatures()(data).incidence_attr
    with second_device() as device:
        out = AddTopologicalFeatures()(data.clone().to(device)).incidence_attr
        assert out.device == device
    assert torch.equal(out.cpu(), expected)
