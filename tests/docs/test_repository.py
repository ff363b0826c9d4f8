from pathlib import Path

import pytest

from tgx_site import repository


def test_links_become_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, 'ROOT', tmp_path)
    text = '# Title\n\n[a](a.md), [b](b.csv), [c](https://c.org), [d](docs/d.md)\n'
    (tmp_path / 'file.md').write_text(text, encoding='utf-8')
    shown = repository.repository_file('file.md', {'a.md': '../a.md', 'b.csv': ''})
    assert shown == '\n[a](../a.md), b, [c](https://c.org), [d](/d.md)\n'
    with pytest.raises(ValueError, match=r"none for 'b\.csv'"):
        repository.repository_file('file.md', {'a.md': '../a.md'})
