"""Numbers of the node sets of known hyperedges."""

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.data import AnchorData
from tgx_anchor.utils import distinct_hyperedges, node_set_hash


def set_numbers(data: AnchorData, mask: Tensor) -> Tensor:
    r"""Numbers the distinct node sets of some hyperedges, in the order of their first
    appearance among them, over all processes that hold hyperedges. Sets in different
    processes are compared by a hash of 64 bits.

    Args:
        data (AnchorData): The hypergraph.
        mask (torch.Tensor): The hyperedges.

    Shapes:
        - **mask:** :math:`(M)`
        - **output:** :math:`(M)`, :obj:`-1` outside of :obj:`mask`
    """
    ranks = data.ranks
    node, hyperedge = data.hyperedge_index
    row = mask[hyperedge]
    count = int(mask.sum())
    index = torch.stack([node[row], (mask.long().cumsum(0) - 1)[hyperedge[row]]])
    if ranks.size == 1:
        number = distinct_hyperedges(index, data.num_nodes, count)
    else:
        code = node_set_hash(index, data.num_nodes, count)
        before = ranks.gather_equal(torch.as_tensor(count, device=node.device))
        start = int(before[: ranks.rank].sum())
        _, code = torch.unique(ranks.gather(code), return_inverse=True)
        place = torch.arange(code.numel(), device=code.device)
        first = scatter(place, code, 0, reduce='min')[code]
        number = torch.unique(first, return_inverse=True)[1][start : start + count]
    out = torch.full_like(mask, -1, dtype=torch.long)
    out[mask] = number
    return out
