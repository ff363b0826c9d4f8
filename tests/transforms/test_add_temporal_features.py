import math
from collections.abc import Sequence
from pathlib import Path
from statistics import median_low
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import InMemoryDataset
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
from tgx_anchor.transforms import AddTemporalFeatures, AddTopologicalFeatures

PLAIN_NAMES = [
    'time_earlier',
    'time_later',
    'time_position',
    'time_is_first',
    'time_is_last',
    'time_since_previous',
    'time_until_next',
    'time_since_start',
    'time_until_end',
]
NAMES = [
    *PLAIN_NAMES,
    *(f'{name}_minus_mean' for name in PLAIN_NAMES),
    *(f'{name}_minus_best' for name in PLAIN_NAMES),
    'time_known',
]
NAN = math.nan
# Ties are frequent, gaps differ by orders of magnitude, and sums are exact.
MOMENTS = [-7.0, 0.0, 1.0, 1.5, 2.0, 4.0, 60.0, 3600.0]


def timed(
    groups: Sequence[Sequence[int]], num_nodes: int, time: Sequence[float] | Tensor
) -> AnchorData:
    data = to_data(groups, num_nodes)
    if not isinstance(time, Tensor):
        time = torch.tensor(time, dtype=torch.float64)
    data.hyperedge_time = time
    return data


@st.composite
def timed_hypergraphs(draw: st.DrawFn, repeated_members: bool = False) -> AnchorData:
    groups, num_nodes = draw(groupings(repeated_members=repeated_members))
    dtype = draw(st.sampled_from([torch.float64, torch.float32, torch.int64]))
    moments = [*MOMENTS, NAN] if dtype.is_floating_point else [-7, 0, 1, 2, 4, 60]
    moment = st.sampled_from(moments)
    time = draw(st.lists(moment, min_size=len(groups), max_size=len(groups)))
    return timed(groups, num_nodes, torch.tensor(time, dtype=dtype))


def features(data: AnchorData) -> Tensor:
    out = AddTemporalFeatures(cat=False)(data).incidence_attr
    assert isinstance(out, Tensor)
    return out


def double_features(data: AnchorData) -> Tensor:
    torch.set_default_dtype(torch.float64)
    try:
        return features(data)
    finally:
        torch.set_default_dtype(torch.float32)


def column(data: AnchorData, name: str) -> list[float]:
    values: list[float] = features(data)[:, NAMES.index(name)].tolist()
    return values


def gaps(v: int, t: float, groups: Groups, time: list[float]) -> list[float | None]:
    # To the previous, next, first and last hyperedge of a node.
    own = [s for g, s in zip(groups, time, strict=True) if v in g and s == s]
    earlier, later = [s for s in own if s < t], [s for s in own if s > t]
    return [
        t - max(earlier) if earlier else None,
        min(later) - t if later else None,
        t - min(own),
        max(own) - t,
    ]


def slow_plain(groups: Groups, time: list[float]) -> dict[tuple[int, int], list[float]]:
    # The plain columns of each member of each hyperedge of known time.
    pairs = [(v, e) for e, g in enumerate(groups) for v in set(g) if time[e] == time[e]]
    gap = {(v, e): gaps(v, time[e], groups, time) for v, e in pairs}
    unit = median_low([g[0] for g in gap.values() if g[0] is not None] or [1.0])
    logs = {
        pair: [None if g is None else math.log1p(g / unit) for g in row]
        for pair, row in gap.items()
    }
    beyond = [
        max((x + 1 for row in logs.values() if (x := row[i]) is not None), default=0.0)
        for i in range(4)
    ]
    out = {}
    for v, e in pairs:
        others = [
            time[f]
            for f, g in enumerate(groups)
            if v in g and f != e and time[f] == time[f]
        ]
        earlier = sum(s < time[e] for s in others)
        later = sum(s > time[e] for s in others)
        equal = len(others) - earlier - later
        out[v, e] = [
            math.log(1 + earlier),
            math.log(1 + later),
            (earlier + 0.5 * equal) / len(others) if others else 0.5,
            float(earlier == 0),
            float(later == 0),
            *(b if x is None else x for x, b in zip(logs[v, e], beyond, strict=True)),
        ]
    return out


