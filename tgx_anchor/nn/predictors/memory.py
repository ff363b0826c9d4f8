"""Groups that a model remembers."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch_geometric.data import Batch

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.people import People, node_texts
from tgx_anchor.nn.predictors.texts import Texts, to_texts
from tgx_anchor.utils import check_hyperedge_index, distinct_hyperedges, is_sorted

if TYPE_CHECKING:
    import pyarrow as pa

_BUFFERS = ('hyperedge_index', 'y', 'known_mask', 'reference', 'context')


class Memory(torch.nn.Module):
    r"""Keeps the groups that a model was fitted on, by the ids of their members, so
    that what is known about people counts in their other groups as well.

    A remembered group that appears again, with the same :obj:`hyperedge_id` and the
    same members, counts once: with the anchors that are known now, or else with those
    that are remembered.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`, the incidences
        - **y:** :math:`(P)`, the known anchors
        - **known_mask:** :math:`(M)`, the groups whose anchors are known
        - **reference:** :math:`(P)`, the probabilities of stage 1
        - **context:** :math:`(P)`, the contexts of the members, if a model tells some
          apart; else :math:`(0)`
    """

    hyperedge_index: Tensor
    y: Tensor
    known_mask: Tensor
    reference: Tensor
    context: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.people = People()
        self.groups = Texts()
        self.register_buffer('hyperedge_index', torch.empty((2, 0), dtype=torch.long))
        self.register_buffer('y', torch.empty(0, dtype=torch.bool))
        self.register_buffer('known_mask', torch.empty(0, dtype=torch.bool))
        self.register_buffer('reference', torch.empty(0))
        self.register_buffer('context', torch.empty(0, dtype=torch.long))

    @property
    def num_people(self) -> int:
        r"""The number of people."""
        return len(self.people)

    @property
    def num_groups(self) -> int:
        r"""The number of groups."""
        return self.known_mask.numel()

    def hypergraph(self) -> AnchorData:
        r"""Returns the remembered groups as a hypergraph, whose :obj:`train_mask`
        selects those with known anchors. The ids of its nodes and hyperedges, as texts,
        are :obj:`people.ids` and :obj:`groups`.
        """
        return AnchorData(
            hyperedge_index=self.hyperedge_index,
            num_nodes=self.num_people,
            num_hyperedges=self.num_groups,
            y=self.y,
            train_mask=self.known_mask,
        )

    def extended(
        self,
        data: AnchorData,
        known_mask: Tensor,
        reference: Tensor,
        context: Tensor | None = None,
    ) -> tuple['Memory', Tensor]:
        r"""Returns a memory of these groups and those of a hypergraph, and the number
        of each node of the hypergraph in it.

        Args:
            data (AnchorData): The hypergraph.
            known_mask (torch.Tensor): The hyperedges whose anchors are known.
            reference (torch.Tensor): The probabilities of stage 1.
            context (torch.Tensor, optional): The contexts of the members.
                (default: :obj:`None`)

        Shapes:
            - **known_mask:** :math:`(M)`
            - **reference, context:** :math:`(P)`
            - **output:** :math:`(N)`, the numbers
        """
        device = reference.device
        ids, number = _joined(self.people.ids.array(), node_texts(data))
        number = number.to(device)[self.num_people :]
        names, code = _joined(self.groups.array(), _group_texts(data), keep_all=True)
        out = Memory()
        out.people = People.of(data, ids)
        if self.num_groups > 0:
            out.people.source, out.people.named = self.people.source, self.people.named

        node, hyperedge = data.hyperedge_index
        index = torch.stack([number[node], hyperedge + self.num_groups])
        index = torch.cat([self.hyperedge_index, index], dim=1)
        known = torch.cat([self.known_mask, known_mask])
        y = data.get('y')
        y = torch.zeros_like(node, dtype=torch.bool) if y is None else y
        # Other anchors are not to be seen.
        y = torch.cat([self.y, y & known_mask[hyperedge]])
        reference = torch.cat([self.reference.to(device), reference])

        keep = ~self._repeated(index, code.to(device), known, len(ids))
        row = keep[index[1]]
        index = index[:, row]
        index[1] = (keep.long().cumsum(0) - 1)[index[1]]
        out.hyperedge_index, out.y, out.reference = index, y[row], reference[row]
        if context is not None:
            out.context = torch.cat([self.context.to(device), context])[row]
        out.known_mask = known[keep]
        out.groups = Texts(names.filter(_to_arrow(keep)))
        return out.to(device), number

    def _repeated(
        self, hyperedge_index: Tensor, code: Tensor, known: Tensor, num_nodes: int
    ) -> Tensor:
        # The groups that another one with the same name and members stands for.
        is_old = torch.arange(code.numel(), device=code.device) < self.num_groups
        none = torch.zeros_like(is_old)
        # Groups without a name have the code zero.
        shared = (
            (code > 0)
            & torch.isin(code, code[is_old])
            & torch.isin(code, code[~is_old])
        )
        if not shared.any():
            return none
        members = distinct_hyperedges(hyperedge_index, num_nodes, code.numel())
        key = torch.where(shared, code * code.numel() + members, -1)
        drop_new = ~is_old & ~known & torch.isin(key, key[is_old & known])
        again = key[~is_old & ~drop_new]
        is_known_again = torch.isin(key, key[~is_old & known])
        drop_old = is_old & torch.isin(key, again) & (is_known_again | ~known)
        return (drop_new | drop_old) & shared

    def validate(self) -> None:
        r"""Raises a :class:`ValueError` if the parts do not fit together."""
        check_hyperedge_index(self.hyperedge_index, self.num_people, self.num_groups)
        num_incidences = self.hyperedge_index.size(1)
        if (
            not is_sorted(self.hyperedge_index[1])
            or self.y.size() != (num_incidences,)
            or self.reference.size() != (num_incidences,)
            or self.context.size() not in [(num_incidences,), (0,)]
            or self.context.dtype != torch.long
            or self.known_mask.dim() != 1
            or len(self.groups) != self.num_groups
            or self.y.dtype != torch.bool
            or self.known_mask.dtype != torch.bool
            or not self.reference.is_floating_point()
            or not torch.isfinite(self.reference).all()
        ):
            raise ValueError("'memory' must hold whole groups")
        self.people.validate()
        self.groups.array()

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        # Files of earlier versions have none.
        state_dict.setdefault(prefix + 'context', torch.empty(0, dtype=torch.long))
        for name in _BUFFERS:
            value = state_dict.get(prefix + name)
            if value is not None:
                device = self.hyperedge_index.device
                setattr(self, name, torch.empty_like(value, device=device))
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}(num_people={self.num_people}, '
            f'num_groups={self.num_groups})'
        )


def _group_texts(data: AnchorData) -> 'pa.LargeStringArray':
    import pyarrow as pa

    ids = data.get('hyperedge_id')
    if ids is None or isinstance(data, Batch):
        return pa.array([''] * data.num_hyperedges, pa.large_string())
    return to_texts(ids, data.num_hyperedges)


def _joined(
    first: 'pa.LargeStringArray', second: 'pa.LargeStringArray', keep_all: bool = False
) -> tuple['pa.LargeStringArray', Tensor]:
    # Numbers the distinct texts of two lists in the order of their appearance; returns
    # them, or all texts with the number zero for the empty one.
    import pyarrow as pa

    head = pa.array([''] if keep_all else [], pa.large_string())
    whole = pa.concat_arrays([head, first, second])
    coded = whole.dictionary_encode()
    number = torch.from_numpy(coded.indices.to_numpy().copy()).long()
    if keep_all:
        return whole.slice(1), number[1:]
    return coded.dictionary, number


def _to_arrow(mask: Tensor) -> 'pa.BooleanArray':
    import pyarrow as pa

    return pa.array(mask.cpu().numpy())
