"""Stage 1 of AnchorRadar: a score of each incidence from its features."""

import torch
from torch import Tensor
from torch_geometric.nn.models import MLP


class IncidenceScorer(torch.nn.Module):
    r"""Stage 1 of AnchorRadar from the `"Identifying Group Anchors in Real-World Group
    Interactions Under Label Scarcity" <https://arxiv.org/abs/2509.20762>`_ paper: the
    topology-based score

    .. math::
        s^{(1)}_{v;e} = \mathrm{MLP}(\mathbf{x}_{v;e})

    of an incidence with features :math:`\mathbf{x}_{v;e}`, with one hidden layer. Train
    it with :func:`~tgx_anchor.nn.functional.anchor_cross_entropy`.

    Args:
        in_channels (int): The number of features :math:`F`.
        hidden_channels (int, optional): The size of the hidden layer.
            (default: :obj:`64`)

    Shapes:
        - **input:** :math:`(P, F)`
        - **output:** :math:`(P)`
    """

    def __init__(self, in_channels: int, hidden_channels: int = 64) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.hidden_channels = hidden_channels
        self.mlp = MLP([in_channels, hidden_channels, 1], norm=None)

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        self.mlp.reset_parameters()

    def forward(self, feature: Tensor) -> Tensor:
        r"""Runs the forward pass.

        Args:
            feature (torch.Tensor): The features of the incidences.

        Shapes:
            - **feature:** :math:`(P, F)`
        """
        score: Tensor = self.mlp(feature)
        return score.squeeze(-1)

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.in_channels}, {self.hidden_channels})'
