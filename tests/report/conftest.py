"""A browser, and small models whose scores are known."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from tests.report.browser import Browser, find_chromium
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import AnchorModel
from tgx_anchor.nn.predictors.fit_run import FitRun


class FixedModel(AnchorModel):
    """A model with given scores and strengths."""

    def __init__(self, proba: Tensor, strength: Tensor | None = None) -> None:
        super().__init__()
        self.proba = proba
        if strength is not None:
            self.strength = strength

    def _fit(self, data: AnchorData, run: FitRun) -> None:
        pass

    def predict_proba(
        self,
        data: AnchorData,  # noqa: ARG002
        same_people: bool | None = None,  # noqa: ARG002
    ) -> Tensor:
        return self.proba


@pytest.fixture
def data() -> AnchorData:
    """Five groups, the last one empty; the first and the fourth are known."""
    return AnchorData(
        hyperedge_index=torch.tensor(
            [[0, 1, 2, 1, 2, 2, 0, 3, 1], [0, 0, 0, 1, 1, 2, 3, 3, 3]]
        ),
        num_nodes=5,
        num_hyperedges=5,
        y=torch.tensor([1, 0, 0, 0, 1, 0, 0, 0, 1]).bool(),
        node_id=['Ana', 'Ben', 'Chloe', 'Dev', 'Eva'],
        hyperedge_id=['mail-1', 'mail-2', 'mail-3', 'mail-10', 'mail-9'],
        train_mask=torch.tensor([True, False, False, True, False]),
    )


@pytest.fixture
def model() -> FixedModel:
    """Is wrong about the first group and the second, right about the fourth."""
    proba = torch.tensor([0.2, 0.7, 0.1, 0.75, 0.25, 1.0, 0.3, 0.1, 0.6])
    return FixedModel(proba, torch.tensor([0.5, 2.0, -1.0, 0.0, 9.0]))


@pytest.fixture(scope='session')
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    binary = find_chromium()
    if binary is None:
        pytest.skip('needs Chromium: no chromium or google-chrome on the search path')
    with Browser(binary, tmp_path_factory.mktemp('profile')) as browser:
        yield browser
