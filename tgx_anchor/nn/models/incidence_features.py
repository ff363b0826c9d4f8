"""What stage 1 sees of an incidence."""

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData

FEATURES = ('incidence_attr', 'x', 'hyperedge_attr')


def incidence_features(data: AnchorData) -> Tensor:
    r"""The features that stage 1 sees: :obj:`incidence_attr`, then the standardised
    :obj:`x` of the node and :obj:`hyperedge_attr` of the hyperedge.

    Args:
        data (AnchorData): The hypergraph.

    Shapes:
        - **output:** :math:`(P, F)`
    """
    node, hyperedge = data.hyperedge_index
    parts = []
    for key, index in zip(FEATURES, (None, node, hyperedge), strict=True):
        value = data.get(key)
        if value is None:
            continue
        if index is not None:
            value = _standardise(value.double())
        value = value.to(torch.get_default_dtype())
        if not torch.isfinite(value).all():
            raise ValueError(f"'{key}' must be finite (got NaN or infinity)")
        parts.append(value if index is None else value[index])
    if not parts:
        raise ValueError(
            "'data' must have features (got none; 'AddTopologicalFeatures()(data)' "
            'adds the topological ones)'
        )
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def _standardise(value: Tensor) -> Tensor:
    # Attributes of the user come in any unit, seconds since 1970 included;
    # topological features are in [0, 1].
    std = value.std(dim=0, correction=0)
    return (value - value.mean(dim=0)) / torch.where(std > 0, std, 1.0)
