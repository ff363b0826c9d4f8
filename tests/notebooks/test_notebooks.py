"""Every notebook runs from top to bottom, and is kept without its output."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / 'notebooks'
NOTEBOOKS = sorted(FOLDER.glob('*.ipynb'))


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.slow
@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings('default')  # Jupyter's own warnings are not ours
def test_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Threads of small operations wait for each other where others use the machine.
    monkeypatch.setenv('OMP_NUM_THREADS', '1')
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name='python3').execute()


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_without_output(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == 'code']
    assert code
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
