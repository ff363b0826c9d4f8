import subprocess
import sys

import torch
from hypothesis import given

from tests.strategies import SETTINGS, hypergraphs
from tgx_anchor.data import AnchorData
from tgx_anchor.utils import digest, hypergraph_fingerprint


def fingerprint(data: AnchorData) -> list[int]:
    size = int(data.num_nodes or 0), data.num_hyperedges
    found: list[int] = hypergraph_fingerprint(data.hyperedge_index, *size).tolist()
    return found


@SETTINGS
@given(hypergraphs())
def test_order_of_incidences(data: AnchorData) -> None:
    found = fingerprint(data)
    assert found[:3] == [data.num_nodes, data.num_hyperedges, data.num_incidences]
    data.hyperedge_index = data.hyperedge_index.flip(1)
    assert fingerprint(data) == found


def test_tells_hypergraphs_apart() -> None:
    index = torch.tensor([[0, 1, 2], [0, 0, 1]])
    variants = [
        hypergraph_fingerprint(index, 3, 2),
        hypergraph_fingerprint(index, 4, 2),
        hypergraph_fingerprint(index, 3, 3),
        hypergraph_fingerprint(torch.tensor([[0, 1, 1], [0, 0, 1]]), 3, 2),
        hypergraph_fingerprint(torch.tensor([[0, 1, 2], [0, 1, 1]]), 3, 2),
    ]
    assert len({tuple(value.tolist()) for value in variants}) == 5
    # Known to files of older versions.
    assert torch.equal(variants[0], hypergraph_fingerprint(index, 3, 2))


def test_digest() -> None:
    zero = torch.zeros(4)
    codes = {
        digest(),
        digest(None),
        digest(1),
        digest('1'),
        digest(1, 2),
        digest(12),
        digest(zero),
        digest(zero, zero),
        digest(torch.zeros(8)),
        digest(zero.view(2, 2)),
        digest(zero.double()),
        digest(zero > 0),
        digest(torch.tensor([0.0, 0.0, 0.0, 1.0])),
        digest(torch.zeros(0)),
    }
    assert len(codes) == 14
    assert digest(zero.view(2, 2).t()) == digest(zero.view(2, 2))
    # The same in another process.
    command = 'from tgx_anchor.utils import digest; print(digest("a", [1.5]))'
    found = subprocess.run(
        [sys.executable, '-c', command], check=True, capture_output=True, text=True
    )
    assert found.stdout.strip() == digest('a', [1.5])
