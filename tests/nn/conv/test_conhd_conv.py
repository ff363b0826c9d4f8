from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.nn.conv.slow_sets import (
    DRAWN,
    GROUPS,
    num_parameters,
    random,
    ranks,
    slow_conhd_conv,
)
from tests.strategies import one_line_error, to_index
from tgx_anchor.data import HyperedgeIndex
from tgx_anchor.nn.conv.conhd_conv import CoNHDConv, Operator, reached_mask

INDEX = to_index(GROUPS)
OPERATORS: tuple[Operator, ...] = ('unb', 'isab')


def make(operator: Operator, rank_channels: int = 4, num_blocks: int = 2) -> CoNHDConv:
    torch.manual_seed(0)
    conv = CoNHDConv(8, operator, rank_channels, num_blocks, dropout=0.7)
    return conv.double().eval()


@pytest.mark.parametrize('drawn', [None, DRAWN, torch.zeros_like(DRAWN)])
@pytest.mark.parametrize('operator', OPERATORS)
@pytest.mark.parametrize(('rank_channels', 'num_blocks'), [(4, 2), (0, 1)])
def test_by_definition(
    drawn: torch.Tensor | None, operator: Operator, rank_channels: int, num_blocks: int
) -> None:
    conv = make(operator, rank_channels, num_blocks)
    size = INDEX.size(1)
    h, h_0, rank = random(size, 8), random(size, 8, seed=1), ranks(GROUPS)
    index = HyperedgeIndex(INDEX, drawn_mask=drawn)
    out = conv(h, h_0, index, incidence_rank=rank)
    expected = slow_conhd_conv(conv, h, h_0, GROUPS, rank, drawn)
    torch.testing.assert_close(out, expected)


@pytest.mark.parametrize('operator', OPERATORS)
def test_all_drawn_is_not_drawn(operator: Operator) -> None:
    conv, rank = make(operator), ranks(GROUPS)
    h = random(INDEX.size(1), 8)
    everything = torch.ones_like(DRAWN)
    torch.testing.assert_close(
        conv(h, h, HyperedgeIndex(INDEX, drawn_mask=everything), rank),
        conv(h, h, INDEX, rank),
    )


@pytest.mark.parametrize('drawn', [None, DRAWN, torch.zeros_like(DRAWN)])
@pytest.mark.parametrize('operator', OPERATORS)
def test_wanted_incidences_only(drawn: torch.Tensor | None, operator: Operator) -> None:
    conv, rank, size = make(operator), ranks(GROUPS), INDEX.size(1)
    h, h_0 = (random(size, 8, seed=seed).requires_grad_() for seed in (0, 1))
    index = HyperedgeIndex(INDEX, drawn_mask=drawn)
    for wanted in (torch.arange(size) % 4 == 1, torch.zeros(size, dtype=torch.bool)):
        out = conv(h, h_0, index, rank, wanted)
        expected = conv(h, h_0, index, rank)[wanted]
        torch.testing.assert_close(out, expected)
        given = [h, h_0, *conv.parameters()]
        found, right = (
            torch.autograd.grad(value.square().sum(), given, materialize_grads=True)
            for value in (out, expected)
        )
        torch.testing.assert_close(found, right)
        # The others depend on nothing else.
        reads = reached_mask(index, wanted)
        assert torch.equal(reads, _by_pairs(wanted, drawn))
        assert not found[0][~reads].any()
        part = HyperedgeIndex(
            INDEX[:, reads], drawn_mask=None if drawn is None else drawn[reads]
        )
        less = conv(h[reads], h_0[reads], part, rank[reads], wanted[reads])
        torch.testing.assert_close(less, expected)


def _by_pairs(wanted: torch.Tensor, drawn: torch.Tensor | None) -> torch.Tensor:
    # Incidence i reads j if they share a hyperedge, or a node that drew both.
    out = wanted.clone()
    for i in wanted.nonzero().view(-1).tolist():
        for j in range(INDEX.size(1)):
            both = drawn is None or bool(drawn[i] and drawn[j])
            same = (INDEX[:, i] == INDEX[:, j]).tolist()
            out[j] |= same[1] or (same[0] and both)
    return out


