r"""Copies tables of results into the README, between the comments that name them.

A comment such as :obj:`<!-- benchmarks/RESULTS.md: Overview -->` names a file and the
title of one of its sections; the first table of that section goes below it.
"""

import re
from pathlib import Path

from tgx_anchor.io.files import replace_file

ROOT = Path(__file__).parents[1]
README = ROOT / 'README.md'
PART = re.compile(
    r'(<!-- (benchmarks/\S+\.md): (.+?) -->\n).*?(<!-- end -->)', re.DOTALL
)


def first_table(path: Path, title: str) -> str:
    r"""Returns the first table of a section.

    Args:
        path (Path): The Markdown file.
        title (str): The title of the section.
    """
    sections = path.read_text(encoding='utf-8').split('\n## ')
    found = [part for part in sections if part.partition('\n')[0] == title]
    if not found:
        raise ValueError(f"'{path.name}' must have a section {title!r} (it has none)")
    lines = found[0].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith('|'))
    length = next(
        (i for i, line in enumerate(lines[start:]) if not line.startswith('|')),
        len(lines) - start,
    )
    return '\n'.join(lines[start : start + length]) + '\n'


def fill(text: str) -> str:
    r"""Returns a text with all its tables filled.

    Args:
        text (str): The text.
    """
    return PART.sub(
        lambda match: match[1] + first_table(ROOT / match[2], match[3]) + match[4], text
    )


if __name__ == '__main__':
    with replace_file(README) as part:
        part.write_text(fill(README.read_text(encoding='utf-8')), encoding='utf-8')
