"""Sums and gathered rows over processes."""

import copy
from pathlib import Path

import pytest
import torch

from tests.processes import run_processes
from tgx_anchor.utils import (
    ALONE,
    Ranks,
    coreness,
    degree,
    eigenvector_centrality,
    hypergraph_fingerprint,
    pagerank,
)


def test_alone() -> None:
    value = torch.tensor([1.0, 2.0])
    assert ALONE.sum_(value) is value
    assert ALONE.gather(value) is value
    assert ALONE.gather_equal(value).tolist() == [[1.0, 2.0]]
    assert (ALONE.total(3), ALONE.share('word')) == (3, 'word')
    assert ALONE.any(torch.tensor([False, True]))
    assert not ALONE.any(torch.empty(0, dtype=torch.bool))
    assert ALONE.together(lambda: 5) == 5
    with pytest.raises(ValueError, match='no'):
        ALONE.together(lambda: int('no'))
    assert (ALONE.rank, ALONE.size, ALONE.is_first, ALONE.num_bytes) == (0, 1, True, 0)
    # A group cannot be copied, but an object that holds it can.
    assert copy.deepcopy({'ranks': ALONE})['ranks'] is ALONE
    assert Ranks.current().size == 1


@pytest.mark.slow
@pytest.mark.parametrize('size', [2, 3])
def test_several_processes(size: int, tmp_path: Path) -> None:
    run_processes('tests.utils.ranks_worker', size, tmp_path)
    generator = torch.Generator().manual_seed(0)
    node = torch.randint(0, 40, (600,), generator=generator)
    index = torch.stack([node, torch.arange(200).repeat_interleave(3)])
    found = torch.load(tmp_path / 'found.pt', weights_only=True)
    assert found['rows'].tolist() == [
        [rank, i] for rank in range(size) for i in range(rank)
    ]
    assert found['total'] == sum(range(size))
    for name, function in (
        ('degree', degree),
        ('eigenvector', eigenvector_centrality),
        ('pagerank', pagerank),
        ('coreness', coreness),
        ('fingerprint', hypergraph_fingerprint),
    ):
        torch.testing.assert_close(
            found[name], function(index, 40, 200), rtol=1e-12, atol=1e-15
        )
    # Every process was told the error of the last one.
    assert found['errors'] == [f'process {size - 1} is wrong'] * size
