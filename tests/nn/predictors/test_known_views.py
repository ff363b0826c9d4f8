import math
from collections import Counter
from functools import partial
from unittest import mock

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.nn.predictors.sets import (
    Group,
    anchor_sets,
    double,
    known_of,
    labelled,
    listed,
    rows,
    sets_of,
    size,
)
from tests.strategies import SETTINGS, renamings, to_data, to_groups
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors import known_views as module
from tgx_anchor.nn.predictors.known_sets import known_sets
from tgx_anchor.nn.predictors.known_views import (
    OVERLAP_COLUMNS,
    RECORD_COLUMNS,
    RIVAL_COLUMNS,
    KnownViews,
    record_columns,
)
from tgx_anchor.utils import member_pairs, node_sets

Labelled = tuple[AnchorData, Tensor]
VIEWS = st.sampled_from(['BCF', 'B', 'C', 'F', 'ABCDF', ''])


def views_of(
    data: AnchorData, mask: Tensor, max_size: int = 64, views: str = 'BCF'
) -> Tensor:
    with double():
        out = KnownViews(sets_of(data), size(data), max_size, views)
        return out(known_of(data, mask))


# The same, one member and one group after the other ##################################


def slow_record(known: list[Group], v: int, e: frozenset[int]) -> list[float]:
    others = [g for g in known if g.members != e and v in g.members]
    a = sum(v in g.anchors for g in others)
    m = sum(len(g.anchors) / len(g.members) for g in others)
    h = 1 / (2 * len(e))
    n = len(others)
    return [math.log((a + h) / (m + h)), (a - m) / (n + 1), math.log(1 + n)]


def slow_rivals(
    known: list[Group], v: int, e: frozenset[int], max_size: int
) -> list[float]:
    if len(e) == 1 or len(e) > max_size:
        return [0, 0, 0]
    ratios, difference, total = [], 0, 0
    for u in e - {v}:
        both = [
            g.anchors
            for g in known
            if g.members != e and {u, v} <= g.members and len(g.members) <= max_size
        ]
        a, b = sum(v in x for x in both), sum(u in x for x in both)
        ratios.append((a - b) / (1 + len(both)))
        difference += a - b
        total += len(both)
    return [
        sum(ratios) / len(ratios),
        difference / (1 + total),
        math.log(1 + total),
    ]


def slow_overlap(
    known: list[Group], v: int, e: frozenset[int], max_size: int
) -> list[float]:
    lifts, weights = [], []
    for gamma in (1, 3):
        lift = weight = 0.0
        for f, count in Counter(g.members for g in known).items():
            fits = v in f and f != e and len(e & f) >= 2
            if not fits or max(len(e), len(f)) > max_size:
                continue
            copies = [g.anchors for g in known if g.members == f]
            share = sum((v in x) / len(x) for x in copies) / count
            w = (len(e & f) / len(e | f)) ** gamma * math.log(1 + count)
            lift += w * (share - 1 / len(f))
            weight += w
        lifts.append(lift / (weight + 0.3))
        weights.append(math.log(1 + weight))
    return lifts + weights


def relative(table: list[list[float]], sets: list[frozenset[int]]) -> list[list[float]]:
    # The columns minus their mean, and minus the best of the other members.
    minus_mean, minus_best = [], []
    for mine, e in zip(table, sets, strict=True):
        members = [row for row, f in zip(table, sets, strict=True) if f == e]
        others = members.copy()
        others.remove(mine)
        minus_mean.append(
            [
                x - sum(column) / len(e)
                for x, *column in zip(mine, *members, strict=True)
            ]
        )
        minus_best.append(
            [
                x - max(column, default=x)
                for x, *column in zip(mine, *others, strict=True)
            ]
        )
    return [a + b for a, b in zip(minus_mean, minus_best, strict=True)]


def slow_views(
    data: AnchorData, mask: Tensor, max_size: int, views: str
) -> list[list[float]]:
    known = [g for g in listed(data, mask) if g.anchors]
    members = rows(sets_of(data))
    out: list[list[float]] = [[] for _ in members]
    for name, width in (('B', 3), ('C', 2), ('F', 2)):
        if name not in views:
            continue
        table: list[list[float]] = []
        for v, e in members:
            if name == 'B':
                table.append(slow_record(known, v, e))
            elif name == 'C':
                table.append(slow_rivals(known, v, e, max_size))
            else:
                table.append(slow_overlap(known, v, e, max_size))
        more = relative([row[:width] for row in table], [e for _, e in members])
        out = [a + b + c for a, b, c in zip(out, table, more, strict=True)]
    return out


