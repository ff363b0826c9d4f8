import math

import pytest
import torch
from torch import Tensor

from tgx_anchor.transforms._skip_gram import _SkipGram, skip_gram

# Members listed twice, groups that come again, singletons, a loner, a far end.
GROUPS = [
    [0, 1, 2],
    [0, 1, 2],
    [1, 3],
    [0, 3, 4, 4],
    [2, 5],
    [5, 6, 6, 6],
    [1, 1, 5],
    [6],
    [7],
    [2],
    [0, 2, 3, 5],
]
NUM_NODES = 9


# Skip-gram #######################################################################


def make_model(walk: Tensor, num_nodes: int, sample: float = 0.0) -> _SkipGram:
    generator = torch.Generator().manual_seed(0)
    return _SkipGram(walk, num_nodes, 4, 3, 2, sample, generator)


def test_a_step_follows_the_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(1)
    walk = torch.randint(6, (3, 7), generator=generator)
    model = make_model(walk, 6)
    model.inner = torch.randn(6, 4, generator=generator)
    model.outer = torch.randn(6, 4, generator=generator)
    pair, noise = model._pairs(walk), model._negatives(3, 16)
    assert (pair > 0).any()
    monkeypatch.setattr(model, '_pairs', lambda *_: pair)
    monkeypatch.setattr(model, '_negatives', lambda *_: noise)

    inner = model.inner.clone().requires_grad_()
    outer = model.outer.clone().requires_grad_()
    gain = torch.zeros(())
    for b, j, i in pair.nonzero().tolist():
        u, target = inner[walk[b, j]], int(walk[b, i])
        gain = gain + torch.nn.functional.logsigmoid(u @ outer[target])
        # Sixteen shared negatives stand for two of each pair.
        for k in noise[b].tolist():
            if k != target:
                gain = gain + torch.nn.functional.logsigmoid(-u @ outer[k]) * 2 / 16
    gain.backward()
    before = model.inner.clone(), model.outer.clone()
    model.step(walk, 1e-3)
    for table, old, new in (
        (inner, before[0], model.inner),
        (outer, before[1], model.outer),
    ):
        assert table.grad is not None
        # The step is a little shorter than the gradient asks for, in its direction.
        change = (new - old) / 1e-3
        ratio = change.norm(dim=1) / table.grad.norm(dim=1)
        assert bool(((ratio > 0.85) & (ratio < 1.0)).all())
        cosine = torch.cosine_similarity(change, table.grad)
        torch.testing.assert_close(cosine, torch.ones(6), atol=1e-4, rtol=0)


def test_large_steps_stay_bounded() -> None:
    # Two nodes that meet in all pairs of many walks at once.
    walk = torch.tensor([[0, 1] * 20] * 50)
    model = make_model(walk, 2)
    for _ in range(50):
        model.step(walk, 0.5)
    assert float(model.inner.abs().max()) < 20
    assert float(model.outer.abs().max()) < 20


def test_pairs_are_within_a_random_window() -> None:
    walk = torch.arange(9).repeat(4000, 1)
    pair = make_model(walk, 9)._pairs(walk).mean(dim=0)
    for j in range(9):
        for i in range(9):
            chance = max(0, 4 - abs(i - j)) / 3 if i != j else 0.0
            assert float(pair[j, i]) == pytest.approx(chance, abs=0.04)
    # The window is that of i, the same for all j.
    one = make_model(walk, 9)._pairs(walk)[0]
    for i in range(9):
        reach = [abs(i - j) for j in range(9) if one[j, i] > 0]
        assert sorted(set(reach)) == list(range(1, max(reach) + 1))


def test_frequent_nodes_are_left_out_before_windows() -> None:
    # Node 0 takes nine of ten places; others then become neighbours.
    walk = torch.zeros(3000, 20, dtype=torch.long)
    walk[:, ::10] = torch.arange(1, 6001).view(3000, 2)
    model = make_model(walk, 6001, sample=1e-3)
    ratio = 1e-3 / 0.9
    assert float(model.kept[0]) == pytest.approx(math.sqrt(ratio) + ratio)
    assert bool((model.kept[1:] == 1).all())
    pair = model._pairs(walk)
    # Of the places of node 0, few have a pair; the two others often are one.
    used = (pair.sum(dim=2) > 0).double().mean(dim=0)
    assert float(used[1:10].mean()) < 0.1
    assert float(pair[:, 0, 10].mean()) > 0.7
    whole = make_model(walk, 6001, sample=0.0)
    assert bool((whole.kept == 1).all())


def test_negatives_follow_frequencies() -> None:
    walk = torch.tensor([[0] * 16 + [1] * 1 + [3] * 81])
    model = make_model(walk, 4)
    share = torch.bincount(model._negatives(200, 200).view(-1)) / 40_000
    expected = torch.tensor([8.0, 1.0, 0.0, 27.0]) / 36
    torch.testing.assert_close(share, expected, atol=0.01, rtol=0)


def test_epochs_and_rates() -> None:
    walk = torch.randint(5, (40, 6), generator=torch.Generator().manual_seed(0))

    def run(num_epochs: int = 1, lr: float = 0.025) -> Tensor:
        generator = torch.Generator().manual_seed(0)
        return skip_gram(walk, 5, 4, num_epochs=num_epochs, lr=lr, generator=generator)

    once = run()
    assert torch.equal(once, run())
    assert not torch.equal(once, run(num_epochs=2))
    start = run(lr=1e-12)
    assert float(start.abs().max()) <= 0.25
    assert float((run(num_epochs=5) - start).norm()) > float((once - start).norm())
