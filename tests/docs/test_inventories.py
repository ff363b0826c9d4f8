import importlib
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

from tgx_site import exports, inventories
from tgx_site.inventories import Link, Site

SITES = inventories.read_sites()
BUILTINS = {'callable', 'KeyboardInterrupt', 'ValueError'}
OPTIONAL = {'pandas', 'matplotlib'}


def test_page_of_a_link() -> None:
    link = Link('torch.Generator', 'class', 'generated/{}.html')
    assert link.uri == 'generated/torch.Generator.html#torch.Generator'
    assert Link('Path', 'class', 'a.html#pathlib.Path').uri == 'a.html#pathlib.Path'


def test_addresses_are_public() -> None:
    assert {site.name for site in SITES} >= {'python', 'torch', 'torch_geometric'}
    assert all(site.address.startswith('https://') for site in SITES)
    assert all(site.address.endswith('/') for site in SITES)


@pytest.mark.parametrize('site', SITES, ids=lambda site: site.name)
def test_names_exist(site: Site) -> None:
    # The place on a page is the full name.
    if site.name in OPTIONAL:
        pytest.importorskip(site.name)
    places = [link.uri.partition('#')[2] for link in site.links]
    names = [place.removeprefix('module-') for place in places]
    assert len({link.name for link in site.links}) == len(names)
    for name in names:
        if name in BUILTINS:
            assert hasattr(importlib.import_module('builtins'), name)
        else:
            exports.find_object(name)


def test_inventory_is_read_by_sphinx(tmp_path: Path) -> None:
    site = Site('a', 'https://a.org/', [Link('a.B', 'class', 'b/{}.html')])
    path = tmp_path / 'inner' / 'a.inv'
    inventories.write_inventory(site, path)
    content = InventoryFile.loads(path.read_bytes(), uri='https://a.org')
    assert content.data['py:class']['a.B'].uri == 'https://a.org/b/a.B.html#a.B'


def test_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / 'links.txt'
    path.write_text('[a] https://a.org/\nb class\n', encoding='utf-8')
    with pytest.raises(ValueError, match="in line 2 \\(got 'b class'\\)"):
        inventories.read_sites(path)
