"""Plot of one group."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.visualize._canvas import ANCHOR_COLOUR, OTHER_COLOUR, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_group(
    data: AnchorData, score: Tensor, hyperedge: int, ax: 'Axes | None' = None
) -> 'Figure':
    r"""Draws the scores of the members of one group, highest first. The member of
    highest score is the predicted anchor; a known anchor is named as such.

    .. code-block:: python

        plot_group(data, model.predict_proba(data), hyperedge=7)

    Args:
        data (AnchorData): The hypergraph.
        score (torch.Tensor): The score of each incidence.
        hyperedge (int): The number of the hyperedge.
        ax (matplotlib.axes.Axes, optional): The axes to draw on; a new figure is made
            if :obj:`None`. (default: :obj:`None`)

    Shapes:
        - **score:** :math:`(P)`
    """
    if list(score.size()) != [data.num_incidences]:
        raise ValueError(
            f"'score' must hold {data.num_incidences} values, one per incidence "
            f'(got shape {list(score.size())})'
        )
    if not 0 <= hyperedge < data.num_hyperedges:
        raise ValueError(
            f"'hyperedge' must lie in [0, {data.num_hyperedges}) (got {hyperedge})"
        )
    begin, end = data.hyperedge_ptr[hyperedge : hyperedge + 2].tolist()
    if begin == end:
        raise ValueError(
            f"'hyperedge' must have a member (got {hyperedge}, an empty one)"
        )
    order = begin + torch.argsort(score[begin:end], descending=True, stable=True)
    node_id, y = data.get('node_id'), data.get('y')
    names = []
    for place in order.tolist():
        node = int(data.hyperedge_index[0, place])
        name = str(node if node_id is None else _plain(node_id[node]))
        names.append(f'{name} (known anchor)' if y is not None and y[place] else name)
    figure, ax = canvas(ax, height=1.2 + 0.35 * len(names))
    bars = ax.barh(
        range(len(names)),
        score[order].tolist(),
        color=[ANCHOR_COLOUR] + [OTHER_COLOUR] * (len(names) - 1),
    )
    ax.bar_label(bars, fmt='%.3f', padding=3)
    # Names are shown as they are: '$' does not begin a formula.
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.invert_yaxis()
    ax.margins(x=0.15)
    ids = data.get('hyperedge_id')
    title = hyperedge if ids is None else _plain(ids[hyperedge])
    ax.set_title(f'Group {title}', parse_math=False)
    ax.set_xlabel('Score')
    ax.spines[['top', 'right']].set_visible(False)
    return figure


def _plain(value: object) -> object:
    return value.item() if isinstance(value, Tensor) else value
