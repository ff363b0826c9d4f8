from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.devices import second_device
from tests.strategies import (
    SETTINGS,
    hypergraphs,
    one_line_error,
    to_data,
    to_groups,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import AnchorDataset, PlantedAnchorDataset
from tgx_anchor.transforms import RandomHyperedgeSplit

MASKS = ('train_mask', 'val_mask', 'test_mask')
SHARES = st.sampled_from([0.0, 0.025, 0.075, 0.1, 0.25, 1 / 3, 0.5])


def eligible_sets(data: AnchorData) -> dict[int, frozenset[int]]:
    # The members of each hyperedge that may be drawn.
    flags = iter(data['y'].tolist())
    anchors = [[v for v in group if next(flags)] for group in to_groups(data)]
    some_known = any(anchors)
    return {
        e: frozenset(group)
        for e, group in enumerate(to_groups(data))
        if len(group) > 1
        and len(anchors[e]) < len(group)
        and (anchors[e] or not some_known)
    }


def sides(data: AnchorData, split: int | None = None) -> list[set[int]]:
    # The hyperedges in each mask.
    masks = [data[name] if split is None else data[name][:, split] for name in MASKS]
    assert all(mask.dtype == torch.bool for mask in masks)
    assert all(mask.size() == (data.num_hyperedges,) for mask in masks)
    return [set(mask.nonzero().flatten().tolist()) for mask in masks]


@SETTINGS
@given(
    hypergraphs(max_hyperedges=12),
    SHARES,
    SHARES,
    st.none() | st.sampled_from([0.0, 0.25]),
    st.integers(0, 5),
)
def test_sets_are_drawn_in_proportion(
    data: AnchorData, train: float, val: float, test: float | None, seed: int
) -> None:
    assume(train + val + (test or 0) <= 1)
    sets = eligible_sets(data)
    out = RandomHyperedgeSplit(train, val, test, seed)(data)
    parts = sides(out)
    drawn = [{sets[e] for e in part} for part in parts]
    # Disjoint sets, and all copies of a set on its side.
    assert not drawn[0] & drawn[1]
    assert not drawn[0] & drawn[2]
    assert not drawn[1] & drawn[2]
    for part, distinct in zip(parts, drawn, strict=True):
        assert part == {e for e, members in sets.items() if members in distinct}
    total = len(set(sets.values()))
    counts = [round(train * total), round(val * total)]
    rest = max(total - sum(counts), 0)
    assert len(drawn[0]) == counts[0]
    assert len(drawn[1]) == min(counts[1], total - counts[0])
    assert len(drawn[2]) == (rest if test is None else min(rest, round(test * total)))
    assert not any(name in data for name in MASKS)


@SETTINGS
@given(hypergraphs(), st.integers(0, 5))
def test_without_anchors_all_that_leave_a_choice_are_drawn(
    data: AnchorData, seed: int
) -> None:
    unknown = to_data(to_groups(data), int(data.num_nodes or 0))
    parts = sides(RandomHyperedgeSplit(0.5, 0.25, seed=seed)(unknown))
    several = {e for e, group in enumerate(to_groups(data)) if len(group) > 1}
    assert set.union(*parts) == several
    assert sum(map(len, parts)) == len(several)


def test_who_is_in_no_mask(device: torch.device) -> None:
    groups = [[0], [0, 1], [1, 0], [2, 3], [0, 1, 2], [3, 4], [], [4, 5]]
    anchors = [[0], [0], [0, 1], [], [0, 2], [3], [], [5]]
    data = to_data(groups, 6, anchors).to(device)
    out = RandomHyperedgeSplit(0.25, 0.25)(data)
    parts = sides(out)
    # No choice: 0 (one member) and 2 (both are anchors). Unknown: 3; empty: 6.
    assert set.union(*parts) == {1, 4, 5, 7}
    assert [len(part) for part in parts] == [1, 1, 2]
    assert out.train_mask.device.type == device.type
    on_cpu = sides(RandomHyperedgeSplit(0.25, 0.25)(data.to('cpu')))
    assert parts == on_cpu


def many_groups() -> AnchorData:
    generator = torch.Generator().manual_seed(0)
    groups = torch.randint(0, 60, (600, 3), generator=generator).tolist()
    distinct = [sorted(set(group)) for group in groups]
    return to_data(distinct, 60, [group[:1] for group in distinct])


def test_first_splits_do_not_depend_on_how_many_follow() -> None:
    data = many_groups()
    one = RandomHyperedgeSplit(seed=3)(data)
    two = RandomHyperedgeSplit(seed=3, num_splits=2)(data)
    five = RandomHyperedgeSplit(seed=3, num_splits=5)(data)
    for name in MASKS:
        assert five[name].size() == (600, 5)
        assert torch.equal(two[name], five[name][:, :2])
        assert torch.equal(one[name], five[name][:, 0])
    # The splits differ from each other, and so do seeds.
    columns = {tuple(column) for column in five['train_mask'].t().tolist()}
    other = RandomHyperedgeSplit(seed=4)(data)['train_mask']
    assert len({*columns, tuple(other.tolist())}) == 6


def test_draws_repeat_and_leave_the_global_generator_alone() -> None:
    data = many_groups()
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = RandomHyperedgeSplit(seed=7, num_splits=3)(data)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    again = RandomHyperedgeSplit(seed=7, num_splits=3)(data)
    for name in MASKS:
        assert torch.equal(first[name], again[name])


def test_every_set_is_drawn_equally_often() -> None:
    data = to_data([[i, i + 1] for i in range(10)], 11)
    out = RandomHyperedgeSplit(0.3, 0.2, num_splits=2000)(data)
    for name, share in zip(MASKS, (0.3, 0.2, 0.5), strict=True):
        mask = out[name].double()
        assert mask.sum(0).tolist() == [10 * share] * 2000
        # Five standard deviations.
        error = 5 * (share * (1 - share) / 2000) ** 0.5
        assert ((mask.mean(1) - share).abs() < error).all()


def test_test_share() -> None:
    data = many_groups()
    total = len(set(eligible_sets(data).values()))
    for test in (0.0, 0.1, 0.9):
        out = RandomHyperedgeSplit(0.075, 0.025, test)(data)
        sets = eligible_sets(data)
        assert len({sets[e] for e in sides(out)[2]}) == min(
            round(test * total), total - round(0.075 * total) - round(0.025 * total)
        )


@pytest.mark.parametrize(
    ('arguments', 'names'),
    [
        ({'train': -0.1}, ("'train'", '-0.1')),
        ({'train': 1.1}, ("'train'", '1.1')),
        ({'val': float('nan')}, ("'val'", 'nan')),
        ({'test': 2.0}, ("'test'", '2.0')),
        ({'train': 0.6, 'val': 0.5}, ("'train'", "'val'", "'test'")),
        ({'train': 0.5, 'val': 0.3, 'test': 0.3}, ("'train'", "'val'", "'test'")),
        ({'num_splits': 0}, ("'num_splits'", '0')),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], names: tuple[str, ...]) -> None:
    with one_line_error(*names):
        RandomHyperedgeSplit(**arguments)


def test_shares_may_fill_the_whole() -> None:
    # 0.7 + 0.2 + 0.1 is not 1 in floating point.
    out = RandomHyperedgeSplit(0.7, 0.2, 0.1)(many_groups())
    assert set.union(*sides(out)) == set(eligible_sets(many_groups()))


def test_repr_shows_all_parameters() -> None:
    assert repr(RandomHyperedgeSplit()) == (
        'RandomHyperedgeSplit(train=0.075, val=0.025, test=None, seed=0, num_splits=1)'
    )
    assert repr(RandomHyperedgeSplit(0.05, 0.1, 0.2, 7, 5)) == (
        'RandomHyperedgeSplit(train=0.05, val=0.1, test=0.2, seed=7, num_splits=5)'
    )


@pytest.mark.mirror
@pytest.mark.parametrize(
    ('train', 'val'), [(0.075, 0.025), (0.05, 0.025), (0.025, 0.025)]
)
def test_published_data(mirror: Path, tmp_path: Path, train: float, val: float) -> None:
    data = AnchorDataset('qaBI', root=tmp_path)[0]
    assert isinstance(data, AnchorData)
    groups = [frozenset(group) for group in to_groups(data)]
    sets = {group for group in groups if len(group) > 1}
    # As in the paper's table of datasets, which counts singletons too.
    assert (data.num_hyperedges, len(set(groups))) == (26290, 23242)
    parts = sides(RandomHyperedgeSplit(train, val)(data))
    drawn = [{groups[e] for e in part} for part in parts]
    counts = [round(train * len(sets)), round(val * len(sets))]
    assert [len(x) for x in drawn] == [*counts, len(sets) - sum(counts)]
    assert set.union(*drawn) == sets
    assert sum(map(len, parts)) == sum(len(group) > 1 for group in groups)


def test_second_device() -> None:
    data: Any = PlantedAnchorDataset(num_nodes=50, num_hyperedges=80)[0]
    transform = RandomHyperedgeSplit(num_splits=2)
    expected = transform(data)
    with second_device() as device:
        out = transform(data.clone().to(device))
        assert out.train_mask.device == device
    for name in ('train_mask', 'val_mask', 'test_mask'):
        assert torch.equal(out[name].cpu(), expected[name])
