"""A small hypergraph with names, and models whose numbers are set by hand."""

from typing import Any

import torch
from torch import Tensor

from tests.strategies import to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import AnchorModel, AnchorRadar
from tgx_anchor.nn.predictors.fit_run import FitRun

PEOPLE = ['ann', 'bob', 'cat', 'dan', 'eve']
GROUPS = [[0, 1, 2], [0, 1], [0, 2], [0, 3], [1, 3], [4], [], [1, 2, 3]]
# The anchors of the last three groups with a choice are not known.
ANCHORS = [[], [0], [0], [3], [], [], [], []]


def small() -> AnchorData:
    """Five people in eight groups; ann anchors two of her three known groups."""
    data = to_data(GROUPS, len(PEOPLE), ANCHORS)
    data.node_id = PEOPLE
    data.hyperedge_id = [f'g{i}' for i in range(len(GROUPS))]
    return data


class Given(AnchorModel):
    """Answers with given probabilities."""

    def __init__(self, proba: Tensor, seed: int = 0) -> None:
        super().__init__(seed)
        self.proba = proba

    def _fit(self, data: AnchorData, run: FitRun) -> None:
        pass

    def predict_proba(self, *_: Any, **__: Any) -> Tensor:
        return self.proba


def radar_with_strengths(data: AnchorData, strength: list[float]) -> AnchorRadar:
    """An AnchorRadar without stage 1 that has these strengths."""
    model = AnchorRadar(stages='second', num_epochs=1, w=4.0).fit(data)
    assert model.strengths is not None
    model.strengths.strength.data = torch.tensor(strength, dtype=torch.double)
    mask = model.memory.known_mask
    model.share = model._share(model.strength, data, data['y'], mask, 1)
    return model
