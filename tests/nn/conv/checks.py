"""Checks that all layers must pass."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tests.nn.conv.hypergraph import NUM_NODES, features, part, whole

Slow = Callable[..., tuple[Tensor, Tensor]]


def check_by_definition(
    conv: torch.nn.Module, slow: Slow, in_channels: int, **states: Tensor
) -> None:
    """Compares a layer with its equations, for tensors, hypergraphs and mini-batches,
    told or not told the degrees and sizes of the whole.
    """
    conv = conv.double()
    x = features(NUM_NODES, in_channels)
    graph = whole()
    expected = slow(conv, x, graph, **states)
    for out in (
        conv(x, graph.index, num_hyperedges=graph.num_hyperedges, **states),
        conv(x, graph.tell(), **states),
    ):
        for fast, value in zip(out, expected, strict=True):
            torch.testing.assert_close(fast, value)
    for names in (('drawn_mask',), ('node_degree', 'hyperedge_size', 'drawn_mask')):
        # What the layer is not told, it counts.
        graph, counted = part(), whole()
        index = graph.tell(*names)
        if len(names) == 1:
            graph.degree, graph.size = counted.degree, counted.size
        expected = slow(conv, x, graph, **states)
        for fast, value in zip(conv(x, index, **states), expected, strict=True):
            torch.testing.assert_close(fast, value)


def check_shapes(
    conv: torch.nn.Module, in_channels: int, out_channels: int, device: torch.device
) -> None:
    """Runs a layer without anything but incidences, and without incidences."""
    conv, graph = conv.to(device), whole()
    x = features(NUM_NODES, in_channels).float().to(device)
    node, hyperedge = conv(x, graph.index.to(device))
    assert node.size() == (NUM_NODES, out_channels)
    # The last hyperedge is empty, which the incidences do not show.
    assert hyperedge.size() == (graph.num_hyperedges - 1, out_channels)
    for out in (node, hyperedge):
        assert out.device.type == device.type
        assert out.dtype == torch.float
        assert torch.isfinite(out).all()
    nothing = graph.index[:, :0].to(device)
    node, hyperedge = conv(x, nothing)
    assert node.size() == (NUM_NODES, out_channels)
    assert hyperedge.size() == (0, out_channels)
    assert torch.isfinite(node).all()
    node, hyperedge = conv(x[:0], nothing, num_hyperedges=2)
    assert node.size() == (0, out_channels)
    assert hyperedge.size() == (2, out_channels)
    assert torch.isfinite(hyperedge).all()


def check_finite_gradients(conv: torch.nn.Module, in_channels: int) -> None:
    """Looks for infinities that empty sums could hide."""
    graph = whole()
    x = features(NUM_NODES, in_channels).requires_grad_()
    node, hyperedge = conv.double()(x, graph.index, num_hyperedges=graph.num_hyperedges)
    with torch.autograd.set_detect_anomaly(True):
        (node.square().sum() + hyperedge.square().sum()).backward()
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()
    for parameter in conv.parameters():
        assert parameter.grad is None or torch.isfinite(parameter.grad).all()


def check_reset(conv: Any) -> None:
    """All parameters are drawn anew, from the seed."""
    torch.manual_seed(5)
    conv.reset_parameters()
    first = [p.clone() for p in conv.parameters()]
    conv.reset_parameters()
    assert not any(map(torch.equal, first, conv.parameters()))
    torch.manual_seed(5)
    conv.reset_parameters()
    assert all(map(torch.equal, first, conv.parameters()))


def check_std(value: Tensor, std: float) -> None:
    """For large tensors: the mean is zero, and the deviation as given."""
    value = value.detach()
    assert abs(float(value.mean())) < 5 * std / value.numel() ** 0.5
    assert abs(float(value.std()) / std - 1) < 5 / value.numel() ** 0.5
