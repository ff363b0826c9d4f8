r"""Links to the documentation of other packages, without a network.

The inventories of these sites cannot be downloaded where there is no network. The file
:obj:`links.txt` lists the names that our pages refer to, with their pages below the
public address of each site. At build time, it becomes one inventory per site for
:obj:`sphinx.ext.intersphinx`. A name that it lacks is a warning.
"""

import zlib
from pathlib import Path
from typing import NamedTuple

from sphinx.application import Sphinx
from sphinx.config import Config

LINKS = Path(__file__).with_name('links.txt')


class Link(NamedTuple):
    r"""A name, and the page that documents it.

    Args:
        name (str): The name.
        role (str): Its kind: :obj:`"class"`, :obj:`"function"`, ...
        page (str): Its page below the address of the site. The text :obj:`{}` stands
            for the name.
    """

    name: str
    role: str
    page: str

    @property
    def uri(self) -> str:
        r"""The page and the place on it, which is the name if none is given."""
        page = self.page.replace('{}', self.name)
        return page if '#' in page else f'{page}#{self.name}'


class Site(NamedTuple):
    r"""The documentation of a package.

    Args:
        name (str): The package.
        address (str): The address of its documentation.
        links (list[Link]): The names that we refer to.
    """

    name: str
    address: str
    links: list[Link]


def read_sites(path: Path = LINKS) -> list[Site]:
    r"""Reads the list of links.

    Args:
        path (Path, optional): The file. (default: :obj:`LINKS`)
    """
    sites: list[Site] = []
    for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
        if not line or line.startswith('#'):
            continue
        words = line.split()
        if line.startswith('['):
            name, address = words
            sites.append(Site(name.strip('[]'), address, []))
        elif len(words) == 3 and sites:
            sites[-1].links.append(Link(*words))
        else:
            raise ValueError(
                f"'{path.name}' must hold a name, a kind and a page in line {number} "
                f'(got {line!r})'
            )
    return sites


def write_inventory(site: Site, path: Path) -> None:
    r"""Writes an inventory in the second version of the format of Sphinx.

    Args:
        site (Site): The site.
        path (Path): The file.
    """
    head = (
        '# Sphinx inventory version 2\n'
        f'# Project: {site.name}\n'
        '# Version: \n'
        '# The remainder of this file is compressed using zlib.\n'
    )
    body = ''.join(
        f'{link.name} py:{link.role} 1 {link.uri} -\n' for link in site.links
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head.encode() + zlib.compress(body.encode()))


def _add_sites(app: Sphinx, config: Config) -> None:
    folder = Path(app.confdir) / '_generated' / 'inventories'
    mapping = {}
    for site in read_sites():
        path = folder / f'{site.name}.inv'
        write_inventory(site, path)
        mapping[site.name] = (site.address, (str(path),))
    config.intersphinx_mapping = mapping


def setup(app: Sphinx) -> dict[str, bool]:
    r"""Adds the inventories to the application.

    Args:
        app (Sphinx): The application.
    """
    # Before 'sphinx.ext.intersphinx' looks at its mapping.
    app.connect('config-inited', _add_sites, priority=100)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
