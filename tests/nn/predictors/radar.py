"""Small AnchorRadars and data for them, for the tests of its parts."""

from functools import lru_cache
from typing import Any

import torch

from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.nn import AnchorRadar
from tgx_anchor.transforms import AddTopologicalFeatures, RandomHyperedgeSplit

GRID: dict[str, tuple[float | None, ...]] = {
    'lr_stage1': (0.01, 0.1),
    'lr_stage2': (0.05, 0.2),
    'alpha': (0.0, 0.3),
    'w': (None, 1.0, 5.0),
}
MASKS = ('train_mask', 'val_mask', 'test_mask')


@lru_cache
def _planted(seed: int, num_splits: int, _: torch.dtype) -> AnchorData:
    data = PlantedAnchorDataset(120 + 5 * seed, 600, correlation=0.4, seed=seed)[0]
    split = RandomHyperedgeSplit(0.3, 0.2, num_splits=num_splits)
    out: AnchorData = split(AddTopologicalFeatures()(data))
    return out


def planted(seed: int = 0, num_splits: int = 1) -> AnchorData:
    out: AnchorData = _planted(seed, num_splits, torch.get_default_dtype()).clone()
    return out


def quick(**kwargs: Any) -> AnchorRadar:
    return AnchorRadar(**{'hidden_channels': 8, 'num_epochs': 15, **kwargs})


def column(data: AnchorData, split: int) -> AnchorData:
    out: AnchorData = data.clone()
    for name in MASKS:
        out[name] = data[name][:, split]
    return out


def same_state(model: AnchorRadar, twin: AnchorRadar) -> bool:
    a, b = model.state_dict(), twin.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)
