"""People that a model knows by their ids."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch_geometric.data import Batch
from typing_extensions import Self

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.texts import Texts, to_texts

if TYPE_CHECKING:
    import pyarrow as pa


class People(torch.nn.Module):
    r"""Keeps the ids of the nodes of a hypergraph and their source, to find the same
    people in other hypergraphs.

    The same id is the same person if both hypergraphs have the same
    :obj:`data.source`; tables of your own have none. Ids are compared as texts. Without
    :obj:`node_id` nobody is recognised, unless :obj:`same_people=True` says that nodes
    of the same number are the same person.
    """

    named: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.ids = Texts()
        self.source = Texts()
        self.register_buffer('named', torch.tensor(False))

    @classmethod
    def of(cls, data: AnchorData, ids: 'pa.LargeStringArray | None' = None) -> Self:
        r"""Makes the people of a hypergraph.

        Args:
            data (AnchorData): The hypergraph.
            ids (pyarrow.LargeStringArray, optional): Their ids; those of all nodes if
                :obj:`None`. (default: :obj:`None`)
        """
        import pyarrow as pa

        out = cls()
        out.ids = Texts(node_texts(data) if ids is None else ids)
        if data.source is not None:
            out.source = Texts(pa.array([data.source], pa.large_string()))
        out.named.fill_(has_ids(data))
        return out.to(data.hyperedge_index.device)

    def __len__(self) -> int:
        return len(self.ids)

    def are_in(self, data: AnchorData, same_people: bool | None = None) -> bool:
        r"""Returns :obj:`True` if equal ids in a hypergraph are the same people.

        Args:
            data (AnchorData): The hypergraph.
            same_people (bool, optional): The answer; if :obj:`None`, the sources
                decide. (default: :obj:`None`)
        """
        is_named = has_ids(data), bool(self.named)
        if same_people is None:
            source = self.source.array().to_pylist()
            return all(is_named) and source == _listed(data.source)
        if same_people and len(set(is_named)) > 1:
            raise ValueError(
                "'same_people' must not be True here: the model was fitted "
                f'{"with" if is_named[1] else "without"} ids of people, and '
                f"'data' has {'some' if is_named[0] else 'none'} (set 'data.node_id')"
            )
        return same_people

    def find(self, data: AnchorData) -> Tensor:
        r"""Returns the place of each node of a hypergraph among the people, or
        :obj:`-1`.

        Args:
            data (AnchorData): The hypergraph.

        Shapes:
            - **output:** :math:`(N)`
        """
        import pyarrow.compute as pc

        place = pc.index_in(node_texts(data), value_set=self.ids.array())
        out = torch.from_numpy(pc.fill_null(place, -1).to_numpy().copy()).long()
        return out.to(data.hyperedge_index.device)

    def validate(self) -> None:
        r"""Raises a :class:`ValueError` if an id is not a text."""
        self.ids.array()
        if len(self.source.array()) > 1 or self.named.dtype != torch.bool:
            raise ValueError("'people' must have one source at most")

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({len(self)})'


def has_ids(data: AnchorData) -> bool:
    r"""Returns :obj:`True` if the nodes of one hypergraph have ids.

    Args:
        data (AnchorData): The hypergraph. The ids of a batch may repeat, and do not
            count.
    """
    return data.get('node_id') is not None and not isinstance(data, Batch)


def node_texts(data: AnchorData) -> 'pa.LargeStringArray':
    r"""Returns the ids of the nodes as texts, or their numbers without ids.

    Args:
        data (AnchorData): The hypergraph.
    """
    ids = data['node_id'] if has_ids(data) else None
    return to_texts(ids, int(data.num_nodes or 0))


def _listed(source: str | None) -> list[str]:
    return [] if source is None else [source]
