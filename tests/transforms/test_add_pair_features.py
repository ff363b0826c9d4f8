import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data.datapipes import DatasetAdapter
from torch_geometric.transforms import Compose

from tests.devices import second_device
from tests.strategies import (
    SETTINGS,
    Groups,
    groupings,
    one_line_error,
    renamings,
    to_data,
    to_groups,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.transforms import (
    AddPairFeatures,
    AddTopologicalFeatures,
    add_pair_features,
)
from tgx_anchor.utils import MemberPairs, member_pairs

PAIR_NAMES = [
    'pair_shared_mean',
    'pair_shared_max',
    'pair_shared_min',
    'pair_share_own_mean',
    'pair_share_own_max',
    'pair_share_own_min',
    'pair_share_other_mean',
    'pair_share_other_max',
    'pair_share_other_min',
    'pair_jaccard_mean',
    'pair_jaccard_max',
    'pair_jaccard_min',
    'pair_degree_mean',
    'pair_degree_max',
    'pair_degree_min',
    'pair_contacts_mean',
    'pair_contacts_max',
    'pair_contacts_min',
    'pair_met',
]
MEMBER_NAMES = [
    'log_other_degree',
    'log_contacts',
    'contacts_per_group',
    'mean_group_size',
    'log_copies',
    'min_group_size',
    'max_group_size',
    'single_share',
    'two_share',
    'distinct_share',
]
CONTACT_NAMES = [
    'contact_degree_mean',
    'contact_degree_weighted',
    'contact_degree_max',
    'contact_below',
    'contact_shared_max',
    'contact_share_max',
    'contact_shared_mean',
    'contact_concentration',
]
NAMES = [
    *PAIR_NAMES,
    *MEMBER_NAMES,
    *CONTACT_NAMES,
    *(f'{name}_minus_mean' for name in CONTACT_NAMES),
    *(f'{name}_minus_best' for name in CONTACT_NAMES),
]


def features(data: AnchorData, max_size: int = 64) -> Tensor:
    out = AddPairFeatures(max_size, cat=False)(data).incidence_attr
    assert isinstance(out, Tensor)
    return out


def double_features(data: AnchorData, max_size: int = 64) -> Tensor:
    torch.set_default_dtype(torch.float64)
    try:
        return features(data, max_size)
    finally:
        torch.set_default_dtype(torch.float32)


def column(data: AnchorData, name: str, max_size: int = 64) -> list[float]:
    values: list[float] = features(data, max_size)[:, NAMES.index(name)].tolist()
    return values


def named(row: Tensor) -> dict[str, float]:
    return dict(zip(NAMES, row.tolist(), strict=True))


def ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def mean(values: Sequence[float]) -> float:
    return ratio(sum(values), len(values))


class SlowFeatures:
    # All columns of each incidence, by counting hyperedges one by one.
    def __init__(self, groups: Groups, max_size: int) -> None:
        self.groups, self.max_size = groups, max_size
        self.sets = [frozenset(group) for group in groups]
        # Those whose pairs count.
        self.small = [s for s in self.sets if len(s) <= max_size]

    def shared(self, v: int, u: int, apart: frozenset[int] | None = None) -> int:
        return sum(v in s and u in s and s != apart for s in self.small)

    def degree(self, v: int, apart: frozenset[int] | None = None) -> int:
        return sum(v in s and s != apart for s in self.sets)

    def contacts(self, v: int) -> list[int]:
        return sorted({u for s in self.small if v in s for u in s if u != v})

    def pair_columns(self, v: int, e: frozenset[int]) -> list[float]:
        others = sorted(e - {v})
        if not others or len(e) > self.max_size:
            return [0.0] * len(PAIR_NAMES)
        values: list[list[float]] = [[], [], [], [], [], []]
        for u in others:
            w, own, other = self.shared(v, u, e), self.degree(v, e), self.degree(u, e)
            row = [
                math.log(1 + w),
                ratio(w, own),
                ratio(w, other),
                ratio(w, own + other - w),
                math.log(1 + own) - math.log(1 + other),
                math.log(1 + len(self.contacts(v)))
                - math.log(1 + len(self.contacts(u))),
            ]
            for held, entry in zip(values, row, strict=True):
                held.append(entry)
        out = [how(held) for held in values for how in (mean, max, min)]
        return [*out, mean([self.shared(v, u, e) > 0 for u in others])]

    def member_columns(self, v: int, e: frozenset[int]) -> list[float]:
        own = [s for s in self.sets if v in s]
        size, contacts = [len(s) for s in own], len(self.contacts(v))
        return [
            math.log(1 + self.degree(v, e)),
            math.log(1 + contacts),
            contacts / len(own),
            mean(size),
            math.log(self.sets.count(e)),
            min(size),
            max(size),
            size.count(1) / len(own),
            size.count(2) / len(own),
            len(set(own)) / len(own),
        ]

    def contact_columns(self, v: int) -> list[float]:
        contacts = self.contacts(v)
        if not contacts:
            return [0.0] * len(CONTACT_NAMES)
        W = [self.shared(v, u) for u in contacts]
        D = [self.degree(u) for u in contacts]
        weighted = sum(w * math.log(1 + d) for w, d in zip(W, D, strict=True))
        return [
            mean([math.log(1 + d) for d in D]),
            weighted / sum(W),
            math.log(1 + max(D)),
            mean([d < self.degree(v) for d in D]),
            math.log(1 + max(W)),
            max(W) / self.degree(v),
            mean(W),
            sum(w * w for w in W) / sum(W) ** 2,
        ]

    def table(self) -> Tensor:
        rows = []
        for group, e in zip(self.groups, self.sets, strict=True):
            of = {v: self.contact_columns(v) for v in e}
            for v in group:
                others = [of[u] for u in e - {v}] or [of[v]]
                average = [mean(x) for x in zip(*of.values(), strict=True)]
                best = [max(x) for x in zip(*others, strict=True)]
                rows.append(
                    [
                        *self.pair_columns(v, e),
                        *self.member_columns(v, e),
                        *of[v],
                        *(x - m for x, m in zip(of[v], average, strict=True)),
                        *(x - b for x, b in zip(of[v], best, strict=True)),
                    ]
                )
        return torch.tensor(rows, dtype=torch.float64).view(-1, len(NAMES))


@SETTINGS
@given(groupings(repeated_members=True), st.sampled_from([2, 3, 4, 64]))
@example(([], 0), 64)
@example(([[], []], 3), 64)
@example(([[0], [0], [1, 1]], 4), 64)
@example(([[0, 1, 2], [2, 1, 0], [0, 1], [0, 1, 2, 3], [3, 3]], 6), 3)
def test_all_columns(drawn: tuple[Groups, int], max_size: int) -> None:
    groups, num_nodes = drawn
    assert AddPairFeatures().feature_names == NAMES
    found = double_features(to_data(groups, num_nodes), max_size)
    expected = SlowFeatures(groups, max_size).table()
    # Two numbers that are rounded to thirty bits are apart.
    torch.testing.assert_close(found, expected, rtol=0, atol=2.0**-29)


def test_all_columns_of_many_groups() -> None:
    data = planted()
    expected = SlowFeatures(to_groups(data), 5).table()
    found = double_features(data, 5)
    torch.testing.assert_close(found, expected, rtol=0, atol=2.0**-29)


def test_by_hand(device: torch.device) -> None:
    # Two copies of {0, 1, 2}, and node 3 knows node 0 only.
    groups = [[0, 1, 2], [0, 1], [2, 1, 0], [0, 3], [2], [0, 1]]
    attr = features(to_data(groups, 5).to(device))
    assert attr.device.type == device.type
    assert attr.dtype == torch.float32
    assert attr.size() == (13, 53)
    # Without the copies of {0, 1, 2}: the degrees are 3, 2, 1, and only 0 and 1 meet,
    # in two hyperedges. The numbers of contacts are 3, 2, 2 and 1.
    a, b, c = math.log(2), math.log(3), math.log(4)
    first: dict[str, list[float]] = {
        'pair_shared_mean': [b / 2, b / 2, 0],
        'pair_shared_max': [b, b, 0],
        'pair_shared_min': [0, 0, 0],
        'pair_share_own_mean': [2 / 3 / 2, 1 / 2, 0],
        'pair_share_own_max': [2 / 3, 1, 0],
        'pair_share_other_mean': [1 / 2, 2 / 3 / 2, 0],
        'pair_share_other_max': [1, 2 / 3, 0],
        'pair_jaccard_mean': [1 / 3, 1 / 3, 0],
        'pair_jaccard_max': [2 / 3, 2 / 3, 0],
        'pair_degree_mean': [c - (b + a) / 2, b - (c + a) / 2, a - (c + b) / 2],
        'pair_degree_max': [c - a, b - a, a - b],
        'pair_degree_min': [c - b, b - c, a - c],
        'pair_contacts_mean': [c - b, (b - c) / 2, (b - c) / 2],
        'pair_contacts_max': [c - b, 0, 0],
        'pair_contacts_min': [c - b, b - c, b - c],
        'pair_met': [1 / 2, 1 / 2, 0],
        'log_other_degree': [c, b, a],
        'log_contacts': [c, b, b],
        'contacts_per_group': [3 / 5, 2 / 4, 2 / 3],
        'mean_group_size': [12 / 5, 10 / 4, 7 / 3],
        'log_copies': [a, a, a],
        'min_group_size': [2, 2, 1],
        'max_group_size': [3, 3, 3],
        'single_share': [0, 0, 1 / 3],
        'two_share': [3 / 5, 2 / 4, 0],
        'distinct_share': [3 / 5, 2 / 4, 2 / 3],
    }
    # With all of them: the degrees are 5, 4, 3 and 1; 0 shares 4, 2 and 1 hyperedges
    # with the others, 1 shares 4 and 2, 2 shares 2 and 2.
    d = [math.log(6), math.log(5), math.log(4), math.log(2)]
    below = [1, 1 / 2, 0]
    first |= {
        'contact_degree_mean': [sum(d[1:]) / 3, (d[0] + d[2]) / 2, (d[0] + d[1]) / 2],
        'contact_degree_weighted': [
            (4 * d[1] + 2 * d[2] + d[3]) / 7,
            (4 * d[0] + 2 * d[2]) / 6,
            (d[0] + d[1]) / 2,
        ],
        'contact_degree_max': [d[1], d[0], d[0]],
        'contact_below': below,
        'contact_shared_max': [d[1], d[1], b],
        'contact_share_max': [4 / 5, 1, 2 / 3],
        'contact_shared_mean': [7 / 3, 3, 2],
        'contact_concentration': [21 / 49, 20 / 36, 1 / 2],
        'contact_below_minus_mean': [1 / 2, 0, -1 / 2],
        'contact_below_minus_best': [1 / 2, -1 / 2, -1],
        'contact_shared_mean_minus_best': [-2 / 3, 2 / 3, -1],
        'contact_degree_max_minus_mean': [
            (d[1] - d[0]) * 2 / 3,
            (d[0] - d[1]) / 3,
            (d[0] - d[1]) / 3,
        ],
    }
    # The second copy lists its members the other way round.
    for name, values in first.items():
        found = attr[:, NAMES.index(name)].cpu()
        torch.testing.assert_close(found[:3], torch.tensor(values, dtype=torch.float))
        assert torch.equal(found[[7, 6, 5]], found[:3])
    # {0, 3}: they share nothing else, and 3 has nothing else.
    row = named(attr[9])
    assert row['pair_met'] == row['pair_share_own_max'] == row['log_other_degree'] == 0
    assert row['pair_degree_mean'] == pytest.approx(-math.log(5))
    assert row['pair_contacts_min'] == pytest.approx(-a)
    # {2} has no pairs; 2 has two other hyperedges.
    row = named(attr[10])
    assert [row[name] for name in PAIR_NAMES] == [0] * 19
    assert row['log_other_degree'] == pytest.approx(b)
    assert row['log_copies'] == 0


# The order of nodes, hyperedges and members #######################################


def planted(num_hyperedges: int = 120, seed: int = 0) -> AnchorData:
    data = PlantedAnchorDataset(40, num_hyperedges, mean_size=4.0, seed=seed)[0]
    assert isinstance(data, AnchorData)
    return data


@SETTINGS
@given(groupings(repeated_members=True), st.sampled_from([3, 64]), st.data())
def test_names_do_not_matter(
    drawn: tuple[Groups, int], max_size: int, draw: st.DataObject
) -> None:
    data = to_data(*drawn)
    other = draw.draw(renamings(data))
    expected = other.incidences(double_features(data, max_size))
    assert torch.equal(double_features(other.data, max_size), expected)


@pytest.mark.parametrize('seed', range(3))
def test_order_of_members_does_not_matter(seed: int) -> None:
    # Means of irregular numbers: their sums must not depend on the order of members.
    data = planted(1000)
    generator = torch.Generator().manual_seed(seed)
    name = torch.randperm(40, generator=generator)
    other = data.clone()
    other.hyperedge_index = torch.stack(
        [name[data.hyperedge_index[0]], data.hyperedge_index[1]]
    )
    assert torch.equal(double_features(other), double_features(data))


def test_members_in_symmetric_positions_are_equal() -> None:
    # Two worlds that mirror each other, and groups of a node and its image.
    world = to_groups(planted(200))
    image = [[39 - v + 40 for v in group] for group in world]
    bridges = [[v, 79 - v] for v in range(40)]
    attr = double_features(to_data([*world, *image, *bridges], 80))
    pairs = attr[-80:].view(40, 2, 53)
    assert torch.equal(pairs[:, 0], pairs[:, 1])
    relative = [NAMES.index(n) for n in NAMES if n.endswith(('minus_mean', '_best'))]
    assert torch.equal(pairs[:, :, relative], torch.zeros(40, 2, 16).double())
    half = (attr.size(0) - 80) // 2
    assert torch.equal(attr[:half], attr[half : 2 * half])


def test_equal_members_are_exactly_equal() -> None:
    # No rounding error in the mean of seven equal numbers.
    groups = [*([[v, (v + 1) % 7, (v + 3) % 7] for v in range(7)] * 2), list(range(7))]
    attr = double_features(to_data(groups, 7))
    last = attr[-7:]
    assert torch.equal(last, last[:1].expand(7, -1))
    assert torch.equal(last[:, -16:], torch.zeros(7, 16).double())
    # Each two share two copies of one group, and each is in three groups, twice.
    row = named(last[0])
    assert row['pair_share_own_mean'] == pytest.approx(1 / 3)
    assert row['pair_jaccard_min'] == pytest.approx(2 / 10)


@SETTINGS
@given(groupings(repeated_members=True))
def test_repeated_members_count_once(drawn: tuple[Groups, int]) -> None:
    data = to_data(*drawn)
    merged = data.coalesce()
    merged_pairs = map(tuple, merged.hyperedge_index.t().tolist())
    row = dict(zip(merged_pairs, features(merged).tolist(), strict=True))
    pairs = map(tuple, data.hyperedge_index.t().tolist())
    assert features(data).tolist() == [row[pair] for pair in pairs]


@SETTINGS
@given(groupings(), st.integers(1, 5))
def test_isolated_nodes_and_empty_groups_do_not_matter(
    drawn: tuple[Groups, int], more: int
) -> None:
    groups, num_nodes = drawn
    expected = features(to_data(groups, num_nodes))
    data = to_data([*groups, *[[]] * more], num_nodes + more)
    assert torch.equal(features(data), expected)


# Copies ##########################################################################


@SETTINGS
@given(groupings(min_nodes=2), st.integers(2, 4), st.data())
def test_own_copies_are_left_out(
    drawn: tuple[Groups, int], times: int, draw: st.DataObject
) -> None:
    groups, num_nodes = drawn
    nodes = st.integers(0, num_nodes - 1)
    group = draw.draw(st.lists(nodes, min_size=1, unique=True))
    groups = [g for g in groups if set(g) != set(group)]
    once = double_features(to_data([group, *groups], num_nodes))
    often = double_features(to_data([*[group] * times, *groups], num_nodes))
    # What it says about its own pairs does not change when it comes more often.
    blind = [*PAIR_NAMES, 'log_other_degree', 'log_contacts']
    chosen = [NAMES.index(name) for name in blind]
    expected = once[: len(group), chosen].repeat(times, 1)
    assert torch.equal(often[: times * len(group), chosen], expected)
    copies = often[: times * len(group), NAMES.index('log_copies')]
    assert copies.tolist() == pytest.approx([math.log(times)] * copies.numel())


def test_copies_count_for_other_groups() -> None:
    data = to_data([[0, 1, 2], [1, 0], [0, 1], [0, 1]], 3)
    assert column(data, 'pair_shared_max')[:3] == pytest.approx([math.log(4)] * 2 + [0])
    # Without its copies, {0, 1} is left with {0, 1, 2}.
    assert column(data, 'pair_shared_max')[3:] == pytest.approx([math.log(2)] * 6)
    assert column(data, 'pair_share_own_min')[3:] == [1] * 6


# Large hyperedges and blocks ######################################################


def listed(monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[int]:
    # The numbers of pairs of all blocks that are listed from now on.
    counts: list[int] = []

    def counting(*args: Any) -> Any:
        for block in member_pairs(*args, **options):
            assert isinstance(block, MemberPairs)
            counts.append(block.first.numel())
            yield block

    monkeypatch.setattr(add_pair_features, 'member_pairs', counting)
    return counts


def test_large_groups_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = listed(monkeypatch)
    small = [[0, 1, 2], [1, 2], [882, 3]]
    data = to_data([*small, list(range(883))], 884)
    attr = double_features(data)
    assert sum(counts) == 6 + 2 + 2
    size = len(PAIR_NAMES)
    assert torch.equal(attr[7:, :size], torch.zeros(883, size).double())
    # It counts for degrees and sizes.
    row = named(attr[7 + 1])
    assert row['log_other_degree'] == pytest.approx(math.log(3))
    assert row['log_contacts'] == pytest.approx(math.log(3))
    assert row['contacts_per_group'] == pytest.approx(2 / 3)
    assert row['mean_group_size'] == pytest.approx(888 / 3)
    assert row['max_group_size'] == 883
    assert row['contact_share_max'] == pytest.approx(2 / 3)
    # Nor does it for what others share.
    met = attr[:3, NAMES.index('pair_met')].tolist()
    assert met == [0, 1 / 2, 1 / 2]
    torch.testing.assert_close(
        attr, SlowFeatures(to_groups(data), 64).table(), rtol=0, atol=2.0**-29
    )


def test_the_limit_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = listed(monkeypatch)
    # A member listed twice does not make a group larger.
    data = to_data([[0, 1, 2, 2], [3, 4, 5, 6], [0, 1]], 7)
    attr = features(data, 3)
    assert sum(counts) == 6 + 2
    assert attr[:4, NAMES.index('pair_met')].tolist() == [0.5, 0.5, 0, 0]
    assert attr[:, NAMES.index('log_contacts')].bool().tolist() == [
        *[True] * 4,
        *[False] * 4,
        *[True] * 2,
    ]


def test_copies_are_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = listed(monkeypatch)
    features(to_data([[0, 1, 2]] * 50 + [[1, 0]] * 9, 3))
    assert sum(counts) == 6 + 2


@pytest.mark.parametrize('block', [1, 10, 100, 300])
def test_blocks_do_not_matter(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = planted()
    expected = double_features(data, 6)
    counts = listed(monkeypatch, block=block)
    assert torch.equal(double_features(data, 6), expected)
    assert len(counts) > 1


# Corners #########################################################################


@pytest.mark.parametrize('num_hyperedges', [0, 2])
@pytest.mark.parametrize('num_nodes', [0, 1, 3])
def test_no_incidences(num_nodes: int, num_hyperedges: int) -> None:
    assert features(to_data([[]] * num_hyperedges, num_nodes)).size() == (0, 53)


def test_singletons() -> None:
    attr = features(to_data([[0], [1], [0], [0]], 2))
    row = named(attr[0])
    assert row.pop('log_copies') == pytest.approx(math.log(3))
    assert row.pop('distinct_share') == pytest.approx(1 / 3)
    for name in ('mean_group_size', 'min_group_size', 'max_group_size', 'single_share'):
        assert row.pop(name) == 1
    assert set(row.values()) == {0}


def test_groups_that_share_nobody() -> None:
    attr = features(to_data([[0, 1], [2, 3, 4]], 5))
    assert torch.equal(attr[:, :12], torch.zeros(5, 12))
    assert torch.isfinite(attr).all()


def test_many_hyperedges_of_one_pair() -> None:
    # Counts in the thousands, next to a pair that meets once.
    groups = [[0, 1, 2], *[[0, 1]] * 5000, *[[0, v] for v in range(3, 1000)], [1, 2]]
    row = named(double_features(to_data(groups, 1000))[1])
    close = partial(pytest.approx, rel=0, abs=2.0**-29)
    assert row['pair_shared_max'] == close(math.log(5001))
    assert row['pair_share_own_max'] == close(5000 / 5001)
    assert row['pair_share_own_min'] == close(1 / 5001)
    assert row['pair_share_other_max'] == close(1)
    assert row['pair_jaccard_min'] == close(1 / 5001)
    assert row['pair_jaccard_max'] == close(5000 / 5998)
    assert row['contact_concentration'] == close((5001**2 + 2**2) / 5003**2)


@pytest.mark.parametrize('seed', range(2))
def test_single_precision_is_rounded_once(seed: int) -> None:
    data = planted(seed=seed)
    assert torch.equal(features(data), double_features(data).float())


def test_default_dtype() -> None:
    data = to_data([[0, 1, 2], [0, 1], [0], [0, 3]], 4)
    attr = double_features(data)
    assert attr.dtype == torch.float64
    name = NAMES.index('pair_share_own_max')
    assert attr[0, name].item() == pytest.approx(1 / 3, rel=0, abs=2.0**-30)


def test_appends_to_what_is_there() -> None:
    data = to_data([[0, 1], [1, 2, 0]], 3)
    plain = features(data)
    previous = torch.arange(10.0).view(5, 2).double()
    data.incidence_attr = previous
    out = AddPairFeatures()(data).incidence_attr
    assert out.dtype == torch.float32
    assert torch.equal(out, torch.cat([previous.float(), plain], dim=1))
    replaced = AddPairFeatures(cat=False)(data).incidence_attr
    assert torch.equal(replaced, plain)
    # The given data is left as it was.
    assert data.incidence_attr is previous


def test_names_reach_the_data() -> None:
    data = to_data([[0, 1, 2], [1, 2]], 3)
    out = AddPairFeatures()(data)
    assert out.names('incidence_attr') == NAMES
    assert data.column_names == {}
    data.incidence_attr = torch.zeros(5, 2)
    out = AddPairFeatures()(data)
    assert out.names('incidence_attr') == ['incidence_0', 'incidence_1', *NAMES]
    replaced = AddPairFeatures(cat=False)(out)
    assert replaced.names('incidence_attr') == NAMES
    both = Compose([AddTopologicalFeatures(), AddPairFeatures()])(replaced)
    topological = AddTopologicalFeatures().feature_names
    assert both.names('incidence_attr') == [*NAMES, *topological, *NAMES]
    assert all(part.validate() for part in (out, replaced, both))


def test_functional_name() -> None:
    data = planted()
    pipe: Any = DatasetAdapter([data])
    (out,) = pipe.add_pair_features(max_size=4, cat=False)
    assert torch.equal(out.incidence_attr, features(data, 4))


def test_repr_shows_all_parameters() -> None:
    assert repr(AddPairFeatures()) == 'AddPairFeatures(max_size=64, cat=True)'
    shown = repr(AddPairFeatures(np.int64(5), cat=False))  # type: ignore[arg-type]
    assert shown == 'AddPairFeatures(max_size=5, cat=False)'


@pytest.mark.parametrize('number', [np.int64(3), np.uint8(3), 3])
def test_integers_of_numpy(number: Any) -> None:
    transform = AddPairFeatures(number)
    assert type(transform.max_size) is int
    data = planted()
    assert torch.equal(transform(data).incidence_attr, features(data, 3))


@pytest.mark.parametrize(
    'bad', [1, 0, -3, True, False, 2.0, math.inf, '64', None, np.float64(9), np.int8(1)]
)
def test_bad_max_size(bad: Any) -> None:
    with one_line_error("'max_size'", 'integer of two or more', repr(bad)):
        AddPairFeatures(bad)


@settings(SETTINGS, max_examples=10)
@given(groupings(repeated_members=True), st.sampled_from([3, 64]))
def test_second_device(drawn: tuple[Groups, int], max_size: int) -> None:
    data = to_data(*drawn)
    expected = features(data, max_size)
    with second_device() as device:
        out = features(data.clone().to(device), max_size)
        assert out.device == device
    assert torch.equal(out.cpu(), expected)
