"""Predictions as Arrow tables, with the ids of people and groups."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch
from torch_geometric.utils import scatter

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.incidence_priority import incidence_priority

if TYPE_CHECKING:
    import pyarrow as pa


def prediction_table(
    proba: Tensor, data: AnchorData, known_mask: Tensor | None, seed: int
) -> 'pa.Table':
    r"""Makes the table of :meth:`~tgx_anchor.nn.AnchorModel.predictions`.

    Args:
        proba (torch.Tensor): The probability of each incidence.
        data (AnchorData): The hypergraph.
        known_mask (torch.Tensor, optional): The hyperedges whose known anchors stay.
        seed (int): The seed of draws between equals.

    Shapes:
        - **proba:** :math:`(P)`
        - **known_mask:** :math:`(M)`
    """
    import pyarrow as pa

    best, second = _best(proba, data, seed, 2).unbind(1)
    probability, second_probability = _value(proba, best), _value(proba, second)
    if known_mask is None:
        known_mask = torch.zeros_like(best, dtype=torch.bool)
    elif known_mask.any():
        given = _best_known(proba, data, known_mask, seed)
        best = torch.where(known_mask, given, best)
        second = torch.where(known_mask, -1, second)
        probability = torch.where(known_mask, 1.0, probability)
        second_probability = torch.where(known_mask, torch.nan, second_probability)
    names = pa.array(['predicted', 'known']).take(_numbers(known_mask.long()))
    return pa.table(
        {
            'group': _hyperedge_ids(data),
            'anchor': _nodes_at(data, best),
            'probability': _column(probability),
            'runner_up': _nodes_at(data, second),
            'runner_up_probability': _column(second_probability),
            'margin': _column(probability - second_probability.nan_to_num(0.0)),
            'source': names,
        }
    )


def doubt_table(
    proba: Tensor, data: AnchorData, known_mask: Tensor, seed: int
) -> 'pa.Table':
    r"""Makes the table of :meth:`~tgx_anchor.nn.AnchorModel.doubts`.

    Args:
        proba (torch.Tensor): The probability of each incidence.
        data (AnchorData): The hypergraph.
        known_mask (torch.Tensor): The hyperedges whose anchors are known.
        seed (int): The seed of draws between equals.

    Shapes:
        - **proba:** :math:`(P)`
        - **known_mask:** :math:`(M)`
    """
    import pyarrow as pa

    best = _best(proba, data, seed, 1).squeeze(1)
    given = _best_known(proba, data, known_mask, seed)
    margin = _value(proba, best) - _value(proba, given)
    # Equally likely members are no reason to doubt.
    row = (known_mask & (margin > 0)).nonzero().view(-1)
    row = row[torch.argsort(margin[row], descending=True, stable=True)]
    best, given, margin = best[row], given[row], margin[row]
    return pa.table(
        {
            'group': _hyperedge_ids(data).take(_numbers(row)),
            'anchor': _nodes_at(data, given),
            'probability': _column(_value(proba, given)),
            'predicted': _nodes_at(data, best),
            'predicted_probability': _column(_value(proba, best)),
            'margin': _column(margin),
        }
    )


def _best(proba: Tensor, data: AnchorData, seed: int, k: int) -> Tensor:
    # The incidences of the most likely members, -1 for none. Equals are drawn as in
    # 'predict', but without sorting all incidences, which takes several times as long.
    hyperedge, size = data.hyperedge_index[1], data.num_hyperedges
    priority = incidence_priority(data, seed)
    value = proba.to(torch.double, copy=True)
    out = torch.full((size, k), -1, device=proba.device)
    for place in range(k):
        best = scatter(value, hyperedge, 0, size, 'max')
        tied = (value == best[hyperedge]) & (value > -torch.inf)
        drawn = torch.where(tied, priority, -1.0)
        first = scatter(drawn, hyperedge, 0, size, 'max')
        chosen = (tied & (drawn == first[hyperedge])).nonzero().view(-1)
        out[hyperedge[chosen], place] = chosen
        if place + 1 < k:
            value[chosen] = -torch.inf
    return out


def _best_known(
    proba: Tensor, data: AnchorData, known_mask: Tensor, seed: int
) -> Tensor:
    # The incidences of the most likely known anchors.
    is_known = known_mask[data.hyperedge_index[1]] & data['y']
    return _best(torch.where(is_known, proba, -1.0), data, seed, 1).squeeze(1)


def _value(proba: Tensor, incidence: Tensor) -> Tensor:
    value = torch.cat([proba.double(), proba.new_full((1,), torch.nan).double()])
    return value[incidence]


def _numbers(index: Tensor) -> 'pa.Array':
    # Places for 'take', null where there is none.
    import pyarrow as pa

    values = index.cpu().numpy()
    return pa.array(values, mask=values < 0)


def _column(value: Tensor) -> 'pa.Array':
    import pyarrow as pa

    return pa.array(value.cpu().numpy(), from_pandas=True)


def _nodes_at(data: AnchorData, incidence: Tensor) -> 'pa.Array':
    node = data.hyperedge_index[0]
    node = torch.cat([node, node.new_full((1,), -1)])[incidence]
    return _ids(data, 'node_id', int(data.num_nodes or 0)).take(_numbers(node))


def _hyperedge_ids(data: AnchorData) -> 'pa.Array':
    return _ids(data, 'hyperedge_id', data.num_hyperedges)


def _ids(data: AnchorData, key: str, size: int) -> 'pa.Array':
    import pyarrow as pa

    value: Any = data.get(key)
    if isinstance(value, pa.Array):
        return value
    if value is None or isinstance(data, Batch):
        value = np.arange(size)
    if isinstance(value, Tensor):
        value = value.cpu().numpy()
    if isinstance(value, list) and not value:
        # Arrow would give them no type, other than that of files with groups.
        return pa.array([], pa.string())
    try:
        return pa.array(value)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Ids of several types.
        return pa.array([str(each) for each in value])
