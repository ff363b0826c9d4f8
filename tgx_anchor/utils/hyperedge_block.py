"""Blocks of hyperedges, so that work on many incidences takes bounded memory."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from tgx_anchor.utils.incidence import index_ptr

# The number of incidences of a block.
_BLOCK_ROWS = 1 << 22


class HyperedgeBlock(NamedTuple):
    r"""Consecutive hyperedges, with all of their incidences.

    Args:
        rows (slice): The incidences.
        first (int): The number of the first hyperedge.
        last (int): The number after the last hyperedge.
    """

    rows: slice
    first: int
    last: int

    def incidences(self, hyperedge_index: Tensor) -> Tensor:
        r"""Returns the incidences, with hyperedges numbered from zero.

        Args:
            hyperedge_index (torch.Tensor): The incidences of all hyperedges.

        Shapes:
            - **hyperedge_index:** :math:`(2, P)`
            - **output:** :math:`(2, R)`
        """
        index = hyperedge_index[:, self.rows]
        return (
            index if self.first == 0 else index - index.new_tensor([[0], [self.first]])
        )


def hyperedge_blocks(
    hyperedge: Tensor, num_hyperedges: int, num_rows: int = _BLOCK_ROWS
) -> Iterator[HyperedgeBlock]:
    r"""Divides hyperedges into blocks that begin at or after each multiple of a number
    of incidences.

    Args:
        hyperedge (torch.Tensor): The sorted hyperedge of each incidence.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        num_rows (int, optional): The number of incidences.
            (default: :obj:`4194304`)

    Shapes:
        - **hyperedge:** :math:`(P)`
    """
    if hyperedge.numel() <= num_rows:
        yield HyperedgeBlock(slice(0, hyperedge.numel()), 0, num_hyperedges)
        return
    yield from ptr_blocks(index_ptr(hyperedge, num_hyperedges), num_rows)


def ptr_blocks(ptr: Tensor, num_rows: int = _BLOCK_ROWS) -> Iterator[HyperedgeBlock]:
    r"""Divides hyperedges into blocks, as :func:`hyperedge_blocks` does.

    Args:
        ptr (torch.Tensor): Where each hyperedge begins.
        num_rows (int, optional): The number of incidences.
            (default: :obj:`4194304`)

    Shapes:
        - **ptr:** :math:`(M + 1)`
    """
    num_hyperedges = ptr.numel() - 1
    # Without incidences there is one block, too.
    starts = torch.arange(0, max(int(ptr[-1]), 1), num_rows, device=ptr.device)
    firsts = torch.unique(torch.searchsorted(ptr, starts)).tolist()
    for first, last in zip(firsts, [*firsts[1:], num_hyperedges], strict=True):
        if last > first:
            yield HyperedgeBlock(slice(int(ptr[first]), int(ptr[last])), first, last)
