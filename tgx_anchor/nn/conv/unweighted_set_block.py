"""Unweighted block: members of a set receive the mean over the set."""

import torch
from torch import Tensor
from torch.nn import Linear
from torch.nn.functional import linear
from torch_geometric.nn.inits import reset
from torch_geometric.utils import scatter


class UnweightedSetBlock(torch.nn.Module):
    r"""The unweighted block (UNB) from the `"Co-Representation Neural Hypergraph
    Diffusion for Edge-Dependent Node Classification"
    <https://arxiv.org/abs/2405.14286>`_ paper, on sets given by an index:

    .. math::
        \mathbf{z}^{\prime}_j = B \left( \mathbf{z}_j \, \Vert \, \frac{1}{|s|}
        \sum_{i \in s} A(\mathbf{z}_i) \right), \quad j \in s,

    where :math:`A` and :math:`B` are two affine maps each, with a ReLU between them.

    Args:
        channels (int, optional): The size of the vectors of members.
            (default: :obj:`128`)
    """

    def __init__(self, channels: int = 128) -> None:
        super().__init__()
        self.channels = channels
        self.lin_mean1 = Linear(channels, channels)
        self.lin_mean2 = Linear(channels, channels)
        self.lin1 = Linear(2 * channels, channels)
        self.lin2 = Linear(channels, channels)

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        for module in self.children():
            reset(module)

    def forward(
        self, x: Tensor, index: Tensor, num_sets: int, row: Tensor | None = None
    ) -> Tensor:
        r"""Runs the forward pass.

        Args:
            x (torch.Tensor): The members of all sets.
            index (torch.Tensor): The set of each member.
            num_sets (int): The number of sets :math:`S`.
            row (torch.Tensor, optional): The members to return, all if :obj:`None`.
                (default: :obj:`None`)

        Shapes:
            - **x:** :math:`(P, F)`
            - **index:** :math:`(P)`
            - **row:** :math:`(R)`
            - **output:** :math:`(P, F)` or :math:`(R, F)`
        """
        # Affine maps commute with means, and there are fewer sets than members.
        mean = scatter(self.lin_mean1(x).relu_(), index, 0, num_sets, 'mean')
        of_member, of_mean = self.lin1.weight.chunk(2, dim=1)
        mean = linear(self.lin_mean2(mean), of_mean, self.lin1.bias)
        if row is not None:
            x, index = x.index_select(0, row), index.index_select(0, row)
        x = linear(x, of_member) + mean.index_select(0, index)
        out: Tensor = self.lin2(x.relu_())
        return out

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.channels})'
