"""Runs notebooks and keeps their output: python -m tests.notebooks.execute [FILE]."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / 'notebooks'
NOTEBOOKS = sorted(FOLDER.glob('*.ipynb'))


def execute(path: Path) -> Any:
    """Runs a notebook in an empty folder, and returns it with its output."""
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        where = {'metadata': {'path': folder}}
        NotebookClient(
            notebook, timeout=600, kernel_name='python3', resources=where
        ).execute()
    kernel = notebook.metadata['kernelspec']
    notebook.metadata = {'kernelspec': kernel, 'language_info': {'name': 'python'}}
    for cell in notebook.cells:
        cell.metadata.pop('execution', None)
        if cell.cell_type == 'code':
            cell.outputs = _join(cell.outputs)
    return notebook


def _join(outputs: list[Any]) -> list[Any]:
    # Streams in one piece each, without a warning about packages of Jupyter.
    kept: list[Any] = []
    streams: dict[str, Any] = {}
    for output in outputs:
        if output.output_type != 'stream':
            kept.append(output)
        elif 'TqdmWarning' in output.text:
            continue
        elif output.name in streams:
            streams[output.name].text += output.text
        else:
            streams[output.name] = output
            kept.append(output)
    return kept


if __name__ == '__main__':
    for name in sys.argv[1:] or NOTEBOOKS:
        nbformat.write(execute(Path(name)), name)
