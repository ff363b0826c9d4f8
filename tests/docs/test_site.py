"""The built site: TGX_ANCHOR_SITE names its folder."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

from tests.report.browser import Browser, find_chromium
from tgx_site import exports
from tgx_site.inner_links import broken_links

REQUIRED = (
    'index start/get_started start/concepts start/own_data start/datasets start/models '
    'how_to/new_encoder how_to/new_dataset how_to/mini_batches how_to/gpu shards '
    'results/overview results/tables results/beyond results/further results/notes '
    'reference/cli project/design project/contributing project/changelog'
)
# Elements that reach beyond the screen, unless they scroll by themselves.
OUTSIDE = """
Array.from(document.querySelectorAll('article *')).filter((e) => {
  const box = e.getBoundingClientRect();
  if (box.width === 0 || box.right <= WIDTH + 1) return false;
  for (let a = e; a.tagName !== 'ARTICLE'; a = a.parentElement)
    if (['auto', 'scroll'].includes(getComputedStyle(a).overflowX)) {
      if (a.getBoundingClientRect().right <= WIDTH + 1) return false;
    }
  return true;
}).map((e) => e.outerHTML.slice(0, 80))
"""


@pytest.fixture(scope='module')
def site() -> Path:
    folder = os.environ.get('TGX_ANCHOR_SITE')
    if folder is None:
        pytest.skip('needs the built site: set TGX_ANCHOR_SITE to its folder')
    return Path(folder)


def test_pages_are_there(site: Path) -> None:
    for name in REQUIRED.split():
        assert (site / f'{name}.html').exists(), name
    notebooks = Path(__file__).parents[2] / 'notebooks'
    for path in notebooks.glob('*.ipynb'):
        assert (site / 'notebooks' / f'{path.stem}.html').exists()


def test_links_lead_somewhere(site: Path) -> None:
    assert list(broken_links(site)) == []


def test_every_export_is_documented(site: Path) -> None:
    content = InventoryFile.loads((site / 'objects.inv').read_bytes(), uri='')
    kinds = {'class': 'class', 'exception': 'class', 'function': 'function'}
    for room in exports.rooms():
        for export in exports.exports(room):
            found = [
                kind
                for kind in ('class', 'data', 'exception', 'function')
                if export.name in content.data.get(f'py:{kind}', {})
            ]
            assert len(found) == 1, export.name
            assert kinds.get(found[0], found[0]) == export.kind


def test_models_have_equations(site: Path) -> None:
    for name in ('nn_conv', 'nn_models', 'nn_predictors', 'nn_functional'):
        text = (site / 'reference' / f'{name}.html').read_text(encoding='utf-8')
        assert 'class="math notranslate' in text


def test_notebooks_have_output(site: Path) -> None:
    text = (site / 'notebooks' / '01_find_the_anchor.html').read_text(encoding='utf-8')
    assert 'cell_output' in text
    assert text.count('<img') >= 4


def test_other_packages_are_linked(site: Path) -> None:
    text = (site / 'reference' / 'data.html').read_text(encoding='utf-8')
    for address in ('docs.pytorch.org', 'pytorch-geometric.readthedocs.io'):
        assert f'href="https://{address}/' in text


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    # The site must open without a network.
    loaded = re.compile(r'<(?:script|img|link rel="stylesheet")[^>]*="https?:')
    for path in site.rglob('*.html'):
        assert loaded.search(path.read_text(encoding='utf-8')) is None, path


def test_no_calls_are_left(site: Path) -> None:
    for path in site.rglob('*.html'):
        if path.parts[-2] != '_modules' and path.stem != 'contributing':
            assert '{{ ' not in path.read_text(encoding='utf-8'), path


@pytest.fixture(scope='module')
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    binary = find_chromium()
    if binary is None:
        pytest.skip('needs Chromium: no chromium or google-chrome on the search path')
    with Browser(binary, tmp_path_factory.mktemp('profile')) as browser:
        yield browser


def pages(site: Path) -> list[Path]:
    return [path for path in site.rglob('*.html') if '_modules' not in path.parts]


def look(browser: Browser, path: Path, width: int, dark: bool = False) -> None:
    # What a reader would find ugly: pages that scroll sideways, pictures that are not
    # there, equations as source.
    browser.open(path, width=width, dark=dark)
    assert browser.evaluate(OUTSIDE.replace('WIDTH', str(width))) == [], path
    broken = browser.evaluate(
        'Array.from(document.images).filter((e) => e.naturalWidth === 0).length'
    )
    assert broken == 0, path
    left = browser.evaluate(
        'Promise.resolve(window.MathJax?.startup?.promise).then(() => Array.from('
        'document.querySelectorAll(".math")).filter((e) => '
        '!e.querySelector("mjx-container") || e.querySelector("[data-mml-node=merror]")'
        ').length)'
    )
    assert left == 0, path
    outside = [
        url for url in browser.requests if not url.startswith(('file:', 'data:'))
    ]
    assert outside == []
    assert browser.messages == []


@pytest.mark.browser
def test_narrow_pages(site: Path, browser: Browser) -> None:
    for path in pages(site):
        look(browser, path, width=390)


@pytest.mark.browser
@pytest.mark.parametrize('dark', [False, True])
def test_wide_pages(site: Path, browser: Browser, dark: bool) -> None:
    for name in REQUIRED.split():
        look(browser, site / f'{name}.html', width=1280, dark=dark)


@pytest.mark.browser
@pytest.mark.parametrize('width', [390, 1280])
@pytest.mark.parametrize('dark', [False, True])
def test_one_form_of_each_picture_is_shown(
    site: Path, browser: Browser, width: int, dark: bool
) -> None:
    for name, count in (('index', 2), ('start/concepts', 8)):
        browser.open(site / f'{name}.html', width=width, dark=dark)
        shown: list[str] = browser.evaluate(
            'Array.from(document.querySelectorAll("img.picture")).filter((e) => '
            'getComputedStyle(e).display !== "none").map((e) => e.className)'
        )
        assert len(shown) == count
        hidden = ('only-light' if dark else 'only-dark', 'only-wide', 'only-narrow')
        gone = {hidden[0], hidden[1] if width == 390 else hidden[2]}
        assert not any(gone & set(names.split()) for names in shown)
