"""A few small MLPs that are trained alike and averaged."""

import math
from typing import Any

import torch
from torch import Tensor

from tgx_anchor.nn.predictors.learner import Learner
from tgx_anchor.nn.predictors.learning_rows import LearningRows

_LR = 0.01
_NUM_EPOCHS = 60
_HIDDEN_CHANNELS = 64
# The number of known groups with a weight decay of one, and the largest weight decay.
# Few groups need much more of it than many.
_FEW_GROUPS = 130
_MAX_DECAY = 0.4
# Standardised features are cut off here: others tell nothing about such values.
_MAX_FEATURE = 8.0
_CHUNK_ROWS = 1 << 14


class MLPLearner(Learner):
    r"""Scores incidences by several MLPs with one hidden layer, which differ in their
    first weights only,

    .. math::
        s^{(i)}_{v;e} = \mathbf{a}_i^{\top} \mathrm{ReLU} (\mathbf{W}_i
        \tilde{\mathbf{x}}_{v;e} + \mathbf{b}_i),

    where :math:`\tilde{\mathbf{x}}` are standardised features. They are trained all at
    once by the cross-entropy within groups of stage 1 of AnchorRadar, with a weight
    decay of :math:`\min (0.4, (130 / G)^{3/2})` for :math:`G` known groups.

    Args:
        num_networks (int, optional): The number of MLPs. (default: :obj:`3`)
        seed (int, optional): The seed of their first weights. (default: :obj:`0`)

    Shapes:
        - **input:** :math:`(L, F)`
        - **output:** :math:`(L, I)`, the scores of all :math:`I` MLPs
    """

    def __init__(self, num_networks: int = 3, seed: int = 0) -> None:
        super().__init__()
        self.num_networks = num_networks
        self.seed = seed
        self._make(0)

    def _make(self, in_channels: int) -> None:
        generator = torch.Generator().manual_seed(self.seed)

        def uniform(size: tuple[int, ...], fan_in: int) -> torch.nn.Parameter:
            bound = 1 / math.sqrt(max(fan_in, 1))
            draw = torch.rand(size, generator=generator)
            return torch.nn.Parameter((2 * draw - 1) * bound)

        count, hidden = self.num_networks, _HIDDEN_CHANNELS
        self.weight = uniform((count, in_channels, hidden), in_channels)
        self.bias = uniform((count, 1, hidden), in_channels)
        self.out = uniform((count, hidden, 1), hidden)
        self.register_buffer('mean', torch.zeros(in_channels))
        self.register_buffer('std', torch.ones(in_channels))

    @property
    def in_channels(self) -> int:
        r"""The number of features; zero before :meth:`fit`."""
        return self.weight.size(1)

    def fit(self, rows: LearningRows) -> None:
        r"""Trains all MLPs.

        Args:
            rows (LearningRows): The members of known groups.
        """
        feature, device = rows.feature, rows.feature.device
        self._make(feature.size(1))
        self.to(device)
        self.mean = feature.mean(dim=0)
        std = feature.std(dim=0, correction=0)
        # The mean of equal values may differ from them in the last digit.
        least = 1e-6 * self.mean.abs().clamp(min=1)
        self.std = torch.where(std > least, std, 1.0)
        x = self._standardised(feature)
        count, num_groups = self.num_networks, rows.weight.numel()
        group = rows.group.expand(count, -1)
        target = (rows.target * rows.weight[rows.group]).to(x.dtype) / num_groups
        decay = min(_MAX_DECAY, (_FEW_GROUPS / num_groups) ** 1.5)
        optimizer = torch.optim.Adam(self.parameters(), _LR, weight_decay=decay)
        for _ in range(_NUM_EPOCHS):
            optimizer.zero_grad()
            score = self._scores(x)
            top = score.detach().new_zeros(count, num_groups)
            top.scatter_reduce_(1, group, score.detach(), 'amax', include_self=False)
            score = score - top.gather(1, group)
            total = score.new_zeros(count, num_groups)
            total = total.scatter_add(1, group, score.exp())
            log_proba = score - total.log().gather(1, group)
            (-log_proba * target).sum().backward()
            optimizer.step()
        for parameter in self.parameters():
            parameter.grad = None

    def _standardised(self, feature: Tensor) -> Tensor:
        x = (feature - self.mean) / self.std
        return x.clamp_(-_MAX_FEATURE, _MAX_FEATURE)

    def _scores(self, x: Tensor) -> Tensor:
        x = x.expand(self.num_networks, -1, -1)
        hidden = torch.baddbmm(self.bias, x, self.weight).relu_()
        return torch.bmm(hidden, self.out).squeeze(2)

    @torch.no_grad()
    def forward(self, feature: Tensor) -> Tensor:
        r"""Runs the forward pass.

        Args:
            feature (torch.Tensor): The features.

        Shapes:
            - **feature:** :math:`(L, F)`
        """
        parts = [
            self._scores(self._standardised(part)).T
            for part in feature.split(_CHUNK_ROWS)
        ]
        return torch.cat(parts)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        weight = state_dict.get(f'{prefix}weight')
        if isinstance(weight, Tensor) and weight.dim() == 3:
            device = self.mean.device
            self.num_networks = weight.size(0)
            self._make(weight.size(1))
            self.to(device, weight.dtype)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def __repr__(self) -> str:
        size = tuple(self.weight.size())
        return f'{self.__class__.__name__}({size[1]}, num_networks={size[0]})'
