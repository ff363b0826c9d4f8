import torch

from tests.strategies import to_index
from tgx_anchor.nn.conv._trim import trim_incidences, trim_to_targets

# A chain: each group shares a node with the next one.
GROUPS = [[0, 1], [1, 2], [2, 3], [3, 4], [5]]
INDEX = to_index(GROUPS)


def rows(mask: torch.Tensor) -> list[tuple[int, int]]:
    return [(v, e) for v, e in INDEX[:, mask].t().tolist()]


def test_nodes_and_hyperedges_by_hand() -> None:
    first, last = trim_to_targets(INDEX, 6, 5, 1, 2)
    # Members of the target receive from their groups, which need all their members.
    assert rows(last[1]) == [(0, 0), (1, 0), (1, 1)]
    assert rows(last[0]) == [(0, 0), (1, 0), (1, 1), (2, 1)]
    assert rows(first[1]) == [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)]
    assert rows(first[0]) == [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2)]


def test_incidences_by_hand() -> None:
    first, last = trim_incidences(INDEX, 6, 5, 1, 2)
    assert rows(last[1]) == [(0, 0), (1, 0), (1, 1)]
    assert rows(last[0]) == [(0, 0), (1, 0), (1, 1)]
    assert rows(first[1]) == [(0, 0), (1, 0), (1, 1)]
    assert rows(first[0]) == [(0, 0), (1, 0), (1, 1), (2, 1)]


def test_what_is_not_drawn_is_not_seen(device: torch.device) -> None:
    # Node 1 did not draw its second group.
    drawn = torch.tensor([(v, e) != (1, 1) for v, e in INDEX.t().tolist()])
    for trim in (trim_to_targets, trim_incidences):
        for kept, seen in trim(INDEX.to(device), 6, 5, 1, 2, drawn.to(device)):
            assert kept.device.type == device.type
            assert rows(kept.cpu()) == rows(seen.cpu()) == [(0, 0), (1, 0)]
    (layer,) = trim_to_targets(INDEX, 6, 5, 5, 1)
    assert layer[0].all()
    assert layer[1].all()
