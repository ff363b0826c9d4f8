import math

import pytest
import torch
from scipy.stats import ttest_ind

from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.reproduce.observations import (
    OBSERVATIONS,
    observe,
    proportion_accuracy,
    purity,
    random_anchors,
    statistics,
)


def groups(*members: list[int], anchors: list[int], num_nodes: int) -> AnchorData:
    node = [v for group in members for v in group]
    hyperedge = [e for e, group in enumerate(members) for _ in group]
    y = [
        v == anchor
        for group, anchor in zip(members, anchors, strict=True)
        for v in group
    ]
    return AnchorData(
        torch.tensor([node, hyperedge]),
        num_nodes=num_nodes,
        num_hyperedges=len(members),
        y=torch.tensor(y),
    )


@pytest.fixture
def data() -> AnchorData:
    # Node 0 anchors two of three groups, node 1 one of three, node 2 none of two.
    members = [0, 1], [0, 1, 2], [1, 0], [2]
    return groups(*members, anchors=[0, 0, 1, 2], num_nodes=4)


def test_statistics(data: AnchorData) -> None:
    assert statistics(data) == {
        'num_nodes': 4,
        'num_hyperedges': 4,
        'num_unique_hyperedges': 3,
        'min_size': 1,
        'max_size': 3,
        'avg_size': 2,
    }


def test_purity_by_hand(data: AnchorData) -> None:
    found = purity(data)
    # Pairs in which the role is the same: 1 of 3, 1 of 3, 0 of 1; node 3 has none.
    assert found['real_mean'] == pytest.approx(2 / 9)
    values = [1 / 3, 1 / 3, 0.0]
    variance = sum((value - 2 / 9) ** 2 for value in values) / 3
    assert found['real_std'] == pytest.approx(math.sqrt(variance))


def test_purity_is_significant_where_people_differ() -> None:
    planted = PlantedAnchorDataset(num_nodes=200, num_hyperedges=2000)[0]
    assert isinstance(planted, AnchorData)
    found = purity(planted)
    assert found['real_mean'] > found['random_mean'] + 0.05
    assert found['p_value'] < 1e-6
    random = planted.clone()
    random.y = random_anchors(planted, 7)
    assert purity(random)['p_value'] > 1e-3


def test_p_value_is_one_sided(data: AnchorData) -> None:
    # The fewer pairs agree, the larger is the p-value.
    found = purity(data, seed=3)
    random = random_anchors(data, 3)
    other = data.clone()
    other.y = random
    means = found['real_mean'], found['random_mean']
    assert purity(other)['real_mean'] == pytest.approx(means[1])
    if means[0] < means[1]:
        assert found['p_value'] > 0.5
    assert ttest_ind([1.0, 2.0], [3.0, 4.0], alternative='greater').pvalue > 0.5


def test_random_anchors_are_members_and_uniform(data: AnchorData) -> None:
    hyperedge = data.hyperedge_index[1]
    total = torch.zeros(hyperedge.numel())
    for seed in range(600):
        drawn = random_anchors(data, seed)
        count = torch.bincount(hyperedge[drawn], minlength=4)
        assert count.tolist() == [1, 1, 1, 1]
        total += drawn
    share = 1 / torch.bincount(hyperedge)[hyperedge]
    assert torch.allclose(total / 600, share, atol=0.07)
    assert torch.equal(random_anchors(data, 5), random_anchors(data, 5))


def test_proportion_by_hand(data: AnchorData) -> None:
    # 0 is picked in the first three groups and anchors two of them, 2 is alone.
    assert proportion_accuracy(data) == pytest.approx(3 / 4)


def test_training_hyperedges_only(data: AnchorData) -> None:
    data.train_mask = torch.tensor([True, True, False, True])
    found = observe(data, 'proportion in training hyperedges')
    assert found == {'accuracy': 1.0}
    found = observe(data, 'purity of training hyperedges')
    # 0 anchors both of its groups, 1 neither; the group of 2 alone does not count.
    assert found['real_mean'] == 1
    # Without the mask, 0 and 1 anchor some of their three groups.
    found = observe(data, 'purity of all hyperedges')
    assert found['real_mean'] == pytest.approx(1 / 3)
    found = observe(data, 'proportion in all hyperedges')
    assert found['accuracy'] == pytest.approx(2 / 3)


def test_every_observation_has_values(data: AnchorData) -> None:
    data.train_mask = torch.ones(4, dtype=torch.bool)
    for name in OBSERVATIONS:
        assert observe(data, name)


def test_unknown_observation(data: AnchorData) -> None:
    with pytest.raises(ValueError, match="'name' must be one of statistics"):
        observe(data, 'weather')
