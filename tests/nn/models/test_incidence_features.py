import pytest
import torch

from tests.strategies import one_line_error
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.models.incidence_features import incidence_features


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
    torch.testing.assert_close(incidence_features(data), expected)


@pytest.mark.parametrize('name', ['incidence_attr', 'x', 'hyperedge_attr'])
def test_bad_features(name: str) -> None:
    data = small()
    with one_line_error("'data'", 'AddTopologicalFeatures'):
        incidence_features(data)
    length = {'incidence_attr': 5, 'x': 3, 'hyperedge_attr': 2}[name]
    for bad in (float('nan'), float('inf')):
        data[name] = torch.zeros(length, 2)
        data[name][1, 1] = bad
        with one_line_error(f"'{name}'", 'finite'):
            incidence_features(data)
