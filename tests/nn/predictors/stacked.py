"""Small StackedAnchorRadars and data for them, for the tests of its parts."""

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.nn import StackedAnchorRadar
from tgx_anchor.transforms import RandomHyperedgeSplit


@lru_cache
def _planted(seed: int, num_hyperedges: int, train: float, _: torch.dtype) -> Any:
    data = PlantedAnchorDataset(
        60 + 5 * seed, num_hyperedges, correlation=0.4, seed=seed
    )[0]
    split = RandomHyperedgeSplit(train, 0.2, seed=seed)
    return StackedAnchorRadar().required_transform()(split(data))


def planted(seed: int = 0, num_hyperedges: int = 200, train: float = 0.3) -> AnchorData:
    """Groups with masks and all features."""
    dtype = torch.get_default_dtype()
    out: AnchorData = _planted(seed, num_hyperedges, train, dtype).clone()
    return out


def quick(**kwargs: Any) -> StackedAnchorRadar:
    """A model of few folds."""
    return StackedAnchorRadar(**{'num_folds': 2, **kwargs})


def same_state(model: torch.nn.Module, twin: torch.nn.Module) -> bool:
    a, b = model.state_dict(), twin.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


def shuffled_anchors(data: AnchorData, seed: int) -> Tensor:
    """The anchors of each group, given to members drawn at random."""
    hyperedge = data.hyperedge_index[1]
    generator = torch.Generator().manual_seed(seed)
    draw = torch.rand(hyperedge.numel(), generator=generator, dtype=torch.double)
    y: Tensor = data['y'][torch.argsort(hyperedge + draw)]
    return y
