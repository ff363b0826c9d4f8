r"""Shows files of the repository as pages of the site."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
_LINK = re.compile(r'\]\((?!https?:|#|mailto:)([^)]+)\)')


def repository_file(name: str, links: dict[str, str] | None = None) -> str:
    r"""Returns a Markdown file of the repository without its title, and with its links
    to other files replaced by links to pages. Files in :obj:`docs` are pages.

    Args:
        name (str): The file.
        links (dict[str, str], optional): The page that stands for each file, or
            :obj:`""` to show its name only. (default: :obj:`None`)
    """
    text = (ROOT / name).read_text(encoding='utf-8')
    text = text.partition('\n')[2] if text.startswith('# ') else text
    known = dict(links or {})
    for link in _LINK.findall(text):
        if link.startswith('docs/'):
            known.setdefault(link, link.removeprefix('docs'))
    for link in _LINK.findall(text):
        if link not in known:
            raise ValueError(
                f"'links' must have a page for every file that '{name}' links to "
                f'(got none for {link!r})'
            )
    for link, page in known.items():
        if page:
            text = text.replace(f']({link})', f']({page})')
        else:
            text = re.sub(rf'\[([^\]]*)\]\({re.escape(link)}\)', r'\1', text)
    return text
