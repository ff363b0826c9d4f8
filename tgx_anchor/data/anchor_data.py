"""The hypergraph of group interactions, and its place in a batch."""

import copy
from collections.abc import Mapping, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.data.data import size_repr
from torch_geometric.utils import scatter
from typing_extensions import Self

from tgx_anchor.utils import check_hyperedge_index, index_ptr, is_sorted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

Level = Literal['node', 'hyperedge', 'incidence']


class AnchorData(Data):
    r"""A hypergraph of group interactions, in some of whose groups the anchor is
    known.

    The name of an attribute tells its level, in this class and in everything that
    reads it:

    * nodes :math:`(N, *)`: :obj:`x` and :obj:`node_*`
    * hyperedges :math:`(M, *)`: :obj:`hyperedge_*` and :obj:`*_mask`
    * incidences :math:`(P, *)`: :obj:`y`, :obj:`role` and :obj:`incidence_*`

    All other attributes belong to the hypergraph as a whole.
    Sizes are stored and never guessed, so that isolated nodes and empty hyperedges
    are kept, and batching is right at all three levels.

    .. code-block:: python

        # An e-mail from 0 to 1 and 2, and one from 2 to 1:
        data = AnchorData(
            hyperedge_index=torch.tensor([[0, 1, 2, 1, 2], [0, 0, 0, 1, 1]]),
            y=torch.tensor([True, False, False, False, True]),
            num_nodes=3,
            num_hyperedges=2,
        )

    Args:
        hyperedge_index (torch.Tensor, optional): The incidences: nodes in row 0,
            hyperedges in row 1, sorted by row 1. (default: :obj:`None`)
        num_nodes (int, optional): The number of nodes :math:`N`; required with
            :obj:`hyperedge_index`. (default: :obj:`None`)
        num_hyperedges (int, optional): The number of hyperedges :math:`M`; required
            with :obj:`hyperedge_index`. (default: :obj:`None`)
        x (torch.Tensor, optional): Node attributes. (default: :obj:`None`)
        hyperedge_attr (torch.Tensor, optional): Hyperedge attributes.
            (default: :obj:`None`)
        incidence_attr (torch.Tensor, optional): Incidence attributes.
            (default: :obj:`None`)
        y (torch.Tensor, optional): Whether this member anchors this group; all
            :obj:`False` in a group whose anchor is unknown. (default: :obj:`None`)
        role (torch.Tensor, optional): The role of this member in this group.
            (default: :obj:`None`)
        node_id (torch.Tensor or list[str], optional): The user's name of each node.
            (default: :obj:`None`)
        hyperedge_id (torch.Tensor or list[str], optional): The user's name of each
            hyperedge. (default: :obj:`None`)
        **kwargs: Further attributes, such as masks.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **x:** :math:`(N, F_V)`
        - **hyperedge_attr:** :math:`(M, F_E)`
        - **incidence_attr:** :math:`(P, F)`
        - **y, role:** :math:`(P)`
        - **train_mask, val_mask, test_mask:** :math:`(M)` or :math:`(M, S)`
    """

    def __init__(
        self,
        hyperedge_index: Tensor | None = None,
        num_nodes: int | None = None,
        num_hyperedges: int | list[Any] | None = None,
        x: Tensor | None = None,
        hyperedge_attr: Tensor | None = None,
        incidence_attr: Tensor | None = None,
        y: Tensor | None = None,
        role: Tensor | None = None,
        node_id: Tensor | list[str] | None = None,
        hyperedge_id: Tensor | list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        for name, size in (
            ('num_nodes', num_nodes),
            ('num_hyperedges', num_hyperedges),
        ):
            if hyperedge_index is not None and size is None:
                raise ValueError(
                    f"'{name}' must be given together with 'hyperedge_index' (got None)"
                )
        given = {
            'hyperedge_index': hyperedge_index,
            'num_nodes': num_nodes,
            'num_hyperedges': num_hyperedges,
            'hyperedge_attr': hyperedge_attr,
            'incidence_attr': incidence_attr,
            'role': role,
            'node_id': node_id,
            'hyperedge_id': hyperedge_id,
            **kwargs,
        }
        super().__init__(x=x, y=y)
        for key, value in given.items():
            if value is not None:
                setattr(self, key, value)

    # Sizes ###################################################################

    @property
    def num_hyperedges(self) -> int:
        r"""The number of hyperedges :math:`M`."""
        return _total(self._store.get('num_hyperedges', 0))

    @num_hyperedges.setter
    def num_hyperedges(self, value: int | list[Any]) -> None:
        # PyG batches integers to a tensor and leaves it one when taking them out of
        # the batch again; lists come out as they went in.
        value = value if isinstance(value, list) else [int(value)]
        self._store['num_hyperedges'] = value

    @property
    def num_incidences(self) -> int:
        r"""The number of incidences :math:`P`."""
        index = self._store.get('hyperedge_index')
        return 0 if index is None else int(index.size(1))

    @property
    def hyperedge_ptr(self) -> Tensor:
        r"""Where the incidences of each hyperedge begin, :math:`(M + 1)`."""
        return index_ptr(self.hyperedge_index[1], self.num_hyperedges)

    @property
    def hyperedge_size(self) -> Tensor:
        r"""The number of members of each hyperedge, :math:`(M)`."""
        return torch.diff(self.hyperedge_ptr)

    @property
    def known_mask(self) -> Tensor:
        r"""Whether an anchor of each hyperedge is known, :math:`(M)`."""
        y = self._store.get('y')
        if y is None:
            return torch.zeros_like(self.hyperedge_size, dtype=torch.bool)
        return self._count(y) > 0

    @property
    def choice_mask(self) -> Tensor:
        r"""Whether each hyperedge leaves a choice, :math:`(M)`: it has two or more
        members, and they are not all known to be anchors.
        """
        y = self._store.get('y')
        several = self.hyperedge_size > 1
        return several if y is None else several & (self._count(~y) > 0)

    def _count(self, flag: Tensor) -> Tensor:
        return scatter(
            flag.long(), self.hyperedge_index[1], 0, self.num_hyperedges, 'sum'
        )

    def names(self, key: str) -> list[str]:
        r"""Returns the names of the columns of an attribute, by default
        :obj:`node_0, ...`, :obj:`hyperedge_0, ...` and :obj:`incidence_0, ...`.

        Args:
            key (str): The attribute, such as :obj:`"x"`.
        """
        value = self[key]
        width = 1 if value.dim() == 1 else int(value.size(1))
        names = (self.get('column_names') or {}).get(key)
        if names is not None and len(names) == width:
            return list(names)
        return [f'{self.level(key)}_{i}' for i in range(width)]

    # Levels, batching ########################################################

    @staticmethod
    def level(key: str) -> Level | None:
        r"""The level that the attribute :obj:`key` belongs to, by its name."""
        if key == 'hyperedge_index' or key.endswith(('_batch', '_ptr')):
            return None
        if key == 'x' or key.startswith('node_'):
            return 'node'
        if key in ('y', 'role') or key.startswith('incidence_'):
            return 'incidence'
        if key.startswith('hyperedge_') or key.endswith('_mask'):
            return 'hyperedge'
        return None

    def is_node_attr(self, key: str) -> bool:
        r"""Returns :obj:`True` if :obj:`key` is a node-level attribute."""
        return self.level(key) == 'node'

    def is_edge_attr(self, key: str) -> bool:  # noqa: ARG002
        r"""Returns :obj:`False`: a hypergraph has no pairwise edges."""
        return False

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key == 'hyperedge_index':
            return 1
        if self.level(key) is not None:
            return 0
        return super().__cat_dim__(key, value, *args, **kwargs)

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key == 'hyperedge_index':
            return torch.tensor([[self.num_nodes], [self.num_hyperedges]])
        if self.level(key) is not None:
            # PyG would shift every key that contains "index" or "batch".
            return 0
        return super().__inc__(key, value, *args, **kwargs)

    def validate(self, raise_on_error: bool = True) -> bool:
        r"""Checks that all attributes fit together.

        Args:
            raise_on_error (bool, optional): If set to :obj:`False`, will return
                :obj:`False` instead of raising a :class:`ValueError` that names the
                attribute, what it is and what it should be.
                (default: :obj:`True`)
        """
        try:
            self._check()
        except ValueError:
            if raise_on_error:
                raise
            return False
        return True

    def _check(self) -> None:
        if 'hyperedge_index' not in self:
            raise ValueError("'hyperedge_index' is missing (got none)")
        index = self.hyperedge_index
        size = {
            'node': int(self.num_nodes or 0),
            'hyperedge': self.num_hyperedges,
        }
        check_hyperedge_index(index, size['node'], size['hyperedge'])
        size['incidence'] = self.num_incidences
        if not is_sorted(index[1]):
            raise ValueError(
                "'hyperedge_index[1]' must not decrease (got an unsorted row; "
                "'data.sort()' sorts it together with the incidence attributes)"
            )
        for key, value in self._store.items():
            level = self.level(key)
            if level is None:
                continue
            if (key == 'y' or key.endswith('_mask')) and not isinstance(value, Tensor):
                raise ValueError(
                    f"'{key}' must be a tensor (got {type(value).__name__})"
                )
            length = _length(value)
            if length != size[level]:
                raise ValueError(
                    f"'{key}' must have one row per {level}, that is {size[level]} "
                    f'(got {length})'
                )
            if isinstance(value, Tensor) and value.is_floating_point():
                bad = (~torch.isfinite(value)).nonzero()
                if bad.numel() > 0:
                    place = tuple(bad[0].tolist())
                    raise ValueError(
                        f"'{key}' must be finite (got {float(value[place])} in row "
                        f'{place[0]})'
                    )
            dtype = getattr(value, 'dtype', type(value))
            if (key == 'y' or key.endswith('_mask')) and dtype != torch.bool:
                raise ValueError(f"'{key}' must hold booleans (got {dtype})")
            if key == 'y' and value.dim() != 1:
                raise ValueError(
                    f"'y' must have one dimension (got {list(value.size())})"
                )

    def sort(self, sort_by_row: bool = False) -> Self:
        r"""Sorts the incidences, and their attributes, by hyperedge. Incidences of
        the same hyperedge keep their order.

        Args:
            sort_by_row (bool, optional): If set to :obj:`True`, will order the
                incidences of each hyperedge by node. (default: :obj:`False`)
        """
        node, hyperedge = self.hyperedge_index
        perm = torch.arange(node.numel(), device=node.device)
        if sort_by_row:
            perm = torch.argsort(node, stable=True)
        perm = perm[torch.argsort(hyperedge[perm], stable=True)]
        out = copy.copy(self)
        out.hyperedge_index = self.hyperedge_index[:, perm]
        for key, value in self._store.items():
            if self.level(key) == 'incidence':
                out[key] = _select(value, perm)
        return out

    # Parts and views #########################################################

    def hyperedge_subgraph(self, mask: Tensor, relabel_nodes: bool = False) -> Self:
        r"""The hypergraph of the hyperedges in :obj:`mask`, in their order, with all
        that belongs to them.

        Args:
            mask (torch.Tensor): The hyperedges to keep, as booleans.
            relabel_nodes (bool, optional): If set to :obj:`True`, will drop the nodes
                that are left without a hyperedge, and renumber the others.
                (default: :obj:`False`)

        Shapes:
            - **mask:** :math:`(M)`
        """
        if isinstance(self, Batch):
            raise ValueError(
                "'hyperedge_subgraph' takes one hypergraph (got a batch; use "
                "'batch.to_data_list()')"
            )
        if mask.dtype != torch.bool or list(mask.size()) != [self.num_hyperedges]:
            raise ValueError(
                f"'mask' must hold {self.num_hyperedges} booleans, one per hyperedge "
                f'(got {mask.dtype} of shape {list(mask.size())})'
            )
        node, hyperedge = self.hyperedge_index
        kept = mask[hyperedge]
        keep: dict[str, Tensor] = {'hyperedge': mask, 'incidence': kept}
        node, hyperedge = node[kept], (mask.long().cumsum(0) - 1)[hyperedge[kept]]
        num_nodes = int(self.num_nodes or 0)
        if relabel_nodes:
            keep['node'] = torch.zeros(num_nodes, dtype=torch.bool, device=node.device)
            keep['node'][node] = True
            node = (keep['node'].long().cumsum(0) - 1)[node]
            num_nodes = int(keep['node'].sum())

        out = copy.copy(self)
        out.hyperedge_index = torch.stack([node, hyperedge])
        out.num_nodes = num_nodes
        out.num_hyperedges = int(mask.sum())
        for key, value in self._store.items():
            level = self.level(key)
            if level in keep:
                out[key] = _select(value, keep[level])
        return out

    def to_bipartite(self) -> HeteroData:
        r"""The same hypergraph as a graph between the node types :obj:`'node'` and
        :obj:`'hyperedge'`, joined by :obj:`('node', 'in', 'hyperedge')`.

        :obj:`incidence_attr` becomes :obj:`edge_attr`, :obj:`hyperedge_attr` the
        :obj:`x` of the hyperedges; all other attributes keep their names.
        """
        out = HeteroData()
        store = {
            'node': out['node'],
            'hyperedge': out['hyperedge'],
            'incidence': out['node', 'in', 'hyperedge'],
        }
        store['node'].num_nodes = self.num_nodes
        store['hyperedge'].num_nodes = self.num_hyperedges
        store['incidence'].edge_index = self.hyperedge_index
        renamed = {'hyperedge_attr': 'x', 'incidence_attr': 'edge_attr'}
        for key, value in self._store.items():
            level = self.level(key)
            if level is not None:
                store[level][renamed.get(key, key)] = value
            elif key not in ('num_nodes', 'num_hyperedges', 'hyperedge_index'):
                out[key] = value
        return out

    def __repr__(self) -> str:
        head = (
            f'num_nodes={self.num_nodes}, num_hyperedges={self.num_hyperedges}, '
            f'num_incidences={self.num_incidences}'
        )
        skip = ('num_nodes', 'num_hyperedges', 'hyperedge_index')
        rest = [size_repr(k, v) for k, v in self._store.items() if k not in skip]
        return f'{self.__class__.__name__}({", ".join([head, *rest])})'

    # Other people's formats ##################################################

    @classmethod
    def from_incidence(cls, table: Any, **kwargs: Any) -> 'AnchorData':
        r"""Reads a long table: see :func:`tgx_anchor.io.read_incidence`."""
        from tgx_anchor.io import read_incidence

        return read_incidence(table, **kwargs)

    def to_incidence(self, path: str | Path | None = None) -> dict[str, Any]:
        r"""Writes a long table: see :func:`tgx_anchor.io.write_incidence`."""
        from tgx_anchor.io import write_incidence

        return write_incidence(self, path)

    @classmethod
    def from_hif(
        cls, source: 'Mapping[str, Any] | str | Path', *, max_anchors: int | None = 1
    ) -> 'AnchorData':
        r"""Reads Hypergraph Interchange Format: see :func:`tgx_anchor.io.read_hif`."""
        from tgx_anchor.io import read_hif

        return read_hif(source, max_anchors=max_anchors)

    def to_hif(self, path: str | Path | None = None) -> dict[str, Any]:
        r"""Writes Hypergraph Interchange Format: see
        :func:`tgx_anchor.io.write_hif`.
        """
        from tgx_anchor.io import write_hif

        return write_hif(self, path)

    @classmethod
    def from_scipy(cls, matrix: Any, anchor: Any = None) -> 'AnchorData':
        r"""Reads a sparse incidence matrix: see
        :func:`tgx_anchor.data.scipy.read_scipy`.
        """
        from tgx_anchor.data.scipy import read_scipy

        return read_scipy(matrix, anchor)

    @overload
    def to_scipy(
        self, return_anchor: Literal[False] = False
    ) -> 'csr_array[Any, tuple[int, int]]': ...

    @overload
    def to_scipy(
        self, return_anchor: Literal[True]
    ) -> 'tuple[csr_array[Any, tuple[int, int]], NDArray[np.int64]]': ...

    def to_scipy(self, return_anchor: Any = False) -> Any:
        r"""Writes a sparse incidence matrix: see
        :func:`tgx_anchor.data.scipy.write_scipy`.
        """
        from tgx_anchor.data.scipy import write_scipy

        return write_scipy(self, return_anchor)

    @classmethod
    def from_ogb(
        cls,
        graph: Any,
        relation: tuple[str, str, str],
        anchor: Any = None,
        *,
        root: str = 'dataset',
    ) -> 'AnchorData':
        r"""Reads a relation of an OGB graph: see
        :func:`tgx_anchor.data.ogb.read_ogb`.
        """
        from tgx_anchor.data.ogb import read_ogb

        return read_ogb(graph, relation, anchor, root=root)

    @overload
    def to_ogb(
        self, relation: tuple[str, str, str], return_anchor: Literal[False] = False
    ) -> dict[str, Any]: ...

    @overload
    def to_ogb(
        self, relation: tuple[str, str, str], return_anchor: Literal[True]
    ) -> 'tuple[dict[str, Any], NDArray[np.int64]]': ...

    def to_ogb(self, relation: tuple[str, str, str], return_anchor: Any = False) -> Any:
        r"""Writes an OGB graph: see :func:`tgx_anchor.data.ogb.write_ogb`."""
        from tgx_anchor.data.ogb import write_ogb

        return write_ogb(self, relation, return_anchor)


def _total(value: Any) -> int:
    # A batch holds one entry per hypergraph, a batch of batches one per batch.
    return sum(map(_total, value)) if isinstance(value, list) else int(value)


def _length(value: Any) -> int:
    if isinstance(value, Tensor):
        return value.size(0) if value.dim() > 0 else 0
    if isinstance(value, list) and value and isinstance(value[0], list):
        # A batch holds one vocabulary of strings per hypergraph.
        return sum(map(_length, value))
    return len(value) if isinstance(value, Sized) else 0


def _select(value: Any, index: Tensor) -> Any:
    if isinstance(value, Tensor):
        return value[index]
    if index.dtype == torch.bool:
        index = index.nonzero().view(-1)
    return [value[i] for i in index.tolist()]


# Lets PyG and 'torch.load' read saved datasets without unpickling code.
torch.serialization.add_safe_globals([AnchorData])
