from itertools import permutations
from math import comb, log2
from statistics import fmean
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch

from tests.devices import second_device
from tests.strategies import (
    SETTINGS,
    by_group,
    one_line_error,
    renamings,
    scored_hypergraphs,
    to_data,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import AnchorEvaluator

HITS_AT = (1, 2, 3, 9)
NAMES = ['accuracy', 'ndcg', 'mrr', *(f'hits@{k}' for k in HITS_AT), 'chance']
ALL_FIGURES = AnchorEvaluator(HITS_AT, chance=True)


def figures_of_order(is_anchor: list[bool]) -> dict[str, float]:
    # Of members from first to last.
    ranks = [i for i, flag in enumerate(is_anchor, start=1) if flag]
    ideal = sum(1 / log2(i + 1) for i in range(1, len(ranks) + 1))
    return {
        'accuracy': float(max(ranks) == len(ranks)),
        'ndcg': sum(1 / log2(i + 1) for i in ranks) / ideal,
        'mrr': 1 / min(ranks),
        **{f'hits@{k}': float(min(ranks) <= k) for k in HITS_AT},
    }


def slow_figures(score: list[float], is_anchor: list[bool]) -> dict[str, float]:
    # The mean over all orders in which no score is below a later one.
    members = list(zip(score, is_anchor, strict=True))
    every = list(permutations(members))
    orders = [
        [flag for _, flag in order]
        for order in every
        if [x for x, _ in order] == sorted(score, reverse=True)
    ]
    rows = [figures_of_order(order) for order in orders]
    blind = [figures_of_order([flag for _, flag in order]) for order in every]
    return {
        **{name: fmean(row[name] for row in rows) for name in rows[0]},
        'chance': fmean(row['accuracy'] for row in blind),
    }


def expected_figures(data: AnchorData, score: Tensor) -> dict[int, dict[str, float]]:
    # Of every hyperedge with a known anchor.
    flags = [[bool(x) for x in row] for row in by_group(data, data['y'])]
    scores = by_group(data, score)
    return {
        e: slow_figures(scores[e], flags[e]) for e, row in enumerate(flags) if any(row)
    }


def tied_group(size: int, num_anchors: int) -> tuple[Tensor, AnchorData]:
    data = to_data([list(range(size))], size, [range(num_anchors)])
    return torch.zeros(size), data


# Against all orders ##############################################################


@SETTINGS
@given(scored_hypergraphs(), st.data())
def test_by_definition(drawn: tuple[AnchorData, Tensor], draw: st.DataObject) -> None:
    data, score = drawn
    slow = expected_figures(data, score)
    chosen = draw.draw(st.sets(st.sampled_from(sorted(slow)), min_size=1))
    mask = torch.zeros(data.num_hyperedges, dtype=torch.bool)
    mask[sorted(chosen)] = True
    before = score.clone()
    each = ALL_FIGURES.per_hyperedge(score, data, mask)
    mean = ALL_FIGURES.eval(score, data, mask)
    assert list(each) == NAMES
    assert list(mean) == [*NAMES, 'num_hyperedges']
    assert mean['num_hyperedges'] == len(chosen)
    for name in NAMES:
        expected = [slow[e][name] for e in sorted(chosen)]
        assert each[name].tolist() == pytest.approx(expected, abs=1e-12)
        assert mean[name] == pytest.approx(fmean(expected), abs=1e-12)
        assert isinstance(mean[name], float)
        assert 0 <= mean[name] <= 1
        assert (each[name] >= 0).all()
        assert (each[name] <= 1).all()
    assert torch.equal(score, before)


@SETTINGS
@given(scored_hypergraphs(min_anchors=0))
def test_without_a_mask_all_known_choices_count(
    drawn: tuple[AnchorData, Tensor],
) -> None:
    data, score = drawn
    flags = by_group(data, data['y'])
    chosen = [e for e, row in enumerate(flags) if any(row) and not all(row)]
    slow = expected_figures(data, score)
    mean = ALL_FIGURES.eval(score, data)
    assert mean['num_hyperedges'] == len(chosen)
    for name in NAMES:
        expected = fmean(slow[e][name] for e in chosen)
        assert mean[name] == pytest.approx(expected, abs=1e-12)


@SETTINGS
@given(scored_hypergraphs())
def test_sizes_apart(drawn: tuple[AnchorData, Tensor]) -> None:
    data, score = drawn
    slow = expected_figures(data, score)
    mask = data.known_mask & data.choice_mask
    out = ALL_FIGURES.eval_by_size(score, data, mask)
    size = data.hyperedge_size.tolist()
    sizes = [size[e] for e in slow if mask[e]]
    assert list(out) == sorted(set(sizes))
    for n, row in out.items():
        same = [e for e in slow if mask[e] and size[e] == n]
        assert row['num_hyperedges'] == len(same)
        for name in NAMES:
            expected = fmean(slow[e][name] for e in same)
            assert row[name] == pytest.approx(expected, abs=1e-12)
    assert ALL_FIGURES.eval_by_size(score, data) == out
    # Weighted by their numbers, they are the whole.
    whole = ALL_FIGURES.eval(score, data)
    for name in NAMES:
        total = sum(row[name] * row['num_hyperedges'] for row in out.values())
        assert total / len(sizes) == pytest.approx(whole[name], abs=1e-12)


@SETTINGS
@given(scored_hypergraphs(), st.data())
def test_names_do_not_matter(
    drawn: tuple[AnchorData, Tensor], draw: st.DataObject
) -> None:
    data, score = drawn
    other = draw.draw(renamings(data))
    mask = data.known_mask
    before = ALL_FIGURES.per_hyperedge(score, data, mask)
    after = ALL_FIGURES.per_hyperedge(
        other.incidences(score), other.data, other.hyperedges(mask)
    )
    order = other.hyperedges(torch.arange(data.num_hyperedges))
    place = (mask.long().cumsum(0) - 1)[order][mask[order]]
    for name in NAMES:
        torch.testing.assert_close(after[name], before[name][place])


@SETTINGS
@given(scored_hypergraphs(), st.sampled_from(['expected', 'random']))
def test_only_the_order_of_scores_matters(
    drawn: tuple[AnchorData, Tensor], ties: Any
) -> None:
    data, score = drawn
    evaluator = AnchorEvaluator(HITS_AT, chance=True, ties=ties, seed=3)
    whole = evaluator.eval(score, data)
    assert evaluator.eval(score.exp() - 100, data) == whole
    assert evaluator.eval(score.double() * 1e200, data) == whole
    assert evaluator.eval((2 * score).to(torch.int8), data) == whole
    assert evaluator.eval((2 * score).long() * 2**58, data) == whole
    assert evaluator.eval(score.half(), data) == whole


@SETTINGS
@given(scored_hypergraphs())
def test_hyperedges_are_scored_apart(drawn: tuple[AnchorData, Tensor]) -> None:
    data, score = drawn
    shift = data.hyperedge_index[1] * 8
    assert ALL_FIGURES.eval(score - shift, data) == ALL_FIGURES.eval(score, data)


# By hand #########################################################################


def test_one_anchor(device: torch.device) -> None:
    groups = [[0, 1, 2], [0, 1, 2, 3], [4, 3]]
    data = to_data(groups, 5, [[2], [0], [3]]).to(device)
    # The anchors rank first, third and second.
    score = torch.tensor([-3.0, -2.0, -1.0, 0.0, 7.0, -5.0, 2.0, 0.5, 0.25])
    out = AnchorEvaluator([2]).per_hyperedge(score.to(device), data)
    assert out['accuracy'].tolist() == [1, 0, 0]
    assert out['mrr'].tolist() == [1, 1 / 3, 1 / 2]
    assert out['ndcg'].tolist() == pytest.approx([1, 1 / 2, 1 / log2(3)])
    assert out['hits@2'].tolist() == [1, 0, 1]
    mean = AnchorEvaluator().eval(score.to(device), data)
    assert mean == pytest.approx(
        {
            'accuracy': 1 / 3,
            'ndcg': (3 / 2 + 1 / log2(3)) / 3,
            'mrr': 11 / 18,
            'num_hyperedges': 3,
        }
    )


def test_two_anchors() -> None:
    groups = [[0, 1, 2], [0, 1, 2], [0, 1, 2, 3]]
    data = to_data(groups, 4, [[0, 1], [0, 1], [2, 3]])
    # Ranks 1 and 2; 1 and 3; and second or third, then fourth.
    score = torch.tensor([2.0, 3.0, 1.0, 3.0, 1.0, 2.0, 2.0, 1.0, 1.0, 0.0])
    out = AnchorEvaluator([1, 2], chance=True).per_hyperedge(score, data)
    assert out['accuracy'].tolist() == [1, 0, 0]
    assert out['mrr'].tolist() == pytest.approx([1, 1, (1 / 2 + 1 / 3) / 2])
    best = 1 + 1 / log2(3)
    half = (1 / log2(3) + 1 / 2) / 2
    assert out['ndcg'].tolist() == pytest.approx(
        [1, 3 / 2 / best, (half + 1 / log2(5)) / best]
    )
    assert out['hits@1'].tolist() == [1, 1, 0]
    assert out['hits@2'].tolist() == pytest.approx([1, 1, 1 / 2])
    assert out['chance'].tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 6])


