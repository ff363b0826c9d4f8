"""Runs encoders on hypergraphs, and returns one vector per incidence."""

import inspect
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import Module
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import scatter

from tgx_anchor.data import AnchorData, HyperedgeIndex
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder
from tgx_anchor.utils.messages import listed

Level = Literal['node', 'incidence']

# Attributes that 'HyperedgeIndex' reads and that the user may have set.
_DEGREES = ('node_degree', 'hyperedge_degree')


def node_features(data: AnchorData) -> Tensor:
    r"""Returns the features of nodes that training starts from, after checking them.

    Args:
        data (AnchorData): The hypergraph.

    Shapes:
        - **output:** :math:`(N, F)`
    """
    x: Tensor | None = data.get('x')
    if x is None:
        raise ValueError(
            "'x', the features of nodes, is missing: add it with "
            "'AddRandomWalkEmbedding()(data)'"
        )
    if x.dim() != 2:
        raise ValueError(f"'x' must be a table (got shape {list(x.size())})")
    x = x.to(torch.get_default_dtype())
    if not torch.isfinite(x).all():
        raise ValueError("'x' must be finite (got NaN or infinity)")
    return x


def asked_names(encoder: Module) -> list[str]:
    r"""Returns the names of the arguments of an encoder other than :obj:`x` and
    :obj:`hyperedge_index`, and of the attributes of the data that its
    :class:`~tgx_anchor.data.HyperedgeIndex` is made of.

    Args:
        encoder (torch.nn.Module): The encoder.
    """
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(encoder.forward).parameters.values()
    names = [each.name for each in parameters if each.kind not in kinds]
    names = [name for name in names if name not in ('x', 'hyperedge_index')]
    if isinstance(encoder, HypergraphEncoder):
        names += [name for name in _DEGREES if name not in names]
    return names


def num_hops(encoder: Module) -> int | None:
    r"""Returns the number of hops that the output of an encoder depends on: its
    attribute :obj:`num_hops`, or else :obj:`num_layers`, or else one for a layer of
    PyG. Any other encoder (:obj:`None`) can only be trained on the whole hypergraph.

    Args:
        encoder (torch.nn.Module): The encoder.
    """
    for name in ('num_hops', 'num_layers'):
        value = getattr(encoder, name, None)
        if isinstance(value, int):
            return value
    return 1 if isinstance(encoder, MessagePassing) else None


def represent(
    encoder: Module,
    data: AnchorData,
    x: Tensor,
    row: Tensor | None = None,
    num_targets: int | None = None,
    index: HyperedgeIndex | None = None,
) -> Tensor:
    r"""Runs an encoder and returns one vector per incidence.

    A :class:`~tgx_anchor.nn.models.HypergraphEncoder` is given a
    :class:`~tgx_anchor.data.HyperedgeIndex`, any other module a plain tensor, and both
    the attributes of the data that their arguments name. The encoder returns

    * one row per incidence,
    * a pair of tables, one row per node and one row per hyperedge, which are joined:
      the vector of the hyperedge, then the vector of the node, or
    * one row per node, as layers of PyG do, which is joined to the mean over the
      members of the hyperedge in the same way.

    Where there are as many nodes as incidences, the attribute
    :obj:`encoder.output_level`, :obj:`"node"` or :obj:`"incidence"`, tells the two
    apart; layers of PyG need none.

    Args:
        encoder (torch.nn.Module): The encoder.
        data (AnchorData): The hypergraph, or a mini-batch of one.
        x (torch.Tensor): The features of the nodes.
        row (torch.Tensor, optional): The incidences to represent, all if :obj:`None`.
            (default: :obj:`None`)
        num_targets (int, optional): If given, :obj:`row` holds the incidences of the
            first :obj:`num_targets` hyperedges, and the encoder may skip the others.
            (default: :obj:`None`)
        index (HyperedgeIndex, optional): The index of :obj:`data`, if there is one
            already, so that incidences are not sorted again. (default: :obj:`None`)

    Shapes:
        - **x:** :math:`(N, F)`
        - **row:** :math:`(R)`
        - **output:** :math:`(R, D)`
    """
    given = _arguments(encoder, data, x, num_targets)
    if isinstance(encoder, HypergraphEncoder):
        if index is None:
            index = HyperedgeIndex.from_data(data)
            index.num_targets = num_targets
        out = encoder(x, index, **given)
        # It may return the rows of the targets only.
        part = None if index.num_targets is None else row
    else:
        out = encoder(x, data.hyperedge_index, **given)
        part = row if 'num_targets' in given else None
    if isinstance(out, Tensor):
        if part is not None and out.size(0) == part.numel():
            return out
        if _level(encoder, out, data) == 'incidence':
            return out if row is None else out.index_select(0, row)
        node, hyperedge = data.hyperedge_index
        out = out, scatter(out[node], hyperedge, 0, data.num_hyperedges, 'mean')
    return _join(out, data, row, part, num_targets)


