import torch

from tests.strategies import one_line_error, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.context_codes import ContextCodes


def typed() -> AnchorData:
    data = to_data([[0, 1], [1, 2]], 3)
    data.incidence_side = torch.tensor([0, 1, -1, 0])
    data.hyperedge_type = torch.tensor([1, -1])
    data.hyperedge_type_names = ['chat', 'mail']
    data.node_type = torch.tensor([0, -1, 2])
    return data


def test_codes_by_hand() -> None:
    codes = ContextCodes.of(typed())
    assert codes.uses.tolist() == [True] * 3
    # Three sides times three types; types of nodes without names are 0, 1 and 2.
    assert (codes.num_contexts, codes.num_cells) == (9, 36)
    cell = codes(typed())
    assert (cell % 9).tolist() == [3 + 2, 6 + 2, 0, 3]
    assert (cell // 9).tolist() == [1, 0, 0, 3]
    assert codes.features(typed()).tolist() == [
        [0, 1, 1, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
    ]
    assert str(codes) == 'ContextCodes(num_contexts=9)'


def test_types_are_known_by_their_names() -> None:
    codes, other = ContextCodes.of(typed()), typed()
    other.hyperedge_type = torch.tensor([0, 1])
    other.hyperedge_type_names = ['mail', 'meeting']
    # A new type counts as unknown.
    assert torch.equal(codes(other), codes(typed()))
    assert torch.equal(codes.features(other), codes.features(typed()))
    other.node_type = torch.tensor([0, 7, 2])
    assert torch.equal(codes(other), codes(typed()))


def test_only_what_the_data_has() -> None:
    data = to_data([[0, 1]], 2)
    codes = ContextCodes.of(data)
    assert codes(data).tolist() == [0, 0]
    assert codes.features(data).size() == (2, 0)
    # What was not there at first is not used later.
    later = to_data([[0, 1]], 2)
    later.incidence_side = torch.tensor([0, 1])
    later.node_type = torch.tensor([0, 1])
    assert codes(later).tolist() == [0, 0]


def test_missing_contexts() -> None:
    codes = ContextCodes.of(typed())
    for key in ('incidence_side', 'hyperedge_type', 'node_type'):
        data = typed()
        del data[key]
        with one_line_error(f"'{key}' is missing", 'fitted with it'):
            codes(data)


def test_codes_are_a_state() -> None:
    codes, again = ContextCodes.of(typed()), ContextCodes()
    again.load_state_dict(codes.state_dict())
    assert torch.equal(again(typed()), codes(typed()))
