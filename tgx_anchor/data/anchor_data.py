"""Hypergraph of group interactions, as a data object of PyG."""

import copy
from collections.abc import Mapping, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr, size_repr
from torch_geometric.utils import cumsum, scatter
from typing_extensions import Self

from tgx_anchor.data.hypergraph_storage import (
    REFUSED,
    HypergraphNodeStorage,
    HypergraphStorage,
    Level,
    Refused,
    level,
    num_columns,
)
from tgx_anchor.data.rank_part import RankPart
from tgx_anchor.utils import (
    ALONE,
    Ranks,
    check_hyperedge_index,
    collapse_incidences,
    index_ptr,
    is_sorted,
)
from tgx_anchor.utils.messages import listed, shorten

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array


class AnchorData(Data):
    r"""A hypergraph of group interactions, in which the anchors of some groups are
    known.

    The name of an attribute tells its level, in this class and in everything that
    reads it:

    * nodes :math:`(N, *)`: :obj:`x`, :obj:`pos` and :obj:`node_*`
    * hyperedges :math:`(M, *)`: :obj:`hyperedge_*` and :obj:`*_mask`
    * incidences :math:`(P, *)`: :obj:`y`, :obj:`role` and :obj:`incidence_*`

    All other attributes belong to the hypergraph as a whole.
    Sizes are stored and never guessed, so that isolated nodes and empty hyperedges
    are kept, and batching is right at all three levels.
    Members of :class:`~torch_geometric.data.Data` that are about pairwise edges
    (:obj:`edge_index`, :obj:`num_edges`, ...) raise an error that names the right
    call, and so do the transforms of PyG that read or write them.

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
        **kwargs: Further attributes: masks; :obj:`hyperedge_time`, in which NaN
            stands for an unknown time; :obj:`column_names`, :obj:`role_names` and
            :obj:`source`.

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
                    f"'{name}' is missing: it must be given with 'hyperedge_index'"
                )
        super().__init__()
        self.__dict__['_store'] = HypergraphStorage(_parent=self)
        given = {
            'x': x,
            'y': y,
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
        for key, value in given.items():
            if value is not None:
                setattr(self, key, value)

    # Sizes ###################################################################

    @property
    def num_nodes(self) -> int:
        r"""The number of nodes :math:`N`."""
        return int(self._store.get('num_nodes', 0))

    @num_nodes.setter
    def num_nodes(self, value: int | None) -> None:
        self._store['num_nodes'] = value

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
    def num_hyperedge_features(self) -> int:
        r"""The number of columns of :obj:`hyperedge_attr`."""
        value = self._store.get('hyperedge_attr')
        return 0 if value is None else num_columns(value)

    @property
    def num_incidence_features(self) -> int:
        r"""The number of columns of :obj:`incidence_attr`."""
        value = self._store.get('incidence_attr')
        return 0 if value is None else num_columns(value)

    def size(self, dim: int | None = None) -> Any:
        r"""Returns the size :math:`(N, M)` of the incidence matrix.

        Args:
            dim (int, optional): If given, returns the size of this dimension only.
                (default: :obj:`None`)
        """
        size = (self.num_nodes, self.num_hyperedges)
        return size if dim is None else size[dim]

    @property
    def hyperedge_ptr(self) -> Tensor:
        r"""The first incidence of each hyperedge, and :math:`P`, :math:`(M + 1)`."""
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

    def has_isolated_nodes(self) -> bool:
        r"""Returns :obj:`True` if some node is in no hyperedge."""
        degree = torch.bincount(self.hyperedge_index[0], minlength=self.num_nodes)
        return bool((degree == 0).any())

    # Names ###################################################################

    @property
    def column_names(self) -> dict[str, list[str]]:
        r"""The names of the columns of attributes, by the name of the attribute. In a
        batch, those on which all hypergraphs agree.
        """
        first, *others = _leaves(self._store.get('column_names', {}))
        return {
            key: names
            for key, names in first.items()
            if all(other.get(key) == names for other in others)
        }

    @column_names.setter
    def column_names(self, value: Mapping[str, Sequence[str]] | list[Any]) -> None:
        # PyG batches a dictionary by its keys, which have to be the same in all
        # hypergraphs then; lists come out as they went in.
        if isinstance(value, Mapping):
            value = [{key: list(names) for key, names in value.items()}]
            value = self._per_graph(value)
        self._store['column_names'] = value

    @property
    def role_names(self) -> list[str]:
        r"""The names of the roles, in the order of their numbers; empty if there are
        none, or if the hypergraphs of a batch do not agree.
        """
        first, *others = _leaves(self._store.get('role_names', []))
        return first if all(other == first for other in others) else []

    @role_names.setter
    def role_names(self, value: Any) -> None:
        if isinstance(value, (list, tuple)) and not any(
            isinstance(name, list) for name in value
        ):
            value = self._per_graph(list(value))
        self._store['role_names'] = value

    def _per_graph(self, value: Any) -> Any:
        # A batch holds one entry per hypergraph.
        return [value] * self.num_graphs if isinstance(self, Batch) else value

    @property
    def source(self) -> str | None:
        r"""The name of the collection that :obj:`node_id` belongs to: the same id is
        the same person within one source only. It is :obj:`None` for tables of your
        own, and where the hypergraphs of a batch do not agree.
        """
        first, *others = _sources(self._store.get('source'))
        return first if all(other == first for other in others) else None

    @source.setter
    def source(self, value: str | list[Any] | None) -> None:
        self._store['source'] = value

    @property
    def part(self) -> RankPart | None:
        r"""The part of a hypergraph in shards that this is, or :obj:`None` if it is
        whole.
        """
        part: RankPart | None = self._store.get('part')
        return part

    @part.setter
    def part(self, value: RankPart | None) -> None:
        self._store['part'] = value

    @property
    def ranks(self) -> Ranks:
        r"""The processes that hold the hyperedges: this one alone, unless it is a part
        of a hypergraph in shards.
        """
        return ALONE if self.part is None else self.part.ranks

    def names(self, key: str) -> list[str]:
        r"""Returns the names of the columns of an attribute: those in
        :obj:`column_names`, or numbered ones (:obj:`node_0`, :obj:`node_1`, ... for
        :obj:`x`; :obj:`incidence_0`, ... for :obj:`incidence_attr`). An attribute of
        one dimension has its own name.

        Args:
            key (str): The name of the attribute.
        """
        value = self._store.get(key)
        if value is None:
            raise ValueError(
                f"'{key}' is missing: the data has {listed(sorted(self.keys()))}"
            )
        names = self.column_names.get(key)
        if names is not None:
            return list(names)
        if not isinstance(value, Tensor) or value.dim() < 2:
            return [key]
        prefix = 'node' if key == 'x' else key.removesuffix('_attr')
        return [f'{prefix}_{i}' for i in range(num_columns(value))]

    def name_columns(self, key: str, names: Sequence[str]) -> Self:
        r"""Names the columns of an attribute, in place.

        Args:
            key (str): The name of the attribute.
            names (list[str]): The name of each column.
        """
        self.column_names = {**self.column_names, key: names}
        return self

    # Levels, batching ########################################################

    @staticmethod
    def level(key: str) -> Level | None:
        r"""Returns the level that the attribute :obj:`key` belongs to, by its name.

        Args:
            key (str): The name of the attribute.
        """
        return level(key)

    @property
    def node_stores(self) -> list[Any]:
        r"""The node-level attributes, in one storage."""
        return [HypergraphNodeStorage(self)]

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key == 'hyperedge_index':
            return 1
        if level(key) is not None:
            return 0
        return super().__cat_dim__(key, value, *args, **kwargs)

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key == 'hyperedge_index':
            return torch.tensor([[self.num_nodes], [self.num_hyperedges]])
        if level(key) is not None:
            # PyG would shift every key that contains "index" or "batch".
            return 0
        return super().__inc__(key, value, *args, **kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if isinstance(self, Batch):
            # PyG's own way calls an object, which 'torch.load' takes for code.
            return _new_batch, type(self).__bases__[1:], self.__dict__
        return super().__reduce_ex__(protocol)

    def concat(self, data: Self) -> Self:
        r"""Returns the disjoint union of this hypergraph and another one: all nodes and
        hyperedges of both.

        Args:
            data (AnchorData): The other hypergraph, with the same attributes. Those
                that belong to the hypergraph as a whole must be equal.
        """
        self._check_single('concat')
        data._check_single('concat')
        if set(self.keys()) != set(data.keys()):
            differ = sorted(set(self.keys()) ^ set(data.keys()))
            raise ValueError(
                f"'data' must have the same attributes (got {listed(differ)} in one "
                f'of the two)'
            )
        shift = self.__inc__('hyperedge_index', None).to(self.hyperedge_index.device)
        out = copy.copy(self)
        out.num_nodes = self.num_nodes + data.num_nodes
        out.num_hyperedges = self.num_hyperedges + data.num_hyperedges
        for key, value in self._store.items():
            other = data[key]
            if key == 'hyperedge_index':
                out[key] = torch.cat([value, other + shift], dim=1)
            elif level(key) is not None:
                is_tensor = isinstance(value, Tensor)
                out[key] = torch.cat([value, other]) if is_tensor else value + other
            elif key not in ('num_nodes', 'num_hyperedges') and not _equal(
                value, other
            ):
                raise ValueError(
                    f"'{key}' must be equal in both hypergraphs: use "
                    f"'Batch.from_data_list' to keep both values"
                )
        return out

    def _check_single(self, method: str) -> None:
        if isinstance(self, Batch):
            raise ValueError(
                f"'{method}' takes one hypergraph (got a batch; use "
                f"'batch.to_data_list()')"
            )

    # Checks ##################################################################

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
            raise ValueError(
                "'hyperedge_index' is missing: give it to 'AnchorData' with "
                "'num_nodes' and 'num_hyperedges'"
            )
        check_hyperedge_index(self.hyperedge_index, self.num_nodes, self.num_hyperedges)
        if not is_sorted(self.hyperedge_index[1]):
            raise ValueError(
                "'hyperedge_index[1]' must not decrease (got an unsorted row; "
                "'data.sort()' sorts it together with the incidence attributes)"
            )
        for key, value in self._store.items():
            if level(key) is not None:
                self._check_attribute(key, value)
        self._check_names()
        for source in _sources(self._store.get('source')):
            if source is not None and not isinstance(source, str):
                raise ValueError(
                    f"'source' must be a name, or None (got {shorten(source)})"
                )

    def _check_attribute(self, key: str, value: Any) -> None:
        is_flag = key == 'y' or key.endswith('_mask')
        is_tensor = is_flag or key == 'hyperedge_time'
        if is_tensor and not isinstance(value, Tensor):
            raise ValueError(f"'{key}' must be a tensor (got {type(value).__name__})")
        owner = str(level(key))
        size, length = getattr(self, f'num_{owner}s'), _length(value)
        if length != size:
            raise ValueError(
                f"'{key}' must have one row per {owner}, that is {size} (got {length})"
            )
        if isinstance(value, Tensor) and value.is_floating_point():
            bad = ~torch.isfinite(value)
            if key == 'hyperedge_time':
                bad &= ~torch.isnan(value)
            if bad.any():
                place = tuple(bad.nonzero()[0].tolist())
                raise ValueError(
                    f"'{key}' must be finite (got {float(value[place])} in row "
                    f'{place[0]})'
                )
        dtype = getattr(value, 'dtype', type(value))
        if is_flag and dtype != torch.bool:
            raise ValueError(f"'{key}' must hold booleans (got {dtype})")
        if key in ('y', 'hyperedge_time') and value.dim() != 1:
            raise ValueError(
                f"'{key}' must have one dimension (got {list(value.size())})"
            )

    def _check_names(self) -> None:
        for key, names in self.column_names.items():
            if key not in self:
                raise ValueError(
                    f"'column_names' must name attributes of the data (got {key!r})"
                )
            width = num_columns(self[key])
            if len(names) != width:
                raise ValueError(
                    f"'column_names' must hold {width} names for '{key}', one per "
                    f'column (got {len(names)})'
                )
        role, count = self._store.get('role'), len(self.role_names)
        if count > 0 and isinstance(role, Tensor):
            # Negative numbers stand for unknown roles.
            outside = role[role >= count]
            if outside.numel() > 0:
                raise ValueError(
                    f"'role' must be below {count}, the number of 'role_names' "
                    f'(got {outside[0].item()})'
                )

    # Order ###################################################################

    def is_sorted(self, sort_by_row: bool = False) -> bool:
        r"""Returns :obj:`True` if the incidences are sorted by hyperedge.

        Args:
            sort_by_row (bool, optional): If set to :obj:`True`, the incidences of each
                hyperedge have to be sorted by node, too. (default: :obj:`False`)
        """
        node, hyperedge = self.hyperedge_index
        return is_sorted(
            hyperedge * self.num_nodes + node if sort_by_row else hyperedge
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
        return self._take({'incidence': perm}, self.hyperedge_index[:, perm])

    def is_coalesced(self) -> bool:
        r"""Returns :obj:`True` if the incidences are sorted by hyperedge, then node,
        and no hyperedge lists a member twice.
        """
        node, hyperedge = self.hyperedge_index
        key = hyperedge * self.num_nodes + node
        return bool((key[1:] > key[:-1]).all())

    def coalesce(self) -> Self:
        r"""Sorts the incidences by hyperedge, then node, and merges the incidences of
        a member that a hyperedge lists several times: it is an anchor if one of them
        says so, and has the other attributes of the first one.
        """
        out = self.sort(sort_by_row=True)
        index, place = collapse_incidences(out.hyperedge_index, self.num_nodes)
        order = torch.arange(place.numel(), device=place.device)
        first = scatter(order, place, 0, index.size(1), 'min')
        y = out._store.get('y')
        out = out._take({'incidence': first}, index)
        if y is not None:
            out.y = scatter(y.long(), place, 0, index.size(1), 'max').bool()
        return out

    def is_sorted_by_time(self) -> bool:
        r"""Returns :obj:`True` if the hyperedges are sorted by
        :obj:`hyperedge_time`, those of unknown time last.
        """
        time = self._time('hyperedge_time')
        return is_sorted(torch.where(torch.isnan(time), torch.inf, time))

    def sort_by_time(self) -> Self:
        r"""Sorts the hyperedges, with their incidences and attributes, by
        :obj:`hyperedge_time`, those of unknown time last.
        """
        self._check_single('sort_by_time')
        order = torch.argsort(self._time('hyperedge_time'), stable=True)
        return self._part(hyperedge=order)

    # Parts and views #########################################################

    def subgraph(self, subset: Tensor, relabel_hyperedges: bool = True) -> Self:
        r"""Returns the hypergraph of the nodes in :obj:`subset`, whose hyperedges have
        these members only.

        Nodes are renumbered; ids, masks and all other attributes follow. The anchor of
        a hyperedge becomes unknown if it is not in :obj:`subset`.

        Args:
            subset (torch.Tensor): The nodes to keep, as booleans or as numbers.
            relabel_hyperedges (bool, optional): If set to :obj:`False`, will keep the
                hyperedges without a member, too, so that masks and predictions keep
                their length. (default: :obj:`True`)

        Shapes:
            - **subset:** :math:`(N)` booleans, or any number of distinct nodes
        """
        self._check_single('subgraph')
        node = _numbers('subset', subset, self.num_nodes, 'node')
        hyperedge = self._incident(0, node) if relabel_hyperedges else None
        return self._part(node, hyperedge)

    def hyperedge_subgraph(self, mask: Tensor, relabel_nodes: bool = False) -> Self:
        r"""Returns the hypergraph of the hyperedges in :obj:`mask`, with their
        incidences and attributes.

        Args:
            mask (torch.Tensor): The hyperedges to keep, as booleans or as numbers.
            relabel_nodes (bool, optional): If set to :obj:`True`, will drop the nodes
                that are left without a hyperedge, and renumber the others.
                (default: :obj:`False`)

        Shapes:
            - **mask:** :math:`(M)` booleans, or any number of distinct hyperedges
        """
        self._check_single('hyperedge_subgraph')
        hyperedge = _numbers('mask', mask, self.num_hyperedges, 'hyperedge')
        node = self._incident(1, hyperedge) if relabel_nodes else None
        return self._part(node, hyperedge)

    def snapshot(
        self, start_time: float, end_time: float, attr: str = 'hyperedge_time'
    ) -> Self:
        r"""Returns the hypergraph of the hyperedges in a period, with all nodes.
        Hyperedges of unknown time are left out.

        Args:
            start_time (float): The start of the period, inclusive.
            end_time (float): The end of the period, inclusive.
            attr (str, optional): The time of each hyperedge.
                (default: :obj:`"hyperedge_time"`)
        """
        time = self._time(attr)
        return self.hyperedge_subgraph((time >= start_time) & (time <= end_time))

    def up_to(self, end_time: float) -> Self:
        r"""Returns the hypergraph of the hyperedges up to a time, with all nodes.
        Hyperedges of unknown time are left out.

        Args:
            end_time (float): The last :obj:`hyperedge_time` to keep.
        """
        return self.hyperedge_subgraph(self._time('hyperedge_time') <= end_time)

    def connected_components(self) -> list[Self]:
        r"""Returns the hypergraph of each connected component, in the order of their
        first nodes. Hyperedges without members belong to no component.
        """
        self._check_single('connected_components')
        index, num_nodes = self.hyperedge_index.cpu().numpy(), self.num_nodes
        total = num_nodes + self.num_hyperedges
        ends = (index[0], num_nodes + index[1])
        graph = coo_array((np.ones(index.shape[1]), ends), shape=(total, total))
        label = torch.from_numpy(connected_components(graph, directed=False)[1]).long()
        label = label.to(self.hyperedge_index.device)
        node, hyperedge = label[:num_nodes], label[num_nodes:]
        # Labels count from the first node: those that no node has come last.
        count = int(node.max()) + 1 if num_nodes > 0 else 0
        order = torch.argsort(hyperedge, stable=True)
        order = order[hyperedge[order] < count]
        whole = self._part(torch.argsort(node, stable=True), order)

        label = hyperedge[order]
        sizes = {
            'node': torch.bincount(node, minlength=count),
            'hyperedge': torch.bincount(label, minlength=count),
            'incidence': torch.bincount(
                label[whole.hyperedge_index[1]], minlength=count
            ),
        }
        ptr = {name: cumsum(size).tolist() for name, size in sizes.items()}
        out = []
        for i in range(count):
            rows = {name: slice(*begin[i : i + 2]) for name, begin in ptr.items()}
            part = whole.hyperedge_index[:, rows['incidence']]
            first = part.new_tensor([[rows['node'].start], [rows['hyperedge'].start]])
            out.append(whole._take(rows, part - first))
        return out

    def _incident(self, row: int, numbers: Tensor) -> Tensor:
        # The nodes of some hyperedges (row 1), or the hyperedges of some nodes (row 0).
        index, size = self.hyperedge_index, self.size()
        given = torch.zeros(size[row], dtype=torch.bool, device=index.device)
        given[numbers] = True
        found = torch.zeros(size[1 - row], dtype=torch.bool, device=index.device)
        found[index[1 - row, given[index[row]]]] = True
        return found.nonzero().view(-1)

    def _part(
        self, node: Tensor | None = None, hyperedge: Tensor | None = None
    ) -> Self:
        # The nodes and hyperedges of these numbers, in this order.
        index = list(self.hyperedge_index)
        kept = torch.ones_like(index[0], dtype=torch.bool)
        rows = {}
        for i, (owner, numbers) in enumerate(
            (('node', node), ('hyperedge', hyperedge))
        ):
            if numbers is not None:
                rows[owner] = numbers
                place = numbers.new_full((self.size(i),), -1)
                place[numbers] = torch.arange(numbers.numel(), device=numbers.device)
                index[i] = place[index[i]]
                kept &= index[i] >= 0
        incidence = kept.nonzero().view(-1)
        if not is_sorted(index[1][incidence]):
            order = torch.argsort(index[1][incidence], stable=True)
            incidence = incidence[order]
        rows['incidence'] = incidence
        return self._take(rows, torch.stack(index)[:, incidence])

    def _take(self, rows: Mapping[str, Tensor | slice], index: Tensor) -> Self:
        # Selects rows of the attributes of some levels, next to their new incidences.
        out = copy.copy(self)
        out.hyperedge_index = index
        for owner, place in rows.items():
            if owner == 'incidence':
                continue
            if isinstance(place, slice):
                size = place.stop - place.start
            else:
                size = place.numel()
            setattr(out, f'num_{owner}s', size)
        for key, value in self._store.items():
            owner = level(key) or ''
            if owner in rows:
                out[key] = _select(value, rows[owner])
        return out

    def _time(self, attr: str) -> Tensor:
        time = self._store.get(attr)
        if level(attr) != 'hyperedge' or not isinstance(time, Tensor):
            raise ValueError(
                f"'{attr}' is missing: set 'hyperedge_time' to the time of each "
                f'hyperedge, NaN where it is unknown'
            )
        return time

    def to_bipartite(self) -> HeteroData:
        r"""Returns the same hypergraph as a graph of nodes and hyperedges: see
        :func:`tgx_anchor.data.bipartite.to_bipartite`.
        """
        from tgx_anchor.data.bipartite import to_bipartite

        return to_bipartite(self)

    @classmethod
    def from_bipartite(
        cls, graph: HeteroData, relation: tuple[str, str, str] | None = None
    ) -> 'AnchorData':
        r"""Reads a graph of nodes and hyperedges: see
        :func:`tgx_anchor.data.bipartite.from_bipartite`.
        """
        from tgx_anchor.data.bipartite import from_bipartite

        return from_bipartite(graph, relation)

    def __repr__(self) -> str:
        head = (
            f'num_nodes={self.num_nodes}, num_hyperedges={self.num_hyperedges}, '
            f'num_incidences={self.num_incidences}'
        )
        skip = ('num_nodes', 'num_hyperedges', 'hyperedge_index', 'column_names')
        rest = [size_repr(k, v) for k, v in self._store.items() if k not in skip]
        return f'{self.__class__.__name__}({", ".join([head, *rest])})'

    # Other formats ###########################################################

    @classmethod
    def from_incidence(
        cls,
        table: Any,
        *,
        group: str = 'group',
        member: str = 'member',
        anchor: str = 'is_anchor',
        members: str | Sequence[str] | None = None,
        sep: str | None = ';',
        addresses: bool = False,
        role: str = 'role',
        time: str | None = None,
        known: Any = None,
        x: Sequence[str] | None = None,
        hyperedge_attr: Sequence[str] | None = None,
        incidence_attr: Sequence[str] | None = None,
        max_anchors: int | None = 1,
        skip_bad: bool = False,
        tidy: bool = False,
        delimiter: str | None = None,
        encoding: str | None = None,
        header: bool | None = None,
    ) -> 'AnchorData':
        r"""Reads a table of groups: see :func:`tgx_anchor.io.inspect_incidence`."""
        from tgx_anchor.io import read_incidence

        return read_incidence(
            table,
            group=group,
            member=member,
            anchor=anchor,
            members=members,
            sep=sep,
            addresses=addresses,
            role=role,
            time=time,
            known=known,
            x=x,
            hyperedge_attr=hyperedge_attr,
            incidence_attr=incidence_attr,
            max_anchors=max_anchors,
            skip_bad=skip_bad,
            tidy=tidy,
            delimiter=delimiter,
            encoding=encoding,
            header=header,
        )

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


for _name in REFUSED:
    setattr(AnchorData, _name, Refused(_name))


def _total(value: Any) -> int:
    # A batch holds one entry per hypergraph, a batch of batches one per batch.
    return sum(map(_total, value)) if isinstance(value, list) else int(value)


def _leaves(value: Any) -> list[Any]:
    # The names of each hypergraph of a batch, which holds them in lists of lists.
    if isinstance(value, list) and value and not isinstance(value[0], str):
        return [leaf for part in value for leaf in _leaves(part)]
    return [value]


def _sources(value: Any) -> list[str | None]:
    # Likewise, the source of each hypergraph.
    if isinstance(value, list):
        return [leaf for part in value for leaf in _sources(part)] or [None]
    return [value]


def _length(value: Any) -> int:
    if isinstance(value, Tensor):
        return value.size(0) if value.dim() > 0 else 0
    if isinstance(value, list) and value and isinstance(value[0], list):
        # A batch holds one list of strings per hypergraph.
        return sum(map(_length, value))
    return len(value) if isinstance(value, Sized) else 0


def _numbers(name: str, subset: Tensor, size: int, owner: str) -> Tensor:
    if subset.dtype == torch.bool and list(subset.size()) == [size]:
        return subset.nonzero().view(-1)
    if subset.dtype != torch.long or subset.dim() != 1:
        raise ValueError(
            f"'{name}' must hold {size} booleans, one per {owner}, or the numbers of "
            f'{owner}s (got {subset.dtype} of shape {list(subset.size())})'
        )
    outside = subset[(subset < 0) | (subset >= size)]
    if outside.numel() > 0:
        raise ValueError(
            f"'{name}' must hold numbers in [0, {size}) (got {int(outside[0])})"
        )
    count = torch.bincount(subset, minlength=1)
    if int(count.max()) > 1:
        raise ValueError(
            f"'{name}' must not repeat a {owner} (got {int(count.argmax())} again)"
        )
    return subset


def _select(value: Any, index: Tensor | slice) -> Any:
    if isinstance(value, (Tensor, np.ndarray)) or isinstance(index, slice):
        return value[index]
    return [value[i] for i in index.tolist()]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return torch.equal(a, b)
    return bool(a == b)


def _new_batch(base: type[AnchorData]) -> Any:
    return Batch(_base_cls=base)  # type: ignore[call-arg]


# Lets 'torch.load' read saved hypergraphs, batches and processed files of datasets with
# 'weights_only=True', its default.
torch.serialization.add_safe_globals(
    [
        AnchorData,
        HypergraphStorage,
        DataEdgeAttr,
        DataTensorAttr,
        type(_new_batch(AnchorData)),
        _new_batch,
    ]
)
