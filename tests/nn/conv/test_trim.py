import pytest
import torch

from tests.strategies import to_index
from tgx_anchor.nn.conv._trim import Scope, trim_incidences, trim_to_targets

# A chain: each group shares a node with the next one.
GROUPS = [[0, 1], [1, 2], [2, 3], [3, 4], [5]]
INDEX = to_index(GROUPS)


def rows(mask: torch.Tensor) -> list[tuple[int, int]]:
    return [(v, e) for v, e in INDEX[:, mask].t().tolist()]


def sizes(scope: Scope) -> tuple[int, int, int]:
    return scope.num_nodes, scope.num_hyperedges, scope.num_out_nodes


def test_nodes_and_hyperedges_by_hand() -> None:
    first, last = trim_to_targets(INDEX, 6, 5, 1, 2)
    # Members of the target receive from their groups, which need all their members.
    assert sizes(last) == (3, 2, 2)
    assert sizes(first) == (4, 3, 3)
    assert torch.equal(last.hyperedge_index, INDEX[:, :4])
    assert torch.equal(first.hyperedge_index, INDEX[:, :6])
    assert last.drawn_mask is not None
    assert last.drawn_mask.tolist() == [True, True, True, False]
    value = torch.arange(8)
    assert last.nodes(value).tolist() == [0, 1, 2]
    assert last.hyperedges(value).tolist() == [0, 1]
    part = last.incidences(value)
    assert part is not None
    assert part.tolist() == [0, 1, 2, 3]
    assert last.nodes(None) is last.hyperedges(None) is last.incidences(None) is None


def test_everything() -> None:
    drawn = torch.arange(9) % 2 == 0
    for mask in (None, drawn):
        first, last = trim_to_targets(INDEX, 7, 6, None, 2, mask)
        assert first is last
        assert sizes(first) == (7, 6, 7)
        assert torch.equal(first.hyperedge_index, INDEX)
        assert first.drawn_mask is mask
    # Hyperedges without members, and no hyperedges.
    (scope,) = trim_to_targets(INDEX, 6, 8, 7, 1)
    assert sizes(scope) == (6, 7, 6)
    (scope,) = trim_to_targets(INDEX[:, :0], 0, 0, 3, 1)
    assert sizes(scope) == (0, 0, 0)


@pytest.mark.parametrize('seed', range(3))
def test_any_order_of_incidences(seed: int) -> None:
    perm = torch.randperm(9, generator=torch.Generator().manual_seed(seed))
    drawn = torch.arange(9) != 2
    for a, b in zip(
        trim_to_targets(INDEX, 6, 5, 2, 2, drawn),
        trim_to_targets(INDEX[:, perm], 6, 5, 2, 2, drawn[perm]),
        strict=True,
    ):
        assert sizes(a) == sizes(b)
        assert a.drawn_mask is not None
        assert b.drawn_mask is not None
        found = [
            sorted(torch.cat([s.hyperedge_index, mask[None]]).t().tolist())
            for s, mask in ((a, a.drawn_mask), (b, b.drawn_mask))
        ]
        assert found[0] == found[1]
        part = b.incidences(INDEX[0, perm])
        assert part is not None
        assert torch.equal(part, b.hyperedge_index[0])


def test_incidences_by_hand() -> None:
    first, last = trim_incidences(INDEX, 6, 5, 1, 2)
    assert rows(last[1]) == [(0, 0), (1, 0), (1, 1)]
    assert rows(last[0]) == [(0, 0), (1, 0), (1, 1)]
    assert rows(first[1]) == [(0, 0), (1, 0), (1, 1)]
    assert rows(first[0]) == [(0, 0), (1, 0), (1, 1), (2, 1)]


def test_what_is_not_drawn_is_not_seen(device: torch.device) -> None:
    # Node 1 did not draw its second group.
    drawn = torch.tensor([(v, e) != (1, 1) for v, e in INDEX.t().tolist()])
    given = INDEX.to(device), 6, 5, 1, 2, drawn.to(device)
    for kept, seen in trim_incidences(*given):
        assert kept.device.type == device.type
        assert rows(kept.cpu()) == rows(seen.cpu()) == [(0, 0), (1, 0)]
    for scope in trim_to_targets(*given):
        assert sizes(scope) == (2, 1, 2)
        assert scope.hyperedge_index.device.type == device.type
