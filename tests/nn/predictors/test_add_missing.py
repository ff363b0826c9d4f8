import torch

from tests.strategies import to_data
from tgx_anchor.nn.predictors.add_missing import AddMissing
from tgx_anchor.transforms import (
    AddPairFeatures,
    AddTemporalFeatures,
    AddTopologicalFeatures,
    AddWithinOrderRank,
)


def test_nothing_is_missing() -> None:
    data = to_data([[0, 1, 2], [1, 2]], 3)
    out = AddMissing()(data)
    assert set(out.keys()) == set(data.keys())
    assert repr(AddMissing()) == 'AddMissing()'


def test_adds_only_what_is_missing() -> None:
    data = to_data([[0, 1, 2], [1, 2]], 3)
    transform = AddMissing(
        {
            'incidence_attr': AddTopologicalFeatures(),
            'incidence_rank': AddWithinOrderRank(),
        }
    )
    out = transform(data)
    assert out.incidence_attr.size() == (5, 33)
    assert out.incidence_rank.size() == (5, 4)
    # The data that was given stays as it was.
    assert 'incidence_attr' not in data
    # Twice is once, and what the user brought stays.
    assert torch.equal(transform(out).incidence_attr, out.incidence_attr)
    data.incidence_attr = torch.ones(5, 2)
    out = transform(data)
    assert torch.equal(out.incidence_attr, torch.ones(5, 2))
    assert out.incidence_rank.size() == (5, 4)


def test_names_tell_which_columns_are_there() -> None:
    data = to_data([[0, 1, 2], [1, 2]], 3)
    data.incidence_attr = torch.ones(5, 1)
    transform = AddMissing({'incidence_attr': AddTopologicalFeatures()})
    data.column_names = {'incidence_attr': ['age']}
    assert transform(data).incidence_attr.size() == (5, 34)
    data.incidence_attr = torch.ones(5, 33)
    data.column_names = {'incidence_attr': AddTopologicalFeatures().feature_names}
    assert torch.equal(transform(data).incidence_attr, data.incidence_attr)


def test_several_transforms_of_one_attribute() -> None:
    data = to_data([[0, 1, 2], [1, 2]], 3)
    topology, pairs = AddTopologicalFeatures(), AddPairFeatures()
    transform = AddMissing({'incidence_attr': [topology, pairs]})
    out = transform(data)
    names = topology.feature_names + pairs.feature_names
    assert out.names('incidence_attr') == names
    assert torch.equal(out.incidence_attr, pairs(topology(data)).incidence_attr)
    assert 'incidence_attr' not in data
    # Twice is once.
    assert torch.equal(transform(out).incidence_attr, out.incidence_attr)
    # Only those that are not there.
    some = transform(pairs(data))
    assert some.names('incidence_attr') == pairs.feature_names + topology.feature_names
    # What the user brought stays, with a name or without.
    data.incidence_attr = torch.ones(5, 2)
    assert torch.equal(transform(data).incidence_attr, torch.ones(5, 2))
    data.column_names = {'incidence_attr': ['age', 'height']}
    own = transform(data)
    assert own.names('incidence_attr') == ['age', 'height', *names]
    assert torch.equal(own.incidence_attr[:, :2], torch.ones(5, 2))
    assert repr(AddMissing({'incidence_attr': [pairs]})) == (
        f'AddMissing(incidence_attr=[{pairs!r}])'
    )


def test_nothing_to_compute_it_from() -> None:
    data = to_data([[0, 1, 2], [1, 2]], 3)
    topology, time = AddTopologicalFeatures(), AddTemporalFeatures()
    transform = AddMissing({'incidence_attr': [topology, time]})
    assert transform(data).names('incidence_attr') == topology.feature_names
    assert 'incidence_attr' not in AddMissing({'incidence_attr': time})(data)
    data.hyperedge_time = torch.tensor([2.0, 1.0])
    out = transform(data)
    names = topology.feature_names + time.feature_names
    assert out.names('incidence_attr') == names
    # Times that are taken away later leave their features where they are.
    del out.hyperedge_time
    assert transform(out).names('incidence_attr') == names
    # Features of topology that are there already are not computed again.
    data.incidence_attr = torch.zeros(5, 33)
    data.column_names = {'incidence_attr': topology.feature_names}
    out = transform(data)
    assert out.names('incidence_attr') == names
    assert not out.incidence_attr[:, :33].any()
