"""Fingerprints: short values that tell hypergraphs and computations apart."""

import hashlib
from typing import Any

import torch
from torch import Tensor

from tgx_anchor.utils.incidence import incidence_fingerprint


def hypergraph_fingerprint(
    hyperedge_index: Tensor, num_nodes: int, num_hyperedges: int
) -> Tensor:
    r"""Computes four numbers that tell hypergraphs apart, whatever the order of their
    incidences: :math:`N`, :math:`M`, :math:`P` and a hash of the incidences.

    Args:
        hyperedge_index (torch.Tensor): The incidences.
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.

    Shapes:
        - **hyperedge_index:** :math:`(2, P)`
        - **output:** :math:`(4)`
    """
    code = incidence_fingerprint(hyperedge_index, num_nodes)
    sizes = [num_nodes, num_hyperedges, hyperedge_index.size(1), code]
    return torch.tensor(sizes, device=hyperedge_index.device)


def digest(*values: Any) -> str:
    r"""Computes a SHA-256 code of values: of the type, shape and entries of tensors,
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
