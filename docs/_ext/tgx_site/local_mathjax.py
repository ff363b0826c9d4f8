r"""Shows equations without a network: the site holds its own copy of MathJax."""

import shutil
from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx

# One file that loads nothing else; it draws equations in the colour of the text.
FILE = 'tex-svg-full.js'


def find_mathjax() -> Path:
    r"""Returns the file of MathJax in the installed packages."""
    # The name has a hyphen: it can be found, but not imported by a statement.
    spec = find_spec('sphinx-mathjax-offline')
    if spec is None or spec.origin is None:
        raise ValueError("sphinx-mathjax-offline is missing: pip install '.[docs]'")
    return Path(spec.origin).parent / 'static' / 'mathjax' / FILE


def _copy(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == 'html':
        shutil.copyfile(find_mathjax(), Path(app.outdir) / '_static' / FILE)


def setup(app: Sphinx) -> dict[str, bool]:
    r"""Adds MathJax to the application.

    Args:
        app (Sphinx): The application.
    """
    app.connect('build-finished', _copy)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
