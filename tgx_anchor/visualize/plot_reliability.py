"""Reliability diagram."""

from typing import TYPE_CHECKING

from torch import Tensor

from tgx_anchor.metrics import calibration_bins, expected_calibration_error
from tgx_anchor.visualize._canvas import ANCHOR_COLOUR, GUIDE_COLOUR, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_reliability(
    probability: Tensor,
    correct: Tensor,
    num_bins: int = 15,
    label: str | None = None,
    ax: 'Axes | None' = None,
) -> 'Figure':
    r"""Draws the share of right predictions against their stated probability, in bins
    of equal count, with the expected calibration error
    (:func:`~tgx_anchor.metrics.expected_calibration_error`) in the legend.

    .. code-block:: python

        figure = plot_reliability(before, correct, label='before')
        plot_reliability(after, correct, label='after', ax=figure.axes[0])

    Args:
        probability (torch.Tensor): The probability given to each prediction.
        correct (torch.Tensor): Whether each prediction is right.
        num_bins (int, optional): The number of bins. (default: :obj:`15`)
        label (str, optional): The name of the curve. (default: :obj:`None`)
        ax (matplotlib.axes.Axes, optional): The axes to draw on; a new figure is made
            if :obj:`None`. (default: :obj:`None`)

    Shapes:
        - **probability, correct:** :math:`(n)`
    """
    bins = calibration_bins(probability, correct, num_bins)
    error = expected_calibration_error(probability, correct, num_bins)
    is_new = ax is None
    figure, ax = canvas(ax, 4.5, 4.5)
    if is_new:
        ax.plot([0, 1], [0, 1], linestyle='--', color=GUIDE_COLOUR, linewidth=1)
    ax.plot(
        bins.probability.tolist(),
        bins.accuracy.tolist(),
        marker='o',
        markersize=4,
        color=ANCHOR_COLOUR if is_new else None,
        label=f'ECE {error:.3f}' if label is None else f'{label}, ECE {error:.3f}',
    )
    ax.set(
        xlim=(0, 1.02),
        ylim=(0, 1.02),
        xlabel='Stated probability',
        ylabel='Share of right anchors',
        title='Reliability',
    )
    ax.legend(frameon=False, loc='upper left')
    ax.spines[['top', 'right']].set_visible(False)
    return figure
