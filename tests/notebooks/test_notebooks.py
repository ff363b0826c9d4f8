"""Every notebook runs from top to bottom, and is kept with the output of such a run."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / 'notebooks'
NOTEBOOKS = sorted(FOLDER.glob('*.ipynb'))
DRAWS = re.compile(r'\bplt\.|\bplot_\w+\(')
PATHS = re.compile(r'(?<![\w.:/])/(?:home|root|tmp|work|Users)/')


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.slow
@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings('default')  # Jupyter's own warnings are not ours
def test_notebook_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Threads of small operations wait for each other where others use the machine.
    monkeypatch.setenv('OMP_NUM_THREADS', '1')
    notebook = nbformat.read(path, as_version=4)
    where = {'metadata': {'path': str(tmp_path)}}
    client = NotebookClient(
        notebook, timeout=300, kernel_name='python3', resources=where
    )
    client.execute()


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_with_its_output(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == 'code']
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        kinds = [kind for out in cell.outputs for kind in out.get('data', {})]
        assert ('image/png' in kinds) == bool(DRAWS.search(cell.source)), cell.source
        text = [out.get('text', '') for out in cell.outputs]
        assert all(out.output_type != 'error' for out in cell.outputs)
        assert not PATHS.search(' '.join(text))
        # Neither progress bars nor colours.
        assert '\x1b' not in ' '.join(text)
    assert path.stat().st_size < 500_000
