import numpy as np
import pytest
import torch

from tgx_anchor.visualize import plot_reliability

PROBABILITY = torch.tensor([0.9, 0.2, 0.6, 0.4, 0.8])
CORRECT = torch.tensor([True, False, False, True, True])


def test_plot_reliability() -> None:
    (ax,) = plot_reliability(PROBABILITY, CORRECT, num_bins=2).axes
    guide, curve = ax.lines
    assert np.asarray(guide.get_xydata()).tolist() == [[0, 0], [1, 1]]
    assert curve.get_xdata() == pytest.approx([0.4, 0.85])
    assert curve.get_ydata() == pytest.approx([1 / 3, 1.0])
    # 3 / 5 * (0.4 - 1 / 3) + 2 / 5 * 0.15
    assert curve.get_label() == 'ECE 0.100'


def test_two_curves() -> None:
    figure = plot_reliability(PROBABILITY, CORRECT, label='before')
    (ax,) = figure.axes
    assert plot_reliability(PROBABILITY**2, CORRECT, label='after', ax=ax) is figure
    assert len(ax.lines) == 3
    assert ax.lines[1].get_color() != ax.lines[2].get_color()
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text().split(',')[0] for text in legend.get_texts()] == [
        'before',
        'after',
    ]