def slow_features(groups: Groups, time: list[float]) -> list[list[float]]:
    plain = slow_plain(groups, time)
    rows = []
    for e, group in enumerate(groups):
        for v in group:
            if (v, e) not in plain:
                rows.append([0.0] * len(NAMES))
                continue
            own = plain[v, e]
            members = [plain[u, e] for u in set(group)]
            others = [plain[u, e] for u in set(group) if u != v] or [own]
            mean = [sum(x) / len(members) for x in zip(*members, strict=True)]
            best = [max(x) for x in zip(*others, strict=True)]
            rows.append(
                [
                    *own,
                    *(x - m for x, m in zip(own, mean, strict=True)),
                    *(x - b for x, b in zip(own, best, strict=True)),
                    1.0,
                ]
            )
    return rows


@SETTINGS
@given(timed_hypergraphs(repeated_members=True))
def test_all_columns(data: AnchorData) -> None:
    assert AddTemporalFeatures().feature_names == NAMES
    time = data.hyperedge_time.double().tolist()
    expected = torch.tensor(slow_features(to_groups(data), time)).view(-1, 28)
    torch.testing.assert_close(features(data), expected, rtol=1e-6, atol=1e-6)


def test_by_hand(device: torch.device) -> None:
    # Node 0 has the times 10, 20, 20 and 50, node 1 10 and 20, node 2 20 and 50.
    groups = [[0, 1], [0, 1, 2], [0], [0, 2], [1, 3]]
    data = timed(groups, 5, [10, 20, 20, 50, NAN]).to(device)
    attr = features(data)
    assert attr.device.type == device.type
    assert attr.dtype == torch.float32
    assert attr.size() == (10, 28)
    # The gaps to the previous hyperedges are 10, 10, 10, 30 and 30: 10 is the unit.
    a, b, none = math.log(2), math.log(5), 2 * math.log(2) + 1
    expected: dict[str, list[float]] = {
        'time_earlier': [0, 0, a, a, 0, a, 2 * a, a],
        'time_later': [2 * a, a, a, 0, a, a, 0, 0],
        'time_position': [0, 0, 0.5, 1, 0, 0.5, 1, 1],
        'time_is_first': [1, 1, 0, 0, 1, 0, 0, 0],
        'time_is_last': [0, 0, 0, 1, 0, 0, 1, 1],
        'time_since_previous': [none, none, a, a, none, a, 2 * a, 2 * a],
        'time_until_next': [a, a, 2 * a, none, 2 * a, 2 * a, none, none],
        'time_since_start': [0, 0, a, a, 0, a, b, 2 * a],
        'time_until_end': [b, a, 2 * a, 0, 2 * a, 2 * a, 0, 0],
        'time_later_minus_mean': [a / 2, -a / 2, a / 3, -2 * a / 3, a / 3, 0, 0, 0],
        'time_position_minus_mean': [0, 0, 0, 0.5, -0.5, 0, 0, 0],
        'time_is_first_minus_mean': [0, 0, -1 / 3, -1 / 3, 2 / 3, 0, 0, 0],
        'time_earlier_minus_best': [0, 0, 0, 0, -a, 0, a, -a],
        'time_position_minus_best': [0, 0, -0.5, 0.5, -1, 0, 0, 0],
        'time_until_end_minus_best': [b - a, a - b, 0, -2 * a, 0, 0, 0, 0],
        'time_known': [1] * 8,
    }
    for name, values in expected.items():
        found = attr[:, NAMES.index(name)].cpu()
        torch.testing.assert_close(found, torch.tensor([*values, 0.0, 0.0]))
    assert torch.equal(attr[8:].cpu(), torch.zeros(2, 28))


@SETTINGS
@given(timed_hypergraphs(repeated_members=True), st.data())
def test_names_do_not_matter(data: AnchorData, draw: st.DataObject) -> None:
    other = draw.draw(renamings(data))
    other.data.hyperedge_time = other.hyperedges(data.hyperedge_time)
    assert torch.equal(features(other.data), other.incidences(features(data)))


