"""Every notebook runs from top to bottom, and is kept with the output of such a run."""

import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.notebooks.execute import NOTEBOOKS, execute

# The documentation shows the notebooks of this folder, so that they run once.
KEPT = os.environ.get('TGX_ANCHOR_NOTEBOOKS')
DRAWS = re.compile(r'\bplt\.|\bplot_\w+\(')
PATHS = re.compile(r'(?<![\w.:/])/(?:home|root|tmp|work|Users)/')


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.slow
@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings('default')  # Jupyter's own warnings are not ours
def test_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Threads of small operations wait for each other where others use the machine.
    monkeypatch.setenv('OMP_NUM_THREADS', '1')
    notebook = execute(path)
    check_output(notebook)
    if KEPT is not None:
        folder = Path(KEPT)
        folder.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, folder / path.name)


def check_output(notebook: Any) -> None:
    code = [cell for cell in notebook.cells if cell.cell_type == 'code']
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        kinds = [kind for out in cell.outputs for kind in out.get('data', {})]
        assert ('image/png' in kinds) == bool(DRAWS.search(cell.source)), cell.source
        assert all(out.output_type != 'error' for out in cell.outputs)
        text = ' '.join(out.get('text', '') for out in cell.outputs)
        assert not PATHS.search(text)
        # Neither progress bars nor colours.
        assert '\x1b' not in text


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_with_its_output(path: Path) -> None:
    check_output(nbformat.read(path, as_version=4))
    assert path.stat().st_size < 500_000
