"""Attention between sets of any size."""

import math

import torch
from torch import Tensor
from torch.nn import Linear, ModuleList
from torch.nn.functional import linear
from torch_geometric.utils import softmax

from tgx_anchor.nn.conv._set_product import collect, dot, spread


class MultiheadAttentionBlock(torch.nn.Module):
    r"""The multihead attention block of the `"Set Transformer: A Framework for
    Attention-based Permutation-Invariant Neural Networks"
    <https://arxiv.org/abs/1810.00825>`_ paper without layer normalisation, on sets
    given by an index:

    .. math::
        \mathrm{MAB}(\mathbf{Q}, \mathbf{K}) &= \mathbf{O} +
        \mathrm{ReLU}(\mathbf{W}_O \mathbf{O} + \mathbf{b}_O)

        \mathbf{O} &= {\big\Vert}_h \; \mathbf{Q}_h + \mathrm{softmax} \left(
        \frac{\mathbf{Q}_h \mathbf{K}_h^{\top}}{\sqrt{A}} \right) \mathbf{V}_h

    with the heads :math:`\mathbf{Q}_h`, :math:`\mathbf{K}_h`, :math:`\mathbf{V}_h` of
    affine maps of queries and keys to the width :math:`A`. Where there is no key,
    :math:`\mathbf{O}` is :math:`\mathbf{Q}`.

    Time and memory grow with the number of members, whatever the sizes of their sets:
    no set is padded.

    .. note::
        :obj:`torch_geometric.nn.aggr.utils.MultiheadAttentionBlock` is another
        equation: its residual is the query before its map, there is one more map after
        the heads, and scores are divided by the root of the width of *one* head.
        The bias of the map of keys has no effect, as it shifts all scores of a query
        alike; it is kept for the published number of parameters.

    Args:
        query_channels (int): The size of queries.
        key_channels (int): The size of keys.
        channels (int, optional): The size :math:`A` of the output vectors.
            (default: :obj:`128`)
        heads (int, optional): The number of heads. (default: :obj:`4`)
        num_layers (int, optional): The number of maps in place of
            :math:`\mathbf{W}_O`, each followed by a ReLU. (default: :obj:`1`)
    """

    def __init__(
        self,
        query_channels: int,
        key_channels: int,
        channels: int = 128,
        heads: int = 4,
        num_layers: int = 1,
    ) -> None:
        super().__init__()
        if heads < 1 or channels % heads != 0:
            raise ValueError(f"'heads' must divide {channels} channels (got {heads})")
        if num_layers < 1:
            raise ValueError(f"'num_layers' must be positive (got {num_layers})")
        self.query_channels = query_channels
        self.key_channels = key_channels
        self.channels = channels
        self.heads = heads
        self.lin_query = Linear(query_channels, channels)
        self.lin_key = Linear(key_channels, channels)
        self.lin_value = Linear(key_channels, channels)
        self.lins = ModuleList(Linear(channels, channels) for _ in range(num_layers))

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        for lin in (self.lin_query, self.lin_key, self.lin_value, *self.lins):
            lin.reset_parameters()

    def forward(self, query: Tensor, key: Tensor, index: Tensor) -> Tensor:
        r"""Attends with one query per set to the members of this set.

        Args:
            query (torch.Tensor): The query of each set.
            key (torch.Tensor): The members of all sets.
            index (torch.Tensor): The set of each member.

        Shapes:
            - **query:** :math:`(S, Q)`
            - **key:** :math:`(P, F)`
            - **index:** :math:`(P)`
            - **output:** :math:`(S, A)`
        """
        q = self._split(self.lin_query(query)).unsqueeze(1)
        score = dot(self._split(self.lin_key(key)), q, index)
        return self._pool(q, score, key, index, q.size(0)).squeeze(1)

    def forward_shared(
        self, query: Tensor, key: Tensor, index: Tensor, num_sets: int
    ) -> Tensor:
        r"""Attends with the same queries to the members of each set.

        Args:
            query (torch.Tensor): The queries.
            key (torch.Tensor): The members of all sets.
            index (torch.Tensor): The set of each member.
            num_sets (int): The number of sets :math:`S`.

        Shapes:
            - **query:** :math:`(K, Q)`
            - **key:** :math:`(P, F)`
            - **index:** :math:`(P)`
            - **output:** :math:`(S, K, A)`
        """
        q = self._split(self.lin_query(query))
        # Few queries: mapping them back is cheaper than mapping all keys.
        weight = torch.einsum(
            'khc,hcf->khf', q, self.lin_key.weight.view(*q.size()[1:], -1)
        )
        bias = torch.einsum('khc,hc->kh', q, self._split(self.lin_key.bias))
        score = linear(key, weight.flatten(0, 1), bias.flatten())
        score = score.view(-1, *bias.size())
        return self._pool(q.unsqueeze(0), score, key, index, num_sets)

    def forward_slots(self, query: Tensor, key: Tensor, index: Tensor) -> Tensor:
        r"""Attends with the members of each set to the slots of this set.

        Args:
            query (torch.Tensor): The members of all sets.
            key (torch.Tensor): The slots of each set.
            index (torch.Tensor): The set of each member.

        Shapes:
            - **query:** :math:`(P, Q)`
            - **key:** :math:`(S, K, F)`
            - **index:** :math:`(P)`
            - **output:** :math:`(P, A)`
        """
        q = self._split(self.lin_query(query))
        score = dot(q, self._split(self.lin_key(key)), index)
        weight = (score / math.sqrt(self.channels)).softmax(dim=1)
        # In place, here and below: fresh memory costs more time than the sums.
        out = spread(weight, self._split(self.lin_value(key)), index).add_(q)
        return self._feed_forward(out.flatten(1))

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.size()[:-1], self.heads, self.channels // self.heads)

    def _pool(
        self, q: Tensor, score: Tensor, key: Tensor, index: Tensor, num_sets: int
    ) -> Tensor:
        score = score / math.sqrt(self.channels)
        weight = softmax(score, index, num_nodes=num_sets)
        value = self._split(self.lin_value(key))
        out = collect(weight, value, index, num_sets).add_(q)
        # As a matrix: its map is no view, whose gradients would be copied twice when
        # it is changed in place.
        result = self._feed_forward(out.view(-1, self.channels))
        return result.view(num_sets, score.size(1), self.channels)

    def _feed_forward(self, x: Tensor) -> Tensor:
        out = x
        for lin in self.lins:
            out = lin(out).relu_()
        return x + out

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}({self.query_channels}, {self.key_channels}, '
            f'{self.channels}, heads={self.heads})'
        )
