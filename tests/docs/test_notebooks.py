import json
from pathlib import Path

import pytest

from tgx_site.notebooks import copy_notebooks


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    notebook = {'cells': [text], 'metadata': {}}
    path.write_text(json.dumps(notebook), encoding='utf-8')


def read(path: Path) -> str:
    return str(json.loads(path.read_text(encoding='utf-8'))['cells'][0])


def test_copies(tmp_path: Path) -> None:
    source, out = tmp_path / 'source', tmp_path / 'out'
    write(source / 'a.ipynb', 'kept')
    write(out / 'old.ipynb', 'gone')
    assert copy_notebooks(source, out) == [out / 'a.ipynb']
    assert read(out / 'a.ipynb') == 'kept'
    assert sorted(path.name for path in out.iterdir()) == ['a.ipynb']
    changed = (out / 'a.ipynb').stat().st_mtime_ns
    copy_notebooks(source, out)
    assert (out / 'a.ipynb').stat().st_mtime_ns == changed


def test_shows_what_the_tests_have_run(tmp_path: Path) -> None:
    source, out, executed = (tmp_path / name for name in ('source', 'out', 'run'))
    write(source / 'a.ipynb', 'kept')
    write(executed / 'a.ipynb', 'run')
    copy_notebooks(source, out, executed)
    assert read(out / 'a.ipynb') == 'run'
    write(source / 'b.ipynb', 'kept')
    with pytest.raises(ValueError, match=r'without b.ipynb'):
        copy_notebooks(source, out, executed)
