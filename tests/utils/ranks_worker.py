"""Computes in one of several processes that each hold some of the hyperedges."""

import sys
from pathlib import Path

import torch
import torch.distributed as dist

from tests.processes import join_processes
from tgx_anchor.utils import (
    Ranks,
    coreness,
    degree,
    eigenvector_centrality,
    hypergraph_fingerprint,
    pagerank,
)


def main(folder: Path) -> None:
    join_processes()
    ranks = Ranks.current()
    generator = torch.Generator().manual_seed(0)
    node = torch.randint(0, 40, (600,), generator=generator)
    index = torch.stack([node, torch.arange(200).repeat_interleave(3)])
    # The last process has no hyperedges if there are three.
    bounds = [*[0, 70, 200][: ranks.size], 200]
    first, last = bounds[ranks.rank], bounds[ranks.rank + 1]
    own = index[:, (index[1] >= first) & (index[1] < last)].clone()
    own[1] -= first
    size = (own, 40, last - first)

    def fail() -> None:
        if ranks.rank == ranks.size - 1:
            raise ValueError(f'process {ranks.rank} is wrong')

    message = ''
    try:
        ranks.together(fail)
    except ValueError as error:
        message = str(error)
    messages: list[str] = [''] * ranks.size
    dist.all_gather_object(messages, message)
    rows = torch.tensor([[ranks.rank, i] for i in range(ranks.rank)]).view(-1, 2).long()
    assert ranks.share(f'word {ranks.rank}') == 'word 0'
    assert ranks.any(torch.tensor([ranks.rank == 1]))
    before = ranks.num_bytes
    found = {
        'rows': ranks.gather(rows),
        'total': ranks.total(ranks.rank),
        'degree': degree(*size, ranks=ranks),
        'eigenvector': eigenvector_centrality(*size, ranks=ranks),
        'pagerank': pagerank(*size, ranks=ranks),
        'coreness': coreness(*size, ranks=ranks),
        'fingerprint': hypergraph_fingerprint(*size, first, ranks),
        'errors': messages,
    }
    assert ranks.num_bytes > before
    if ranks.is_first:
        torch.save(found, folder / 'found.pt')


if __name__ == '__main__':
    main(Path(sys.argv[1]))