def random_history(seed: int = 0) -> AnchorData:
    data: Any = PlantedAnchorDataset(num_nodes=60, num_hyperedges=400, seed=seed)[0]
    generator = torch.Generator().manual_seed(seed)
    time = torch.randint(0, 10**6, (400,), generator=generator).double().square()
    time[::17] = NAN
    data.hyperedge_time = time
    assert isinstance(data, AnchorData)
    return data


@pytest.mark.parametrize('seed', range(3))
def test_order_of_members_does_not_matter(seed: int) -> None:
    # Means of irregular numbers: their sums must not depend on the order of members.
    data = random_history()
    generator = torch.Generator().manual_seed(seed)
    name = torch.randperm(data.num_nodes, generator=generator)
    other = data.clone()
    other.hyperedge_index = torch.stack(
        [name[data.hyperedge_index[0]], data.hyperedge_index[1]]
    )
    assert torch.equal(double_features(other), double_features(data))


@SETTINGS
@given(timed_hypergraphs(), st.sampled_from([-12345, 1, 86400, 2**30]))
def test_shift_of_time_does_not_matter(data: AnchorData, shift: int) -> None:
    expected = features(data)
    time = data.hyperedge_time
    time = time.double() if time.is_floating_point() else time
    data.hyperedge_time = time + shift
    assert torch.equal(features(data), expected)


@SETTINGS
@given(timed_hypergraphs(), st.sampled_from([1e-9, 0.1, 1 / 3600, 1e3, 1e12]))
def test_unit_of_time_does_not_matter(data: AnchorData, factor: float) -> None:
    expected = features(data)
    data.hyperedge_time = data.hyperedge_time.double() * factor
    torch.testing.assert_close(features(data), expected, rtol=1e-5, atol=1e-5)


@SETTINGS
@given(timed_hypergraphs())
def test_unknown_times_are_left_out(data: AnchorData) -> None:
    attr = features(data)
    is_known = ~torch.isnan(data.hyperedge_time)
    row = is_known[data.hyperedge_index[1]]
    assert torch.equal(attr[~row], torch.zeros(int((~row).sum()), 28))
    assert torch.equal(features(data.hyperedge_subgraph(is_known)), attr[row])
    data.hyperedge_time = torch.full((data.num_hyperedges,), NAN)
    assert torch.equal(features(data), torch.zeros(data.num_incidences, 28))


@SETTINGS
@given(timed_hypergraphs(repeated_members=True))
def test_repeated_members_count_once(data: AnchorData) -> None:
    merged = data.coalesce()
    merged_pairs = map(tuple, merged.hyperedge_index.t().tolist())
    row = dict(zip(merged_pairs, features(merged).tolist(), strict=True))
    pairs = map(tuple, data.hyperedge_index.t().tolist())
    assert features(data).tolist() == [row[pair] for pair in pairs]


@pytest.mark.parametrize('num_hyperedges', [0, 2])
@pytest.mark.parametrize('num_nodes', [0, 1, 3])
def test_no_incidences(num_nodes: int, num_hyperedges: int) -> None:
    data = timed([[]] * num_hyperedges, num_nodes, [1.0] * num_hyperedges)
    assert features(data).size() == (0, 28)


def test_nothing_to_compare() -> None:
    # Each member has one hyperedge: first, last, half way, and no gap anywhere.
    row = [0, 0, 0.5, 1, 1, 0, 0, 0, 0, *[0] * 18, 1]
    attr = features(timed([[0], [1, 2], []], 4, [3.0, 9.0, 5.0]))
    assert attr.tolist() == [row] * 3
    # All hyperedges at the same time are no different.
    attr = features(timed([[0, 1], [0, 1, 2], [0, 2], [0]], 3, [7.0] * 4))
    assert attr.tolist() == [row] * 8


def test_singletons_have_nobody_to_compare_with() -> None:
    attr = features(timed([[0], [0], [0]], 1, [1, 2, 4]))
    assert torch.equal(attr[:, 9:27], torch.zeros(3, 18))
    assert attr[:, 2].tolist() == [0, 0.5, 1]


def test_equal_histories_are_exactly_equal() -> None:
    # No rounding error in the mean of seven equal numbers.
    attr = features(timed([range(7)] * 4, 7, [0.1, 0.2, 0.7, 1.9]))
    assert torch.equal(attr[:, 9:27], torch.zeros(28, 18))
    assert attr[7, 2] == torch.tensor(1 / 3)


