"""The encoder UniGCN."""

import math
from itertools import pairwise
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional

from tgx_anchor.data.hyperedge_index import HyperedgeIndex
from tgx_anchor.nn.conv import UniGCNConv
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder

Variant = Literal['unigcnii', 'unigcn']


class UniGCN(HypergraphEncoder):
    r"""The encoder of the `"UniGNN: a Unified Framework for Graph and Hypergraph Neural
    Networks" <https://arxiv.org/abs/2105.00956>`_ paper, by default as
    compared in the `"Classification of Edge-dependent Labels of Nodes in
    Hypergraphs" <https://arxiv.org/abs/2306.03032>`_ paper, which is UniGCNII under the
    name of UniGCN,

    .. math::
        \mathbf{z}^{(0)} = \mathrm{ReLU} \left( \mathbf{W}_0 \mathbf{x} +
        \mathbf{b}_0 \right), \qquad
        \left( \mathbf{z}^{(l)}, \mathbf{e}^{(l)} \right) = \mathrm{conv}_l
        \left( \mathbf{z}^{(l - 1)} \right), \qquad
        \beta_l = \ln (\lambda / l + 1),

    where the layers are :class:`~tgx_anchor.nn.conv.UniGCNConv`, all of width
    :obj:`hidden_channels`; the outputs are affine maps of :math:`\mathbf{z}^{(L)}`
    and :math:`\mathbf{e}^{(L)}`.

    Plain UniGCN consists of the layers only, with the widths of the other encoders.

    .. note::
        The public implementation ignores the learning rate it is given and uses 0.01,
        with a weight decay of 0.01 for layers and 0.0005 for affine maps.
        :meth:`parameter_groups` holds these settings, and :class:`AnchorPredictor`
        uses its own rate and decay only for the table of nodes and the head.

    Args:
        in_channels (int): The number of features of a node.
        hidden_channels (int): The width between two layers.
        num_layers (int): The number of layers :math:`L`.
        out_channels (int, optional): The width of the output; :obj:`hidden_channels` if
            :obj:`None`. (default: :obj:`None`)
        dropout (float, optional): The dropout probability of the inputs of layers and
            affine maps. (default: :obj:`0.0`)
        variant (str, optional): The model (:obj:`"unigcnii"`, :obj:`"unigcn"`).
            (default: :obj:`"unigcnii"`)
        alpha (float, optional): The share :math:`\alpha` of
            :math:`\mathbf{z}^{(0)}` in each layer of UniGCNII.
            (default: :obj:`0.1`)
        theta (float, optional): The number :math:`\lambda` of UniGCNII.
            (default: :obj:`0.5`)
        rescale (bool, optional): If set to :obj:`True`, the sum over the drawn
            incidences of a node in a mini-batch is scaled up to the number of all its
            incidences. The published models do not do so: their sums are smaller in
            training than in testing. (default: :obj:`False`)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.0,
        variant: Variant = 'unigcnii',
        alpha: float = 0.1,
        theta: float = 0.5,
        rescale: bool = False,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_layers, out_channels, dropout
        )
        if variant not in get_args(Variant):
            raise ValueError(
                f"'variant' must be one of {get_args(Variant)} (got {variant!r})"
            )
        self.variant = variant
        self.alpha = alpha
        self.theta = theta
        self.rescale = rescale
        self.lin: torch.nn.Linear | None = None
        self.lin_node: torch.nn.Linear | None = None
        self.lin_hyperedge: torch.nn.Linear | None = None
        if variant == 'unigcn':
            for width, next_width in pairwise(self.channel_list):
                self.convs.append(
                    UniGCNConv(width, next_width, beta=None, rescale=rescale)
                )
            return
        self.lin = torch.nn.Linear(in_channels, hidden_channels)
        for i in range(num_layers):
            beta = math.log(theta / (i + 1) + 1)
            self.convs.append(
                UniGCNConv(hidden_channels, hidden_channels, alpha, beta, rescale)
            )
        self.lin_node = torch.nn.Linear(hidden_channels, self.out_channels)
        self.lin_hyperedge = torch.nn.Linear(hidden_channels, self.out_channels)

    def parameter_groups(self) -> list[dict[str, Any]]:
        r"""Returns all parameters in groups, with the learning rate and the weight
        decays of the public implementations.
        """
        if self.variant == 'unigcn':
            return [
                {'params': list(self.parameters()), 'lr': 0.01, 'weight_decay': 5e-4}
            ]
        inner: list[Tensor] = []
        outer: list[Tensor] = []
        for name, parameter in self.named_parameters():
            (inner if name.startswith('convs.') else outer).append(parameter)
        return [
            {'params': inner, 'lr': 0.01, 'weight_decay': 0.01},
            {'params': outer, 'lr': 0.01, 'weight_decay': 5e-4},
        ]

    def forward(
        self,
        x: Tensor,
        hyperedge_index: Tensor | HyperedgeIndex,
        num_hyperedges: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        r"""Runs the forward pass, see :class:`HypergraphEncoder`."""
        x_0: Tensor | None = None
        if self.lin is not None:
            x = x_0 = self.lin(
                functional.dropout(x, self.dropout, self.training)
            ).relu()
        x = functional.dropout(x, self.dropout, self.training)
        x, hyperedge = self._propagate(x, hyperedge_index, num_hyperedges, x_0=x_0)
        if self.lin_node is not None and self.lin_hyperedge is not None:
            x = self.lin_node(x)
            hyperedge = self.lin_hyperedge(
                functional.dropout(hyperedge, self.dropout, self.training)
            )
        return x, hyperedge

    def _drop(self, value: Tensor, layer: int) -> Tensor:
        # Dropout comes before a map, and there is none after the last layer of UniGCN.
        if self.lin_node is None and layer == self.num_layers - 1:
            return value
        return functional.dropout(value, self.dropout, self.training)
