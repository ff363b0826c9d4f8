import pytest
import torch
from torch import Tensor

from tests.explain.hypergraph import small
from tgx_anchor.explain.feature import Feature, degree_feature, member_features
from tgx_anchor.transforms import AddTopologicalFeatures
from tgx_anchor.utils import pagerank


def levels(value: Tensor) -> list[int]:
    """The rank of each value among the distinct ones, up to rounding."""
    out: list[int] = torch.unique(
        value.double().round(decimals=6), return_inverse=True
    )[1].tolist()
    return out


def test_all_columns_of_a_centrality_are_one_feature() -> None:
    data = AddTopologicalFeatures()(small())
    found = member_features(data)
    assert [f.name for f in found] == ['degree', 'eigenvector', 'pagerank', 'coreness']
    names = data.names('incidence_attr')
    for feature in found:
        assert feature.kind == 'centrality'
        assert len(feature.columns) == 8
        assert all(names[i].startswith(f'{feature.name}_') for i in feature.columns)
    # The size of the group is the same for all its members.
    assert sum(len(f.columns) for f in found) == len(names) - 1


def test_degrees_are_counts_and_others_have_their_order() -> None:
    data = AddTopologicalFeatures()(small())
    by_name = {f.name: f.value for f in member_features(data)}
    assert by_name['degree'].tolist() == [4, 4, 3, 3, 1]
    exact = pagerank(data.hyperedge_index, data.num_nodes, data.num_hyperedges)
    assert levels(by_name['pagerank']) == levels(exact)


@pytest.mark.parametrize('options', [{'global_': False}, {'local': False}])
def test_fewer_columns(options: dict[str, bool]) -> None:
    data = AddTopologicalFeatures(centralities=['pagerank'], **options)(small())
    (feature,) = member_features(data)
    exact = pagerank(data.hyperedge_index, data.num_nodes, data.num_hyperedges)
    assert levels(feature.value) == levels(exact)


def test_attributes_follow_the_columns_of_incidences() -> None:
    data = small()
    data.incidence_attr = torch.arange(14.0).view(-1, 1)
    data.name_columns('incidence_attr', ['minutes'])
    data.x = torch.arange(10.0).view(5, 2)
    data.hyperedge_attr = torch.zeros(8, 3)
    found = member_features(data)
    assert [(f.name, f.columns, f.per_node) for f in found] == [
        ('minutes', (0,), False),
        ('node_0', (1,), True),
        ('node_1', (2,), True),
    ]
    place = torch.tensor([3, 0])
    assert found[0].of(place, data).tolist() == [3, 0]
    # The incidences 3 and 0 are both of node 0.
    assert found[2].of(place, data).tolist() == [1, 1]


def test_attributes_of_one_dimension() -> None:
    data = small()
    data.x = torch.arange(5.0)
    (feature,) = member_features(data)
    assert (feature.name, feature.value.tolist()) == ('x', [0, 1, 2, 3, 4])


def test_no_features() -> None:
    assert member_features(small()) == []


def test_degree_without_features() -> None:
    feature = degree_feature(small())
    assert isinstance(feature, Feature)
    assert feature.value.tolist() == [4, 4, 3, 3, 1]
