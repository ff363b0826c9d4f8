"""Contexts of members: the side of the incidence and the type of the group."""

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.texts import Texts, to_texts

SIDE, GROUP_TYPE, MEMBER_TYPE = 'incidence_side', 'hyperedge_type', 'node_type'
_NUM_SIDES = 3  # with the unknown one


class ContextCodes(torch.nn.Module):
    r"""Numbers the contexts of members: pairs of the side of the incidence and the type
    of the hyperedge. Types are known by their names, so that another table may number
    them differently; a type without a name is known by its number, and one that is new
    counts as unknown.

    Shapes:
        - **uses:** :math:`(3)`, whether there are sides, types of hyperedges and types
          of nodes
    """

    uses: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.group_types = Texts()
        self.member_types = Texts()
        self.register_buffer('uses', torch.zeros(3, dtype=torch.bool))

    @classmethod
    def of(cls, data: AnchorData) -> 'ContextCodes':
        r"""Collects the contexts of a hypergraph.

        Args:
            data (AnchorData): The hypergraph.
        """
        out = cls()
        keys = (SIDE, GROUP_TYPE, MEMBER_TYPE)
        out.uses = torch.tensor([data.get(key) is not None for key in keys])
        out.group_types = Texts(to_texts(_names(data, GROUP_TYPE), 0))
        out.member_types = Texts(to_texts(_names(data, MEMBER_TYPE), 0))
        return out.to(data.hyperedge_index.device)

    @property
    def num_contexts(self) -> int:
        r"""The number of contexts, unknown sides and types included."""
        return _NUM_SIDES * (len(self.group_types) + 1)

    @property
    def num_cells(self) -> int:
        r"""The number of pairs of a type of nodes and a context."""
        return (len(self.member_types) + 1) * self.num_contexts

    def forward(self, data: AnchorData) -> Tensor:
        r"""Computes the cell of each incidence: its context is the remainder of the
        division by :obj:`num_contexts`, and the type of its node the quotient.

        Args:
            data (AnchorData): The hypergraph.

        Shapes:
            - **output:** :math:`(P)`
        """
        node, hyperedge = data.hyperedge_index
        group_type, member_type = self._types(data)
        side = torch.full_like(node, -1)
        if self.uses[0]:
            side = self._given(data, SIDE).long()
        context = (side + 1) * (len(self.group_types) + 1) + group_type[hyperedge] + 1
        return (member_type[node] + 1) * self.num_contexts + context

    def features(self, data: AnchorData) -> Tensor:
        r"""Returns one column per type of hyperedges and of nodes, one for the
        incidences of this type.

        Args:
            data (AnchorData): The hypergraph.

        Shapes:
            - **output:** :math:`(P, F)`
        """
        parts = []
        for value, index, names in zip(
            self._types(data),
            data.hyperedge_index.flip(0),
            (self.group_types, self.member_types),
            strict=True,
        ):
            number = torch.arange(len(names), device=value.device)
            parts.append(value[index].unsqueeze(1) == number)
        return torch.cat(parts, dim=1).to(torch.get_default_dtype())

    def _types(self, data: AnchorData) -> tuple[Tensor, Tensor]:
        device = data.hyperedge_index.device
        out = []
        for key, use, names, size in (
            (GROUP_TYPE, self.uses[1], self.group_types, data.num_hyperedges),
            (MEMBER_TYPE, self.uses[2], self.member_types, int(data.num_nodes or 0)),
        ):
            number = torch.full((size,), -1, device=device)
            if use:
                value = self._given(data, key).long()
                place = {name: i for i, name in enumerate(names.array().to_pylist())}
                given = to_texts(_names(data, key), 0).to_pylist()
                # The last one is for -1.
                code = torch.tensor([*(place.get(name, -1) for name in given), -1])
                number = code.to(device)[value]
            out.append(number)
        return out[0], out[1]

    def _given(self, data: AnchorData, key: str) -> Tensor:
        value: Tensor | None = data.get(key)
        if value is None:
            raise ValueError(f"'{key}' is missing: the model was fitted with it")
        return value

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}(num_contexts={self.num_contexts})'


def _names(data: AnchorData, key: str) -> list[str]:
    value: Tensor | None = data.get(key)
    if value is None:
        return []
    names = list(map(str, getattr(data, f'{key}_names')))
    if names:
        return names
    count = int(value.max()) + 1 if value.numel() else 0
    return [str(number) for number in range(count)]
