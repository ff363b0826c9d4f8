import pytest
import torch
from matplotlib.figure import Figure

from tests.strategies import one_line_error
from tgx_anchor.visualize import plot_strengths


def test_plot_strengths() -> None:
    strength = torch.tensor([0.0, 0.1, 0.6, 1.0], requires_grad=True)
    (ax,) = plot_strengths(strength, num_bins=2).axes
    bars = ax.containers[0]
    assert [bar.get_height() for bar in bars] == [2, 2]
    assert [bar.get_x() for bar in bars] == pytest.approx([0.0, 0.5])


def test_given_axes() -> None:
    figure = Figure()
    assert plot_strengths(torch.rand(5), ax=figure.subplots()) is figure
    assert len(figure.axes) == 1


def test_wrong_input() -> None:
    with one_line_error("'strength'", 'got shape [0]'):
        plot_strengths(torch.empty(0))
    with one_line_error("'strength'", 'finite', 'got nan at 1'):
        plot_strengths(torch.tensor([0.0, float('nan')]))
