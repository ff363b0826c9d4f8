"""Plot of accuracy against the amount of training."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tgx_anchor.utils.messages import listed
from tgx_anchor.visualize._canvas import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_learning_curve(
    table: Any,
    x: str = 'known',
    y: str = 'accuracy',
    by: str = 'method',
    ax: 'Axes | None' = None,
) -> 'Figure':
    r"""Draws how accuracy rises with the number of known anchors, or with another
    column such as the epoch.

    Rows with the same :obj:`x` and :obj:`by`, such as several seeds, are one point at
    their mean, in a band of one standard deviation to each side. Rows without a value
    are left out.

    .. code-block:: python

        plot_learning_curve({
            'known': [0.025, 0.025, 0.075, 0.075],
            'accuracy': [0.80, 0.82, 0.87, 0.88],
            'method': ['random', 'suggested', 'random', 'suggested'],
        })
        plot_learning_curve(model.history, x='epoch', y='val_accuracy')

    Args:
        table (dict or list[dict] or pyarrow.Table or pandas.DataFrame): The columns,
            or the rows.
        x (str, optional): The column of the horizontal axis.
            (default: :obj:`"known"`)
        y (str, optional): The column of the vertical axis.
            (default: :obj:`"accuracy"`)
        by (str, optional): The column that tells curves apart; without it in the
            table there is one curve. (default: :obj:`"method"`)
        ax (matplotlib.axes.Axes, optional): The axes to draw on; a new figure is made
            if :obj:`None`. (default: :obj:`None`)
    """
    columns = _columns(table)
    for name, column in (('x', x), ('y', y)):
        if column not in columns:
            raise ValueError(
                f"'{name}' must be a column of the table, which has {listed(columns)} "
                f'(got {column!r})'
            )
    across = np.asarray(columns[x], dtype=np.float64)
    up = np.asarray(columns[y], dtype=np.float64)
    label = np.asarray([str(value) for value in columns.get(by, [''] * len(across))])
    present = np.isfinite(across) & np.isfinite(up)
    if not present.any():
        raise ValueError(
            f"'table' must have a row with numbers in '{x}' and '{y}' "
            f'(got {len(up)} without)'
        )
    figure, ax = canvas(ax)
    for name in dict.fromkeys(label[present].tolist()):
        chosen = present & (label == name)
        place, which = np.unique(across[chosen], return_inverse=True)
        groups = [up[chosen][which == i] for i in range(place.size)]
        mean = np.array([group.mean() for group in groups])
        spread = np.array(
            [group.std(ddof=1) if len(group) > 1 else 0 for group in groups]
        )
        (line,) = ax.plot(place, mean, marker='o', markersize=3, label=name)
        if spread.any():
            ax.fill_between(
                place,
                mean - spread,
                mean + spread,
                color=line.get_color(),
                alpha=0.2,
                linewidth=0,
            )
    ax.set(xlabel=x.replace('_', ' '), ylabel=y.replace('_', ' '))
    if by in columns:
        ax.legend(frameon=False)
    ax.spines[['top', 'right']].set_visible(False)
    return figure


def _columns(table: Any) -> dict[str, Sequence[Any]]:
    # Missing values become NaN.
    if hasattr(table, 'to_pydict'):
        table = table.to_pydict()
    elif hasattr(table, 'to_dict'):
        table = table.to_dict('list')
    if isinstance(table, Mapping):
        return {str(name): list(values) for name, values in table.items()}
    names = dict.fromkeys(name for row in table for name in row)
    return {name: [row.get(name) for row in table] for name in names}
