"""A table of groups with planted strengths, and a model of it."""

import random
from pathlib import Path

NAMES = [f'p{i}' for i in range(30)]


def write_mails(path: Path, seed: int = 0, hide: bool = True) -> dict[str, str]:
    """Writes a long table, and returns the anchor of each group."""
    draw = random.Random(seed)  # noqa: S311
    anchors = {}
    lines = ['group,member,is_anchor']
    for number in range(90):
        members = draw.sample(range(len(NAMES)), draw.randint(2, 4))
        anchor = max(members)
        anchors[f'm{number}'] = NAMES[anchor]
        for member in members:
            flag = 'yes' if member == anchor else 'no'
            shown = '' if hide and number % 3 else flag
            lines.append(f'm{number},{NAMES[member]},{shown}')
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    return anchors
