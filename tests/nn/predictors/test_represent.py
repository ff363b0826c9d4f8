import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GCNConv, HypergraphConv

from tests.nn.predictors.test_anchor_predictor import (
    Asks,
    Incidence,
    Mean,
    planted,
    quick,
)
from tests.strategies import one_line_error, to_data
from tgx_anchor.data import HyperedgeIndex
from tgx_anchor.loader import HyperedgeLoader
from tgx_anchor.nn import HGNN, HNN, CoNHD
from tgx_anchor.nn.predictors.represent import (
    asked_names,
    log_proba,
    num_hops,
    represent,
)


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


# Rows of nodes ###################################################################


def layer_of_pyg() -> Any:
    torch.manual_seed(0)
    # PyG does not say which methods are optional.
    layer: Any = HypergraphConv
    return layer(6, 5)


def test_rows_of_nodes_are_joined_to_the_mean_over_members() -> None:
    data, conv = planted(), layer_of_pyg()
    x = conv(data['x'], data.hyperedge_index)
    node, hyperedge = data.hyperedge_index
    out = represent(conv, data, data['x'])
    assert out.size() == (data.num_incidences, 10)
    for place in (0, 7, data.num_incidences - 1):
        members = node[hyperedge == hyperedge[place]]
        expected = torch.cat([x[members].mean(0), x[node[place]]])
        torch.testing.assert_close(out[place], expected)
    row = torch.tensor([4, 2])
    torch.testing.assert_close(represent(conv, data, data['x'], row), out[row])


def test_layer_of_pyg_in_batches_equals_the_whole() -> None:
    data, conv = planted(), layer_of_pyg()
    expected = represent(conv, data, data['x'])
    for batch in HyperedgeLoader(data, [-1], batch_size=100):
        number = int(batch.num_targets)
        row = (batch.hyperedge_index[1] < number).nonzero().view(-1)
        out = represent(conv, batch, batch.x, row, number)
        torch.testing.assert_close(out, expected[batch.incidence_origin[row]])


@pytest.mark.parametrize('batch_size', [64, None])
def test_layer_of_pyg_is_trained(batch_size: int | None) -> None:
    data, conv = planted(), layer_of_pyg()
    model = quick(encoder=conv, batch_size=batch_size, num_epochs=3).fit(data)
    losses = [record['loss'] for record in model.history]
    assert losses[-1] < losses[0]
    proba = model.predict_proba(data)
    assert proba.size() == (data.num_incidences,)


def test_layer_of_pyg_for_graphs_is_refused() -> None:
    layer: Any = GCNConv
    data = planted()
    with one_line_error("'hyperedge_index'", 'GCNConv', "'edge_index'"):
        quick(encoder=layer(data.num_node_features, 4)).fit(data)


def test_as_many_nodes_as_incidences() -> None:
    data = to_data([[0, 1], [1, 2]], 4)
    table = torch.arange(8.0).view(4, 2)
    encoder: Any = Returns(table)
    with one_line_error("'encoder.output_level'", '4'):
        represent(encoder, data, table)
    encoder.output_level = 'incidence'
    assert torch.equal(represent(encoder, data, table), table)
    encoder.output_level = 'node'
    assert represent(encoder, data, table).tolist() == [
        [1, 2, 0, 1],
        [1, 2, 2, 3],
        [3, 4, 2, 3],
        [3, 4, 4, 5],
    ]
    # A layer of PyG returns nodes.
    layer: Any = HypergraphConv
    assert represent(layer(2, 3), data, table).size() == (4, 6)
    # The attribute does not excuse a wrong number of rows.
    encoder.out = table[:3]
    with one_line_error("'encoder'", '4 nodes', '3'):
        represent(encoder, data, table)


# Own encoders ####################################################################


class Spy(HGNN):
    """Keeps what it is given."""

    seen: Any = None

    def forward(self, x: Tensor, hyperedge_index: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        self.seen = hyperedge_index
        return super().forward(x, hyperedge_index, **kwargs)


def test_own_encoder_is_given_an_index() -> None:
    data, encoder = planted(), Spy(6, 8, 1, 4)
    out = represent(encoder, data, data['x'])
    assert isinstance(encoder.seen, HyperedgeIndex)
    assert encoder.seen.num_hyperedges == data.num_hyperedges
    # An index that is there already is not made again.
    index = HyperedgeIndex.from_data(data)
    again = represent(encoder, data, data['x'], index=index)
    assert encoder.seen is index
    assert torch.equal(out, again)
    batch = next(iter(HyperedgeLoader(data, [3], batch_size=7)))
    row = (batch.hyperedge_index[1] < 7).nonzero().view(-1)
    assert represent(encoder, batch, batch.x, row, 7).size() == (row.numel(), 8)
    assert encoder.seen.num_targets == 7
    represent(encoder, batch, batch.x)
    assert encoder.seen.num_targets is None


def test_names_that_an_encoder_asks_for() -> None:
    assert asked_names(Wants()) == ['node_degree', 'hyperedge_size']
    assert set(asked_names(HGNN(6, 8, 1))) == {
        'num_hyperedges',
        'node_degree',
        'hyperedge_degree',
    }
    assert 'incidence_rank' in asked_names(CoNHD(6))


def test_given_degrees_reach_own_encoders() -> None:
    data = planted()
    torch.manual_seed(0)
    encoder = HGNN(6, 8, 1, 4)
    out = represent(encoder, data, data['x'])
    degree = torch.bincount(data.hyperedge_index[0], minlength=80)
    data.node_degree = degree
    torch.testing.assert_close(represent(encoder, data, data['x']), out)
    data.node_degree = degree + 1
    assert not torch.allclose(represent(encoder, data, data['x']), out)


def test_num_hops() -> None:
    assert num_hops(HNN(6, 8, 2)) == 4
    assert num_hops(CoNHD(6, num_layers=3)) == 2
    assert num_hops(Mean()) == 1
    encoder: Any = torch.nn.Linear(6, 5)
    assert num_hops(encoder) is None
    encoder = layer_of_pyg()
    assert num_hops(encoder) == 1
    encoder.num_hops = 3
    assert num_hops(encoder) == 3


def test_log_proba() -> None:
    logit = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, -100.0]])
    expected = logit.double().softmax(dim=1)[:, 1].log()
    assert torch.allclose(log_proba(logit, 1), expected, rtol=1e-12)
    assert log_proba(logit, 2)[1].item() == pytest.approx(-100 - math.log(2), rel=1e-12)
    # One output has no probability: it is the score itself.
    assert log_proba(logit[:, :1], 0).tolist() == [1.0, 0.0]
