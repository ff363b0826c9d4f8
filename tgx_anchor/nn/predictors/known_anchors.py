"""Selects the hyperedges to learn from, and checks masks and anchors."""

import copy

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData, ShardedAnchorData


def check_data(data: AnchorData) -> None:
    r"""Checks that :obj:`data` is a hypergraph whose attributes fit together.

    Args:
        data (AnchorData): The hypergraph.
    """
    if not isinstance(data, AnchorData):
        raise ValueError(f"'data' must be an AnchorData (got {type(data).__name__})")
    data.validate()


def as_hypergraph(data: AnchorData | ShardedAnchorData) -> AnchorData:
    r"""Returns the part of a hypergraph in shards that this process works on, and
    anything else as it is.

    Args:
        data (AnchorData or ShardedAnchorData): The hypergraph.
    """
    return data.part() if isinstance(data, ShardedAnchorData) else data


def check_labels(data: AnchorData) -> None:
    r"""Checks that :obj:`data` has known anchors :obj:`y`.

    Args:
        data (AnchorData): The hypergraph.
    """
    if data.get('y') is None:
        raise ValueError(
            "'data' has no known anchors: set 'data.y', one boolean per incidence "
            "('AnchorData.from_incidence' reads it from the column 'is_anchor')"
        )


def training_mask(data: AnchorData, use_val: bool = False) -> Tensor:
    r"""Selects the hyperedges to learn from: :obj:`data.train_mask` if there is one,
    else all with a known anchor that leave a choice.

    Args:
        data (AnchorData): The hypergraph.
        use_val (bool, optional): If set to :obj:`True`, adds :obj:`data.val_mask`.
            (default: :obj:`False`)

    Shapes:
        - **output:** :math:`(M)`
    """
    check_data(data)
    check_labels(data)
    if data.get('train_mask') is not None or use_val:
        mask = labelled_mask(data, 'train_mask')
        if use_val:
            mask = mask | labelled_mask(data, 'val_mask')
        if not data.ranks.any(mask):
            raise ValueError(
                "'train_mask' selects no hyperedge: a model needs a known anchor to "
                'learn from'
            )
        return mask
    mask = data.known_mask & data.choice_mask
    if not data.ranks.any(mask):
        raise ValueError(
            "'data' has no hyperedge to learn from: none has a known anchor and "
            "another member ('data.y' marks the anchors)"
        )
    return mask


def given_mask(data: AnchorData) -> Tensor:
    r"""Selects the hyperedges whose anchors a user gives as known:
    :obj:`data.train_mask` if there is one, else all with a known anchor.

    Args:
        data (AnchorData): The hypergraph.

    Shapes:
        - **output:** :math:`(M)`
    """
    if data.get('y') is not None and data.get('train_mask') is not None:
        return labelled_mask(data, 'train_mask')
    return data.known_mask


def evidence_mask(data: AnchorData) -> Tensor:
    r"""Selects the hyperedges of a table to predict whose anchors count as evidence:
    those that :func:`training_mask` would learn from, and possibly none.

    Args:
        data (AnchorData): The hypergraph.

    Shapes:
        - **output:** :math:`(M)`
    """
    mask = given_mask(data)
    return mask if data.get('train_mask') is not None else mask & data.choice_mask


def without_anchors(data: AnchorData, mask: Tensor) -> AnchorData:
    r"""Returns the hypergraph with the anchors of some hyperedges unknown, so that no
    model sees the answers on which it is evaluated.

    Args:
        data (AnchorData): The hypergraph.
        mask (torch.Tensor): The hyperedges.

    Shapes:
        - **mask:** :math:`(M)`
    """
    out = copy.copy(data)
    out.y = data['y'] & ~mask[data.hyperedge_index[1]]
    train_mask: Tensor | None = data.get('train_mask')
    if train_mask is not None:
        # One column per split, if there are several.
        shape = (-1,) + (1,) * (train_mask.dim() - 1)
        out.train_mask = train_mask & ~mask.view(shape)
    return out


def labelled_mask(data: AnchorData, name: str) -> Tensor:
    r"""Returns the mask :obj:`data[name]` after checking that it selects hyperedges
    with a known anchor only.

    Args:
        data (AnchorData): The hypergraph.
        name (str): The name of the mask.

    Shapes:
        - **output:** :math:`(M)`
    """
    mask: Tensor | None = data.get(name)
    if mask is None:
        raise ValueError(
            f"'data' has no '{name}': set it, or call 'RandomHyperedgeSplit()(data)'"
        )
    if mask.dtype != torch.bool or list(mask.size()) != [data.num_hyperedges]:
        raise ValueError(
            f"'{name}' must hold {data.num_hyperedges} booleans, one per hyperedge "
            f'(got {mask.dtype} of shape {list(mask.size())}; with several splits, '
            f'take one column)'
        )
    unknown = mask & ~data.known_mask
    if unknown.any():
        raise ValueError(
            f"'{name}' must select hyperedges with a known anchor only "
            f'(got hyperedge {int(unknown.nonzero()[0])})'
        )
    return mask


def anchors_per_hyperedge(data: AnchorData, mask: Tensor) -> int:
    r"""Returns the mean number of anchors of the hyperedges in :obj:`mask`, rounded,
    and at least one.

    Args:
        data (AnchorData): The hypergraph.
        mask (torch.Tensor): The hyperedges with known anchors.

    Shapes:
        - **mask:** :math:`(M)`
    """
    marked = data['y'][mask[data.hyperedge_index[1]]]
    anchors, known = (data.ranks.total(int(n.sum())) for n in (marked, mask))
    return max(1, round(anchors / max(known, 1)))
