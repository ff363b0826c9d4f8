import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.devices import second_device
from tests.nn.predictors.sets import double, random_beliefs, rows, sets_of, size
from tests.strategies import SETTINGS, hypergraphs, renamings, to_data, to_index
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.belief_view import (
    BELIEF_COLUMNS,
    belief_names,
    belief_view,
)
from tgx_anchor.utils import NodeSets, node_sets

# The columns that may depend on what is believed of the set itself.
OWN = ('belief_here', 'belief_share', 'belief_log_share')


def strengths(num_nodes: int, count: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.randn((num_nodes, count), generator=generator, dtype=torch.double)


def view(
    sets: NodeSets, num_nodes: int, belief: Tensor, here: Tensor, count: int = 2
) -> Tensor:
    with double():
        return belief_view(sets, num_nodes, belief, here, strengths(num_nodes, count))


def named(table: Tensor, count: int = 2) -> dict[str, Tensor]:
    return dict(zip(belief_names(count), table.t(), strict=True))


@st.composite
def weighted_sets(draw: st.DrawFn) -> tuple[NodeSets, int]:
    # Some groups are to be predicted, and do not count.
    data = draw(hypergraphs(0, 6))
    count = data.num_hyperedges
    flag = st.lists(st.sampled_from([0, 1, 1]), min_size=count, max_size=count)
    weight = torch.tensor(draw(flag))
    return node_sets(data.hyperedge_index, size(data), count, weight), size(data)


def slow_view(
    sets: NodeSets, belief: Tensor, here: Tensor, strength: Tensor
) -> list[dict[str, float]]:
    members = rows(sets)
    copies = sets.copies[sets.hyperedge_index[1]].tolist()
    believed, own = belief.tolist(), here.tolist()
    out = []
    for i, (v, e) in enumerate(members):
        others = [j for j, (u, f) in enumerate(members) if u == v and f != e]
        choices = [j for j in others if len(members[j][1]) > 1]
        a = sum(copies[j] * believed[j] for j in choices)
        m = sum(copies[j] / len(members[j][1]) for j in choices)
        n = sum(copies[j] for j in choices)
        h = 1 / (2 * len(e))
        degree = copies[i] + sum(copies[j] for j in others)
        total = copies[i] * own[i] + sum(copies[j] * believed[j] for j in others)
        share = total / degree if degree > 0 else 1 / len(e)
        row = [
            math.log((a + h) / (m + h)),
            (a - m) / (n + 1),
            math.log(1 + n),
            math.log(own[i]),
            share,
            math.log(share + 0.02),
            *strength[v].tolist(),
        ]
        names = belief_names(strength.size(1))[: len(row)]
        out.append(dict(zip(names, row, strict=True)))
    for i, (_, e) in enumerate(members):
        mine = [j for j, (_, f) in enumerate(members) if f == e]
        for name, value in list(out[i].items()):
            values = [out[j][name] for j in mine if j != i]
            mean = (value + sum(values)) / len(e)
            out[i][f'{name}_minus_mean'] = value - mean
            out[i][f'{name}_minus_best'] = value - max(values, default=value)
    return out


@SETTINGS
@given(weighted_sets(), st.integers(0, 2))
def test_equal_to_a_slow_version(drawn: tuple[NodeSets, int], count: int) -> None:
    sets, num_nodes = drawn
    belief, here = random_beliefs(sets, 1), random_beliefs(sets, 2)
    table = view(sets, num_nodes, belief, here, count)
    assert table.size() == (sets.num_rows, 3 * (6 + count))
    found = named(table, count)
    strength = strengths(num_nodes, count)
    for i, row in enumerate(slow_view(sets, belief, here, strength)):
        assert row.keys() == found.keys()
        for name, value in row.items():
            assert float(found[name][i]) == pytest.approx(value, abs=1e-9), name


def changed(before: Tensor, mine: Tensor, draw: st.DataObject) -> Tensor:
    # Another distribution over the members of one set.
    count = int(mine.sum())
    value = draw.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    assume(sum(value) > 0)
    out = before.clone()
    out[mine] = torch.tensor(value, dtype=torch.double) / sum(value)
    return out


@settings(SETTINGS, max_examples=200)
@given(weighted_sets(), st.data())
def test_own_anchors_are_not_seen(
    drawn: tuple[NodeSets, int], draw: st.DataObject
) -> None:
    sets, num_nodes = drawn
    assume(sets.num_rows > 0)
    belief, here = random_beliefs(sets, 1), random_beliefs(sets, 2)
    before = view(sets, num_nodes, belief, here)
    number = sets.hyperedge_index[1]
    mine = number == number[draw.draw(st.integers(0, sets.num_rows - 1))]
    # Known anchors of the set, which 'belief' holds, change none of its columns.
    after = view(sets, num_nodes, changed(belief, mine, draw), here)
    torch.testing.assert_close(after[mine], before[mine], rtol=0, atol=1e-12)
    # The belief of a model that has not seen them changes three only.
    twin = named(view(sets, num_nodes, belief, changed(here, mine, draw)))
    for name, values in named(before).items():
        if not name.startswith(OWN):
            assert torch.equal(twin[name][mine], values[mine]), name
        # Other sets never see it.
        assert torch.equal(twin[name][~mine], values[~mine]), name


def test_beliefs_about_others_are_seen() -> None:
    data = to_data([[0, 1], [0, 1, 2]], 3)
    sets = sets_of(data)
    belief = torch.tensor([0.5, 0.5, 0.25, 0.5, 0.25], dtype=torch.double)
    before = named(view(sets, 3, belief, belief))
    other = torch.tensor([0.9, 0.1, 0.25, 0.5, 0.25], dtype=torch.double)
    after = named(view(sets, 3, other, belief))
    unchanged = {n for n, v in after.items() if torch.equal(v[2:4], before[n][2:4])}
    assert {name.split('_minus')[0] for name in unchanged} == {
        'belief_count',
        'belief_here',
        'belief_strength_0',
        'belief_strength_1',
    }
    after = named(view(sets, 3, belief, other))
    differ = {n for n, v in after.items() if not torch.equal(v[:2], before[n][:2])}
    assert {name.split('_minus')[0] for name in differ} == set(OWN)


def test_by_hand(device: torch.device) -> None:
    # Two copies of {0, 1}, {1, 2} and {1}; {0, 2} is to be predicted.
    index = to_index([[0, 1], [1, 0], [1, 2], [1], [0, 2]]).to(device)
    weight = torch.tensor([1, 1, 1, 1, 0], device=device)
    sets = node_sets(index, 3, 5, weight)
    values = [0.75, 0.25, 0.5, 0.5, 1.0, 0.9, 0.1]
    belief = torch.tensor(values, dtype=torch.double, device=device)
    here = belief.clone()
    here[:2] = torch.tensor([0.6, 0.4])
    strength = torch.tensor([[1.0], [2.0], [4.0]], dtype=torch.double, device=device)
    table = belief_view(sets, 3, belief, here, strength)
    assert table.device.type == device.type
    assert table.dtype == torch.float32
    found = {name: value.tolist() for name, value in named(table, 1).items()}
    # In {0, 1}: 0 is in no other group that counts, 1 in {1, 2}, where it anchors half
    # a group, as by chance. {1} is no choice.
    assert found['belief_log_ratio'][:2] == pytest.approx([0, 0])
    assert found['belief_count'][:2] == pytest.approx([0, math.log(2)])
    assert found['belief_lift'][:2] == pytest.approx([0, 0])
    # In {1, 2}: 1 is in two copies of {0, 1}, in which it anchors half a group of one.
    assert found['belief_log_ratio'][2] == pytest.approx(math.log(0.75 / 1.25))
    assert found['belief_lift'][2] == pytest.approx((0.5 - 1) / 3)
    assert found['belief_count'][2] == pytest.approx(math.log(3))
    # In {0, 2}: one and a half of two groups, and half a group of one.
    assert found['belief_log_ratio'][5:] == pytest.approx([math.log(1.75 / 1.25), 0])
    assert found['belief_here'][:2] == pytest.approx([math.log(0.6), math.log(0.4)])
    # Over all groups, that of a singleton included, with its own 'here'.
    share = [0.6, (0.8 + 0.5 + 1) / 4, (0.5 + 0.5 + 1) / 4, 0.5]
    assert found['belief_share'][:4] == pytest.approx(share)
    assert found['belief_share'][5:] == pytest.approx([0.75, 0.5])
    assert found['belief_log_share'][0] == pytest.approx(math.log(0.62))
    assert found['belief_strength_0'] == [1, 2, 2, 4, 2, 1, 4]
    assert found['belief_strength_0_minus_best'] == [-1, 1, -2, 2, 0, -3, 3]
    assert found['belief_strength_0_minus_mean'] == [-0.5, 0.5, -1, 1, 0, -1.5, 1.5]


def test_certain_beliefs_are_finite() -> None:
    data = to_data([[0, 1]], 2)
    belief = torch.tensor([1.0, 0.0], dtype=torch.double)
    found = named(view(sets_of(data), 2, belief, belief))
    assert found['belief_here'].tolist() == pytest.approx([0, math.log(1e-9)])
    assert found['belief_log_share'].tolist() == pytest.approx(
        [math.log(1.02), math.log(0.02)]
    )


def test_member_of_no_group_that_counts() -> None:
    sets = node_sets(to_index([[0, 1]]), 2, 1, torch.zeros(1))
    belief = torch.tensor([0.9, 0.1], dtype=torch.double)
    found = named(view(sets, 2, belief, belief))
    assert found['belief_share'].tolist() == [0.5, 0.5]
    assert found['belief_log_ratio'].tolist() == [0, 0]


def test_names() -> None:
    names = belief_names(2)
    assert names[:8] == [*BELIEF_COLUMNS, 'belief_strength_0', 'belief_strength_1']
    assert names[8] == 'belief_log_ratio_minus_mean'
    assert names[-1] == 'belief_strength_1_minus_best'
    assert len(names) == len(set(names)) == 24
    assert len(belief_names(0)) == 18


@SETTINGS
@given(hypergraphs(), st.data())
def test_names_of_nodes_do_not_matter(data: AnchorData, draw: st.DataObject) -> None:
    other = draw.draw(renamings(data))
    sets, twins = sets_of(data), sets_of(other.data)
    belief, strength = random_beliefs(sets), strengths(size(data))
    theirs = torch.empty(twins.num_rows, dtype=torch.double)
    theirs[twins.row] = other.incidences(belief[sets.row])
    with double():
        table = belief_view(sets, size(data), belief, belief, strength)
        found = belief_view(twins, size(data), theirs, theirs, other.nodes(strength))
    torch.testing.assert_close(
        found[twins.row], other.incidences(table[sets.row]), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize('num_hyperedges', [0, 2])
def test_no_members(num_hyperedges: int) -> None:
    sets = node_sets(to_index([]), 3, num_hyperedges)
    nothing = torch.empty(0, dtype=torch.double)
    assert view(sets, 3, nothing, nothing).size() == (0, 24)


@settings(SETTINGS, max_examples=10)
@given(hypergraphs())
def test_second_device(data: AnchorData) -> None:
    sets, num_nodes = sets_of(data), size(data)
    belief, strength = random_beliefs(sets), strengths(num_nodes)
    expected = belief_view(sets, num_nodes, belief, belief, strength)
    with second_device() as device:
        index = data.hyperedge_index.to(device)
        there = node_sets(index, num_nodes, data.num_hyperedges)
        moved = belief.to(device)
        out = belief_view(there, num_nodes, moved, moved, strength.to(device))
        assert out.device == device
    assert torch.equal(out.cpu(), expected)
