"""Tests of parts that need Sphinx, the extra [docs], are left out without it."""

from importlib.util import find_spec
from pathlib import Path

_MARK = 'sphinx'
collect_ignore: list[str] = []
if find_spec(_MARK) is None:
    parts = Path(__file__).parents[2] / 'docs' / '_ext' / 'tgx_site'
    collect_ignore = ['test_site.py']
    collect_ignore += [
        f'test_{path.name}'
        for path in parts.glob('*.py')
        if f'from {_MARK}' in path.read_text(encoding='utf-8')
    ]
