import pytest
import torch

from tests.strategies import one_line_error
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.incidence_features import (
    attribute_scale,
    incidence_features,
)


def small() -> AnchorData:
    # Hyperedges {0, 1, 2} and {0, 2}.
    return AnchorData(
        hyperedge_index=torch.tensor([[0, 1, 2, 0, 2], [0, 0, 0, 1, 1]]),
        num_nodes=3,
        num_hyperedges=2,
    )


def test_by_hand(device: torch.device) -> None:
    data = small().to(device)
    data.incidence_attr = torch.arange(5.0, device=device).unsqueeze(1)
    data.x = torch.tensor([[1.0], [2.0], [3.0]], device=device)
    data.hyperedge_attr = torch.tensor([[7.0, 1.0], [7.0, 3.0]], device=device)
    # What is measured per incidence stays as it is; other columns have mean zero and
    # deviation one over nodes or hyperedges, or are constant.
    z = 1.5**0.5
    expected = torch.tensor(
        [
            [0.0, -z, 0.0, -1.0],
            [1.0, 0.0, 0.0, -1.0],
            [2.0, z, 0.0, -1.0],
            [3.0, -z, 0.0, 1.0],
            [4.0, z, 0.0, 1.0],
        ],
        device=device,
    )
    scale = attribute_scale(data)
    assert scale[0].tolist() == [2, 7, 2]
    torch.testing.assert_close(incidence_features(data, scale), expected)
    # Another hypergraph is seen on the same scale, and a single column may be flat.
    data.hyperedge_attr = torch.tensor([[7.0, 3.0], [8.0, 2.0]], device=device)
    data.incidence_attr = data.incidence_attr.squeeze(1)
    other = incidence_features(data, scale)
    torch.testing.assert_close(other[:, :2], expected[:, :2])
    assert other[:, 2].tolist() == [0, 0, 0, 1, 1]
    assert other[:, 3].tolist() == [1, 1, 1, 0, 0]


@pytest.mark.parametrize('name', ['incidence_attr', 'x', 'hyperedge_attr'])
def test_bad_features(name: str) -> None:
    data = small()
    nothing = attribute_scale(data)
    with one_line_error("'data'", 'AddTopologicalFeatures'):
        incidence_features(data, nothing)
    length = {'incidence_attr': 5, 'x': 3, 'hyperedge_attr': 2}[name]
    for bad in (float('nan'), float('inf')):
        data[name] = torch.zeros(length, 2)
        data[name][1, 1] = bad
        with one_line_error(f"'{name}'", 'finite'):
            incidence_features(data, attribute_scale(data))
    for wrong in (torch.zeros(length, 2, 2), torch.zeros(length, 2).to(torch.cfloat)):
        data[name] = wrong
        with one_line_error(f"'{name}'", 'real numbers'):
            incidence_features(data, nothing)
    if name != 'incidence_attr':
        data[name] = torch.zeros(length, 2)
        with one_line_error(f"'{name}'", 'fitted with', '2'):
            incidence_features(data, nothing)
