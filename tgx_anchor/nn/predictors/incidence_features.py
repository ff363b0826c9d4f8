"""The features of incidences that stage 1 scores."""

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.utils import ALONE

FEATURES = ('incidence_attr', 'x', 'hyperedge_attr')


def attribute_scale(data: AnchorData) -> Tensor:
    r"""Computes the means and standard deviations of all columns of :obj:`x` and
    :obj:`hyperedge_attr`, by which :func:`incidence_features` standardises them.

    Args:
        data (AnchorData): The hypergraph.

    Shapes:
        - **output:** :math:`(2, F_V + F_E)`, in double precision
    """
    parts = [
        torch.empty((2, 0), dtype=torch.double, device=data.hyperedge_index.device)
    ]
    for key in FEATURES[1:]:
        value = _table(data, key)
        if value is None:
            continue
        # All processes have all nodes, but each has hyperedges of its own.
        ranks = data.ranks if key == 'hyperedge_attr' else ALONE
        count = ranks.total(value.size(0))
        mean = ranks.sum_(value.sum(dim=0)) / count
        variance = ranks.sum_((value - mean).square().sum(dim=0)) / count
        std = torch.where(variance > 0, variance.sqrt(), 1.0)
        parts.append(torch.stack([mean, std]))
    return torch.cat(parts, dim=1)


def incidence_features(data: AnchorData, scale: Tensor) -> Tensor:
    r"""Concatenates the features of each incidence: :obj:`incidence_attr` as it is,
    then the standardised :obj:`x` of the node and :obj:`hyperedge_attr` of the
    hyperedge, which may be in any unit, such as seconds since 1970.

    Args:
        data (AnchorData): The hypergraph.
        scale (torch.Tensor): The :func:`attribute_scale` of the hypergraph that the
            model is fitted on.

    Shapes:
        - **scale:** :math:`(2, F_V + F_E)`
        - **output:** :math:`(P, F)`
    """
    node, hyperedge = data.hyperedge_index
    parts: list[Tensor] = []
    begin = 0
    for key, index in zip(FEATURES, (None, node, hyperedge), strict=True):
        value = _table(data, key)
        if value is None:
            continue
        if index is not None:
            mean, std = scale[:, begin : begin + value.size(1)].to(value.device)
            begin += value.size(1)
            if mean.numel() != value.size(1):
                raise ValueError(
                    f"'{key}' must have the columns that the model was fitted with "
                    f'(got {value.size(1)})'
                )
            value = (value - mean) / std
        value = value.to(torch.get_default_dtype())
        if not torch.isfinite(value).all():
            raise ValueError(f"'{key}' must be finite (got NaN or infinity)")
        parts.append(value if index is None else value.index_select(0, index))
    if not parts:
        raise ValueError(
            "'data' has no features: call 'AddTopologicalFeatures()(data)' first"
        )
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def _table(data: AnchorData, key: str) -> Tensor | None:
    # Returns an attribute as a matrix; those of nodes and hyperedges in double
    # precision, since their units may be very small or large.
    value: Tensor | None = data.get(key)
    if value is None:
        return None
    if value.dim() not in (1, 2) or value.is_complex():
        raise ValueError(
            f"'{key}' must be a matrix of real numbers (got {value.dtype} of shape "
            f'{list(value.size())})'
        )
    value = value.unsqueeze(1) if value.dim() == 1 else value
    return value if key == FEATURES[0] else value.double()
