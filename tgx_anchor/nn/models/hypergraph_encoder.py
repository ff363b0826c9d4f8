"""What encoders of nodes and hyperedges have in common."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn.inits import reset

from tgx_anchor.nn.conv._trim import Scope, trim_to_targets
from tgx_anchor.nn.conv.aggregate import count_degree, count_hyperedges


class HypergraphEncoder(torch.nn.Module):
    r"""An abstract base class of encoders: layers, stacked in :obj:`self.convs`, that
    take the features of nodes to representations of nodes and hyperedges, or of
    incidences.

    With one layer, it has the widths :obj:`in_channels` and :obj:`out_channels`; with
    more of them, all widths between two layers are :obj:`hidden_channels`
    (:attr:`channel_list`).

    A subclass fills :obj:`self.convs` and has a :meth:`forward` that takes, of

    .. code-block:: python

        forward(
            x,                     # [N, in_channels]
            hyperedge_index,       # [2, P]
            num_hyperedges=None,   # M; None: the largest number, plus one
            node_degree=None,      # [N], in the whole hypergraph; None: counted
            hyperedge_size=None,   # [M], likewise
            drawn_mask=None,       # [P], what nodes receive from; None: everything
            incidence_rank=None,   # [P, 4], as AddWithinOrderRank adds them
            num_targets=None,      # how many hyperedges are asked for; None: all
        )

    those that its equations need, and returns :obj:`(node, hyperedge)` of shapes
    :math:`(N, \mathrm{out})` and :math:`(M, \mathrm{out})`, or one tensor of shape
    :math:`(P, \mathrm{out})`. With :obj:`num_targets`, which leaves out what the
    first so many hyperedges and their members do not depend on, it may return the
    first rows only, as far as their representations go. What is not given comes from
    :func:`~tgx_anchor.nn.conv.aggregate.count_hyperedges` and
    :func:`~tgx_anchor.nn.conv.aggregate.count_degree`.

    Args:
        in_channels (int): The number of features of a node.
        hidden_channels (int): The width between two layers.
        num_layers (int): The number of layers :math:`L`.
        out_channels (int, optional): The width of the output; that between two layers
            if :obj:`None`. (default: :obj:`None`)
        dropout (float, optional): The probability that dropout zeroes an entry, where
            the model has dropout. (default: :obj:`0.7`)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.7,
    ) -> None:
        super().__init__()
        if out_channels is None:
            out_channels = hidden_channels
        for name, value in (
            ('in_channels', in_channels),
            ('hidden_channels', hidden_channels),
            ('num_layers', num_layers),
            ('out_channels', out_channels),
        ):
            if value < 1:
                raise ValueError(f"'{name}' must be at least 1 (got {value})")
        if not 0 <= dropout < 1:
            raise ValueError(f"'dropout' must lie in [0, 1) (got {dropout})")
        self.in_channels = in_channels
        self.hidden_channels = hidden_channels
        self.num_layers = num_layers
        self.out_channels = out_channels
        self.dropout = dropout
        self.convs = torch.nn.ModuleList()

    @property
    def channel_list(self) -> list[int]:
        r"""The widths before, between and after the layers."""
        hidden = [self.hidden_channels] * (self.num_layers - 1)
        return [self.in_channels, *hidden, self.out_channels]

    @property
    def num_hops(self) -> int:
        r"""How far the output looks: the number of steps from nodes to all members of
        their hyperedges, begun at the members of a hyperedge, after which everything
        is known that its representation and those of its members depend on.
        """
        return self.num_layers

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        for module in self.children():
            reset(module)

    def parameter_groups(self) -> list[dict[str, Any]]:
        r"""All parameters, in groups for an optimiser, with the settings that are
        part of the model, such as :obj:`lr` and :obj:`weight_decay`; those that are
        missing are up to the user.
        """
        return [{'params': list(self.parameters())}]

    def _layers(
        self,
        x: Tensor,
        hyperedge_index: Tensor,
        num_hyperedges: int | None = None,
        drawn_mask: Tensor | None = None,
        num_targets: int | None = None,
    ) -> Iterator[tuple[torch.nn.Module, Scope]]:
        r"""The layers, and what each of them works on: everything, or what the first
        :obj:`num_targets` hyperedges and their members depend on.

        Args:
            x (torch.Tensor): The features of nodes.
            hyperedge_index (torch.Tensor): The incidences; faster if sorted by
                hyperedge.
            num_hyperedges (int, optional): The number of hyperedges.
                (default: :obj:`None`)
            drawn_mask (torch.Tensor, optional): The incidences that nodes receive
                from; all if :obj:`None`. (default: :obj:`None`)
            num_targets (int, optional): The number of hyperedges that are asked for;
                all if :obj:`None`. (default: :obj:`None`)

        Shapes:
            - **x:** :math:`(N, F)`
            - **hyperedge_index:** :math:`(2, P)`
            - **drawn_mask:** :math:`(P)`
        """
        scopes = trim_to_targets(
            hyperedge_index,
            x.size(0),
            count_hyperedges(hyperedge_index, num_hyperedges),
            num_targets,
            self.num_layers,
            drawn_mask,
        )
        return zip(self.convs, scopes, strict=True)

    def _propagate(
        self,
        x: Tensor,
        hyperedge_index: Tensor,
        num_hyperedges: int | None = None,
        node_degree: Tensor | None = None,
        hyperedge_size: Tensor | None = None,
        drawn_mask: Tensor | None = None,
        num_targets: int | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor]:
        r"""All layers one after the other, each followed by the dropout of nodes.
        Takes and returns what :meth:`forward` does; further arguments go to the layers.
        """
        num_hyperedges = count_hyperedges(hyperedge_index, num_hyperedges)
        node, hyperedge = hyperedge_index
        # Here and not in the layers, which may get less than the whole.
        degree = count_degree(node, x.size(0), x.dtype, node_degree)
        size = count_degree(hyperedge, num_hyperedges, x.dtype, hyperedge_size)
        layers = self._layers(
            x, hyperedge_index, num_hyperedges, drawn_mask, num_targets
        )
        for i, (conv, scope) in enumerate(layers):
            x, hyperedge = conv(
                scope.nodes(x),
                scope.hyperedge_index,
                scope.num_hyperedges,
                node_degree=scope.nodes(degree),
                hyperedge_size=scope.hyperedges(size),
                drawn_mask=scope.drawn_mask,
                num_out_nodes=scope.num_out_nodes,
                **kwargs,
            )
            x = self._drop(x, i)
        return x, hyperedge[:num_targets]

    def _drop(self, value: Tensor, layer: int) -> Tensor:
        # The dropout of a layer, of which the first one has none.
        if layer == 0:
            return value
        return torch.nn.functional.dropout(value, self.dropout, self.training)

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}({self.in_channels}, {self.out_channels}, '
            f'num_layers={self.num_layers})'
        )
