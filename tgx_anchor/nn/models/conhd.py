"""The encoder CoNHD."""

import copy

import torch
from torch import Tensor
from torch.nn import Linear
from torch.nn.functional import dropout

from tgx_anchor.data.hyperedge_index import HyperedgeIndex, as_hyperedge_index
from tgx_anchor.nn.conv.conhd_conv import CoNHDConv, Operator, reached_mask
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder


class CoNHD(HypergraphEncoder):
    r"""CoNHD from the `"Co-Representation Neural Hypergraph Diffusion for
    Edge-Dependent Node Classification" <https://arxiv.org/abs/2405.14286>`_ paper, in
    the form of gradient descent: representations of incidences, which begin at

    .. math::
        \mathbf{h}^{(0)}_{v;e} = \mathrm{dropout} \left( \mathrm{ReLU} \left(
        \mathbf{W} \mathbf{x}_v + \mathbf{b} \right) \right)

    and pass through the same layer :class:`~tgx_anchor.nn.conv.CoNHDConv` several
    times: the number of parameters does not depend on the number of layers.

    .. note::
        The published code holds two copies of :math:`\mathbf{h}`, one for hyperedges
        and one for nodes, with different dropout masks before the first layer; here
        there is one. In its mini-batches, nodes draw again for each layer, and only
        members of targets draw, also in testing, which makes no difference with one or
        two layers, as published. Here every node that a layer reaches draws once, and
        testing is one pass over the whole hypergraph.

    Args:
        in_channels (int): The number of features of a node; :obj:`44` in the paper.
        hidden_channels (int, optional): The width of representations.
            (default: :obj:`128`)
        num_layers (int, optional): The number of layers. (default: :obj:`1`)
        out_channels (int, optional): The width of the output, which must be that of
            representations. (default: :obj:`None`)
        dropout (float, optional): The probability of dropout in layers.
            (default: :obj:`0.0`)
        input_dropout (float, optional): The probability of dropout before the first
            layer; :obj:`0.0` for e-mails in the paper. (default: :obj:`0.0`)
        operator (str, optional): Whether members of a set receive their mean
            (:obj:`"unb"`, CoNHD-U) or attend to each other (:obj:`"isab"`, CoNHD-I).
            (default: :obj:`"unb"`)
        use_rank (bool, optional): If set to :obj:`False`, will leave out the ranks of
            nodes in their hyperedges. (default: :obj:`True`)
        num_blocks (int, optional): The number of blocks in each operator.
            (default: :obj:`2`)
        heads (int, optional): The number of heads of :obj:`"isab"`.
            (default: :obj:`4`)
        num_inducing (int, optional): The number of inducing points of :obj:`"isab"`.
            (default: :obj:`4`)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int = 128,
        num_layers: int = 1,
        out_channels: int | None = None,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        operator: Operator = 'unb',
        use_rank: bool = True,
        num_blocks: int = 2,
        heads: int = 4,
        num_inducing: int = 4,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_layers, out_channels, dropout
        )
        if self.out_channels != hidden_channels:
            raise ValueError(
                f"'out_channels' must be 'hidden_channels', {hidden_channels} "
                f'(got {out_channels})'
            )
        if not 0 <= input_dropout < 1:
            raise ValueError(
                f"'input_dropout' must lie in [0, 1) (got {input_dropout})"
            )
        self.input_dropout = input_dropout
        self.operator: Operator = operator
        self.use_rank = use_rank
        self.num_blocks = num_blocks
        self.heads = heads
        self.num_inducing = num_inducing
        self.lin = Linear(in_channels, hidden_channels)
        self.convs.append(
            CoNHDConv(
                hidden_channels,
                operator,
                4 if use_rank else 0,
                num_blocks,
                heads,
                num_inducing,
                dropout,
            )
        )

    @property
    def num_hops(self) -> int:
        r"""The number of hops, see :class:`HypergraphEncoder`; half a hop per layer,
        from an incidence to those of its hyperedge and of its node.
        """
        return (self.num_layers + 1) // 2

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor | HyperedgeIndex,
        num_hyperedges: int | None = None,
        incidence_rank: Tensor | None = None,
    ) -> Tensor:
        r"""Runs the forward pass, see :class:`HypergraphEncoder`.
        Returns representations of incidences, :math:`(P, \mathrm{out})`.

        Incidences that are not drawn receive nothing from their nodes, except that
        those of the targets always count as drawn; only targets are returned if
        :obj:`num_targets` is given. The ranks of nodes, :math:`(P, 4)`, are required
        unless :obj:`use_rank` is :obj:`False`.
        """
        index = as_hyperedge_index(hyperedge_index, x.size(0), num_hyperedges)
        conv, num_targets = self.convs[0], index.num_targets
        if num_targets is None:
            out = x_0 = self._start(x, index.node)
            for _ in range(self.num_layers):
                out = conv(out, x_0, index, incidence_rank)
            return out
        wanted = index.hyperedge < num_targets
        drawn = index.drawn_mask
        if drawn is not None:
            # As in the reference, nodes see all their incidences with targets.
            drawn, index = drawn | wanted, copy.copy(index)
            index.drawn_mask = drawn
        layers = [wanted]
        for _ in range(self.num_layers):
            layers.append(reached_mask(index, layers[-1]))
        # Each layer reads what the one before returns.
        rows = layers.pop().nonzero().view(-1)
        out = x_0 = self._start(x, index.node[rows])
        for wanted in reversed(layers):
            part = HyperedgeIndex(
                torch.stack([index.node[rows], index.hyperedge[rows]]),
                index.num_nodes,
                index.num_hyperedges,
                drawn_mask=None if drawn is None else drawn[rows],
            )
            rank = None if incidence_rank is None else incidence_rank[rows]
            kept = wanted[rows]
            out = conv(out, x_0, part, rank, kept)
            rows, x_0 = rows[kept], x_0[kept]
        return out

    def _start(self, x: Tensor, node: Tensor) -> Tensor:
        x_0 = self.lin(x).relu().index_select(0, node)
        return dropout(x_0, self.input_dropout, self.training)

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}({self.in_channels}, {self.out_channels}, '
            f'num_layers={self.num_layers}, operator={self.operator!r})'
        )