@pytest.mark.parametrize('size', [1000, 20_000])
def test_large_group_of_equals(size: int) -> None:
    evaluator = AnchorEvaluator([1, 10, size], chance=True)
    out = evaluator.eval(*tied_group(size, 1))
    assert out == pytest.approx(
        {
            'accuracy': 1 / size,
            'ndcg': sum(1 / log2(i + 1) for i in range(1, size + 1)) / size,
            'mrr': sum(1 / i for i in range(1, size + 1)) / size,
            'hits@1': 1 / size,
            'hits@10': 10 / size,
            f'hits@{size}': 1.0,
            'chance': 1 / size,
            'num_hyperedges': 1,
        },
        rel=1e-9,
        abs=0,
    )
    assert out[f'hits@{size}'] <= 1


@pytest.mark.parametrize('num_anchors', [2, 3, 500, 999])
def test_large_group_of_equals_with_several_anchors(num_anchors: int) -> None:
    size = 1000
    out = AnchorEvaluator([1, 10], chance=True).eval(*tied_group(size, num_anchors))
    ways = comb(size, num_anchors)
    first = [comb(size - i, num_anchors - 1) / ways for i in range(1, size + 1)]
    gain = [1 / log2(i + 1) for i in range(1, size + 1)]
    assert out == pytest.approx(
        {
            'accuracy': 1 / ways,
            'ndcg': sum(gain) * num_anchors / size / sum(gain[:num_anchors]),
            'mrr': sum(p / i for i, p in enumerate(first, start=1)),
            'hits@1': num_anchors / size,
            'hits@10': sum(first[:10]),
            'chance': 1 / ways,
            'num_hyperedges': 1,
        },
        rel=1e-9,
        abs=0,
    )