def test_copies_share_their_values() -> None:
    data = timed([[0, 1]] * 4 + [[0], [1]], 2, [5, 5, 5, 8, 1, 9])
    attr = features(data)
    assert torch.equal(attr[0:2], attr[2:4])
    assert torch.equal(attr[0:2], attr[4:6])
    assert not torch.equal(attr[0:2], attr[6:8])
    # Before the three copies is one hyperedge of node 0, and none of node 1.
    assert column(data, 'time_position')[:2] == [2 / 4, 1 / 4]


def test_unit_counts_each_incidence() -> None:
    # The gap 1 comes once, 8 three times, since three members waited for it.
    data = timed([[0], [0], [1, 2, 3], [1, 2, 3]], 4, [0, 1, 0, 8])
    gap = math.log(1 + 1 / 8)
    assert column(data, 'time_since_previous')[1] == pytest.approx(gap)
    # Of two medians the lower one.
    data = timed([[0], [0], [0]], 1, [0, 2, 8])
    expected = [math.log(2), math.log(1 + 6 / 2)]
    assert column(data, 'time_since_previous')[1:] == pytest.approx(expected)


def test_none_sorts_beyond_all() -> None:
    data = timed([[0, 1], [0], [0, 1], [2]], 3, [0, 1, 1000, 3])
    for name, none in (
        ('time_since_previous', [0, 1, 5]),
        ('time_until_next', [3, 4, 5]),
    ):
        values = column(data, name)
        others = [x for i, x in enumerate(values) if i not in none]
        assert [values[i] for i in none] == pytest.approx([max(others) + 1] * 3)


@pytest.mark.parametrize(
    'time',
    [
        torch.tensor([1.7e9, 1.7e9 + 1e-6, 1.7e9 + 2e-6], dtype=torch.float64),
        torch.tensor([2**53 - 3, 2**53 - 2, 2**53 - 1]),
        torch.tensor([0, 1, 2], dtype=torch.uint8),
        torch.tensor([-128, 0, 127], dtype=torch.int8),
        torch.tensor([0, 2**-24, 1], dtype=torch.float16),
    ],
)
def test_times_do_not_collapse(time: Tensor) -> None:
    data = timed([[0], [0], [0]], 1, time)
    assert column(data, 'time_position') == [0, 0.5, 1]
    assert column(data, 'time_is_first') == [1, 0, 0]


def test_gaps_are_exact() -> None:
    # A microsecond is four steps of the double-precision numbers around this time.
    data = timed([[0], [0], [0]], 1, [1.7e9, 1.7e9 + 1e-6, 1.7e9 + 2e-6])
    expected = [0, math.log(2), math.log(3)]
    assert column(data, 'time_since_start') == pytest.approx(expected)


def test_integers_beyond_doubles_are_rounded() -> None:
    data = timed([[0], [0], [0]], 1, torch.tensor([2**53, 2**53 + 1, 2**53 + 2]))
    assert column(data, 'time_is_first') == [1, 1, 0]


def test_extreme_times_are_finite() -> None:
    tiny, huge = 5e-324, 1.797e308
    for time in ([-huge, huge, 0.0], [0.0, tiny, huge], [0.0, tiny, -tiny]):
        attr = features(timed([[0, 1], [0, 1], [0]], 2, time))
        assert torch.isfinite(attr).all()
    data = timed([[0], [0], [0]], 1, [-huge, huge, 0.0])
    assert column(data, 'time_position') == [0, 1, 0.5]
    assert column(data, 'time_until_end')[0] == pytest.approx(math.log(3))
    # A gap of 1e300 in a unit of 1e-300.
    data = timed([[0], [0], [0], [0]], 1, [0.0, 1e-300, 2e-300, 1e300])
    assert column(data, 'time_since_start')[3] == pytest.approx(600 * math.log(10))


def test_zeros_of_both_signs_are_equal() -> None:
    data = timed([[0], [0], [0]], 1, [0.0, -0.0, 1.0])
    assert column(data, 'time_position') == [0.25, 0.25, 1]


