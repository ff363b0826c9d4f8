"""Figures to draw on, and the colours of all plots."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The colours of the report page.
ANCHOR_COLOUR = '#b8480a'
OTHER_COLOUR = '#7d8fa6'
GUIDE_COLOUR = '#566071'


def canvas(
    ax: 'Axes | None', width: float = 5.0, height: float = 4.0
) -> 'tuple[Figure, Axes]':
    r"""Returns the given axes with their figure, or new ones of a size in inches.

    Args:
        ax (matplotlib.axes.Axes, optional): The axes to draw on.
        width (float, optional): The width of a new figure. (default: :obj:`5.0`)
        height (float, optional): The height of a new figure. (default: :obj:`4.0`)
    """
    new_figure = figure_class()
    if ax is None:
        figure = new_figure(figsize=(width, height), layout='constrained')
        return figure, figure.subplots()
    parent = ax.figure
    while not isinstance(parent, new_figure):
        parent = parent.figure
    return parent, ax


def figure_class() -> 'type[Figure]':
    r"""Returns the figure class of matplotlib, or raises an error that names the
    extra to install.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "Plots need matplotlib: run pip install 'tgx_anchor[viz]'"
        ) from None
    return Figure
