"""Draws the sensitivity of AnchorRadar to its hyperparameters."""

import math
import statistics
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tgx_anchor.benchmark.methods import PLANTED
from tgx_anchor.reproduce.cell import Cell
from tgx_anchor.reproduce.experiments import SHARES, VARIANTS
from tgx_anchor.reproduce.variants import FACTORS, HYPERPARAMETERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NUM_COLUMNS = 3


def plot_sensitivity(cells: Iterable[Cell]) -> 'Figure':
    r"""Draws the accuracy by the factor of each hyperparameter, with a chart per
    setting, as the paper does.

    Args:
        cells (list[Cell]): All measured cells.
    """
    from matplotlib.figure import Figure

    values = _means(cells)
    settings = list(dict.fromkeys(setting for setting, variant in values if variant))
    num_rows = max(math.ceil(len(settings) / _NUM_COLUMNS), 1)
    figure = Figure(figsize=(10, 2.8 * num_rows), layout='constrained')
    grid = figure.subplots(num_rows, _NUM_COLUMNS, squeeze=False)
    for axes in grid.flat[len(settings) :]:
        axes.set_axis_off()
    for axes, setting in zip(grid.flat, settings, strict=False):
        for name in HYPERPARAMETERS:
            points = {1.0: values.get((setting, ''))}
            for sign, factor in FACTORS.items():
                points[factor] = values.get((setting, f'{name} {sign}'))
            known = {x: y for x, y in sorted(points.items()) if y is not None}
            if len(known) > 1:
                axes.plot(list(known), list(known.values()), 'o-', label=name)
        axes.set(title=setting, xscale='log')
        axes.set_xticks([*FACTORS.values(), 1.0], ['2', '√2', '1/√2', '1/2', '1'])
        axes.minorticks_off()
    figure.supxlabel('factor of the hyperparameter')
    figure.supylabel('Accuracy (%)')
    if settings:
        # A chart may lack a curve.
        lines = {
            line.get_label(): line for axes in grid.flat for line in axes.get_lines()
        }
        figure.legend(
            list(lines.values()), list(lines), loc='outside upper center', ncols=4
        )
    return figure


def _means(cells: Iterable[Cell]) -> dict[tuple[str, str], float]:
    # The mean accuracy by setting and variant, '' for the published model.
    found: dict[tuple[str, str], list[float]] = {}
    # Not those of a trial with fewer epochs.
    for cell in (cell for cell in cells if cell.num_epochs == 0):
        is_published = (cell.experiment, cell.variant) == (
            next(iter(SHARES)),
            'AnchorRadar',
        )
        is_variant = cell.experiment == VARIANTS and cell.variant.startswith(
            HYPERPARAMETERS
        )
        if cell.metric == 'accuracy' and cell.setting != PLANTED:
            if is_published:
                found.setdefault((cell.setting, ''), []).append(100 * cell.value)
            elif is_variant:
                where = cell.setting, cell.variant
                found.setdefault(where, []).append(100 * cell.value)
    return {key: statistics.fmean(each) for key, each in found.items()}
