"""What encoders are given, and what becomes of what they return."""

import inspect
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from tgx_anchor.data import AnchorData


def node_features(data: AnchorData) -> Tensor:
    r"""The features of nodes that training starts from.

    Args:
        data (AnchorData): The hypergraph.

    Shapes:
        - **output:** :math:`(N, F)`
    """
    x: Tensor | None = data.get('x')
    if x is None:
        raise ValueError(
            "'data' must have features of nodes 'x' (got none; "
            "'AddRandomWalkEmbedding()(data)' makes them)"
        )
    if x.dim() != 2:
        raise ValueError(f"'x' must be a table (got shape {list(x.size())})")
    x = x.to(torch.get_default_dtype())
    if not torch.isfinite(x).all():
        raise ValueError("'x' must be finite (got NaN or infinity)")
    return x


def asked_names(encoder: Module) -> list[str]:
    r"""The names of what an encoder asks for, but for :obj:`x` and
    :obj:`hyperedge_index`.

    Args:
        encoder (torch.nn.Module): The encoder.
    """
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(encoder.forward).parameters.values()
    names = [each.name for each in parameters if each.kind not in kinds]
    return [name for name in names if name not in ('x', 'hyperedge_index')]


def represent(
    encoder: Module,
    data: AnchorData,
    x: Tensor,
    row: Tensor | None = None,
    num_targets: int | None = None,
) -> Tensor:
    r"""The representations of incidences by an encoder, which is given what it asks
    for by name.

    Args:
        encoder (torch.nn.Module): The encoder.
        data (AnchorData): The hypergraph, or a mini-batch of one.
        x (torch.Tensor): The features of the nodes.
        row (torch.Tensor, optional): The incidences to represent, all if :obj:`None`.
            (default: :obj:`None`)
        num_targets (int, optional): If given, these are the incidences of the first so
            many hyperedges, and the encoder may leave out the rest.
            (default: :obj:`None`)

    Shapes:
        - **x:** :math:`(N, F)`
        - **row:** :math:`(R)`
        - **output:** :math:`(R, D)`
    """
    index = data.hyperedge_index
    given = _arguments(encoder, data, x, num_targets)
    out = encoder(x, index, **given)
    # An encoder that is told the targets may return no more than them.
    part = None if given.get('num_targets') is None else row
    if isinstance(out, Tensor):
        if part is not None and out.size(0) == part.numel():
            return out
        if out.size(0) != data.num_incidences:
            raise ValueError(
                f"'encoder' must return one row per incidence, that is "
                f'{data.num_incidences}, or a pair of nodes and hyperedges '
                f'(got {out.size(0)} rows)'
            )
        return out if row is None else out.index_select(0, row)
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
    # What the encoder asks for and the data has, by name.
    names = asked_names(encoder)
    for name in names:
        if name in ('y', 'role') or (name.endswith('_mask') and name != 'drawn_mask'):
            raise ValueError(
                f"'encoder' must not see labels or splits (got the argument {name!r})"
            )
    width = getattr(encoder, 'in_channels', None)
    if isinstance(width, int) and width > 0 and x.size(1) != width:
        raise ValueError(
            f"'x' must have {width} columns, as the encoder takes them "
            f'(got {x.size(1)})'
        )
    given = {name: _given(name, data, num_targets) for name in names}
    for name, parameter in inspect.signature(encoder.forward).parameters.items():
        if name not in given or given[name] is not None:
            continue
        if parameter.default is inspect.Parameter.empty:
            raise ValueError(
                f"'data' must have {name!r}, which the encoder takes (got none)"
            )
        # Its own default.
        del given[name]
    return given


def _given(name: str, data: AnchorData, num_targets: int | None) -> Any:
    # What is passed to an encoder under a name.
    match name:
        case 'num_nodes':
            return data.num_nodes
        case 'num_hyperedges':
            return data.num_hyperedges
        case 'num_targets':
            return num_targets
        case 'drawn_mask':
            return data.get('incidence_drawn')
        # Those in the whole are known to a mini-batch.
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
    r"""The logarithm of the probability of a role, or the logit itself where there is
    only one. Twice as precise, so that members far behind do not tie.

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
