"""Features of groups from the anchor strengths of their members."""

from typing import Protocol

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import scatter, softmax

from tgx_anchor.data import AnchorData
from tgx_anchor.utils.fingerprint import digest

# Of 't', the sum is always one.
_STRENGTH_COLUMNS = ('max', 'min', 'range', 'mean', 'std', 'sum')
_SHARE_COLUMNS = ('max', 'min', 'range', 'mean', 'std')


class HasStrength(Protocol):
    r"""A model with one learnt strength per node, such as
    :class:`~tgx_anchor.nn.AnchorRadar`.
    """

    @property
    def strength(self) -> Tensor:
        r"""The strengths, :math:`(N)`."""
        ...


@functional_transform('anchor_strength_features')
class AnchorStrengthFeatures(BaseTransform):
    r"""Appends features of the anchor strengths of members to :obj:`hyperedge_attr`, as
    in the `"Identifying Group Anchors in Real-World Group Interactions Under Label
    Scarcity" <https://arxiv.org/abs/2509.20762>`_ paper (functional name:
    :obj:`anchor_strength_features`).

    With the strengths :math:`s_v` and the shares

    .. math::
        t_{v;e} = \frac{\exp s_v}{\sum_{u \in e} \exp s_u}

    the features of a hyperedge are maximum, minimum, their difference, mean, standard
    deviation and sum of :math:`s_v`, then maximum, minimum, their difference, mean and
    standard deviation of :math:`t_{v;e}` over its members: 11 columns, in the order of
    :obj:`feature_names`. Standard deviations are those of the population. An empty
    hyperedge has zeros.

    The paper leaves out the exponential in the denominator, and repeats mean and
    standard deviation of :math:`s_v` in place of those of :math:`t_{v;e}`. Both are
    taken for misprints. The mean of :math:`t_{v;e}` is :math:`1 / |e|`: these features
    tell the size of a hyperedge, even if all strengths are equal.

    .. code-block:: python

        model = AnchorRadar().fit(data)
        data = AnchorStrengthFeatures(model)(data)

    Args:
        strength (torch.Tensor or AnchorRadar): The strength of each node, or a fitted
            model that has them.
        cat (bool, optional): If set to :obj:`False`, will replace an existing
            :obj:`hyperedge_attr` instead of appending to it. (default: :obj:`True`)

    Shapes:
        - **strength:** :math:`(N)`
        - **hyperedge_attr:** :math:`(M, F_E + 11)`
    """

    def __init__(self, strength: Tensor | HasStrength, cat: bool = True) -> None:
        if not isinstance(strength, Tensor):
            if not hasattr(strength, 'strength'):
                raise ValueError(
                    f"'strength' must be a tensor, or a fitted model with strengths "
                    f'(got {type(strength).__name__})'
                )
            strength = strength.strength
        if strength.dim() != 1:
            raise ValueError(
                f"'strength' must have one dimension (got {list(strength.size())})"
            )
        if not bool(torch.isfinite(strength).all()):
            raise ValueError("'strength' must be finite (got inf or NaN)")
        self.strength = strength.detach()
        self.cat = cat

    @property
    def feature_names(self) -> list[str]:
        r"""The names of the columns that are added, in their order."""
        return [
            *(f'strength_{name}' for name in _STRENGTH_COLUMNS),
            *(f'strength_share_{name}' for name in _SHARE_COLUMNS),
        ]

    def forward(self, data: AnchorData) -> AnchorData:
        r"""Adds the features to :obj:`data`."""
        if self.strength.numel() != data.num_nodes:
            raise ValueError(
                f"'strength' must have one entry per node, that is {data.num_nodes} "
                f'(got {self.strength.numel()})'
            )
        node, hyperedge = data.hyperedge_index
        size = data.num_hyperedges
        # Double precision: sums over large groups, and the difference of near values.
        strength = self.strength.to(node.device, torch.double).index_select(0, node)
        share = softmax(strength, hyperedge, num_nodes=size)
        total = scatter(strength, hyperedge, 0, size, 'sum')
        columns = [
            *_statistics(strength, data),
            total,
            *_statistics(share, data),
        ]
        out = torch.stack(columns, dim=1).float()

        names, previous = self.feature_names, data.get('hyperedge_attr')
        if self.cat and previous is not None:
            out = torch.cat([previous.to(out.dtype), out], dim=1)
            names = data.names('hyperedge_attr') + names
        data.hyperedge_attr = out
        return data.name_columns('hyperedge_attr', names)

    def __repr__(self) -> str:
        # A digest of the strengths, so that a cache tells other strengths apart.
        code = digest(self.strength)[:16]
        return f'{self.__class__.__name__}(strength={code}, cat={self.cat})'


def _statistics(value: Tensor, data: AnchorData) -> list[Tensor]:
    # Maximum, minimum, their difference, mean and standard deviation.
    hyperedge, size = data.hyperedge_index[1], data.num_hyperedges
    count = data.hyperedge_size.clamp(min=1)
    high = scatter(value, hyperedge, 0, size, 'max')
    low = scatter(value, hyperedge, 0, size, 'min')
    mean = scatter(value, hyperedge, 0, size, 'sum') / count
    deviation = value - mean.index_select(0, hyperedge)
    variance = scatter(deviation.square(), hyperedge, 0, size, 'sum') / count
    return [high, low, high - low, mean, variance.sqrt()]
