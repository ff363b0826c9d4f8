from copy import copy

import pytest
import torch
from torch import Tensor

from tests.nn.conv.slow_sets import (
    DRAWN,
    GROUPS,
    NUM_NODES,
    num_parameters,
    random,
    ranks,
    slow_whatsnet_conv,
)
from tests.strategies import one_line_error, to_index
from tgx_anchor.data import HyperedgeIndex
from tgx_anchor.nn.conv.whatsnet_conv import WHATsNetConv

INDEX = to_index(GROUPS)
SIZE = len(GROUPS)


def make(
    hyperedge_channels: int | None = 6, rank_channels: int = 4, num_isabs: int = 2
) -> WHATsNetConv:
    torch.manual_seed(0)
    conv = WHATsNetConv(5, 3, hyperedge_channels, rank_channels, 8, num_isabs=num_isabs)
    return conv.double().eval()


@pytest.mark.parametrize('drawn', [None, DRAWN, torch.zeros_like(DRAWN)])
@pytest.mark.parametrize('hyperedge_channels', [None, 6])
@pytest.mark.parametrize(('rank_channels', 'num_isabs'), [(4, 2), (0, 2), (0, 0)])
def test_by_definition(
    drawn: torch.Tensor | None,
    hyperedge_channels: int | None,
    rank_channels: int,
    num_isabs: int,
) -> None:
    conv = make(hyperedge_channels, rank_channels, num_isabs)
    x, state, rank = random(NUM_NODES, 5), random(SIZE, 6, seed=1), ranks(GROUPS)
    index = HyperedgeIndex(INDEX, NUM_NODES, SIZE, drawn_mask=drawn)
    node, hyperedge = conv(x, index, hyperedge_attr=state, incidence_rank=rank)
    expected = slow_whatsnet_conv(conv, x, GROUPS, state, rank, drawn)
    torch.testing.assert_close(node, expected[0])
    torch.testing.assert_close(hyperedge, expected[1])


def test_states_begin_at_zero_and_sizes_are_counted() -> None:
    conv, x, rank = make(), random(NUM_NODES, 5), ranks(GROUPS)
    out = conv(x, INDEX, incidence_rank=rank)
    zero = torch.zeros(SIZE, 6, dtype=torch.double)
    torch.testing.assert_close(out, slow_whatsnet_conv(conv, x, GROUPS, zero, rank))
    node, hyperedge = conv(x, INDEX[:, :0], incidence_rank=rank[:0])
    assert (node.size(), hyperedge.size()) == ((NUM_NODES, 3), (0, 3))
    assert torch.isfinite(node).all()


def test_ranks_in_single_precision() -> None:
    conv, x, rank = make(), random(NUM_NODES, 5), ranks(GROUPS)
    node, _ = conv(x, INDEX, incidence_rank=rank.float())
    assert node.dtype == torch.double
    torch.testing.assert_close(
        node, conv(x, INDEX, incidence_rank=rank)[0], rtol=1e-5, atol=1e-5
    )


# Copies in the same and in another order, of singletons, with repeated members (the
# same and other multiplicities), and an empty group.
COPIED = [
    [0, 1, 2],
    [3],
    [2, 0, 1],
    [],
    [3],
    [4, 4, 5],
    [5, 4, 4],
    [5, 5, 4],
    [1, 0, 2],
]
COPIED += [[6, 2], [2, 6], [0, 1, 2]]


def run(
    conv: WHATsNetConv, index: HyperedgeIndex, rank: Tensor | None, copies: bool
) -> tuple[list[Tensor], int]:
    # Outputs, gradients, and the number of members that the first block sees.
    seen: list[int] = []
    hook = conv.to_hyperedge.isabs[0].register_forward_pre_hook(
        lambda _, args: seen.append(args[0].size(0))
    )
    x = random(index.num_nodes, 5).requires_grad_()
    state = random(index.num_hyperedges, 6, seed=1).requires_grad_()
    torch.manual_seed(1)
    if not copies:
        index = copy(index)
        index._has_copies, index._copies = False, None
    out = conv(x, index, hyperedge_attr=state, incidence_rank=rank)
    loss = sum((o * random(*o.size(), seed=2)).sum() for o in out)
    assert isinstance(loss, Tensor)
    given = [x, state, *conv.parameters()]
    grads = torch.autograd.grad(loss, given, allow_unused=True)
    hook.remove()
    return [*out, *(grad for grad in grads if grad is not None)], seen[0]


@pytest.mark.parametrize('hyperedge_channels', [None, 6])
@pytest.mark.parametrize('rank_channels', [0, 4])
@pytest.mark.parametrize('training', [False, True])
@pytest.mark.parametrize('is_part', [False, True])
def test_copies_are_encoded_once(
    hyperedge_channels: int | None, rank_channels: int, training: bool, is_part: bool
) -> None:
    conv = make(hyperedge_channels, rank_channels).train(training)
    conv.to_hyperedge.dropout = conv.to_node.dropout = 0.5
    index = HyperedgeIndex(to_index(COPIED), NUM_NODES, num_targets=9)
    rank = random(NUM_NODES, 4, seed=3)[index.node] if rank_channels else None
    if is_part:
        index = index.trim(1)[0]
        rank = None if rank is None else index.take(rank)
    found, few = run(conv, index, rank, True)
    expected, many = run(conv, index, rank, False)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert (few, many) == (12, index.num_incidences)


def test_copies_whose_ranks_differ() -> None:
    conv, index = make().train(), HyperedgeIndex(to_index(COPIED), NUM_NODES)
    rank = random(NUM_NODES, 4, seed=3)[index.node]
    rank[-1, 2] += 1
    found, count = run(conv, index, rank, True)
    assert count == index.num_incidences
    expected, _ = run(conv, index, rank, False)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_no_copies_are_sought_without_attention(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(HyperedgeIndex, 'copies', property(lambda _: 1 / 0))
    make(rank_channels=0, num_isabs=0)(random(NUM_NODES, 5), INDEX)


def test_parameters() -> None:
    def isab(d: int) -> int:
        return 83_456 + 384 * d

    def mab(q: int, k: int) -> int:
        return (q + 1) * 128 + 2 * (k + 1) * 128 + 129 * 128

    for a, b, w in ((44, 128, 128), (44, 128, 64), (64, 64, 128)):
        expected = 5 * a + 5 * w + isab(a) + isab(w) + 2 * isab(128)
        expected += mab(b, 128) + mab(a, 128) + 2 * 129 * w
        conv = WHATsNetConv(a, w, b)
        assert num_parameters(conv) == expected
    before = {name: p.clone() for name, p in conv.named_parameters()}
    conv.reset_parameters()
    for name, p in conv.named_parameters():
        assert not torch.equal(p, before[name])


def test_runs_where_the_data_is(device: torch.device) -> None:
    conv, x, rank = make(), random(NUM_NODES, 5), ranks(GROUPS)
    index = HyperedgeIndex(INDEX, NUM_NODES, drawn_mask=DRAWN)
    expected = conv(x, index, incidence_rank=rank)
    conv = conv.to(device)
    node, hyperedge = conv(
        x.to(device), index.to(device), incidence_rank=rank.to(device)
    )
    torch.testing.assert_close((node.cpu(), hyperedge.cpu()), expected)


def test_bad_arguments() -> None:
    with one_line_error("'incidence_rank'", 'AddWithinOrderRank'):
        make()(random(NUM_NODES, 5), INDEX)
    with one_line_error("'heads'", '5'):
        WHATsNetConv(3, 2, heads=5)


def test_repr() -> None:
    assert repr(make()) == 'WHATsNetConv(5, 3)'