def _level(encoder: Module, out: Tensor, data: AnchorData) -> Level:
    # Tells rows of nodes from rows of incidences.
    told = getattr(encoder, 'output_level', None)
    if told is None and isinstance(encoder, MessagePassing):
        told = 'node'
    sizes: dict[Level, int] = {
        'node': int(data.num_nodes or 0),
        'incidence': data.num_incidences,
    }
    found = [
        level
        for level, size in sizes.items()
        if told in (None, level) and out.size(0) == size
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"'encoder.output_level' must be 'node' or 'incidence' where there are as "
            f'many nodes as incidences: set it to what the rows of the output belong '
            f'to (got {out.size(0)} rows)'
        )
    raise ValueError(
        f"'encoder' must return one row per incidence ({sizes['incidence']}), one row "
        f'per node ({sizes["node"]} nodes), or a pair of tables of nodes and '
        f'hyperedges (got {out.size(0)} rows)'
    )


def _join(
    out: Any,
    data: AnchorData,
    row: Tensor | None,
    part: Tensor | None,
    num_targets: int | None,
) -> Tensor:
    # The vectors of hyperedges and nodes, side by side for each incidence.
    index = data.hyperedge_index
    sizes = [
        table.size(0) if isinstance(table, Tensor) and table.dim() == 2 else type(table)
        for table in (out if isinstance(out, tuple | list) else [out])
    ]
    expected = [[int(data.num_nodes or 0), data.num_hyperedges]]
    if part is not None and part.numel() > 0:
        expected.append([int(index[0, part].max()) + 1, num_targets or 0])
    if sizes not in expected:
        nodes, hyperedges = expected[-1]
        raise ValueError(
            f"'encoder' must return a table of incidences, or one of {nodes} nodes and "
            f'one of {hyperedges} hyperedges (got {sizes})'
        )
    node, hyperedge = out
    if row is not None:
        index = index.index_select(1, row)
    return torch.cat(
        [hyperedge.index_select(0, index[1]), node.index_select(0, index[0])], dim=1
    )


def _arguments(
    encoder: Module, data: AnchorData, x: Tensor, num_targets: int | None
) -> dict[str, Any]:
    # The arguments of the encoder that the data has, by name.
    width = getattr(encoder, 'in_channels', None)
    if isinstance(width, int) and width > 0 and x.size(1) != width:
        raise ValueError(
            f"'x' must have {width} columns, as the encoder takes them "
            f'(got {x.size(1)})'
        )
    given = {}
    parameters = inspect.signature(encoder.forward).parameters
    for name, parameter in parameters.items():
        if name not in asked_names(encoder):
            continue
        if name in ('y', 'role') or (name.endswith('_mask') and name != 'drawn_mask'):
            raise ValueError(
                f"'encoder' must not see labels or splits (got the argument {name!r})"
            )
        value = _argument(name, data, num_targets)
        if value is not None:
            given[name] = value
        elif parameter.default is inspect.Parameter.empty:
            if 'hyperedge_index' not in parameters:
                raise ValueError(
                    f"'encoder' must take the arguments 'x' and 'hyperedge_index' "
                    f'({type(encoder).__name__} takes {listed(list(parameters))})'
                )
            raise ValueError(
                f"'data' must have the attribute {name!r}: the encoder "
                f'{type(encoder).__name__} takes it as an argument'
            )
    return given


def _argument(name: str, data: AnchorData, num_targets: int | None) -> Any:
    match name:
        case 'num_nodes':
            return data.num_nodes
        # PyG's name of the number of hyperedges.
        case 'num_hyperedges' | 'num_edges':
            return data.num_hyperedges
        case 'num_targets':
            return num_targets
        case 'drawn_mask':
            return data.get('incidence_drawn')
        # A mini-batch knows these of the whole hypergraph.
        case 'node_degree':
            degree = data.get('node_degree')
            if degree is None:
                size = int(data.num_nodes or 0)
                degree = torch.bincount(data.hyperedge_index[0], minlength=size)
            return degree
        case 'hyperedge_size':
            degree = data.get('hyperedge_degree')
            return data.hyperedge_size if degree is None else degree
    return data.get(name)


def log_proba(logit: Tensor, role: int) -> Tensor:
    r"""Returns the logarithm of the probability of a role, or the logit itself if there
    is only one role, in double precision, so that unlikely members do not tie.

    Args:
        logit (torch.Tensor): The logits of all roles.
        role (int): The role.

    Shapes:
        - **logit:** :math:`(P, C)`
        - **output:** :math:`(P)`
    """
    logit = logit.double()
    if logit.size(1) > 1:
        logit = logit.log_softmax(dim=1)
    return logit[:, role]
