"""Stage 2 of AnchorRadar: one anchor strength per node."""

import torch
from torch import Tensor


class AnchorStrength(torch.nn.Module):
    r"""Stage 2 of AnchorRadar from the `"Identifying Group Anchors in Real-World Group
    Interactions Under Label Scarcity" <https://arxiv.org/abs/2509.20762>`_ paper: one
    anchor strength :math:`s^{(2)}_v` per node, started at one. Train it with
    :func:`~tgx_anchor.nn.functional.strength_loss`.

    Args:
        num_nodes (int): The number of nodes :math:`N`.
        num_variants (int, optional): If given, the number of strengths per node, which
            are learned at once with different weights of the alignment.
            (default: :obj:`None`)

    Shapes:
        - **input:** :math:`(2, P)` incidences
        - **output:** :math:`(P)`, or :math:`(P, K)`, strengths of their nodes
    """

    def __init__(self, num_nodes: int, num_variants: int | None = None) -> None:
        super().__init__()
        size = (num_nodes,) if num_variants is None else (num_nodes, num_variants)
        # Double precision: sums of exponentials over large groups and wide ranges.
        self.strength = torch.nn.Parameter(torch.empty(size, dtype=torch.double))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        torch.nn.init.ones_(self.strength)

    def forward(self, hyperedge_index: Tensor) -> Tensor:
        r"""Runs the forward pass.

        Args:
            hyperedge_index (torch.Tensor): The incidences.

        Shapes:
            - **hyperedge_index:** :math:`(2, P)`
        """
        return self.strength[hyperedge_index[0]]

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({", ".join(map(str, self.strength.size()))})'