def test_appends_to_what_is_there() -> None:
    data = timed([[0, 1], [1, 2, 0]], 3, [1, 2])
    plain = features(data)
    previous = torch.arange(10.0).view(5, 2).double()
    data.incidence_attr = previous
    out = AddTemporalFeatures()(data).incidence_attr
    assert out.dtype == torch.float32
    assert torch.equal(out, torch.cat([previous.float(), plain], dim=1))
    replaced = AddTemporalFeatures(cat=False)(data).incidence_attr
    assert torch.equal(replaced, plain)
    # The given data is left as it was.
    assert data.incidence_attr is previous
    assert data.hyperedge_time.tolist() == [1, 2]


def test_names_reach_the_data() -> None:
    data = timed([[0, 1, 2], [1, 2]], 3, [1, 2])
    out = AddTemporalFeatures()(data)
    assert out.names('incidence_attr') == NAMES
    assert data.column_names == {}
    data.incidence_attr = torch.zeros(5, 2)
    out = AddTemporalFeatures()(data)
    assert out.names('incidence_attr') == ['incidence_0', 'incidence_1', *NAMES]
    assert AddTemporalFeatures()(out).names('incidence_attr')[2:] == NAMES + NAMES
    replaced = AddTemporalFeatures(cat=False)(out)
    assert replaced.names('incidence_attr') == NAMES
    assert all(part.validate() for part in (out, replaced))


def test_default_dtype() -> None:
    data = timed([[0], [0], [0], [0]], 1, [1, 2, 3, 4])
    attr = double_features(data)
    assert attr.dtype == torch.float64
    assert attr[1, 2].item() == pytest.approx(1 / 3, rel=0, abs=2**-30)


def test_repr_shows_all_parameters() -> None:
    assert repr(AddTemporalFeatures()) == 'AddTemporalFeatures(cat=True)'
    assert repr(AddTemporalFeatures(False)) == 'AddTemporalFeatures(cat=False)'


def test_bad_times() -> None:
    data = to_data([[0, 1], [1]], 2)
    name = "'data.hyperedge_time'"
    with one_line_error(name, 'missing', 'AnchorData.from_incidence', 'time='):
        AddTemporalFeatures()(data)
    for bad in (math.inf, -math.inf):
        data.hyperedge_time = torch.tensor([NAN, bad])
        with one_line_error(name, 'finite', f'{bad} in row 1'):
            AddTemporalFeatures()(data)
    for time, words in (
        ([1.0, 2.0], 'list'),
        (torch.tensor([True, False]), 'torch.bool'),
        (torch.zeros(2, dtype=torch.cfloat), 'torch.complex64'),
        (torch.zeros(3), '[3]'),
        (torch.zeros(2, 1), '[2, 1]'),
        (torch.tensor(1.0), '[]'),
    ):
        data.hyperedge_time = time
        with one_line_error(name, 'must', words):
            AddTemporalFeatures()(data)


class History(InMemoryDataset):
    # A dataset of one hypergraph, which PyG saves after 'pre_transform'.
    def __init__(self, root: Path, pre_transform: Any) -> None:
        super().__init__(str(root), pre_transform=pre_transform)
        self.load(self.processed_paths[0], data_cls=AnchorData)

    @property
    def processed_file_names(self) -> list[str]:
        return ['data.pt']

    def process(self) -> None:
        assert self.pre_transform is not None
        self.save([self.pre_transform(random_history())], self.processed_paths[0])


def test_pre_transform(tmp_path: Path) -> None:
    transform = Compose([AddTopologicalFeatures(), AddTemporalFeatures()])
    for _ in range(2):
        data: Any = History(tmp_path, transform)[0]
        assert data.validate()
        expected = [*AddTopologicalFeatures().feature_names, *NAMES]
        assert data.names('incidence_attr') == expected
        assert torch.equal(data.incidence_attr[:, 33:], features(random_history()))
    with pytest.warns(UserWarning, match='`pre_transform` argument differs'):
        History(tmp_path, AddTemporalFeatures())


@settings(SETTINGS, max_examples=10)
@given(timed_hypergraphs(repeated_members=True))
def test_second_device(data: AnchorData) -> None:
    expected = features(data)
    with second_device() as device:
        out = features(data.clone().to(device))
        assert out.device == device
    assert torch.equal(out.cpu(), expected)
