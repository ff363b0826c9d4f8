"""Attention among the members of sets, through learned inducing points."""

import math

import torch
from torch import Tensor
from torch.nn import Parameter

from tgx_anchor.nn.conv.multihead_attention_block import MultiheadAttentionBlock


class InducedSetAttention(torch.nn.Module):
    r"""The induced set attention block of the `"Set Transformer: A Framework for
    Attention-based Permutation-Invariant Neural Networks"
    <https://arxiv.org/abs/1810.00825>`_ paper, on sets given by an index:

    .. math::
        \mathrm{ISAB}(\mathbf{X}) = \mathrm{MAB}(\mathbf{X},
        \mathrm{MAB}(\mathbf{I}, \mathbf{X}))

    with :math:`K` learned inducing points :math:`\mathbf{I}` of size :math:`A` and the
    :class:`~tgx_anchor.nn.conv.MultiheadAttentionBlock`.

    Args:
        in_channels (int): The size of the vectors of members.
        channels (int, optional): The size :math:`A` of the output vectors.
            (default: :obj:`128`)
        heads (int, optional): The number of heads. (default: :obj:`4`)
        num_inducing (int, optional): The number :math:`K` of inducing points.
            (default: :obj:`4`)
    """

    def __init__(
        self,
        in_channels: int,
        channels: int = 128,
        heads: int = 4,
        num_inducing: int = 4,
    ) -> None:
        super().__init__()
        if num_inducing < 1:
            raise ValueError(f"'num_inducing' must be positive (got {num_inducing})")
        self.in_channels = in_channels
        self.channels = channels
        self.heads = heads
        self.num_inducing = num_inducing
        self.inducing = Parameter(torch.empty(num_inducing, channels))
        self.gather = MultiheadAttentionBlock(channels, in_channels, channels, heads)
        self.spread = MultiheadAttentionBlock(in_channels, channels, channels, heads)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        # Xavier's rule for a tensor of the shape [1, num_inducing, channels].
        bound = math.sqrt(6 / ((self.num_inducing + 1) * self.channels))
        torch.nn.init.uniform_(self.inducing, -bound, bound)
        self.gather.reset_parameters()
        self.spread.reset_parameters()

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
            - **output:** :math:`(P, A)` or :math:`(R, A)`
        """
        slot = self.gather.forward_shared(self.inducing, x, index, num_sets)
        if row is not None:
            x, index = x.index_select(0, row), index.index_select(0, row)
        return self.spread.forward_slots(x, slot, index)

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}({self.in_channels}, {self.channels}, '
            f'heads={self.heads}, num_inducing={self.num_inducing})'
        )
