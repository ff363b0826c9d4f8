"""CoNHD."""

from torch import Tensor
from torch.nn import Linear
from torch.nn.functional import dropout

from tgx_anchor.nn.conv._trim import trim_incidences
from tgx_anchor.nn.conv.aggregate import count_hyperedges
from tgx_anchor.nn.conv.conhd_conv import CoNHDConv, Operator
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder


class CoNHD(HypergraphEncoder):
    r"""CoNHD from the `"Co-Representation Neural Hypergraph Diffusion for
    Edge-Dependent Node Classification" <https://arxiv.org/abs/2405.14286>`_ paper, in
    the form of gradient descent: representations of incidences, which begin at

    .. math::
        \mathbf{h}^{(0)}_{v;e} = \mathrm{dropout} \left( \mathrm{ReLU} \left(
        \mathbf{W} \mathbf{x}_v + \mathbf{b} \right) \right)

    and go through one layer :class:`~tgx_anchor.nn.conv.CoNHDConv` again and again:
    the number of parameters does not depend on the number of layers.

    .. note::
        The published code holds two copies of :math:`\mathbf{h}`, one for hyperedges
        and one for nodes, which differ in their masks of dropout before the first
        layer; here there is one. In its mini-batches nodes draw anew for each layer,
        and none but those of the targets draw, not even in testing, which makes no
        difference with one or two layers, as published; here every node draws once
        that more layers would reach, and testing is one pass over the whole.

    Args:
        in_channels (int): The number of features of a node; :obj:`44` in the paper.
        hidden_channels (int, optional): The width of representations.
            (default: :obj:`128`)
        num_layers (int, optional): The number of layers. (default: :obj:`1`)
        out_channels (int, optional): The width of the output, which has to be that of
            representations. (default: :obj:`None`)
        dropout (float, optional): The probability of dropout in layers.
            (default: :obj:`0.7`)
        input_dropout (float, optional): The probability of dropout before the first
            layer; :obj:`0.0` for e-mails in the paper. (default: :obj:`0.7`)
        operator (str, optional): Whether members of a set hear their mean
            (:obj:`"unb"`, CoNHD-U), or attend to each other (:obj:`"isab"`, CoNHD-I).
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
        dropout: float = 0.7,
        input_dropout: float = 0.7,
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
                f"'out_channels' must be that of representations, {hidden_channels} "
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
        r"""As in :class:`HypergraphEncoder`; a layer goes half a hop, from an incidence
        to those of its hyperedge and of its node.
        """
        return (self.num_layers + 1) // 2

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor,
        drawn_mask: Tensor | None = None,
        incidence_rank: Tensor | None = None,
        num_targets: int | None = None,
    ) -> Tensor:
        r"""Runs the forward pass, as :class:`HypergraphEncoder` says. The ranks of
        nodes are needed unless they are left out. Incidences that are not drawn get
        nothing from their nodes, but those of the first :obj:`num_targets` hyperedges
        count as drawn; only these are returned.
        """
        conv = self.convs[0]
        if num_targets is None:
            out = x_0 = self._start(x, hyperedge_index[0])
            for _ in range(self.num_layers):
                out = conv(out, x_0, hyperedge_index, drawn_mask, incidence_rank)
            return out
        if drawn_mask is not None:
            # As in the reference, nodes see all their incidences with targets.
            drawn_mask = drawn_mask | (hyperedge_index[1] < num_targets)
        layers = trim_incidences(
            hyperedge_index,
            x.size(0),
            count_hyperedges(hyperedge_index),
            num_targets,
            self.num_layers,
            drawn_mask,
        )
        rows = layers[0][0].nonzero().view(-1)
        out = x_0 = self._start(x, hyperedge_index[0, rows])
        for kept, seen in layers:
            # Layers need less and less of what the first one needs.
            left = kept[rows].nonzero().view(-1)
            rows = rows[left]
            x_0 = x_0[left]
            out = conv(
                out[left],
                x_0,
                hyperedge_index[:, rows],
                seen[rows],
                None if incidence_rank is None else incidence_rank[rows],
            )
        return out[hyperedge_index[1, rows] < num_targets]

    def _start(self, x: Tensor, node: Tensor) -> Tensor:
        x_0 = self.lin(x).relu().index_select(0, node)
        return dropout(x_0, self.input_dropout, self.training)

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}({self.in_channels}, {self.out_channels}, '
            f'num_layers={self.num_layers}, operator={self.operator!r})'
        )
