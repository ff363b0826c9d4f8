"""Plot of the features of anchors and other members."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.utils.messages import listed
from tgx_anchor.visualize._canvas import ANCHOR_COLOUR, OTHER_COLOUR, figure_class

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_COLUMNS = 4


def plot_features(
    data: AnchorData,
    features: Sequence[str | int] | None = None,
    mask: Tensor | None = None,
    num_bins: int = 20,
) -> 'Figure':
    r"""Draws, for each feature of the incidences, how it is distributed among anchors
    and among the other members of the same groups.

    .. code-block:: python

        data = AddTopologicalFeatures()(data)
        plot_features(data, ['degree_minmax', 'degree_local_rank'])

    Args:
        data (AnchorData): The hypergraph with :obj:`incidence_attr` and :obj:`y`.
        features (list[str or int], optional): The columns of :obj:`incidence_attr`,
            by name or number; all if :obj:`None`. (default: :obj:`None`)
        mask (torch.Tensor, optional): The hyperedges to look at; all with a known
            anchor that leave a choice if :obj:`None`. (default: :obj:`None`)
        num_bins (int, optional): The number of bins. (default: :obj:`20`)

    Shapes:
        - **mask:** :math:`(M)`
    """
    for name, call in (
        ('incidence_attr', "'AddTopologicalFeatures' adds it"),
        ('y', 'it marks the anchors'),
    ):
        if data.get(name) is None:
            raise ValueError(f"'data' must have '{name}' ({call})")
    attr = data['incidence_attr']
    names = data.names('incidence_attr')
    columns = [
        _number(feature, names) for feature in (names if features is None else features)
    ]
    if not columns:
        raise ValueError("'features' must name at least one column (got an empty list)")
    if mask is None:
        mask = data.known_mask & data.choice_mask
        if not bool(mask.any()):
            raise ValueError(
                "'data' must have a known anchor in 'y', in a hyperedge of two or more "
                'members'
            )
    if list(mask.size()) != [data.num_hyperedges] or not bool(mask.any()):
        raise ValueError(
            f"'mask' must hold {data.num_hyperedges} booleans, one per hyperedge and "
            f'not all False (got {int(mask.sum())} True in shape {list(mask.size())})'
        )
    kept = mask[data.hyperedge_index[1]]
    is_anchor = data['y'][kept]

    width = min(len(columns), _MAX_COLUMNS)
    height = -(-len(columns) // width)
    figure = figure_class()(
        figsize=(3.2 * width + 0.5, 2.6 * height + 0.5), layout='constrained'
    )
    grid = figure.subplots(height, width, squeeze=False)
    for axes in grid.flat[len(columns) :]:
        axes.remove()
    for axes, column in zip(grid.flat, columns, strict=False):
        value = attr[kept, column].double()
        low, high = torch.aminmax(value)
        edge = torch.linspace(float(low), float(high), num_bins + 1).tolist()
        if low == high:
            edge = [float(low) - 0.5, float(low) + 0.5]
        for flag, label, colour in (
            (~is_anchor, 'others', OTHER_COLOUR),
            (is_anchor, 'anchors', ANCHOR_COLOUR),
        ):
            part = value[flag].numpy(force=True)
            # Shares: there are more others than anchors.
            axes.hist(
                part,
                bins=edge,
                weights=[1 / max(len(part), 1)] * len(part),
                histtype='step',
                linewidth=1.8,
                color=colour,
                label=label,
            )
        axes.set_title(names[column], fontsize='medium', parse_math=False)
        axes.spines[['top', 'right']].set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel('Share')
    grid[0, 0].legend(frameon=False)
    return figure


def _number(feature: str | int, names: list[str]) -> int:
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, int) and 0 <= feature < len(names):
        return feature
    raise ValueError(
        f"'features' must name columns of 'incidence_attr', which are {listed(names)} "
        f'(got {feature!r})'
    )
