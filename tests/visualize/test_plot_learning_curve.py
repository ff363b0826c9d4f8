import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.strategies import one_line_error
from tgx_anchor.visualize import plot_learning_curve

TABLE = {
    'known': [0.05, 0.025, 0.025, 0.05, 0.025],
    'accuracy': [0.9, 0.7, 0.8, 0.6, 0.6],
    'method': ['new', 'new', 'new', 'random', 'random'],
}


@pytest.mark.parametrize('kind', ['columns', 'rows', 'arrow', 'pandas'])
def test_plot_learning_curve(kind: str) -> None:
    rows = [
        dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)
    ]
    tables = {
        'columns': TABLE,
        'rows': rows,
        'arrow': pa.table(TABLE),
        'pandas': pd.DataFrame(TABLE),
    }
    (ax,) = plot_learning_curve(tables[kind]).axes
    new, random = ax.lines
    assert new.get_xydata() == pytest.approx(np.array([[0.025, 0.75], [0.05, 0.9]]))
    assert random.get_xydata() == pytest.approx(np.array([[0.025, 0.6], [0.05, 0.6]]))
    assert [line.get_label() for line in ax.lines] == ['new', 'random']
    # Only the new method has several values at a place: 0.75 with a deviation of
    # sqrt(2) / 20.
    (band,) = ax.collections
    up = np.asarray(band.get_paths()[0].vertices)[:, 1]
    assert up.min() == pytest.approx(0.75 - 2**0.5 / 20)
    assert up.max() == pytest.approx(0.9)


def test_history_of_a_model() -> None:
    history = [
        {'epoch': 1.0, 'loss': 2.0},
        {'epoch': 2.0, 'loss': 1.0, 'val_accuracy': 0.5},
        {'epoch': 3.0, 'loss': 0.5, 'val_accuracy': 0.75},
    ]
    (ax,) = plot_learning_curve(history, x='epoch', y='val_accuracy').axes
    assert np.asarray(ax.lines[0].get_xydata()).tolist() == [[2, 0.5], [3, 0.75]]
    assert ax.get_ylabel() == 'val accuracy'
    assert ax.get_legend() is None


def test_wrong_input() -> None:
    with one_line_error("'y'", "'known', 'accuracy', 'method'", "got 'loss'"):
        plot_learning_curve(TABLE, y='loss')
    with one_line_error("'table'", "'known' and 'accuracy'", 'got 0 without'):
        plot_learning_curve({'known': [], 'accuracy': []})