@pytest.mark.parametrize('operator', OPERATORS)
def test_nothing_is_computed_in_vain(operator: Operator) -> None:
    conv, rank, size = make(operator), ranks(GROUPS), INDEX.size(1)
    wanted = INDEX[1] == 0
    of_node = torch.isin(INDEX[0], INDEX[0, wanted])
    index = HyperedgeIndex(INDEX, drawn_mask=DRAWN | wanted)
    read = int((of_node & (DRAWN | wanted)).sum())
    count = int(wanted.sum())
    assert count < read < size
    sizes: dict[str, tuple[int, int]] = {}

    def note(name: str) -> Callable[..., None]:
        def hook(_: torch.nn.Module, args: Any, out: torch.Tensor) -> None:
            sizes[name] = len(args[0]), len(out)

        return hook

    for name in ('hyperedge_blocks', 'node_blocks'):
        for i, block in enumerate(getattr(conv, name)):
            block.register_forward_hook(note(f'{name}.{i}'))
    h = random(size, 8)
    conv(h, h, index, rank, wanted)
    assert sizes == {
        'hyperedge_blocks.0': (count, count),
        'hyperedge_blocks.1': (count, count),
        'node_blocks.0': (read, read),
        'node_blocks.1': (read, count),
    }


@pytest.mark.parametrize('operator', OPERATORS)
def test_repeated_members_are_alike(operator: Operator) -> None:
    conv, rank = make(operator), ranks(GROUPS)
    h = random(8, 8)[INDEX[0]]
    out = conv(h, h, INDEX, incidence_rank=rank)
    # Node 0 in hyperedge 3, node 6 in the last one.
    torch.testing.assert_close(out[6], out[7])
    torch.testing.assert_close(out[-1], out[-2])


@pytest.mark.parametrize('operator', OPERATORS)
def test_dropout_of_both_operators(operator: Operator) -> None:
    conv, rank = make(operator), ranks(GROUPS)
    h = random(INDEX.size(1), 8)
    kept = conv(h, h, INDEX, rank)
    assert torch.equal(kept, conv(h, h, INDEX, rank))
    conv.train()
    assert not torch.equal(kept, conv(h, h, INDEX, rank))
    # Nothing else is dropped: with both operators muted, training is evaluation.
    with torch.no_grad():
        conv.lin.weight[:, 8:16] = 0
        noisy = conv(h, h, INDEX, rank)
        assert not torch.equal(noisy, conv(h, h, INDEX, rank))
        conv.lin.weight[:, 16:24] = 0
        out = conv(h, h, INDEX, rank)
        conv.eval()
        torch.testing.assert_close(out, conv(h, h, INDEX, rank))


def test_no_incidences() -> None:
    for operator in OPERATORS:
        conv, h = make(operator), random(0, 8)
        nothing = HyperedgeIndex(INDEX[:, :0], drawn_mask=DRAWN[:0])
        out = conv(h, h, nothing, random(0, 4))
        assert out.size() == (0, 8)


def test_parameters() -> None:
    for operator, blocks in zip(OPERATORS, (329_728, 530_432), strict=True):
        conv = CoNHDConv(128, operator)
        assert num_parameters(conv) == blocks + 1_280 + 65_664
    before = {name: p.clone() for name, p in conv.named_parameters()}
    conv.reset_parameters()
    for name, p in conv.named_parameters():
        assert not torch.equal(p, before[name])


def test_runs_where_the_data_is(device: torch.device) -> None:
    for operator in OPERATORS:
        conv, rank, h = make(operator), ranks(GROUPS), random(INDEX.size(1), 8)
        index = HyperedgeIndex(INDEX, drawn_mask=DRAWN)
        expected = conv(h, h, index, rank)
        conv, h = conv.to(device), h.to(device)
        out = conv(h, h, index.to(device), rank.to(device))
        torch.testing.assert_close(out.cpu(), expected)


def test_bad_arguments() -> None:
    with one_line_error("'operator'", 'isab', "'mean'"):
        CoNHDConv(8, 'mean')  # type: ignore[arg-type]
    with one_line_error("'num_blocks'", '0'):
        CoNHDConv(8, num_blocks=0)
    with one_line_error("'dropout'", '1.0'):
        CoNHDConv(8, dropout=1.0)
    h = random(INDEX.size(1), 8)
    with one_line_error("'incidence_rank'", 'AddWithinOrderRank'):
        make('unb')(h, h, INDEX)


def test_repr() -> None:
    assert repr(make('isab')) == "CoNHDConv(8, operator='isab')"