@pytest.mark.parametrize('num_anchors', [1, 2, 3])
def test_no_figure_exceeds_one(num_anchors: int) -> None:
    for size in range(4, 60):
        out = AnchorEvaluator([size]).eval(*tied_group(size, num_anchors))
        assert out[f'hits@{size}'] == pytest.approx(1)
        assert out[f'hits@{size}'] <= 1


def test_no_choice_is_always_right() -> None:
    data = to_data([[0], [1, 2]], 3, [[0], [1, 2]])
    mask = torch.tensor([True, True])
    out = ALL_FIGURES.eval(torch.zeros(3), data, mask)
    assert {out[name] for name in NAMES} == {1.0}


def test_scores_may_carry_gradients() -> None:
    score, data = tied_group(4, 1)
    out = AnchorEvaluator().eval(score.requires_grad_(), data)
    assert out['accuracy'] == pytest.approx(1 / 4)


@pytest.mark.parametrize('dtype', [torch.bool, torch.uint8, torch.int8, torch.half])
def test_any_number_is_a_score(dtype: torch.dtype) -> None:
    data = to_data([[0, 1], [2, 1, 0]], 3, [[0], [1]])
    score = data['y'].to(dtype)
    if dtype == torch.uint8:
        score = score * 255
    assert AnchorEvaluator().eval(score, data) == {
        'accuracy': 1.0,
        'ndcg': 1.0,
        'mrr': 1.0,
        'num_hyperedges': 2,
    }


