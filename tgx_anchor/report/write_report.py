"""Writer of the report page."""

import base64
import hashlib
import html
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tgx_anchor.io.files import check_is_file, replace_file
from tgx_anchor.report.report_content import ReportContent

_PLACEHOLDER = re.compile(r'\{\{(\w+)\}\}')


def write_report(content: ReportContent, path: str | Path) -> None:
    r"""Writes one self-contained HTML page, which opens offline.

    The page holds its data, style and script; its Content-Security-Policy forbids
    everything else. Names are treated as data, never as markup.

    .. code-block:: python

        content = ReportContent.from_model(model, data, title='E-mails of May')
        write_report(content, 'report.html')

    Args:
        content (ReportContent): The content of the page.
        path (str): The file, replaced only when all is written.
    """
    path = Path(path)
    check_is_file('path', path)
    if not path.absolute().parent.is_dir():
        raise ValueError(
            f"'path' must lie in a folder that exists "
            f'(got {str(path.absolute().parent)!r})'
        )
    page = _page(content)
    with replace_file(path) as part:
        part.write_bytes(page.encode())


def _page(content: ReportContent) -> str:
    # Line ends become '\n' here as they do in the browser, which hashes them.
    folder = resources.files('tgx_anchor.report')
    template, style, script = (
        (folder / name).read_text(encoding='utf-8')
        for name in ('page.html', 'page.css', 'page.js')
    )
    policy = '; '.join(
        [
            "default-src 'none'",
            f"script-src '{_sha256(script)}'",
            f"style-src '{_sha256(style)}'",
            'img-src data:',
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    # A name may hold half a surrogate pair, which no encoding can write.
    title = content.title.encode('utf-8', 'replace').decode()
    parts = {
        'policy': html.escape(policy, quote=False),
        'title': html.escape(title),
        'style': style,
        'script': script,
        'data': _json_island(_payload(content)),
    }
    # In one pass: what is filled in is never searched for placeholders.
    return _PLACEHOLDER.sub(lambda match: parts[match[1]], template)


def _sha256(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f'sha256-{base64.b64encode(digest).decode()}'


def _json_island(value: Any) -> str:
    # ASCII only, which also escapes U+2028 and halves of surrogate pairs.
    text = json.dumps(value, separators=(',', ':'), allow_nan=False)
    for character in '<>&':
        text = text.replace(character, f'\\u{ord(character):04x}')
    return text


def _packed(value: ArrayLike, dtype: str) -> str:
    return base64.b64encode(np.asarray(value).astype(dtype).tobytes()).decode()


def _payload(content: ReportContent) -> dict[str, Any]:
    # Numbers of many rows go as little-endian arrays, which need no parsing.
    accuracy, bins = content.expected_accuracy, content.calibration
    by_size, histogram = content.accuracy_by_size, content.strength_histogram
    strength = content.person_strength
    return {
        'model': content.model_name,
        'version': content.version,
        'warnings': list(content.warnings),
        'group': {
            'id': list(content.group_id),
            'time': None if content.group_time is None else list(content.group_time),
            'anchor': _packed(content.group_anchor, '<i4'),
            'probability': _packed(content.group_probability, '<f4'),
            'runnerUp': _packed(content.group_runner_up, '<i4'),
            'second': _packed(content.group_runner_up_probability, '<f4'),
            'margin': _packed(content.group_margin, '<f4'),
            'known': _packed(content.group_known, '<u1'),
        },
        'member': {
            'ptr': _packed(content.member_ptr, '<i4'),
            'person': _packed(content.member_person, '<i4'),
            'score': _packed(content.member_score, '<f4'),
            'isAnchor': _packed(content.member_is_anchor, '<u1'),
        },
        'person': {
            'id': list(content.person_id),
            'strength': None if strength is None else _packed(strength, '<f4'),
        },
        'accuracy': None
        if accuracy is None
        else {
            'value': accuracy.value,
            'low': accuracy.low,
            'high': accuracy.high,
            'groups': accuracy.num_hyperedges,
        },
        'calibration': None
        if bins is None
        else {
            'probability': bins.probability.tolist(),
            'accuracy': bins.accuracy.tolist(),
            'count': bins.size.tolist(),
        },
        'bySize': None
        if by_size is None
        else {
            'size': list(by_size),
            'accuracy': [figures['accuracy'] for figures in by_size.values()],
            'count': [figures['num_hyperedges'] for figures in by_size.values()],
        },
        'histogram': None
        if histogram is None
        else {'count': histogram[0].tolist(), 'edge': histogram[1].tolist()},
        'reasons': {str(key): list(value) for key, value in content.reasons.items()},
        'doubts': {
            'group': [doubt.group for doubt in content.doubts],
            'person': [doubt.person for doubt in content.doubts],
            'probability': [doubt.probability for doubt in content.doubts],
            'label': [doubt.label_probability for doubt in content.doubts],
        },
    }
