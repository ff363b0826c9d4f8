import torch

from tests.strategies import to_data
from tgx_anchor.nn.predictors.add_missing import AddMissing
from tgx_anchor.transforms import AddTopologicalFeatures, AddWithinOrderRank


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
