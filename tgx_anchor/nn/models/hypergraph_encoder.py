"""The base class of encoders."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn.inits import reset

from tgx_anchor.data.hyperedge_index import HyperedgeIndex, as_hyperedge_index


class HypergraphEncoder(torch.nn.Module):
    r"""An abstract base class of encoders: a stack of layers, :obj:`self.convs`, that
    maps the features of nodes to representations of nodes and hyperedges, or of
    incidences.

    One layer has the widths :obj:`in_channels` and :obj:`out_channels`; with more
    layers, all widths between two of them are :obj:`hidden_channels`
    (:attr:`channel_list`).

    A subclass fills :obj:`self.convs` and implements

    .. code-block:: python

        forward(
            x,                     # [N, in_channels]
            hyperedge_index,       # [2, P], or a HyperedgeIndex
            num_hyperedges=None,   # M of a tensor; None: the largest number plus one
            ...                    # attributes of the data by name: incidence_rank
        )

    which returns :obj:`(node, hyperedge)` of shapes :math:`(N, \mathrm{out})` and
    :math:`(M, \mathrm{out})`, or one tensor of shape :math:`(P, \mathrm{out})`. Given a
    :class:`~tgx_anchor.data.HyperedgeIndex` with :obj:`num_targets`, it may skip
    everything that the targets do not depend on, and return the first rows only: those
    of the targets, and those of nodes up to their last member.

    Args:
        in_channels (int): The number of features of a node.
        hidden_channels (int): The width between two layers.
        num_layers (int): The number of layers :math:`L`.
        out_channels (int, optional): The width of the output; :obj:`hidden_channels` if
            :obj:`None`. (default: :obj:`None`)
        dropout (float, optional): The probability of dropout. (default: :obj:`0.0`)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.0,
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
        r"""The number of hops that the output depends on. Starting from the members of
        a hyperedge, one hop leads from nodes to all members of their hyperedges. It is
        the number of layers that :class:`~tgx_anchor.loader.HyperedgeLoader` needs.
        """
        return self.num_layers

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        for module in self.children():
            reset(module)

    def parameter_groups(self) -> list[dict[str, Any]]:
        r"""Returns all parameters in groups for an optimizer, with the settings that
        are part of the model, such as :obj:`lr` and :obj:`weight_decay`; other settings
        are left to the user.
        """
        return [{'params': list(self.parameters())}]

    def _layers(
        self, index: HyperedgeIndex
    ) -> Iterator[tuple[torch.nn.Module, HyperedgeIndex]]:
        # Each layer with the part of the incidences that it needs.
        return zip(self.convs, index.trim(self.num_layers), strict=True)

    def _propagate(
        self,
        x: Tensor,
        hyperedge_index: Tensor | HyperedgeIndex,
        num_hyperedges: int | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor]:
        # All layers one after the other, each followed by the dropout of nodes;
        # further arguments go to the layers.
        index = as_hyperedge_index(hyperedge_index, x.size(0), num_hyperedges)
        for i, (conv, part) in enumerate(self._layers(index)):
            x, hyperedge = conv(x[: part.num_nodes], part, **kwargs)
            x = self._drop(x, i)
        return x, hyperedge[: index.num_targets]

    def _drop(self, value: Tensor, layer: int) -> Tensor:
        # The first layer has no dropout.
        if layer == 0:
            return value
        return torch.nn.functional.dropout(value, self.dropout, self.training)

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}({self.in_channels}, {self.out_channels}, '
            f'num_layers={self.num_layers})'
        )