@SETTINGS
@given(labelled(repeated_members=True), st.sampled_from([2, 3, 4, 64]), VIEWS)
def test_equal_to_a_slow_version(drawn: Labelled, max_size: int, views: str) -> None:
    data, mask = drawn
    found = views_of(data, mask, max_size, views)
    names = KnownViews.names(views)
    assert found.size() == (sets_of(data).num_rows, len(names))
    expected = slow_views(data, mask, max_size, views)
    for row, slow in zip(found.tolist(), expected, strict=True):
        for name, value, right in zip(names, row, slow, strict=True):
            assert value == pytest.approx(right, abs=1e-9), name


# No column of a set depends on its own anchors #######################################


def relabelled(data: AnchorData, chosen: Tensor, anchors: list[list[int]]) -> Tensor:
    # The anchors, with those of some hyperedges replaced.
    y: Tensor = data['y'].clone()
    node, hyperedge = data.hyperedge_index
    for e, new in zip(chosen.tolist(), anchors, strict=True):
        mine = hyperedge == e
        y[mine] = torch.isin(node[mine], torch.tensor(new, dtype=torch.long))
    return y


def drawn_set(
    data: AnchorData, mask: Tensor, draw: st.DataObject
) -> tuple[int, Tensor]:
    # A set with known anchors, and its known copies.
    number = sets_of(data).number
    assume(bool(mask.any()))
    chosen = draw.draw(st.sampled_from(torch.unique(number[mask]).tolist()))
    return chosen, (mask & (number == chosen)).nonzero().view(-1)


@settings(SETTINGS, max_examples=200)
@given(labelled(), st.sampled_from([2, 3, 64]), st.data())
def test_own_anchors_are_not_seen(
    drawn: Labelled, max_size: int, draw: st.DataObject
) -> None:
    data, mask = drawn
    chosen, copies = drawn_set(data, mask, draw)
    sets, groups = sets_of(data), to_groups(data)
    before = views_of(data, mask, max_size)
    # Other members anchor the copies, as many as before.
    anchors = []
    for e in copies.tolist():
        order = draw.draw(st.permutations(groups[e]))
        anchors.append(order[: int(data['y'][data.hyperedge_index[1] == e].sum())])
    other = data.clone()
    other.y = relabelled(data, copies, anchors)
    after = views_of(other, mask, max_size)
    mine = sets.hyperedge_index[1] == chosen
    assert torch.equal(after[mine], before[mine])
    # In full precision, and not only up to the rounding of the output.
    assert before.dtype == torch.double


@settings(SETTINGS, max_examples=200)
@given(labelled(), st.sampled_from([2, 3, 64]), st.data())
def test_own_copies_are_not_counted(
    drawn: Labelled, max_size: int, draw: st.DataObject
) -> None:
    # Neither the number of known copies nor that of their anchors is seen.
    data, mask = drawn
    chosen, copies = drawn_set(data, mask, draw)
    sets, groups = sets_of(data), to_groups(data)
    before = views_of(data, mask, max_size)
    mine = sets.hyperedge_index[1] == chosen
    other = data.clone()
    anchors = [draw.draw(anchor_sets(groups[e], 6)) for e in copies.tolist()]
    other.y = relabelled(data, copies, anchors)
    known = mask.clone()
    flag = st.lists(st.booleans(), min_size=len(copies), max_size=len(copies))
    known[copies] = torch.tensor(draw.draw(flag))
    after = views_of(other, known, max_size)
    torch.testing.assert_close(after[mine], before[mine], rtol=0, atol=1e-12)


