import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from tests.strategies import one_line_error
from tgx_anchor.data import AnchorData
from tgx_anchor.visualize import plot_group


@pytest.fixture
def data() -> AnchorData:
    return AnchorData(
        hyperedge_index=torch.tensor([[0, 1, 2, 1], [0, 1, 1, 1]]),
        num_nodes=3,
        num_hyperedges=3,
        y=torch.tensor([True, True, False, False]),
        node_id=['Ana', 'Ben', 'C$os$t'],
        hyperedge_id=['a', 'b', 'c'],
    )


SCORE = torch.tensor([1.0, 0.2, 0.7, 0.1])


def test_plot_group(data: AnchorData) -> None:
    (ax,) = plot_group(data, SCORE, 1).axes
    bars = ax.containers[0]
    assert [bar.get_width() for bar in bars] == pytest.approx([0.7, 0.2, 0.1])
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ['C$os$t', 'Ben (known anchor)', 'Ben']
    colours = [to_hex(bar.get_facecolor()) for bar in bars]
    assert colours == ['#b8480a', '#7d8fa6', '#7d8fa6']
    assert ax.get_title() == 'Group b'
    # The highest score is on top.
    assert ax.yaxis_inverted()


def test_numbers_where_there_are_no_names(data: AnchorData) -> None:
    del data.node_id
    del data.y
    data.hyperedge_id = torch.tensor([7, 8, 9])
    (ax,) = plot_group(data, SCORE, 1).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ['2', '1', '1']
    assert ax.get_title() == 'Group 8'


def test_given_axes(data: AnchorData) -> None:
    figure = Figure()
    axes = figure.subplots(1, 2)
    assert plot_group(data, SCORE, 0, ax=axes[1]) is figure
    assert len(axes[1].containers) == 1
    assert not axes[0].containers
    figure.canvas.draw()


def test_wrong_input(data: AnchorData) -> None:
    with one_line_error("'score'", '4 values', 'got shape [3]'):
        plot_group(data, SCORE[:3], 0)
    with one_line_error("'hyperedge'", '[0, 3)', 'got -1'):
        plot_group(data, SCORE, -1)
    with one_line_error("'hyperedge'", 'got 2, an empty one'):
        plot_group(data, SCORE, 2)
