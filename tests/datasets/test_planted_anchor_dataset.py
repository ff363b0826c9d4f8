"""Synthetic groups: what is promised of them, and the paper's two observations."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.strategies import to_groups
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.utils import anchor_purity

SEEDS = [0, 1, 2]
SIZES = {'num_nodes': 2000, 'num_hyperedges': 6000}


def planted(**kwargs: Any) -> Any:
    dataset = PlantedAnchorDataset(**kwargs)
    assert len(dataset) == 1
    return dataset[0]


def tensors(data: Any) -> dict[str, Any]:
    return {
        key: value.tolist() if isinstance(value, torch.Tensor) else value
        for key, value in data.to_dict().items()
    }


def hit_rate(data: Any, score: list[float]) -> float:
    """The share in which the member of highest score is the anchor, in groups of two or
    more; equal scores share the hit.
    """
    anchors = anchors_of(data)
    hits = []
    for group, anchor in zip(to_groups(data), anchors, strict=True):
        if len(group) > 1:
            best = max(score[v] for v in group)
            top = [v for v in group if score[v] == best]
            hits.append((anchor in top) / len(top))
    return sum(hits) / len(hits)


def anchors_of(data: Any) -> list[int]:
    """The one anchor of each group."""
    node, hyperedge = data.hyperedge_index[:, data.y]
    assert hyperedge.tolist() == list(range(data.num_hyperedges))
    anchors: list[int] = node.tolist()
    return anchors


def random_anchors(data: Any, seed: int) -> torch.Tensor:
    """Another `y`, in which all members are equally likely."""
    rng = np.random.default_rng(seed)
    y = torch.zeros_like(data.y)
    start = 0
    for group in to_groups(data):
        y[start + rng.integers(len(group))] = True
        start += len(group)
    return y


def purity(data: Any, y: torch.Tensor) -> Any:
    value = anchor_purity(y, data.hyperedge_index, data.num_nodes)
    return value[~value.isnan()].numpy()


# What is promised ################################################################


def test_default_sizes() -> None:
    data = planted()
    assert type(data) is AnchorData
    assert (data.num_nodes, data.num_hyperedges) == (1000, 10_000)
    assert data.validate()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 60),
    st.integers(1, 60),
    st.floats(2, 8),
    st.floats(0, 0.999),
    st.floats(-1, 1),
    st.floats(0, 5),
    st.integers(0, 2**63),
)
def test_any_arguments(
    num_nodes: int,
    num_hyperedges: int,
    mean_size: float,
    repeat: float,
    correlation: float,
    scale: float,
    seed: int,
) -> None:
    arguments = {
        'num_nodes': num_nodes,
        'num_hyperedges': num_hyperedges,
        'mean_size': mean_size,
        'repeat': repeat,
        'correlation': correlation,
        'scale': scale,
        'seed': seed,
    }
    data = planted(**arguments)
    assert (data.num_nodes, data.num_hyperedges) == (num_nodes, num_hyperedges)
    assert data.validate()
    groups = to_groups(data)
    assert all(groups)
    assert all(len(set(group)) == len(group) for group in groups)
    assert len(anchors_of(data)) == num_hyperedges
    assert torch.equal(data.role == 0, data.y)
    assert torch.equal(data.role == 1, ~data.y)
    assert data.node_strength.size() == (num_nodes,)
    assert data.node_strength.dtype == torch.get_default_dtype()
    # The copies are as many as asked for, and at least one group is not a copy.
    num_copies = min(round(repeat * num_hyperedges), num_hyperedges - 1)
    assert len({frozenset(group) for group in groups}) <= num_hyperedges - num_copies
    assert tensors(planted(**arguments)) == tensors(data)


@pytest.mark.parametrize('seed', SEEDS)
def test_seed_decides_everything(seed: int) -> None:
    arguments: dict[str, Any] = {'num_nodes': 300, 'num_hyperedges': 500}
    one = tensors(planted(seed=seed, **arguments))
    assert tensors(planted(seed=seed, **arguments)) == one
    other = tensors(planted(seed=seed + 1, **arguments))
    for key in ('hyperedge_index', 'y', 'role', 'node_strength'):
        assert one[key] != other[key], key


def test_touches_no_other_randomness() -> None:
    before = torch.random.get_rng_state()
    legacy = np.random.get_state(legacy=False)  # noqa: NPY002
    first = planted(num_nodes=50, num_hyperedges=50)
    assert torch.equal(torch.random.get_rng_state(), before)
    after = np.random.get_state(legacy=False)  # noqa: NPY002
    np.testing.assert_equal(after, legacy)
    torch.manual_seed(12)
    np.random.seed(12)  # noqa: NPY002
    assert tensors(planted(num_nodes=50, num_hyperedges=50)) == tensors(first)


def test_smallest() -> None:
    assert to_groups(planted(num_nodes=1, num_hyperedges=1)) == [[0]]
    assert to_groups(planted(num_nodes=1, num_hyperedges=5)) == [[0]] * 5
    (group,) = to_groups(planted(num_nodes=9, num_hyperedges=1))
    assert set(group) <= set(range(9))
    for repeat in (0.5, 0.6, 0.99):
        data = planted(num_nodes=9, num_hyperedges=2, repeat=repeat)
        assert data.num_hyperedges == 2
    one, other = to_groups(planted(num_nodes=9, num_hyperedges=2, repeat=0.99))
    assert one == other


@pytest.mark.parametrize('seed', SEEDS)
def test_everybody_is_somewhere(seed: int) -> None:
    data = planted(**SIZES, seed=seed)
    assert set(data.hyperedge_index[0].tolist()) == set(range(2000))
    # With fewer seats than people, nobody sits twice.
    data = planted(num_nodes=5000, num_hyperedges=100, repeat=0.0, seed=seed)
    assert set(Counter(data.hyperedge_index[0].tolist()).values()) == {1}


@pytest.mark.parametrize('seed', SEEDS)
def test_groups_repeat_and_some_are_single(seed: int) -> None:
    groups = [frozenset(group) for group in to_groups(planted(**SIZES, seed=seed))]
    single = sum(len(group) == 1 for group in groups) / len(groups)
    assert 0.08 < single < 0.16
    distinct = len(set(groups))
    assert 0.70 < distinct / len(groups) < 0.80
    # Some come back often.
    large = Counter(group for group in groups if len(group) > 1)
    assert max(large.values()) >= 10
    without = [frozenset(g) for g in to_groups(planted(**SIZES, seed=seed, repeat=0.0))]
    assert len(set(without)) > 0.9 * len(without)


@pytest.mark.parametrize('mean_size', [2.0, 3.0, 6.0])
def test_mean_size(mean_size: float) -> None:
    data = planted(mean_size=mean_size, num_nodes=5000, num_hyperedges=10_000)
    found = data.num_incidences / data.num_hyperedges
    assert 0.9 * mean_size < found <= 1.05 * mean_size


@pytest.mark.parametrize('seed', SEEDS)
def test_degrees_have_a_heavy_tail(seed: int) -> None:
    data = planted(**SIZES, seed=seed)
    degree = np.bincount(data.hyperedge_index[0].numpy(), minlength=2000)
    assert degree.max() > 20 * degree.mean()
    assert np.median(degree) < 0.8 * degree.mean()
    share = np.sort(degree)[::-1][:20].sum() / degree.sum()
    assert share > 0.1
    # As heavy as its exponent says: twice as many seats, 2^1.5 times as few people.
    tail = [(degree >= d).sum() for d in (20, 40, 80)]
    assert 2 < tail[0] / tail[1] < 4
    assert 2 < tail[1] / tail[2] < 4


def test_people_meet_their_neighbours() -> None:
    data = planted(num_nodes=20_000, num_hyperedges=30_000)
    gaps = [abs(g[0] - g[1]) for g in to_groups(data) if len(g) == 2]
    assert np.median(gaps) < 500


# The two observations ############################################################


@pytest.mark.parametrize('seed', SEEDS)
def test_degrees_tell_something_of_the_anchors(seed: int) -> None:
    data = planted(seed=seed)
    sizes = [len(group) for group in to_groups(data) if len(group) > 1]
    chance = sum(1 / size for size in sizes) / len(sizes)
    degree = Counter(data.hyperedge_index[0].tolist())
    by_degree = hit_rate(data, [degree[v] for v in range(data.num_nodes)])
    by_strength = hit_rate(data, data.node_strength.tolist())
    assert by_degree > chance + 0.1
    assert by_strength > by_degree + 0.1


@pytest.mark.parametrize('seed', SEEDS)
def test_anchors_tend_to_be_the_same_people(seed: int) -> None:
    data = planted(seed=seed)
    other = purity(data, random_anchors(data, seed))
    result = stats.ttest_ind(
        purity(data, data.y), other, equal_var=False, alternative='greater'
    )
    assert result.pvalue < 1e-3


@pytest.mark.parametrize('seed', SEEDS)
def test_without_strength_anchors_are_random(seed: int) -> None:
    data = planted(seed=seed, scale=0.0)
    assert data.node_strength.tolist() == [0.0] * data.num_nodes
    sizes = [len(group) for group in to_groups(data) if len(group) > 1]
    chance = sum(1 / size for size in sizes) / len(sizes)
    degree = Counter(data.hyperedge_index[0].tolist())
    found = hit_rate(data, [degree[v] for v in range(data.num_nodes)])
    assert abs(found - chance) < 0.03
    result = stats.ttest_ind(
        purity(data, data.y), purity(data, random_anchors(data, seed)), equal_var=False
    )
    assert result.pvalue > 0.01


def test_competition_is_a_softmax() -> None:
    # In groups of two, the log-odds are the difference of the strengths.
    data = planted(num_nodes=2000, num_hyperedges=40_000, mean_size=2.0, seed=5)
    strength = data.node_strength.tolist()
    expected, found = [], []
    for group, anchor in zip(to_groups(data), anchors_of(data), strict=True):
        if len(group) == 2:
            gap = strength[group[0]] - strength[group[1]]
            expected.append(1 / (1 + np.exp(-gap)))
            found.append(anchor == group[0])
    bins = np.digitize(expected, np.linspace(0, 1, 11)[1:-1])
    for b in range(10):
        inside = bins == b
        assert inside.sum() > 500
        mean = np.mean(np.array(expected)[inside])
        assert abs(np.mean(np.array(found)[inside]) - mean) < 0.06


@pytest.mark.parametrize('correlation', [-0.6, 0.0, 0.4, 1.0])
def test_correlation_of_strength_and_degree(correlation: float) -> None:
    data = planted(
        num_nodes=20_000, num_hyperedges=200_000, correlation=correlation, scale=3.0
    )
    degree = np.bincount(data.hyperedge_index[0].numpy())
    strength = data.node_strength.numpy()
    found = np.corrcoef(np.log(degree), strength)[0, 1]
    assert abs(found - correlation) < 0.12
    assert abs(strength.std() - 3.0) < 0.1
    assert abs(strength.mean()) < 0.1


# The rest ########################################################################


def test_transform_and_names() -> None:
    def double(data: AnchorData) -> AnchorData:
        data.x = data['node_strength'][:, None] * 2
        return data

    dataset = PlantedAnchorDataset(30, 40, seed=7, transform=double)
    data: Any = dataset[0]
    assert torch.equal(data.x, data.node_strength[:, None] * 2)
    assert dataset.roles == ['anchor', 'member']
    assert repr(dataset) == (
        'PlantedAnchorDataset(num_nodes=30, num_hyperedges=40, seed=7)'
    )


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'num_nodes': 0}, "'num_nodes' must be positive (got 0)"),
        ({'num_hyperedges': -1}, "'num_hyperedges' must be positive (got -1)"),
        ({'mean_size': 1.9}, "'mean_size' must lie in [2, inf) (got 1.9)"),
        ({'mean_size': torch.nan}, "'mean_size' must lie in [2, inf) (got nan)"),
        ({'mean_size': torch.inf}, "'mean_size' must lie in [2, inf) (got inf)"),
        ({'repeat': 1.0}, "'repeat' must lie in [0, 1) (got 1.0)"),
        ({'repeat': -0.1}, "'repeat' must lie in [0, 1) (got -0.1)"),
        ({'repeat': torch.nan}, "'repeat' must lie in [0, 1) (got nan)"),
        ({'correlation': 1.1}, "'correlation' must lie in [-1, 1] (got 1.1)"),
        ({'correlation': torch.nan}, "'correlation' must lie in [-1, 1] (got nan)"),
        ({'scale': -1.0}, "'scale' must lie in [0, inf) (got -1.0)"),
        ({'scale': torch.nan}, "'scale' must lie in [0, inf) (got nan)"),
        ({'scale': torch.inf}, "'scale' must lie in [0, inf) (got inf)"),
        ({'num_types': -1}, "'num_types' must not be negative (got -1)"),
        ({'context': 1.5}, "'context' must lie in [0, 1] (got 1.5)"),
        ({'context': torch.nan}, "'context' must lie in [0, 1] (got nan)"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match='must') as caught:
        PlantedAnchorDataset(**arguments)
    assert str(caught.value) == message


def test_contexts_leave_the_groups_as_they_are() -> None:
    plain: Any = PlantedAnchorDataset(50, 400, seed=2)[0]
    assert 'incidence_strength' not in plain
    # Without a share of the variance, not even the anchors differ.
    none: Any = PlantedAnchorDataset(
        50, 400, directed=True, num_types=2, context=0, seed=2
    )[0]
    assert torch.equal(none.hyperedge_index, plain.hyperedge_index)
    assert torch.equal(none.y, plain.y)
    strength = none.node_strength[none.hyperedge_index[0]]
    assert torch.equal(none.incidence_strength, strength)
    some: Any = PlantedAnchorDataset(50, 400, directed=True, seed=2)[0]
    assert torch.equal(some.hyperedge_index, plain.hyperedge_index)
    assert not torch.equal(some.y, plain.y)
    assert len({plain.source, none.source, some.source}) == 3
    assert some.validate()
    assert none.validate()


def test_strengths_depend_on_the_context_alone() -> None:
    data: Any = PlantedAnchorDataset(
        300, 9000, directed=True, num_types=3, context=0.5, seed=1
    )[0]
    node, hyperedge = data.hyperedge_index
    kind = data.hyperedge_type[hyperedge]
    assert data.hyperedge_type_names == ['type 0', 'type 1', 'type 2']
    assert sorted(set(data.incidence_side.tolist())) == [0, 1]
    seen: dict[tuple[int, int, int], float] = {}
    for person, side, each, strength in zip(
        *(value.tolist() for value in (node, data.incidence_side, kind)),
        data.incidence_strength.tolist(),
        strict=True,
    ):
        assert seen.setdefault((person, side, each), strength) == strength
    # Half of the variance belongs to the person.
    table = torch.tensor([[v, s] for (v, _, _), s in seen.items()])
    mean = torch.zeros(300).scatter_reduce(
        0, table[:, 0].long(), table[:, 1], 'mean', include_self=False
    )
    within = (table[:, 1] - mean[table[:, 0].long()]).square().mean()
    assert 0.3 < float(within / table[:, 1].var()) < 0.5


def test_sides_hint_at_strengths() -> None:
    data: Any = PlantedAnchorDataset(
        400, 9000, directed=True, correlation=0.9, context=1, seed=1
    )[0]
    node, side = data.hyperedge_index[0], data.incidence_side
    share = torch.bincount(node[side == 0], minlength=400) / torch.bincount(node)
    for each, sign in ((0, 1), (1, -1)):
        row = side == each
        pair = torch.stack([share[node[row]], data.incidence_strength[row]])
        assert sign * float(torch.corrcoef(pair)[0, 1]) > 0.6


def test_roles_are_named() -> None:
    dataset = PlantedAnchorDataset(num_nodes=10, num_hyperedges=5)
    data: Any = dataset[0]
    assert data.role_names == list(dataset.roles) == ['anchor', 'member']
    assert data.validate()


def test_people_are_known_by_their_numbers() -> None:
    data: Any = PlantedAnchorDataset(20, 10, seed=3)[0]
    assert data.source == 'planted 20 10 3 0.2 0.25 2.5 seed 3'
    part = data.hyperedge_subgraph(torch.arange(10) >= 5, relabel_nodes=True)
    assert part.source == data.source
    assert part.hyperedge_id.tolist() == list(range(5, 10))
    row = data.hyperedge_index[1] >= 5
    found = part.node_id[part.hyperedge_index[0]]
    assert torch.equal(found, data.hyperedge_index[0][row])
    other: Any = PlantedAnchorDataset(20, 10, seed=4)[0]
    assert other.source != data.source
