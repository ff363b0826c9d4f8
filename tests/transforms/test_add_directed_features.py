"""Features of directed hyperedges, against those of plain ones and under reversal."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import SETTINGS, hypergraphs, one_line_error, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.transforms import AddDirectedFeatures, AddTopologicalFeatures
from tgx_anchor.transforms.add_directed_features import SIDE_COLUMNS
from tgx_anchor.utils import swap_sides


def mails() -> AnchorData:
    """From 0 to 1 and 2, from 1 to 2, from 0 and 3 to 1."""
    data = to_data([[0, 1, 2], [1, 2], [0, 3, 1]], 4)
    data.incidence_side = torch.tensor([0, 1, 1, 0, 1, 0, 0, 1])
    return data


def column(data: AnchorData, name: str) -> list[float]:
    place = data.names('incidence_attr').index(name)
    return [round(v, 6) for v in data.incidence_attr[:, place].tolist()]


def test_columns_by_hand() -> None:
    data = AddDirectedFeatures()(mails())
    assert data.incidence_attr.size() == (8, 66)
    assert column(data, 'side_tail') == [1, 0, 0, 1, 0, 1, 1, 0]
    assert column(data, 'side_head') == [0, 1, 1, 0, 1, 0, 0, 1]
    # In-degrees 0, 2, 2, 0 and out-degrees 2, 1, 0, 1 of the nodes.
    assert column(data, 'in_degree_minmax') == [0, 1, 1, 1, 1, 0, 0, 1]
    assert column(data, 'in_degree_local_rank') == [1, 0, 0, 0, 0, 0.5, 0.5, 0]
    assert column(data, 'out_degree_minmax') == [1, 0.5, 0, 0.5, 0, 1, 0.5, 0.5]
    assert column(data, 'out_degree_local_minmax') == [1, 0.5, 0, 1, 0, 1, 0, 0]
    third = round(1 / 3, 6)
    ranks = [0, third, 1, third, 1, 0, third, third]
    assert column(data, 'out_degree_rank') == ranks


def test_columns_are_chosen_and_appended() -> None:
    data = AddTopologicalFeatures()(mails())
    before = data.incidence_attr
    transform = AddDirectedFeatures(global_=False, centralities=['degree'])
    data = transform(data)
    assert transform.feature_names == [
        *SIDE_COLUMNS,
        'in_degree_local_minmax',
        'in_degree_local_rank',
        'out_degree_local_minmax',
        'out_degree_local_rank',
    ]
    assert data.names('incidence_attr')[33:] == transform.feature_names
    assert torch.equal(data.incidence_attr[:, :33], before)
    data = AddDirectedFeatures(local=False, cat=False)(data)
    assert data.incidence_attr.size() == (8, 50)
    assert data.validate()
    assert str(transform) == (
        "AddDirectedFeatures(local=True, global_=False, centralities=['degree'], "
        'cat=True)'
    )


@given(hypergraphs(), st.data())
@SETTINGS
def test_reversal_swaps_in_and_out(data: AnchorData, draw: st.DataObject) -> None:
    size = data.num_incidences
    sides = draw.draw(
        st.lists(st.sampled_from([0, 1, -1]), min_size=size, max_size=size)
    )
    data.incidence_side = torch.tensor(sides, dtype=torch.long)
    other = data.clone()
    other.incidence_side = swap_sides(data.incidence_side)
    found, reversed_ = AddDirectedFeatures()(data), AddDirectedFeatures()(other)
    swapped = {'in': 'out', 'out': 'in', 'side_tail': 'side_head'}
    swapped['side_head'] = 'side_tail'
    for name in found.names('incidence_attr'):
        way, _, rest = name.partition('_')
        twin = swapped.get(name) or f'{swapped[way]}_{rest}'
        assert column(found, name) == column(reversed_, twin)


def test_both_ways_of_all_pairs_are_the_plain_degree() -> None:
    # Where everybody is once in the tail and once in the head of the same groups, the
    # in-degree is half of the degree, with the same columns.
    data = to_data([[0, 1], [0, 1], [1, 2], [1, 2]], 3)
    data.incidence_side = torch.tensor([0, 1, 1, 0, 0, 1, 1, 0])
    plain = AddTopologicalFeatures(centralities=['degree'])(data.clone())
    found = AddDirectedFeatures(centralities=['degree'])(data)
    for name in plain.names('incidence_attr')[:-1]:
        assert column(found, f'in_{name}') == column(plain, name)
        assert column(found, f'out_{name}') == column(plain, name)


def test_refuses() -> None:
    with one_line_error("'incidence_side' is missing", "column 'side'"):
        AddDirectedFeatures()(to_data([[0, 1]], 2))
    with one_line_error("'centralities'", "got 'closeness'"):
        AddDirectedFeatures(centralities=['closeness'])
    with one_line_error("'centralities'", 'repeat'):
        AddDirectedFeatures(centralities=['degree', 'degree'])
