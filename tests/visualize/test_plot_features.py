import numpy as np
import pytest
import torch
from matplotlib.patches import Patch, Polygon

from tests.strategies import one_line_error
from tgx_anchor.data import AnchorData
from tgx_anchor.visualize import plot_features


@pytest.fixture
def data() -> AnchorData:
    """Two groups with a known anchor, a single person, and an unknown group."""
    return AnchorData(
        hyperedge_index=torch.tensor(
            [[0, 1, 2, 0, 1, 2, 0, 1], [0, 0, 0, 1, 1, 2, 3, 3]]
        ),
        num_nodes=3,
        num_hyperedges=4,
        y=torch.tensor([1, 0, 0, 0, 1, 1, 0, 0]).bool(),
        incidence_attr=torch.tensor(
            [[1.0, 5], [0, 5], [0, 5], [0, 5], [0, 5], [9, 5], [9, 5], [9, 5]]
        ),
    )


def heights(patch: Patch) -> list[float]:
    """The heights of the bins of an outline."""
    assert isinstance(patch, Polygon)
    return [float(y) for y in np.asarray(patch.get_xy())[1:-1:2, 1]]


def test_plot_features(data: AnchorData) -> None:
    figure = plot_features(data, num_bins=2)
    first, second = figure.axes
    others, anchors = first.patches
    # Anchors have the values 1 and 0, the others three times 0; the single person and
    # the unknown group do not count.
    assert heights(others) == pytest.approx([1.0, 0.0])
    assert heights(anchors) == pytest.approx([0.5, 0.5])
    assert [patch.get_label() for patch in first.patches] == ['others', 'anchors']
    # All values are equal.
    assert [heights(patch) for patch in second.patches] == [[1.0], [1.0]]
    assert first.get_title() == 'incidence_0'


def test_names_and_choice_of_features(data: AnchorData) -> None:
    data.column_names = {'incidence_attr': ['degree', 'size']}
    titles = [axes.get_title() for axes in plot_features(data).axes]
    assert titles == ['degree', 'size']
    titles = [axes.get_title() for axes in plot_features(data, ['size', 0]).axes]
    assert titles == ['size', 'degree']


def test_many_features_fill_a_grid(data: AnchorData) -> None:
    data.incidence_attr = torch.rand(8, 6)
    assert len(plot_features(data).axes) == 6


def test_mask(data: AnchorData) -> None:
    mask = torch.tensor([False, True, False, False])
    first = plot_features(data, [0], mask).axes[0]
    assert [heights(patch) for patch in first.patches] == [[1.0], [1.0]]


def test_wrong_input(data: AnchorData) -> None:
    with one_line_error("'features'", 'incidence_0', "got 'degree'"):
        plot_features(data, ['degree'])
    with one_line_error("'features'", 'got 2'):
        plot_features(data, [2])
    with one_line_error("'features'", 'at least one column'):
        plot_features(data, [])
    with one_line_error("'mask'", '4 booleans', 'got 0 True in shape [4]'):
        plot_features(data, mask=torch.zeros(4, dtype=torch.bool))
    with one_line_error("'mask'", '4 booleans', 'shape [3]'):
        plot_features(data, mask=torch.ones(3, dtype=torch.bool))
    data['y'][:] = False
    with one_line_error("'data'", 'a known anchor'):
        plot_features(data)
    del data.incidence_attr
    with one_line_error("'incidence_attr'", 'AddTopologicalFeatures'):
        plot_features(data)
