from pathlib import Path

from tgx_site.inner_links import broken_links


def write(folder: Path, **pages: str) -> None:
    for name, text in pages.items():
        path = folder / f'{name.replace("__", "/")}.html'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')


def test_good_links(tmp_path: Path) -> None:
    write(
        tmp_path,
        index='<a href="a/b.html#here">b</a><a href="#top">t</a><p id="top">'
        '<a href="https://pyg.org/nothing">x</a><a href="mailto:a@b.c">m</a>'
        '<a href="a/b.html#h%C3%A9">e</a>',
        a__b='<h1 id="here">b</h1><a name="hé"></a><a href="../">up</a>'
        '<img src="../picture.svg"><script src="../index.html?v=1"></script>',
    )
    (tmp_path / 'picture.svg').write_text('', encoding='utf-8')
    assert list(broken_links(tmp_path)) == []


def test_broken_links(tmp_path: Path) -> None:
    write(
        tmp_path,
        index='<a href="nothing.html">n</a><img src="p.svg"><a href="b.html#x">b</a>',
        b='<a href="../out.html">o</a><link href="site.css"><a href="#y">y</a>',
    )
    found = {(link.page, link.target): link.reason for link in broken_links(tmp_path)}
    assert found == {
        ('b.html', '../out.html'): 'leads out of the site',
        ('b.html', 'site.css'): 'no such file',
        ('b.html', '#y'): 'no such place on the page',
        ('index.html', 'nothing.html'): 'no such file',
        ('index.html', 'p.svg'): 'no such file',
        ('index.html', 'b.html#x'): 'no such place on the page',
    }
