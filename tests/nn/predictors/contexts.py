"""Small directed and typed hypergraphs, and models for them."""

from typing import Any

from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.nn import ContextAnchorRadar
from tgx_anchor.transforms import (
    AddDirectedFeatures,
    AddTopologicalFeatures,
    RandomHyperedgeSplit,
)


def sided(
    directed: bool = True, num_types: int = 0, context: float = 0.8, seed: int = 0
) -> AnchorData:
    """Planted groups with sides or types, features and a split."""
    dataset = PlantedAnchorDataset(
        60,
        700,
        directed=directed,
        num_types=num_types,
        context=context,
        seed=seed,
    )
    data = AddTopologicalFeatures()(dataset[0])
    data = AddDirectedFeatures()(data) if directed else data
    out: AnchorData = RandomHyperedgeSplit(0.3, 0.2, seed=seed)(data)
    return out


def quick_context(**kwargs: Any) -> ContextAnchorRadar:
    return ContextAnchorRadar(**{'hidden_channels': 8, 'num_epochs': 15, **kwargs})
