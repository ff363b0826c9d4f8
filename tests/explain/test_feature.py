import pytest
import torch
from torch import Tensor

from tests.explain.hypergraph import small
from tgx_anchor.explain.feature import (
    TIMES,
    Feature,
    degree_feature,
    member_features,
    stacked_features,
)
from tgx_anchor.nn import StackedAnchorRadar
from tgx_anchor.nn.predictors.incidence_features import attribute_scale
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


# Features of a StackedAnchorRadar ################################################


def test_every_column_has_a_feature() -> None:
    data = small()
    data.incidence_attr = torch.arange(15.0).view(-1, 1)
    data.name_columns('incidence_attr', ['minutes'])
    data.x = torch.arange(10.0).view(5, 2)
    data.hyperedge_attr = torch.arange(8.0)
    data.hyperedge_time = torch.arange(8.0)
    model = StackedAnchorRadar()
    data = model.required_transform()(data)
    names = model.feature_names(data)
    table = model._features(data, attribute_scale(data), has_time=True)[0]
    found = stacked_features(data, names, table)
    by_name = {feature.name: feature for feature in found}
    assert list(by_name) == [
        *('degree', 'eigenvector', 'pagerank', 'coreness', 'contacts'),
        *TIMES,
        *('minutes', 'node_0', 'node_1', 'record', 'rivals', 'belief'),
    ]
    columns = [i for feature in found for i in feature.columns]
    assert len(set(columns)) == len(columns)
    # The size and the attribute of the group are the same for all its members.
    left = [names[i] for i in range(len(names)) if i not in columns]
    assert left == ['hyperedge_size', 'hyperedge_attr']
    for kind, heads in (
        ('record', ('record_',)),
        ('rivals', ('rivals_', 'overlap_')),
        ('belief', ('belief_',)),
    ):
        assert by_name[kind].kind == kind
        assert all(names[i].startswith(heads) for i in by_name[kind].columns)
    # Attributes as they are in the data, not standardised.
    assert by_name['node_1'].value.tolist() == [1, 3, 5, 7, 9]
    assert by_name['minutes'].value.tolist() == list(range(15))
    assert [names[i] for i in by_name['minutes'].columns] == ['minutes']
    assert [names[i] for i in by_name['node_1'].columns] == ['node_1']
    # ann shares groups with three people, dan with all but eve.
    assert by_name['contacts'].value.expm1().round().tolist() == [3, 3, 3, 3, 0]


def test_fewer_views() -> None:
    data = small()
    model = StackedAnchorRadar(views='B')
    data = model.required_transform()(data)
    names = model.feature_names(data)
    found = stacked_features(data, names, data.incidence_attr)
    assert [feature.name for feature in found[4:]] == ['record', 'belief']
    # Beliefs count in the last step all the same.
    assert found[-1].columns == ()