def test_a_batch_is_its_parts() -> None:
    first = to_data([[0, 1, 2], [], [1, 0]], 4, [[1], [], [0]])
    second = to_data([[2, 0], [0, 1, 2, 3]], 5, [[2], [0, 3]])
    scores = [torch.tensor([0.0, 1, 1, 2, 3]), torch.tensor([1.0, 2, 0, 0, 1, 3])]
    batch = Batch.from_data_list([first, second])
    assert isinstance(batch, AnchorData)
    out = ALL_FIGURES.per_hyperedge(torch.cat(scores), batch)
    parts = [
        ALL_FIGURES.per_hyperedge(score, data)
        for score, data in zip(scores, (first, second), strict=True)
    ]
    for name in NAMES:
        expected = torch.cat([part[name] for part in parts])
        torch.testing.assert_close(out[name], expected)


# Random ties #####################################################################


def test_random_ties_average_to_the_expectation() -> None:
    groups = [[0, 1, 2, 3], [2, 1, 0], [4, 3, 0, 1, 2]]
    data = to_data(groups * 400, 5, [[1], [2, 0], [1, 2]] * 400)
    score = torch.tensor([1.0, 1, 0, 1, 0, 0, 0, 1, 2, 0, 1, 1]).repeat(400)
    expected = ALL_FIGURES.per_hyperedge(score, data)
    draws = [
        AnchorEvaluator(HITS_AT, ties='random', seed=seed).per_hyperedge(score, data)
        for seed in range(20)
    ]
    for name in draws[0]:
        drawn = torch.cat([draw[name] for draw in draws]).view(-1, 3)
        for i in range(3):
            # Five standard deviations of the mean of 8000 draws.
            error = 5 * float(drawn[:, i].std()) / drawn.size(0) ** 0.5
            mean = float(drawn[:, i].mean())
            assert abs(mean - float(expected[name][i])) <= error + 1e-12
    # Where ties decide, draws differ.
    assert set(torch.cat([draw['accuracy'][::3] for draw in draws]).tolist()) == {0, 1}


@SETTINGS
@given(scored_hypergraphs(), st.integers(0, 2**40))
def test_random_ties_are_an_order(drawn: tuple[AnchorData, Tensor], seed: int) -> None:
    data, score = drawn
    mask = data.known_mask
    evaluator = AnchorEvaluator(HITS_AT, ties='random', seed=seed)
    out = evaluator.per_hyperedge(score, data, mask)
    flags, scores = by_group(data, data['y']), by_group(data, score)
    for i, e in enumerate(mask.nonzero().flatten().tolist()):
        orders = {
            tuple(bool(flag) for _, flag in order)
            for order in permutations(zip(scores[e], flags[e], strict=True))
            if [x for x, _ in order] == sorted(scores[e], reverse=True)
        }
        row = {name: float(value[i]) for name, value in out.items()}
        assert any(
            row == pytest.approx(figures_of_order(list(order))) for order in orders
        )


def test_draws_repeat_and_leave_the_global_generator_alone() -> None:
    data = to_data([[0, 1, 2]] * 100, 3, [[1]] * 100)
    score = torch.zeros(300)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    draws = [
        AnchorEvaluator(ties='random', seed=seed).per_hyperedge(score, data)['mrr']
        for seed in (5, 5, 6)
    ]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    assert torch.equal(torch.get_rng_state(), before)


# Bad input #######################################################################