def test_anchors_of_others_are_seen() -> None:
    # The same change is seen by all views of a set that overlaps.
    data = to_data([[0, 1, 2], [0, 1, 3], [0, 1, 2]], 4, [[0], [0], [1]])
    mask = torch.tensor([True, True, True])
    before = views_of(data, mask)
    data.y = relabelled(data, torch.tensor([0]), [[1]])
    after = views_of(data, mask)
    assert torch.equal(after[:3], before[:3])
    names = KnownViews.names()
    changed = [n for n, c in zip(names, (after != before).any(dim=0), strict=True) if c]
    left = {'record_count', 'rivals_count', 'overlap_weight', 'overlap_weight_near'}
    assert {name for name in names if name not in changed} == left | {
        'record_count_minus_mean',
        'record_count_minus_best',
    }


# Numbers by hand #####################################################################


def column(data: AnchorData, table: Tensor, name: str) -> list[float]:
    out: list[float] = table[:, KnownViews.names().index(name)].tolist()
    return out


def test_by_hand() -> None:
    # Two copies of {0, 1, 2} and one of {0, 1} are known; {0, 1, 3} is not.
    groups = [[0, 1, 2], [2, 0, 1], [0, 1], [3, 1, 0]]
    data = to_data(groups, 4, [[0], [1], [0], [3]])
    mask = torch.tensor([True, True, True, False])
    table = views_of(data, mask)
    # The rows of {0, 1, 3} are the last three.
    ratio = column(data, table, 'record_log_ratio')[-3:]
    chance = 2 / 3 + 1 / 2
    half = 1 / 6
    assert ratio == pytest.approx(
        [math.log((n + half) / (chance + half)) for n in (2, 1)] + [0]
    )
    assert column(data, table, 'record_lift')[-3:] == pytest.approx(
        [(2 - chance) / 4, (1 - chance) / 4, 0]
    )
    assert column(data, table, 'record_count')[-3:] == pytest.approx(
        [math.log(4), math.log(4), 0]
    )
    # 0 and 1 meet in three known groups, of which 0 anchors two; 3 meets nobody.
    assert column(data, table, 'rivals_mean')[-3:] == pytest.approx([1 / 8, -1 / 8, 0])
    assert column(data, table, 'rivals_pooled')[-3:] == pytest.approx(
        [1 / 4, -1 / 4, 0]
    )
    assert column(data, table, 'rivals_count')[-3:] == pytest.approx(
        [math.log(4), math.log(4), 0]
    )
    assert column(data, table, 'rivals_mean_minus_best')[-3:] == pytest.approx(
        [1 / 8, -1 / 4, -1 / 8]
    )
    # Two of four, and two of three members in common.
    first, second = math.log(3) / 2, math.log(2) * 2 / 3
    assert column(data, table, 'overlap_lift')[-3:] == pytest.approx(
        [
            (first * (1 / 2 - 1 / 3) + second * (1 - 1 / 2)) / (first + second + 0.3),
            (first * (1 / 2 - 1 / 3) + second * (0 - 1 / 2)) / (first + second + 0.3),
            0,
        ]
    )
    first, second = math.log(3) / 8, math.log(2) * 8 / 27
    assert column(data, table, 'overlap_weight_near')[-3:] == pytest.approx(
        [math.log(1 + first + second)] * 2 + [0]
    )
    # {0, 1} sees the two copies of {0, 1, 2} only, in which 0 and 1 are equal.
    rivals = column(data, table, 'rivals_mean')
    assert rivals[3:5] == [0, 0]
    assert column(data, table, 'rivals_count')[3:5] == pytest.approx([math.log(3)] * 2)
    # {0, 1, 2} sees {0, 1} only.
    assert rivals[:3] == pytest.approx([1 / 4, -1 / 4, 0])


def test_record_columns() -> None:
    out = record_columns(*torch.tensor([[2.0, 0], [1.0, 0], [4.0, 0], [2.0, 4]]))
    assert out.flatten().tolist() == pytest.approx(
        [math.log(2.25 / 1.25), 1 / 5, math.log(5), 0, 0, 0]
    )


def test_names() -> None:
    names = KnownViews.names()
    assert len(names) == len(set(names)) == 9 + 7 + 8
    assert names[:4] == [*RECORD_COLUMNS, 'record_log_ratio_minus_mean']
    assert names[9:14] == [
        *RIVAL_COLUMNS,
        'rivals_mean_minus_mean',
        'rivals_pooled_minus_mean',
    ]
    assert names[16:20] == [*OVERLAP_COLUMNS]
    assert names[-1] == 'overlap_lift_near_minus_best'
    assert KnownViews.names('C') == names[9:16]
    assert KnownViews.names('FADB') == names[:9] + names[16:]
    assert KnownViews.names('') == []


