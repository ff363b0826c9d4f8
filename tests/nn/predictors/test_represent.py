import math
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.nn.predictors.test_anchor_predictor import (
    Asks,
    Incidence,
    Mean,
    planted,
    quick,
)
from tests.strategies import one_line_error
from tgx_anchor.nn.predictors.represent import log_proba, represent


class Returns(torch.nn.Module):
    """Returns anything."""

    def __init__(self, out: Any) -> None:
        super().__init__()
        self.out = out

    def forward(self, x: Tensor, hyperedge_index: Tensor) -> Any:  # noqa: ARG002
        return self.out


def test_tables_of_other_sizes() -> None:
    data = planted()
    wrong: list[Any] = [
        {},
        (torch.zeros(80, 2),),
        (torch.zeros(400, 2), torch.zeros(80, 2)),
        (torch.zeros(80, 2), torch.zeros(400, 2), torch.zeros(1)),
        (torch.zeros(80), torch.zeros(400)),
    ]
    for out in wrong:
        with one_line_error("'encoder'", '80 nodes'):
            represent(Returns(out), data, data['x'])


def test_encoder_is_given_what_it_names() -> None:
    data = planted()
    data.incidence_extra = torch.arange(data.num_incidences)
    encoder = Incidence()
    assert represent(encoder, data, data['x']).size() == (data.num_incidences, 6)
    assert torch.equal(encoder.seen['incidence_extra'], data.incidence_extra)
    row = torch.tensor([4, 2])
    expected = data['x'][data.hyperedge_index[0, row]]
    assert torch.equal(represent(encoder, data, data['x'], row), expected)
    encoder.rows = 1
    with one_line_error("'encoder'", str(data.num_incidences)):
        represent(encoder, data, data['x'])


class Wants(Asks):
    """Cannot do without the sizes of everything."""

    def forward(  # type: ignore[override]
        self,
        x: Tensor,
        hyperedge_index: Tensor,
        node_degree: Tensor,
        hyperedge_size: Tensor,
        **_: Any,
    ) -> Tensor:
        self.seen = node_degree, hyperedge_size
        out: Tensor = self.lin(x)[hyperedge_index[0]]
        return out


class WantsMore(Asks):
    """Cannot do without an attribute."""

    def forward(  # type: ignore[override]
        self, x: Tensor, hyperedge_index: Tensor, incidence_attr: Tensor
    ) -> Tensor:
        return x[hyperedge_index[0]] + incidence_attr


@pytest.mark.parametrize('batch_size', [64, None])
def test_encoder_that_asks_for_sizes(batch_size: int | None) -> None:
    data = planted()
    encoder = Wants()
    represent(encoder, data, data['x'])
    node, hyperedge = data.hyperedge_index
    degree, size = encoder.seen
    assert degree.tolist() == torch.bincount(node, minlength=80).tolist()
    assert size.tolist() == torch.bincount(hyperedge, minlength=400).tolist()
    quick(encoder=encoder, batch_size=batch_size, num_epochs=1).fit(data)


def test_encoder_that_asks_for_what_is_not_there() -> None:
    with one_line_error("'data'", "'incidence_attr'"):
        quick(encoder=WantsMore(), num_epochs=1).fit(planted())


def test_order_of_the_joined_vectors() -> None:
    data = planted()
    torch.manual_seed(0)
    encoder = Mean()
    node, hyperedge = data.hyperedge_index
    x, e = encoder(data['x'], data.hyperedge_index)
    expected = torch.cat([e[hyperedge], x[node]], dim=1)
    assert torch.equal(represent(encoder, data, data['x']), expected)


def test_log_proba() -> None:
    logit = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, -100.0]])
    expected = logit.double().softmax(dim=1)[:, 1].log()
    assert torch.allclose(log_proba(logit, 1), expected, rtol=1e-12)
    assert log_proba(logit, 2)[1].item() == pytest.approx(-100 - math.log(2), rel=1e-12)
    # One output has no probability: it is the score itself.
    assert log_proba(logit[:, :1], 0).tolist() == [1.0, 0.0]
