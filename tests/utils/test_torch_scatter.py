from collections.abc import Callable

import pytest
import torch
import torch_geometric.typing
from torch import Tensor

from tests.strategies import to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import DegreeHeuristic
from tgx_anchor.transforms import AddPairFeatures, AddTopologicalFeatures
from tgx_anchor.utils import anchor_purity, distinct_hyperedges


def features(data: AnchorData) -> Tensor:
    return torch.as_tensor(AddTopologicalFeatures()(data).incidence_attr)


def pair_features(data: AnchorData) -> Tensor:
    return torch.as_tensor(AddPairFeatures(max_size=3)(data).incidence_attr)


def figures(data: AnchorData) -> Tensor:
    score = data.hyperedge_index[0] % 3
    out = AnchorEvaluator([1, 2], chance=True).per_hyperedge(score, data)
    return torch.stack(list(out.values()))


def probabilities(data: AnchorData) -> Tensor:
    return (
        DegreeHeuristic().to(data.hyperedge_index.device).fit(data).predict_proba(data)
    )


def purities(data: AnchorData) -> Tensor:
    return anchor_purity(data['y'], data.hyperedge_index, int(data.num_nodes or 0))


def numbers(data: AnchorData) -> Tensor:
    return distinct_hyperedges(
        data.hyperedge_index, int(data.num_nodes or 0), data.num_hyperedges
    )


@pytest.mark.parametrize(
    'function',
    [features, pair_features, figures, probabilities, purities, numbers],
)
def test_same_with_and_without(
    function: Callable[[AnchorData], Tensor],
    device: torch.device,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip(
        'torch_scatter', reason='torch-scatter, the optional extra, is not installed'
    )
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(0, 40, (200, 4), generator=generator).tolist()
    groups = [sorted(set(group)) for group in drawn] + [[], [3]]
    data = to_data(groups, 42, [group[:1] for group in groups]).to(device)
    out = []
    for flag in (True, False):
        monkeypatch.setattr(torch_geometric.typing, 'WITH_TORCH_SCATTER', flag)
        out.append(function(data))
    torch.testing.assert_close(*out, equal_nan=True)
