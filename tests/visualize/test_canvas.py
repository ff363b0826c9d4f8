import sys
from collections.abc import Callable

import pytest
import torch
from matplotlib.figure import Figure

from tests.strategies import to_data
from tgx_anchor.visualize import (
    plot_features,
    plot_group,
    plot_learning_curve,
    plot_reliability,
    plot_strengths,
)
from tgx_anchor.visualize._canvas import canvas


def test_canvas() -> None:
    figure, ax = canvas(None, 3, 2)
    assert figure.get_size_inches().tolist() == [3, 2]
    assert canvas(ax) == (figure, ax)
    root = Figure()
    inner = root.add_subfigure(root.add_gridspec(1, 2)[1]).subplots()
    assert canvas(inner) == (root, inner)


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
    data = to_data([[0, 1]], 2)
    data.y = torch.tensor([True, False])
    data.incidence_attr = torch.rand(2, 1)
    half = torch.tensor([0.5])
    plots: list[Callable[[], Figure]] = [
        lambda: plot_features(data),
        lambda: plot_group(data, torch.rand(2), 0),
        lambda: plot_learning_curve({'known': [1], 'accuracy': [1]}),
        lambda: plot_reliability(half, half),
        lambda: plot_strengths(half),
    ]
    for plot in plots:
        with pytest.raises(ImportError, match=r"pip install 'tgx_anchor\[viz\]'$"):
            plot()
