r"""Shows the notebooks, which are kept elsewhere, without running them twice.

The tests run every notebook. With the environment variable
:obj:`TGX_ANCHOR_NOTEBOOKS`, they keep what they ran in the folder that it names, and
the documentation shows these. Without it, the documentation shows the notebooks with
the output that they are kept with.
"""

import json
import os
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

EXECUTED = 'TGX_ANCHOR_NOTEBOOKS'
ROOT = Path(__file__).parents[3]


def copy_notebooks(source: Path, out: Path, executed: Path | None = None) -> list[Path]:
    r"""Copies notebooks, and removes those that are no longer there.

    Args:
        source (Path): The folder of the notebooks.
        out (Path): The folder to copy them to.
        executed (Path, optional): The folder of those that were run. All must be there.
            (default: :obj:`None`)
    """
    out.mkdir(parents=True, exist_ok=True)
    names = sorted(path.name for path in source.glob('*.ipynb'))
    for old in out.glob('*.ipynb'):
        if old.name not in names:
            old.unlink()
    for name in names:
        path = source / name
        if executed is not None:
            path = executed / name
            if not path.exists():
                raise ValueError(
                    f"'{EXECUTED}' must name a folder of notebooks that were run "
                    f'(got {str(executed)!r}, without {name})'
                )
        notebook = json.loads(path.read_text(encoding='utf-8'))
        # Cells with '%' are not Python.
        language = notebook['metadata'].setdefault('language_info', {'name': 'python'})
        language['pygments_lexer'] = 'ipython3'
        text, new = json.dumps(notebook), out / name
        # Pages that have not changed are not built again.
        if not new.exists() or new.read_text(encoding='utf-8') != text:
            new.write_text(text, encoding='utf-8')
    return [out / name for name in names]


def _copy(app: Sphinx, _: Config) -> None:
    folder = os.environ.get(EXECUTED)
    out = Path(app.srcdir) / 'notebooks'
    copy_notebooks(ROOT / 'notebooks', out, Path(folder) if folder else None)


def setup(app: Sphinx) -> dict[str, bool]:
    r"""Adds the notebooks to the application.

    Args:
        app (Sphinx): The application.
    """
    app.connect('config-inited', _copy)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
