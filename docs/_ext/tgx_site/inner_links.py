r"""Checks that every link from one page of the site to another leads somewhere."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util import logging

_log = logging.getLogger(__name__)
_LINKS = {'a': 'href', 'link': 'href', 'img': 'src', 'script': 'src', 'source': 'src'}


class BrokenLink(NamedTuple):
    r"""A link to nothing.

    Args:
        page (str): The page that has it.
        target (str): The address that it names.
        reason (str): What is missing.
    """

    page: str
    target: str
    reason: str


class _Page(HTMLParser):
    # The links of a page, and the places on it that links may lead to.

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding='utf-8'))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == 'id' or (tag == 'a' and name == 'name'):
                self.places.add(value)
            if _LINKS.get(tag) == name:
                self.links.append(value)


def broken_links(folder: Path) -> Iterator[BrokenLink]:
    r"""Returns all links of a site to pages, files and places that it does not have.

    Args:
        folder (Path): The folder of the site.
    """
    folder = folder.resolve()
    pages = {path: _Page(path) for path in sorted(folder.rglob('*.html'))}
    for path, page in pages.items():
        name = path.relative_to(folder).as_posix()
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path
            if parts.path:
                target = (path.parent / unquote(parts.path)).resolve()
                if target.is_dir():
                    target /= 'index.html'
            if not target.is_relative_to(folder):
                yield BrokenLink(name, link, 'leads out of the site')
            elif not target.exists():
                yield BrokenLink(name, link, 'no such file')
            elif parts.fragment and not _has_place(pages.get(target), parts.fragment):
                yield BrokenLink(name, link, 'no such place on the page')


def _has_place(page: _Page | None, fragment: str) -> bool:
    # Files that are no pages have places of their own.
    return page is None or unquote(fragment) in page.places


def _check(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == 'html':
        for link in broken_links(Path(app.outdir)):
            _log.warning('%s: %s (%s)', link.page, link.reason, link.target)


def setup(app: Sphinx) -> dict[str, bool]:
    r"""Adds the check to the end of a build.

    Args:
        app (Sphinx): The application.
    """
    app.connect('build-finished', _check, priority=900)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
