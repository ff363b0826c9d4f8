"""The built site: TGX_ANCHOR_SITE names its folder."""

import os
import re
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

from tgx_site import exports
from tgx_site.inner_links import broken_links

REQUIRED = (
    'index start/get_started start/concepts start/own_data start/datasets start/models '
    'how_to/new_encoder how_to/new_dataset how_to/mini_batches how_to/gpu shards '
    'results/overview results/tables results/beyond results/further results/notes '
    'reference/cli project/design project/contributing project/changelog'
)


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
