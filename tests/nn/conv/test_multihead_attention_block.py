import math

import pytest
import torch
from torch_geometric.nn.aggr.utils import MultiheadAttentionBlock as PyGBlock

from tests.nn.conv.slow_sets import num_parameters, random, slow_mab
from tests.strategies import one_line_error
from tgx_anchor.nn.conv.multihead_attention_block import MultiheadAttentionBlock

# Sets 1 and 4 are empty.
INDEX = torch.tensor([0, 0, 2, 2, 2, 3, 0])
SIZE = 5


def make(
    query: int, key: int, heads: int = 2, num_layers: int = 1
) -> MultiheadAttentionBlock:
    torch.manual_seed(0)
    return MultiheadAttentionBlock(query, key, 6, heads, num_layers).double()


@pytest.mark.parametrize('heads', [1, 2, 6])
@pytest.mark.parametrize('num_layers', [1, 2])
def test_one_query_per_set(heads: int, num_layers: int) -> None:
    block = make(3, 4, heads, num_layers)
    query, key = random(SIZE, 3), 3 * random(7, 4, seed=1)
    out = block(query, key, INDEX)
    for s in range(SIZE):
        expected = slow_mab(block, query[s : s + 1], key[s == INDEX])
        torch.testing.assert_close(out[s : s + 1], expected)


@pytest.mark.parametrize('heads', [1, 2, 6])
@pytest.mark.parametrize('num_queries', [1, 3])
def test_shared_queries(heads: int, num_queries: int) -> None:
    block = make(3, 4, heads)
    query, key = random(num_queries, 3), 3 * random(7, 4, seed=1)
    out = block.forward_shared(query, key, INDEX, SIZE)
    assert out.size() == (SIZE, num_queries, 6)
    for s in range(SIZE):
        torch.testing.assert_close(out[s], slow_mab(block, query, key[s == INDEX]))


@pytest.mark.parametrize('heads', [1, 2, 6])
@pytest.mark.parametrize('num_slots', [1, 3])
def test_members_attend_to_slots(heads: int, num_slots: int) -> None:
    block = make(3, 4, heads)
    query, key = 3 * random(7, 3), random(SIZE, num_slots, 4, seed=1)
    out = block.forward_slots(query, key, INDEX)
    for j, s in enumerate(INDEX.tolist()):
        expected = slow_mab(block, query[j : j + 1], key[s])
        torch.testing.assert_close(out[j : j + 1], expected)


def test_gradients_by_definition() -> None:
    block = make(3, 4)
    query, key = random(SIZE, 3).requires_grad_(), random(7, 4).requires_grad_()
    wish = random(SIZE, 6, seed=3)
    # The bias of keys does nothing: its gradient is noise.
    given = [
        query,
        key,
        *(p for p in block.parameters() if p is not block.lin_key.bias),
    ]
    fast = torch.autograd.grad((block(query, key, INDEX) * wish).sum(), given)
    slow_out = [slow_mab(block, query[s : s + 1], key[s == INDEX]) for s in range(SIZE)]
    slow = torch.autograd.grad((torch.cat(slow_out) * wish).sum(), given)
    for a, b in zip(fast, slow, strict=True):
        torch.testing.assert_close(a, b)
        assert a.abs().max() > 1e-3


@pytest.mark.parametrize('form', ['one', 'shared', 'slots'])
def test_bias_of_keys_changes_nothing(form: str) -> None:
    block = make(4, 4)
    query, key, slots = random(SIZE, 4), random(7, 4, seed=1), random(SIZE, 2, 4)

    def run() -> torch.Tensor:
        if form == 'one':
            return block(query, key, INDEX)  # type: ignore[no-any-return]
        if form == 'shared':
            return block.forward_shared(query, key, INDEX, SIZE)
        return block.forward_slots(key, slots, INDEX)

    before = run()
    with torch.no_grad():
        block.lin_key.bias.add_(10)
    torch.testing.assert_close(run(), before)


def test_large_scores_do_not_overflow() -> None:
    block = make(3, 4).float()
    query, key = 1e4 * random(SIZE, 3).float(), 1e4 * random(7, 4, seed=1).float()
    assert torch.isfinite(block(query, key, INDEX)).all()
    assert torch.isfinite(block.forward_shared(query, key, INDEX, SIZE)).all()
    out = block.forward_slots(1e4 * random(7, 3).float(), key[:SIZE, None], INDEX)
    assert torch.isfinite(out).all()


def test_no_members() -> None:
    block = make(3, 4)
    index, query = INDEX[:0], random(SIZE, 3)
    out = block(query, random(0, 4), index)
    torch.testing.assert_close(out, slow_mab(block, query, random(0, 4)))
    assert block.forward_slots(random(0, 3), random(SIZE, 2, 4), index).size() == (0, 6)


def test_initialisation() -> None:
    block = MultiheadAttentionBlock(48, 64, 128, 4)
    lins = (block.lin_query, block.lin_key, block.lin_value, *block.lins)
    for lin, size in zip(lins, (48, 64, 64, 128), strict=True):
        bound = 1 / math.sqrt(size)
        assert 0.98 * bound < lin.weight.abs().max() <= bound
        std = float(lin.weight.detach().std()) / bound * math.sqrt(3)
        assert abs(std - 1) < 0.05
    before = block.lin_query.weight.clone()
    block.reset_parameters()
    assert not torch.equal(before, block.lin_query.weight)


def test_number_of_parameters() -> None:
    for q, k, a in ((44, 128, 128), (128, 44, 128), (5, 3, 12)):
        block = MultiheadAttentionBlock(q, k, a)
        expected = (q + 1) * a + 2 * (k + 1) * a + (a + 1) * a
        assert num_parameters(block) == expected


def test_not_the_block_of_pyg() -> None:
    # One more map after the heads: no choice of weights makes them the same module.
    assert (
        num_parameters(PyGBlock(8, 2, layer_norm=False))
        == num_parameters(MultiheadAttentionBlock(8, 8, 8, 2)) + 8 * 9
    )


def test_runs_where_the_data_is(device: torch.device) -> None:
    block = make(3, 4).to(device)
    query, key = random(SIZE, 3).to(device), random(7, 4, seed=1).to(device)
    out = block(query, key, INDEX.to(device))
    assert out.device.type == device.type
    torch.testing.assert_close(out[2:3], slow_mab(block, query[2:3], key[2:5]))


def test_bad_arguments() -> None:
    for heads in (0, 3):
        with one_line_error("'heads'", str(heads)):
            MultiheadAttentionBlock(3, 4, 8, heads)
    with one_line_error("'num_layers'", '0'):
        MultiheadAttentionBlock(3, 4, 8, 2, 0)


def test_repr() -> None:
    assert repr(make(3, 4)) == 'MultiheadAttentionBlock(3, 4, 6, heads=2)'
