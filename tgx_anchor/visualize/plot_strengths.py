"""Plot of the strengths of people."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tgx_anchor.visualize._canvas import OTHER_COLOUR, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_strengths(
    strength: Tensor, num_bins: int = 30, ax: 'Axes | None' = None
) -> 'Figure':
    r"""Draws the distribution of strengths as a histogram.

    .. code-block:: python

        plot_strengths(model.strength)

    Args:
        strength (torch.Tensor): The strength of each node.
        num_bins (int, optional): The number of bins. (default: :obj:`30`)
        ax (matplotlib.axes.Axes, optional): The axes to draw on; a new figure is made
            if :obj:`None`. (default: :obj:`None`)

    Shapes:
        - **strength:** :math:`(N)`
    """
    if strength.dim() != 1 or strength.numel() == 0:
        raise ValueError(
            f"'strength' must hold one value per node "
            f'(got shape {list(strength.size())})'
        )
    if not torch.isfinite(strength).all():
        place = int((~torch.isfinite(strength)).nonzero()[0])
        raise ValueError(
            f"'strength' must be finite (got {float(strength[place])} at {place})"
        )
    figure, ax = canvas(ax)
    ax.hist(strength.numpy(force=True), bins=num_bins, color=OTHER_COLOUR)
    ax.set(xlabel='Strength', ylabel='People', title='Strengths')
    ax.spines[['top', 'right']].set_visible(False)
    return figure
