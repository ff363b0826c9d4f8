"""Features in memory and from vectors over nodes."""

from typing import Any

import pytest
import torch

from tgx_anchor.data.rank_part import RankPart
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.nn.predictors import feature_rows
from tgx_anchor.nn.predictors.feature_rows import FeatureRows
from tgx_anchor.nn.predictors.incidence_features import (
    attribute_scale,
    incidence_features,
)
from tgx_anchor.transforms import AddTopologicalFeatures
from tgx_anchor.utils import Ranks


def test_part_has_the_features_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_rows, '_BLOCK_ROWS', 50)
    data: Any = PlantedAnchorDataset(num_nodes=60, num_hyperedges=150, seed=2)[0]
    generator = torch.Generator().manual_seed(0)
    data.x = torch.randn(60, 2, generator=generator)
    data.hyperedge_attr = torch.randn(150, 3, generator=generator)
    data.incidence_attr = torch.randn(data.num_incidences, 1, generator=generator)
    part = data.clone()
    part.part = RankPart(Ranks(), range(1), 0, 0)
    whole = AddTopologicalFeatures()(data)
    scale = attribute_scale(whole)
    expected = incidence_features(whole, scale)
    for source in (whole, part):
        rows = FeatureRows(source, scale)
        assert rows.num_columns == expected.size(1) == 33 + 1 + 2 + 3
        blocks = list(rows.blocks())
        assert len(blocks) > 3
        assert torch.equal(torch.cat(blocks), expected)
        mask = torch.arange(150) % 3 == 0
        chosen = expected[mask[data.hyperedge_index[1]]]
        assert torch.equal(rows.select(mask), chosen)
        assert rows.select(torch.zeros_like(mask)).size() == (0, 39)
