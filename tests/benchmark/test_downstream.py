from collections import Counter
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.strategies import Groups, to_data, to_groups
from tests.transforms.groups import GROUPS, NUM_NODES
from tgx_anchor.benchmark import downstream, fill_table
from tgx_anchor.benchmark.downstream import (
    ORIGINAL,
    VARIANTS,
    WITH_DEGREES,
    WITH_SIZES,
    WITH_STRENGTHS,
    DownstreamRow,
    DownstreamTask,
    anchor_strength,
    draw_members,
    hold_out,
    max_min,
    measure_downstream,
    with_fakes,
    with_members_in,
)
from tgx_anchor.benchmark.methods import load_setting, one_split
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.io import ResultTable
from tgx_anchor.nn import VilLain
from tgx_anchor.paper import figures


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# Steps ############################################################################


def test_held_out_hyperedges() -> None:
    data = one_split(load_setting('planted'), 1)
    mask = hold_out(data, 1)
    assert int(mask.sum()) == round(0.1 * data.num_hyperedges)
    assert bool(data.test_mask[mask].all())
    assert torch.equal(hold_out(data, 1), mask)
    assert not torch.equal(hold_out(data, 2), mask)


def test_members_are_distinct_and_uniform() -> None:
    # All ordered triples of five nodes, 40 times each on average.
    num_triples = 40 * 60
    hyperedge = torch.arange(num_triples).repeat_interleave(3)
    node = draw_members(hyperedge, 5, seeded())
    count = Counter(map(tuple, node.view(-1, 3).tolist()))
    assert set(count) == set(permutations(range(5), 3))
    chi2 = sum((n - 40) ** 2 / 40 for n in count.values())
    # 59 degrees of freedom: above 100 with a probability of 0.0007.
    assert chi2 < 100
    # All nodes at once.
    assert sorted(draw_members(torch.zeros(50).long(), 50, seeded()).tolist()) == list(
        range(50)
    )


def test_fakes() -> None:
    data = to_data([*GROUPS, []], NUM_NODES)
    nodes = torch.arange(NUM_NODES)
    out = with_fakes(data, nodes, seeded())
    assert out.validate()
    assert (out.num_nodes, out.num_hyperedges) == (NUM_NODES, 2 * data.num_hyperedges)
    groups = to_groups(out)
    real, fake = groups[: data.num_hyperedges], groups[data.num_hyperedges :]
    # Members that are listed twice count once.
    assert list(map(set, real)) == list(map(set, to_groups(data)))
    for a, b in zip(real, fake, strict=True):
        assert len(a) == len(set(a)) == len(b) == len(set(b))
    again = with_fakes(data, nodes, seeded())
    assert torch.equal(again.hyperedge_index, out.hyperedge_index)
    other = with_fakes(data, nodes, seeded(1))
    assert not torch.equal(other.hyperedge_index, out.hyperedge_index)


def test_members_of_fakes_are_among_the_given_nodes() -> None:
    data = to_data([[1, 4]] * 50, 6)
    out = with_fakes(data, torch.tensor([1, 3, 4]), seeded())
    fake = to_groups(out)[50:]
    assert {frozenset(group) for group in fake} == {
        frozenset(pair) for pair in ([1, 3], [1, 4], [3, 4])
    }


def test_hyperedges_of_nodes() -> None:
    data = to_data([[0, 1], [1, 2], [], [2], [0, 3, 1]], 4)
    mask = torch.tensor([True, True, False, True])
    assert with_members_in(data, mask).tolist() == [True, False, True, False, True]


def slow_max_min(x: Tensor, groups: Groups) -> Tensor:
    rows = []
    for group in groups:
        part = x[group] if group else torch.zeros(1, x.size(1))
        rows.append(part.max(dim=0).values - part.min(dim=0).values)
    return torch.stack(rows)


def test_pooling() -> None:
    groups = [*GROUPS, [], [3], [4, 0]]
    x = torch.randn(NUM_NODES, 5, generator=seeded())
    out = max_min(x, to_data(groups, NUM_NODES))
    torch.testing.assert_close(out, slow_max_min(x, groups))
    assert bool((out[-2] == 0).all())


@pytest.mark.parametrize(
    ('score', 'expected'),
    [
        ([3.0, 2.0, -1.0, -2.0], (1.0, 1.0)),
        ([-3.0, -2.0, 1.0, 2.0], (0.0, 0.0)),
        # Pairs: 2 > 1, 2 > -1, 0.5 < 1, 0.5 > -1.
        ([2.0, 0.5, 1.0, -1.0], (0.75, 0.75)),
        # A tie is half a pair, and zero is no word for real.
        ([0.0, 0.0, 0.0, 0.0], (0.5, 0.5)),
    ],
)
def test_figures(score: list[float], expected: tuple[float, float]) -> None:
    y = torch.tensor([True, True, False, False])
    found = downstream._evaluate(torch.tensor(score), y)
    assert found == pytest.approx(expected)


# Whole tasks ######################################################################


def small_setting(setting: str, root: str | None = None) -> AnchorData:
    return PlantedAnchorDataset(60, 500)[0]  # type: ignore[return-value]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downstream, 'load_setting', small_setting)


