import pytest
import torch
from torch import Tensor

from tests.nn.conv.slow_sets import num_parameters, random, slow_encoder
from tests.strategies import one_line_error
from tgx_anchor.nn.conv import set_encoder
from tgx_anchor.nn.conv.set_encoder import SetEncoder

# Sets 1 and 4 are empty.
INDEX = torch.tensor([0, 0, 2, 2, 2, 3, 0])


@pytest.mark.parametrize('query_channels', [None, 5])
@pytest.mark.parametrize('rank_channels', [0, 4])
@pytest.mark.parametrize('num_isabs', [0, 1, 2])
@pytest.mark.parametrize('num_layers', [1, 2])
def test_by_definition(
    query_channels: int | None, rank_channels: int, num_isabs: int, num_layers: int
) -> None:
    torch.manual_seed(0)
    module = SetEncoder(
        3,
        2,
        query_channels,
        rank_channels,
        8,
        num_isabs=num_isabs,
        num_layers=num_layers,
        dropout=0.0,
    ).double()
    x, query, rank = random(7, 3), random(5, 5, seed=1), random(7, 4, seed=2)
    out = module(
        x,
        INDEX,
        5,
        query if query_channels else None,
        rank if rank_channels else None,
    )
    assert out.size() == (5, 2)
    for s in range(5):
        expected = slow_encoder(module, x[s == INDEX], query[s], rank[s == INDEX])
        torch.testing.assert_close(out[s], expected)


def test_no_query_is_a_query_of_zeros() -> None:
    torch.manual_seed(0)
    module = SetEncoder(3, 2, 5, 4, 8).double()
    x, rank = random(7, 3).requires_grad_(), random(7, 4, seed=2)
    given = [x, *module.parameters()]
    wish = random(5, 2, seed=3)
    mapped: list[int] = []
    module.block.lin_query.register_forward_pre_hook(  # type: ignore[union-attr]
        lambda _, args: mapped.append(len(args[0]))
    )
    outs = [module(x, INDEX, 5, q, rank) for q in (None, x.new_zeros(5, 5))]
    torch.testing.assert_close(*outs)
    found, expected = (torch.autograd.grad((o * wish).sum(), given) for o in outs)
    torch.testing.assert_close(found, expected)
    assert mapped == [1, 5]


def test_dropout_before_and_after_pooling() -> None:
    torch.manual_seed(0)
    module = SetEncoder(3, 2, None, 0, 64, num_isabs=0, dropout=0.5).double()
    x = random(7, 3)
    seen = []
    module.block.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    module.lin.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    module(x, INDEX, 5)
    before, after = seen
    # Without blocks between them, the members are dropped as they come.
    kept = before != 0
    assert 0 < int(kept.sum()) < 21
    torch.testing.assert_close(before[kept], 2 * x[kept])
    assert 100 < int((after == 0).sum()) < 220
    module.eval()
    seen.clear()
    module(x, INDEX, 5)
    assert torch.equal(seen[0], x)
    assert (seen[1] != 0).all()


@pytest.mark.parametrize('block', [1, 2, 3, 100])
def test_blocks_of_sets(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    module = SetEncoder(3, 2, None, 0, 8, dropout=0.5).double()
    x, wish = random(7, 3).requires_grad_(), random(5, 2, seed=3)
    index = INDEX.sort().values
    seen: list[tuple[int, int]] = []
    module.isabs[0].register_forward_pre_hook(
        lambda _, args: seen.append((args[0].size(0), args[2]))
    )

    def run(index: Tensor) -> list[Tensor]:
        torch.manual_seed(1)
        out = module(x, index, 5)
        return [out, *torch.autograd.grad((out * wish).sum(), [x, *used])]

    used = [p for n, p in module.named_parameters() if not n.endswith('lin_key.bias')]
    expected = run(index)
    monkeypatch.setattr(set_encoder, '_BLOCK', block)
    torch.testing.assert_close(run(index), expected, rtol=1e-12, atol=1e-12)
    # Whole sets only; sets without order are not cut.
    cut = [(7, 3)] if block == 100 else [(3, 1), (3, 1), (1, 1)]
    run(INDEX)
    assert seen == [(7, 3), *cut, (7, 3)]


def test_bad_arguments() -> None:
    with one_line_error("'num_isabs'", '-1'):
        SetEncoder(3, 2, num_isabs=-1)
    for dropout in (-0.1, 1.0):
        with one_line_error("'dropout'", str(dropout)):
            SetEncoder(3, 2, dropout=dropout)
    with one_line_error("'rank'"):
        SetEncoder(3, 2)(torch.zeros(7, 3), INDEX, 5)


def test_parameters() -> None:
    module = SetEncoder(44, 64, 128)
    before = {name: p.clone() for name, p in module.named_parameters()}
    module.reset_parameters()
    for name, p in module.named_parameters():
        assert not torch.equal(p, before[name])
    # Ranks, two blocks, the query, the last map.
    expected = 5 * 44 + (83_456 + 384 * 44) + 132_608 + 4 * 129 * 128 + 129 * 64
    assert num_parameters(module) == expected
    assert repr(module) == 'SetEncoder(44, 64)'
