"""Pooling of sets by attention from a learned seed."""

import math

import torch
from torch import Tensor
from torch.nn import Parameter

from tgx_anchor.nn.conv.multihead_attention_block import MultiheadAttentionBlock


class SeededAttention(torch.nn.Module):
    r"""The pooling by multihead attention of the `"Set Transformer: A Framework for
    Attention-based Permutation-Invariant Neural Networks"
    <https://arxiv.org/abs/1810.00825>`_ paper with one seed, on sets given by an index:

    .. math::
        \mathrm{PMA}(\mathbf{X}) = \mathrm{MAB}(\mathbf{s}, \mathbf{X})

    with a learned seed :math:`\mathbf{s} \in \mathbb{R}^A` and the
    :class:`~tgx_anchor.nn.conv.MultiheadAttentionBlock`.

    Args:
        in_channels (int): The size of the vectors of members.
        channels (int, optional): The size :math:`A` of the output vectors.
            (default: :obj:`128`)
        heads (int, optional): The number of heads. (default: :obj:`4`)
        num_layers (int, optional): The number of maps after the attention.
            (default: :obj:`1`)
    """

    def __init__(
        self,
        in_channels: int,
        channels: int = 128,
        heads: int = 4,
        num_layers: int = 1,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.channels = channels
        self.heads = heads
        self.seed = Parameter(torch.empty(1, channels))
        self.block = MultiheadAttentionBlock(
            channels, in_channels, channels, heads, num_layers
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        # Xavier's rule for a tensor of the shape [1, 1, channels].
        bound = math.sqrt(3 / self.channels)
        torch.nn.init.uniform_(self.seed, -bound, bound)
        self.block.reset_parameters()

    def forward(self, x: Tensor, index: Tensor, num_sets: int) -> Tensor:
        r"""Runs the forward pass.

        Args:
            x (torch.Tensor): The members of all sets.
            index (torch.Tensor): The set of each member.
            num_sets (int): The number of sets :math:`S`.

        Shapes:
            - **x:** :math:`(P, F)`
            - **index:** :math:`(P)`
            - **output:** :math:`(S, A)`
        """
        return self.block.forward_shared(self.seed, x, index, num_sets).squeeze(1)

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}({self.in_channels}, {self.channels}, '
            f'heads={self.heads})'
        )
