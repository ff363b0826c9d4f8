from dataclasses import replace

import numpy as np
import pytest

from tgx_anchor.reproduce.cell import Cell, CellKey
from tgx_anchor.reproduce.plot_sensitivity import plot_sensitivity

pytest.importorskip('matplotlib')


def cell(experiment: str, variant: str, value: float, split: int = 0) -> Cell:
    key = CellKey(experiment, 'qaBI', variant, split)
    return Cell(*key, 'accuracy', value, 1)


def test_curves_have_the_means() -> None:
    cells = [
        cell('methods', 'AnchorRadar', 0.8),
        cell('methods', 'AnchorRadar', 0.9, split=1),
        cell('variants', 'alpha x 2', 0.7),
        cell('variants', 'alpha / 2', 0.6),
        cell('variants', 'No GA', 0.1),
        replace(cell('variants', 'alpha x 2', 0.1), num_epochs=2),
    ]
    axes = plot_sensitivity(cells).axes[0]
    (line,) = axes.get_lines()
    assert axes.get_title() == 'qaBI'
    assert np.asarray(line.get_xdata()).tolist() == [0.5, 1.0, 2.0]
    assert np.asarray(line.get_ydata()).tolist() == pytest.approx([60, 85, 70])
    assert line.get_label() == 'alpha'


def test_nothing_is_measured() -> None:
    figure = plot_sensitivity([])
    assert not any(axes.get_lines() for axes in figure.axes)
