"""CoNHD."""

import torch
from torch import Tensor
from torch.nn import Linear
from torch.nn.functional import dropout

from tgx_anchor.nn.conv._trim import trim_incidences
from tgx_anchor.nn.conv.aggregate import count_hyperedges
from tgx_anchor.nn.conv.conhd_conv import CoNHDConv, Operator
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder


class CoNHD(HypergraphEncoder):
    r"""CoNHD from the *"Co-Representation Neural Hypergraph Diffusion for
    Edge-Dependent Node Classification"* paper, in the form of gradient descent:
    representations of incidences, which begin at

    .. math::
        \mathbf{h}^{(0)}_{v;e} = \mathrm{dropout} \left( \mathrm{ReLU} \left(
        \mathbf{W} \mathbf{x}_v + \mathbf{b} \right) \right)

    and go through one layer :class:`~tgx_anchor.nn.conv.CoNHDConv` again and again:
    the number of parameters does not depend on the number of layers.

    .. note::
        The published code holds two copies of :math:`\mathbf{h}`, one for hyperedges
        and one for nodes, which differ in their masks of dropout before the first
        layer; here there is one.

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

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor,
        drawn_mask: Tensor | None = None,
        incidence_rank: Tensor | None = None,
        num_targets: int | None = None,
    ) -> Tensor:
        r"""Runs the forward pass.

        Args:
            x (torch.Tensor): The features of nodes.
            hyperedge_index (torch.Tensor): The incidences.
            drawn_mask (torch.Tensor, optional): The incidences that nodes see, all if
                :obj:`None`. Others get nothing from their nodes.
                (default: :obj:`None`)
            incidence_rank (torch.Tensor, optional): The ranks of nodes in their
                hyperedges, as :class:`~tgx_anchor.transforms.AddWithinOrderRank` adds
                them; needed unless they are left out. (default: :obj:`None`)
            num_targets (int, optional): If given, only the first so many hyperedges
                are asked for, and what they do not depend on is left out; other
                representations mean nothing. Nodes see their incidences with these
                hyperedges, drawn or not. (default: :obj:`None`)

        Returns:
            The representations of incidences.

        Shapes:
            - **x:** :math:`(N, F)`
            - **hyperedge_index:** :math:`(2, P)`
            - **drawn_mask:** :math:`(P)`
            - **incidence_rank:** :math:`(P, 4)`
            - **output:** :math:`(P, \mathrm{out})`
        """
        x_0 = self.lin(x).relu().index_select(0, hyperedge_index[0])
        x_0 = dropout(x_0, self.input_dropout, self.training)
        out, conv = x_0, self.convs[0]
        if num_targets is None:
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
        for kept, seen in layers:
            rows = kept.nonzero().view(-1)
            new = conv(
                out[rows],
                x_0[rows],
                hyperedge_index[:, rows],
                seen[rows],
                None if incidence_rank is None else incidence_rank[rows],
            )
            out = torch.zeros_like(x_0).index_copy(0, rows, new)
        return out

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}({self.in_channels}, {self.out_channels}, '
            f'num_layers={self.num_layers}, operator={self.operator!r})'
        )