@pytest.mark.usefixtures('small')
def test_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = DownstreamTask('planted', 0, 2)
    told: list[str] = []
    rows = measure_downstream(task, told.append, cache=str(tmp_path))
    assert tuple(row.variant for row in rows) == VARIANTS
    assert len({row.auroc for row in rows}) == len(VARIANTS)
    assert {row.task for row in rows} == {task}
    for row in rows:
        assert 0.5 < row.accuracy < 1
        assert 0.5 < row.auroc < 1
        assert row.seconds > 0
    assert 'planted VilLain 2 labels 1/2' in told
    assert 'planted VilLain 8 labels 2/2' in told

    # Embeddings are kept, one for each number of labels, and nothing is learnt from
    # hyperedges that are held out.
    assert len(list(tmp_path.iterdir())) == 7
    told.clear()
    shown = []

    def strength_of(data: AnchorData, setting: str) -> Tensor:
        shown.append(data.num_hyperedges)
        return anchor_strength(data, setting)

    monkeypatch.setattr(downstream, 'anchor_strength', strength_of)
    again = measure_downstream(task, told.append, cache=str(tmp_path))
    assert shown == [450]
    assert not any('VilLain' in line for line in told)
    for first, second in zip(rows, again, strict=True):
        assert replace(second, seconds=first.seconds) == first


@pytest.mark.usefixtures('small')
def test_embedding_is_that_of_villain(tmp_path: Path) -> None:
    data = to_data(GROUPS, NUM_NODES)
    task = DownstreamTask('planted', 0, 2)
    x = downstream._embedding(data, task, lambda _: None, tmp_path)
    expected = VilLain(num_epochs=2, num_embed_steps=100).fit(data).embed()
    assert torch.equal(x, expected)


@pytest.mark.usefixtures('small')
def test_strengths_help_where_embeddings_are_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = torch.randn(60, 4, generator=seeded())
    monkeypatch.setattr(downstream, '_embedding', lambda *_: noise)
    # Real members are those of a high strength.
    degree = torch.bincount(small_setting('planted').hyperedge_index[0], minlength=60)
    monkeypatch.setattr(downstream, 'anchor_strength', lambda *_: degree.double() / 50)
    task = DownstreamTask('planted', 0)
    rows = measure_downstream(task, lambda _: None, cache=str(tmp_path))
    accuracy = {row.variant: row.accuracy for row in rows}
    assert accuracy[WITH_STRENGTHS] > accuracy[ORIGINAL] + 0.1
    # Real and fake groups have the same sizes, which is all that equal strengths tell.
    assert accuracy[WITH_SIZES] < accuracy[WITH_DEGREES] - 0.1
    assert task.num_epochs == 0


def test_hyperedges_with_members_in_no_other_are_not_tested(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Of three groups that are held out, one has a member who is in no other group.
    groups = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5]] * 5
    held_out = torch.arange(33) >= 30
    data = to_data([*groups, [0, 2], [1, 6], [3, 5]], 8)
    data.train_mask = torch.arange(33) < 2
    monkeypatch.setattr(downstream, 'load_setting', lambda *_: data)
    monkeypatch.setattr(downstream, 'one_split', lambda data, _: data)
    monkeypatch.setattr(downstream, 'hold_out', lambda *_: held_out)
    monkeypatch.setattr(downstream, 'anchor_strength', lambda *_: torch.zeros(8))
    shown: list[AnchorData] = []
    pool = max_min

    def show(x: Tensor, data: AnchorData) -> Tensor:
        shown.append(data)
        return pool(x, data)

    monkeypatch.setattr(downstream, 'max_min', show)
    task = DownstreamTask('planted', 0, 1)
    measure_downstream(task, lambda _: None, cache=str(tmp_path))
    learning, testing = map(to_groups, shown)
    assert learning[:30] == [sorted(group) for group in groups]
    assert testing[:2] == [[0, 2], [3, 5]]
    assert len(testing) == 4
    # Node 6 has no other group, node 7 none at all.
    assert {node for group in learning + testing for node in group} == set(range(6))

    lonely = to_data([*groups, [0, 6], [1, 6], [3, 7]], 8)
    lonely.train_mask = data.train_mask
    monkeypatch.setattr(downstream, 'load_setting', lambda *_: lonely)
    with pytest.raises(ValueError, match=r'No group of .planted. can be tested'):
        measure_downstream(task, lambda _: None, cache=str(tmp_path))


@pytest.mark.usefixtures('small')
def test_table(tmp_path: Path) -> None:
    path = tmp_path / 'rows.csv'
    key = (*DownstreamTask._fields, 'variant')

    def measure(task: DownstreamTask, tell: object) -> list[DownstreamRow]:
        return measure_downstream(task, lambda _: None, cache=str(tmp_path))

    def fill() -> ResultTable[DownstreamRow]:
        table = ResultTable(DownstreamRow, path, key=key)
        failures = fill_table(
            table,
            measure,
            [DownstreamTask('planted', 0, 1)],
            is_done=lambda task: (*task, ORIGINAL) in table,
            isolated=False,
            progress=False,
        )
        assert failures == {}
        return table

    assert len(fill()) == 4
    assert len(fill()) == 4
    assert len(path.read_text(encoding='utf-8').splitlines()) == 5


def test_variants_are_rows_of_the_paper() -> None:
    assert figures('downstream')['method'] == [ORIGINAL, WITH_STRENGTHS]
