"""Fingerprints: short values that tell hypergraphs and computations apart."""

import hashlib
from typing import Any

import torch
from torch import Tensor

from tgx_anchor.utils.incidence import incidence_fingerprint
from tgx_anchor.utils.ranks import ALONE, Ranks


def hypergraph_fingerprint(
    hyperedge_index: Tensor,
    num_nodes: int,
    num_hyperedges: int,
    first_hyperedge: int = 0,
    ranks: Ranks = ALONE,
) -> Tensor:
    r"""Computes four numbers that tell hypergraphs apart, whatever the order of their
    incidences: :math:`N`, :math:`M`, :math:`P` and a hash of the incidences.

    Args:
        hyperedge_index (torch.Tensor): The incidences.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        first_hyperedge (int, optional): The number of the first hyperedge, if these are
            a part of a hypergraph. (default: :obj:`0`)
        ranks (Ranks, optional): The processes that hold the other hyperedges.
            (default: this process alone)

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **output:** :math:`(4)`
    """
    code = incidence_fingerprint(hyperedge_index, num_nodes, first_hyperedge)
    sizes = [num_hyperedges, hyperedge_index.size(1), code]
    whole = ranks.sum_(torch.tensor(sizes, device=hyperedge_index.device))
    return torch.cat([whole.new_tensor([num_nodes]), whole])


def digest(*values: Any) -> str:
    r"""Computes a SHA-256 hash of values: of the type, shape and entries of tensors,
    and of the representation of anything else.

    Args:
        *values (Any): The values.
    """
    code = hashlib.sha256()
    for value in values:
        if isinstance(value, Tensor):
            code.update(f'{value.dtype}{list(value.size())}'.encode())
            raw = value.detach().cpu().contiguous().flatten()
            code.update(raw.view(torch.uint8).numpy().data)
        else:
            code.update(f'{value!r};'.encode())
    return code.hexdigest()