@pytest.mark.parametrize(
    ('score', 'mask', 'names'),
    [
        (torch.zeros(4), None, ("'score'", '5', '[4]')),
        (torch.zeros(5, 1), None, ("'score'", '[5, 1]')),
        (torch.tensor([0, 0, float('nan'), 0, 0]), None, ("'score'", 'nan', '2')),
        (torch.tensor([0, 0, 0, 0, -float('inf')]), None, ("'score'", 'inf', '4')),
        (torch.zeros(5), torch.tensor([True]), ("'mask'", '3', '[1]')),
        (torch.zeros(5), torch.ones(3), ("'mask'", 'torch.float32')),
        (
            torch.zeros(5),
            torch.ones(3, 5, dtype=torch.bool),
            ("'mask'", '[3, 5]', 'column'),
        ),
        (torch.zeros(5), torch.tensor([True, False, True]), ("'mask'", '2', 'known')),
        (
            torch.zeros(5),
            torch.zeros(3, dtype=torch.bool),
            ("'mask'", 'at least one hyperedge'),
        ),
    ],
)
@pytest.mark.parametrize('method', ['eval', 'eval_by_size', 'per_hyperedge'])
def test_bad_input(
    method: str, score: Tensor, mask: Tensor | None, names: tuple[str, ...]
) -> None:
    data = to_data([[0, 1], [2], [1, 2]], 3, [[0], [2], []])
    with one_line_error(*names):
        getattr(AnchorEvaluator(), method)(score, data, mask)


def test_ranks_by_another_score() -> None:
    index = torch.tensor([[0, 1, 2, 0, 1], [0, 0, 0, 1, 1]])
    y = torch.tensor([True, False, False, False, True])
    data = AnchorData(index, 3, 2, y=y)
    score = torch.tensor([3.0, 2.0, 1.0, 2.0, 1.0])
    ranks = torch.tensor([1.0, 2.0, 3.0, 1.0, 2.0])
    evaluator = AnchorEvaluator(hits_at=[2])
    found = evaluator.eval(score, data, rank_score=ranks)
    assert found['accuracy'] == 0.5
    assert found['mrr'] == pytest.approx((1 / 3 + 1) / 2)
    assert found['hits@2'] == 0.5
    assert evaluator.eval(score, data, rank_score=score) == evaluator.eval(score, data)
    with one_line_error("'score'", '5'):
        evaluator.eval(score, data, rank_score=ranks[1:])


def test_nothing_known() -> None:
    data = to_data([[0, 1]], 2)
    with one_line_error("'y'", "'data'"):
        AnchorEvaluator().eval(torch.zeros(2), data)
    data.y = torch.zeros(2, dtype=torch.bool)
    with one_line_error("'mask'", 'at least one hyperedge'):
        AnchorEvaluator().eval(torch.zeros(2), data)


def test_bad_arguments() -> None:
    with one_line_error("'ties'", "'best'"):
        AnchorEvaluator(ties='best')  # type: ignore[arg-type]
    with one_line_error("'hits_at'", '[3, 0]'):
        AnchorEvaluator(hits_at=[3, 0])


def test_words() -> None:
    assert repr(AnchorEvaluator((1, 3), True, 'random', 7)) == (
        "AnchorEvaluator(hits_at=[1, 3], chance=True, ties='random', seed=7)"
    )
    words = ALL_FIGURES.expected_output_format
    assert [line.split(':')[0] for line in words.splitlines()] == [
        *NAMES,
        'num_hyperedges',
    ]
    for name in ('score', 'data', 'mask'):
        assert f'{name}: ' in ALL_FIGURES.expected_input_format


@pytest.mark.parametrize('ties', ['expected', 'random'])
def test_second_device(ties: Any) -> None:
    data = to_data([[0, 1, 2], [1, 2], [3], [0, 3, 4]], 5, [[0], [], [3], [3, 4]])
    score = torch.tensor([1.0, 0.0, 1.0, 2.0, 2.0, 0.0, 1.0, 1.0, 3.0])
    evaluator = AnchorEvaluator(HITS_AT, chance=True, ties=ties)
    expected = evaluator.eval(score, data, rank_score=score)
    by_size = evaluator.eval_by_size(score, data)
    with second_device() as device:
        moved, there = data.clone().to(device), score.to(device)
        assert evaluator.eval(there, moved, rank_score=there) == expected
        assert evaluator.eval_by_size(there, moved) == by_size
        parts = evaluator.per_hyperedge(there, moved)
        assert all(part.device == device for part in parts.values())
