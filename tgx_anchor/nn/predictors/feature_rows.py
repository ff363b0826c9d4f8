"""Features of incidences, held in memory or computed when they are needed."""

from collections.abc import Iterator

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.incidence_features import FEATURES, incidence_features
from tgx_anchor.transforms import AddTopologicalFeatures
from tgx_anchor.utils import hyperedge_blocks

# The number of incidences whose features are computed at once.
_BLOCK_ROWS = 1 << 20


class FeatureRows:
    r"""Returns the features of some hyperedges: rows of a matrix, or for a part of a
    hypergraph in shards, rows that are computed from vectors over nodes.

    Args:
        data (AnchorData): The hypergraph.
        scale (torch.Tensor): The
            :func:`~tgx_anchor.nn.predictors.incidence_features.attribute_scale` of the
            hypergraph that the model is fitted on.

    Shapes:
        - **scale:** :math:`(2, F_V + F_E)`
    """

    def __init__(self, data: AnchorData, scale: Tensor) -> None:
        self.data = data
        self.scale = scale
        self._matrix: Tensor | None = None
        if data.part is None:
            self._matrix = incidence_features(data, scale)
        else:
            self._topology = AddTopologicalFeatures().topology(data)

    @classmethod
    def of_matrix(cls, data: AnchorData, matrix: Tensor) -> 'FeatureRows':
        r"""Makes features of a matrix.

        Args:
            data (AnchorData): The hypergraph.
            matrix (torch.Tensor): The features of all incidences.

        Shapes:
            - **matrix:** :math:`(P, F)`
        """
        out = cls.__new__(cls)
        out.data, out._matrix = data, matrix
        return out

    @property
    def device(self) -> torch.device:
        r"""The device of the features."""
        device: torch.device = self.data.hyperedge_index.device
        return device

    @property
    def num_columns(self) -> int:
        r"""The number of features :math:`F`."""
        if self._matrix is not None:
            return self._matrix.size(1)
        nothing = torch.zeros_like(self.data.hyperedge_index[0, :0])
        return self._compute(nothing.expand(2, 0), slice(0, 0), slice(0, 0)).size(1)

    def select(self, mask: Tensor) -> Tensor:
        r"""Returns the features of the members of some hyperedges.

        Args:
            mask (torch.Tensor): The hyperedges.

        Shapes:
            - **mask:** :math:`(M)`
            - **output:** :math:`(R, F)`
        """
        node, hyperedge = self.data.hyperedge_index
        row = mask[hyperedge]
        if self._matrix is not None:
            return self._matrix[row]
        number = (mask.long().cumsum(0) - 1)[hyperedge[row]]
        return self._compute(torch.stack([node[row], number]), row, mask)

    def matrix(self) -> Tensor:
        r"""Returns the features of all incidences.

        Shapes:
            - **output:** :math:`(P, F)`
        """
        return torch.cat(list(self.blocks())) if self._matrix is None else self._matrix

    def blocks(self) -> Iterator[Tensor]:
        r"""Yields the features of all incidences, in consecutive blocks.

        Shapes:
            - **output:** :math:`(R, F)`
        """
        if self._matrix is not None:
            yield from self._matrix.split(_BLOCK_ROWS)
            return
        index, size = self.data.hyperedge_index, self.data.num_hyperedges
        for block in hyperedge_blocks(index[1], size, _BLOCK_ROWS):
            hyperedges = slice(block.first, block.last)
            yield self._compute(block.incidences(index), block.rows, hyperedges)

    def _compute(
        self, index: Tensor, rows: Tensor | slice, hyperedges: Tensor | slice
    ) -> Tensor:
        attributes = {key: self.data.get(key) for key in FEATURES}
        own, attr = attributes['incidence_attr'], attributes['hyperedge_attr']
        size = self._count(hyperedges)
        topology = self._topology.rows(index, size)
        part = AnchorData(
            hyperedge_index=index,
            num_nodes=self.data.num_nodes,
            num_hyperedges=size,
            x=attributes['x'],
            hyperedge_attr=None if attr is None else attr[hyperedges],
            incidence_attr=topology
            if own is None
            else torch.cat([_as_matrix(own[rows]).to(topology), topology], dim=1),
        )
        return incidence_features(part, self.scale)

    @staticmethod
    def _count(hyperedges: Tensor | slice) -> int:
        if isinstance(hyperedges, slice):
            return int(hyperedges.stop - hyperedges.start)
        return int(hyperedges.sum())


def _as_matrix(value: Tensor) -> Tensor:
    return value.unsqueeze(1) if value.dim() == 1 else value
