"""Slow versions that encoders are checked against."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tests.nn.conv.hypergraph import NUM_NODES, features, part, whole
from tgx_anchor.data import HyperedgeIndex
from tgx_anchor.nn.models.hypergraph_encoder import HypergraphEncoder

# What a slow encoder does where the model drops out.
Drop = Callable[[Tensor], Tensor]
Slow = Callable[..., tuple[Tensor, Tensor]]


def keep(value: Tensor) -> Tensor:
    """No dropout."""
    return value


def enlarge(value: Tensor) -> Tensor:
    """Stands for dropout: not random, and never without effect."""
    return 1.5 * value + 0.25


def check_by_definition(
    make: Callable[[int], HypergraphEncoder],
    slow: Slow,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Compares encoders of one to three layers with their equations, in evaluation and
    in training, where the dropout has to be in the right places.
    """
    probabilities = set()

    def dropout(value: Tensor, p: float, training: bool) -> Tensor:
        probabilities.add(p)
        return enlarge(value) if training else value

    monkeypatch.setattr(torch.nn.functional, 'dropout', dropout)
    for num_layers in (1, 2, 3):
        model = make(num_layers).double()
        x = features(NUM_NODES, model.in_channels, num_layers)
        for graph in (whole(), part()):
            for training, drop in ((False, keep), (True, enlarge)):
                model.train(training)
                out = model(x, graph.tell())
                expected = slow(model, x, graph, drop)
                for value, other, size in zip(
                    out, expected, (graph.num_nodes, graph.num_hyperedges), strict=True
                ):
                    assert value.size() == (size, model.out_channels)
                    torch.testing.assert_close(value, other)
    assert probabilities <= {model.dropout}


def check_targets(
    model: HypergraphEncoder,
    x: Tensor,
    index: Tensor,
    num_targets: int,
    drawn_mask: Tensor | None = None,
    **kwargs: Tensor,
) -> tuple[Tensor, Tensor]:
    """Compares what an encoder returns for its first hyperedges alone, and the
    gradient, with what it returns for them among all. Returns the former.
    """
    x = x.detach().requires_grad_()
    whole, part = (
        HyperedgeIndex(index, x.size(0), drawn_mask=drawn_mask, num_targets=n)
        for n in (None, num_targets)
    )
    expected = model(x, whole, **kwargs)
    out: tuple[Tensor, Tensor] = model(x, part, **kwargs)
    members = index[0, index[1] < num_targets].unique()
    # Others were not computed.
    sizes = [int(members.max()) + 1, num_targets]
    assert [part.size(0) for part in out] == sizes
    losses = []
    for node, hyperedge in (out, expected):
        torch.testing.assert_close(node[members], expected[0][members])
        torch.testing.assert_close(hyperedge[:num_targets], expected[1][:num_targets])
        losses.append(node[members].sum() + hyperedge[:num_targets].square().sum())
    trimmed, full = (torch.autograd.grad(loss, x)[0] for loss in losses)
    torch.testing.assert_close(trimmed, full)
    return out


def count_parameters(model: torch.nn.Module) -> int:
    """The number of learnable numbers."""
    return sum(parameter.numel() for parameter in model.parameters())


def check_gradients(
    model: HypergraphEncoder,
    dead: Callable[[str], bool] = lambda _: False,
    num_seeds: int = 3,
) -> None:
    """All parameters learn, but the dead ones."""
    graph = whole()
    model = model.double().eval()
    alive = set()
    for seed in range(num_seeds):
        torch.manual_seed(seed)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
        model.zero_grad()
        x = features(NUM_NODES, model.in_channels, seed).requires_grad_()
        out = torch.cat(model(x, graph.index, num_hyperedges=graph.num_hyperedges))
        (features(out.size(0), out.size(1), seed) * out).sum().backward()
        assert x.grad is not None
        assert torch.isfinite(x.grad).all()
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                assert torch.isfinite(parameter.grad).all(), name
                if float(parameter.grad.abs().max()) > 1e-9:
                    alive.add(name)
    names = [name for name, _ in model.named_parameters()]
    assert alive == {name for name in names if not dead(name)}