# Order, blocks and sizes #############################################################


@SETTINGS
@given(labelled(), st.data())
def test_names_of_nodes_do_not_matter(drawn: Labelled, draw: st.DataObject) -> None:
    data, mask = drawn
    other = draw.draw(renamings(data))
    found = views_of(other.data, other.hyperedges(mask))[sets_of(other.data).row]
    expected = other.incidences(views_of(data, mask)[sets_of(data).row])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


@SETTINGS
@given(labelled(), st.integers(1, 20), st.integers(1, 20))
def test_blocks(drawn: Labelled, overlaps: int, pairs: int) -> None:
    data, mask = drawn
    expected = views_of(data, mask)
    small = partial(member_pairs, block=pairs)
    with (
        mock.patch.object(module, '_BLOCK_OVERLAPS', overlaps),
        mock.patch.object(module, 'member_pairs', small),
    ):
        found = views_of(data, mask)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def test_blocks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    # A chain of known sets, each of which overlaps with two others.
    data = to_data([[i, i + 1, i + 2] for i in range(50)], 52, [[i] for i in range(50)])
    mask = torch.ones(50, dtype=torch.bool)
    views = KnownViews(sets_of(data), 52, 64)
    held: list[int] = []
    blocks = views._blocks

    def counted(theirs: object) -> list[tuple[int, int]]:
        out: list[tuple[int, int]] = blocks(theirs)  # type: ignore[arg-type]
        held.append(len(out))
        return out

    monkeypatch.setattr(views, '_blocks', counted)
    for limit, count in ((10**6, 1), (20, 13)):
        monkeypatch.setattr(module, '_BLOCK_OVERLAPS', limit)
        views(known_of(data, mask))
        # Each set costs its own three pairs, and two of its neighbours.
        assert held[-1] == pytest.approx(count, abs=1)


def test_empty_group_comes_first() -> None:
    data = to_data([[], [0, 1, 2], [0, 1]], 3, [[], [0], [1]])
    mask = torch.tensor([False, True, True])
    expected = slow_views(data, mask, 64, 'BCF')
    assert views_of(data, mask).tolist() == [pytest.approx(row) for row in expected]


@pytest.mark.parametrize('groups', [[], [[]], [[0]], [[0], [1], [0]]])
def test_no_pairs(groups: list[list[int]]) -> None:
    data = to_data(groups, 2, groups)
    table = views_of(data, data.known_mask)
    assert table.size() == (len({tuple(g) for g in groups if g}), 24)
    # Nothing but the number of known groups is left, and here it is that of others.
    assert not table.any()


def test_singletons_count_in_the_record() -> None:
    data = to_data([[0], [0], [0, 1]], 2, [[0], [0], [1]])
    table = views_of(data, data.known_mask)
    # All that a single member anchors is by chance.
    assert column(data, table, 'record_log_ratio')[1:] == [0, 0]
    assert column(data, table, 'record_count')[1:] == pytest.approx([math.log(3), 0])
    assert column(data, table, 'record_lift')[0] == pytest.approx((0 - 1 / 2) / 2)


def test_output_has_the_default_type() -> None:
    data = to_data([[0, 1]], 2, [[0]])
    for views in ('BCF', ''):
        out = KnownViews(sets_of(data), 2, 64, views)(known_of(data, data.known_mask))
        assert out.dtype == torch.float32


@settings(SETTINGS, max_examples=10)
@given(labelled())
def test_second_device(drawn: Labelled) -> None:
    data, mask = drawn
    expected = KnownViews(sets_of(data), size(data), 4)(known_of(data, mask))
    with second_device() as device:
        index = data.hyperedge_index.to(device)
        sets = node_sets(index, size(data), data.num_hyperedges)
        known = known_sets(sets, index, data['y'].to(device), mask.to(device))
        out = KnownViews(sets, size(data), 4)(known)
        assert out.device == device
    assert torch.equal(out.cpu(), expected)
