import base64
import dataclasses
import hashlib
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.utils import softmax

from tests.report.browser import Browser
from tests.report.conftest import FixedModel
from tests.strategies import one_line_error
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.report import ReportContent, write_report

EMPTY = '\N{EN DASH}'
HOSTILE = '</script><script>alert(1)</script>'
HOSTILE_NAMES = [
    HOSTILE,
    '<img src=x onerror=alert(1)>',
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    '<!-- <script>',
    '{{script}} {{data}}',
    '&lt;b&gt; & \u2028 \u2029',
    'javascript:alert(1)',
    '\u202egnirts desrever',
    'half \ud800 pair',
    '',
    '__proto__',
]


def planted(num_groups: int, num_people: int, seed: int = 0) -> ReportContent:
    data: Any = PlantedAnchorDataset(num_people, num_groups, seed=seed)[0]
    data.node_id = [f'Person {i}' for i in range(num_people)]
    data.hyperedge_id = [f'mail-{i}' for i in range(num_groups)]
    data.train_mask = torch.arange(num_groups) % 5 == 0
    score = data.node_strength[data.hyperedge_index[0]]
    proba = softmax(score, data.hyperedge_index[1], num_nodes=num_groups)
    return ReportContent.from_model(
        FixedModel(proba, data.node_strength),
        data,
        title='Mails of May',
        warnings=['Few anchors are known.'],
        reasons={0: ['Is in 41 groups, the others in 3 to 7.']},
    )


@pytest.fixture(scope='module')
def content() -> ReportContent:
    return planted(600, 120)


@pytest.fixture(scope='module')
def path(content: ReportContent, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('report') / 'report.html'
    write_report(content, path)
    return path


@pytest.fixture
def page(browser: Browser, path: Path) -> Browser:
    browser.open(path)
    return browser


# The file ############################################################################


def script_of(page: str) -> str:
    return page.rpartition('<script>')[2].partition('</script>')[0]


def test_policy_allows_only_what_is_in_the_file(path: Path) -> None:
    page = path.read_text(encoding='utf-8')
    style = page.partition('<style>')[2].partition('</style>')[0]
    for text, kind in ((script_of(page), 'script-src'), (style, 'style-src')):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    assert 'unsafe' not in page


def test_no_address_outside(path: Path) -> None:
    found = re.findall(r'\w+://[^\s"\'<>]+', path.read_text(encoding='utf-8'))
    assert set(found) == {'http://www.w3.org/2000/svg'}


def test_script_has_no_way_to_make_markup_of_text() -> None:
    folder = resources.files('tgx_anchor.report')
    script = (folder / 'page.js').read_text(encoding='utf-8')
    for word in ('HTML', 'document.write', 'eval(', 'Function(', '.style', '</'):
        assert word not in script
    template = (folder / 'page.html').read_text(encoding='utf-8')
    assert not re.search(r'\s(on\w+|style)=', template)


def island(page: str) -> str:
    return page.partition('id="report-data">')[2].partition('</script>')[0]


def test_island_holds_the_columns(content: ReportContent, path: Path) -> None:
    text = island(path.read_text(encoding='utf-8'))
    report = json.loads(text)
    assert report['group']['id'] == list(content.group_id)
    raw = base64.b64decode(report['member']['score'])
    score = np.frombuffer(raw, dtype='<f4')
    assert np.array_equal(score, content.member_score.astype(np.float32))
    raw = base64.b64decode(report['group']['anchor'])
    assert np.frombuffer(raw, dtype='<i4').tolist() == content.group_anchor.tolist()


def hostile(content: ReportContent) -> ReportContent:
    people = list(content.person_id)
    groups = list(content.group_id)
    people[: len(HOSTILE_NAMES)] = HOSTILE_NAMES
    groups[: len(HOSTILE_NAMES)] = HOSTILE_NAMES
    return dataclasses.replace(
        content,
        title=HOSTILE + '{{data}}\ud800',
        model_name=HOSTILE,
        person_id=people,
        group_id=groups,
        group_time=[HOSTILE] * content.num_groups,
        warnings=[HOSTILE],
        reasons={0: [HOSTILE], 1: HOSTILE_NAMES},
    )


def test_hostile_names_leave_the_markup_alone(
    content: ReportContent, tmp_path: Path
) -> None:
    path = tmp_path / 'report.html'
    write_report(hostile(content), path)
    page = path.read_text(encoding='utf-8')
    assert page.partition('</title>')[0].endswith('&lt;/script&gt;{{data}}?')
    assert page.count('<script') == 2
    assert page.count('</script') == 2
    assert 'alert' not in page.replace(island(page), '').replace(
        '&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;', ''
    )
    text = island(page)
    assert text.isascii()
    assert not re.search('[<>&]', text)
    report = json.loads(text)
    assert report['person']['id'][: len(HOSTILE_NAMES)] == HOSTILE_NAMES


def test_old_report_stays_if_writing_fails(
    content: ReportContent, tmp_path: Path
) -> None:
    path = tmp_path / 'report.html'
    path.write_text('old')
    wrong = dataclasses.replace(content, reasons={0: [object()]})  # type: ignore[list-item]
    with pytest.raises(TypeError):
        write_report(wrong, path)
    assert path.read_text() == 'old'
    assert list(tmp_path.iterdir()) == [path]


def test_wrong_path(content: ReportContent, tmp_path: Path) -> None:
    with one_line_error("'path'", 'folder'):
        write_report(content, tmp_path)
    with one_line_error("'path'", 'folder that exists', 'nowhere'):
        write_report(content, tmp_path / 'nowhere' / 'report.html')


# The page in a browser ###############################################################

ROWS = '#table tbody tr'


def column(page: Browser, number: int) -> list[str]:
    return page.texts(f'{ROWS} td:nth-child({number})')


def all_groups(page: Browser) -> list[str]:
    """The groups of all pages, in the order of the table."""
    page.choose('#rows', '100')
    page.click('#first')
    found = column(page, 1)
    while not page.evaluate('document.getElementById("next").disabled'):
        page.click('#next')
        found += column(page, 1)
    return found


def expected(content: ReportContent, keep: Callable[[int], bool]) -> list[str]:
    return [content.group_id[e] for e in range(content.num_groups) if keep(e)]


@pytest.mark.browser
def test_load(page: Browser, path: Path, content: ReportContent) -> None:
    assert page.evaluate('document.title') == 'Mails of May'
    assert page.text('#title') == 'Mails of May'
    accuracy = content.expected_accuracy
    assert accuracy is not None
    tiles = page.texts('#tiles .value')
    assert tiles == [
        '600',
        '120',
        '120',
        '480',
        f'{100 * accuracy.value:.1f}\N{NO-BREAK SPACE}%',
    ]
    assert page.texts('#warnings li') == ['Few anchors are known.']
    assert page.text('#status') == '600 groups'
    assert column(page, 1) == [f'mail-{i}' for i in range(25)]
    assert page.text('#pages') == '24'
    assert page.requests == [path.as_uri()]
    assert page.messages == []


@pytest.mark.browser
def test_strongest_anchors(page: Browser, content: ReportContent) -> None:
    assert content.person_strength is not None
    order = np.argsort(-content.person_strength, kind='stable')
    best = [i for i in order.tolist() if content.person_anchored[i] > 0][:10]
    assert page.texts('#strongest td:nth-child(1)') == [f'Person {i}' for i in best]
    assert page.texts('#strongest td:nth-child(5)') == [
        str(content.person_anchored[i]) for i in best
    ]
    page.click('#strongest tbody tr:nth-child(2) button')
    assert page.evaluate('document.getElementById("search").value') == (
        f'"Person {best[1]}"'
    )
    groups = content.person_groups[best[1]]
    assert page.text('#status') == f'{groups} of 600 groups'
    assert page.messages == []


@pytest.mark.browser
def test_charts(page: Browser, content: ReportContent) -> None:
    bins, by_size = content.calibration, content.accuracy_by_size
    assert bins is not None
    assert by_size is not None
    points = page.evaluate(
        'Array.from(document.querySelectorAll("circle.point"), (e) =>'
        ' [Number(e.getAttribute("cx")), Number(e.getAttribute("cy"))])'
    )
    # The axes begin at (46, 208) and end at (348, 10).
    for (x, y), p, a in zip(points, bins.probability, bins.accuracy, strict=True):
        assert x == pytest.approx(46 + 302 * float(p))
        assert y == pytest.approx(208 - 198 * float(a))
    captions = page.texts('figcaption')
    assert captions == ['Calibration', 'Strengths', 'Accuracy by group size']
    heights = page.evaluate(
        'Array.from(document.querySelectorAll("figure"), (figure) => Array.from('
        'figure.querySelectorAll("rect"), (e) => Number(e.getAttribute("height"))))'
    )
    histogram = content.strength_histogram
    assert histogram is not None
    assert heights[1] == pytest.approx(
        (198 * histogram[0] / histogram[0].max()).tolist()
    )
    assert heights[2][:5] == pytest.approx(
        [198 * by_size[size]['accuracy'] for size in sorted(by_size)[:5]]
    )


@pytest.mark.browser
def test_doubts(page: Browser, content: ReportContent) -> None:
    groups = [content.group_id[doubt.group] for doubt in content.doubts]
    assert len(groups) > 10
    assert page.texts('#doubts td:nth-child(1)') == groups[:10]
    page.click('#doubts-more')
    assert page.texts('#doubts td:nth-child(1)') == groups
    page.click('#doubts tbody tr:nth-child(2) button')
    assert page.text('#detail-title') == f'Group {groups[1]}'
    assert 'known anchor' in page.text('#members')


@pytest.mark.browser
@pytest.mark.parametrize(
    'text', ['mail-7', 'PERSON 11', 'nobody', ' Person 3 ', '"person 1"']
)
def test_search(page: Browser, content: ReportContent, text: str) -> None:
    page.click('#last')
    page.write('#search', text)
    word = text.strip().lower()

    def keep(e: int) -> bool:
        people = (content.person_id[person] for person in members(content, e))
        names = [content.group_id[e], *people]
        if word.startswith('"'):
            return word.strip('"') in [name.lower() for name in names]
        return any(word in name.lower() for name in names)

    wanted = expected(content, keep)
    assert page.text('#status') == f'{len(wanted)} of 600 groups'
    if wanted:
        assert all_groups(page) == wanted
    else:
        assert page.text(ROWS) == 'No group matches these filters.'
    page.write('#search', '')
    assert page.text('#status') == '600 groups'
    assert column(page, 1)[0] == 'mail-0'


@pytest.mark.browser
def test_filters(page: Browser, content: ReportContent) -> None:
    page.write('#probability-low', '0.5')
    page.write('#probability-high', '0.9')
    page.write('#size-low', '2')
    page.write('#size-high', '3')
    page.choose('#source', 'predicted')
    probability, size = content.group_probability, content.group_size
    wanted = expected(
        content,
        lambda e: (
            not content.group_known[e]
            and 0.5 <= round(probability[e], 3) <= 0.9
            and 2 <= size[e] <= 3
        ),
    )
    assert 0 < len(wanted) < 600
    assert all_groups(page) == wanted
    page.click('#clear')
    page.settle()
    assert page.text('#status') == '600 groups'
    page.choose('#source', 'known')
    assert all_groups(page) == expected(content, lambda e: bool(content.group_known[e]))


@pytest.mark.browser
def test_sort(page: Browser, content: ReportContent) -> None:
    head = '#table thead th:nth-child({})'
    numbers = range(content.num_groups)
    value = content.group_margin.astype(np.float32)
    page.click(f'{head.format(6)} button')
    wanted = sorted(numbers, key=lambda e: (-value[e], e))
    assert all_groups(page) == [content.group_id[e] for e in wanted]
    sort = f'document.querySelector("{head.format(6)}").getAttribute("aria-sort")'
    assert page.evaluate(sort) == 'descending'
    page.click(f'{head.format(6)} button')
    wanted = sorted(numbers, key=lambda e: (value[e], e))
    assert all_groups(page) == [content.group_id[e] for e in wanted]
    page.click(f'{head.format(6)} button')
    assert page.evaluate(sort) is None
    assert all_groups(page) == list(content.group_id)

    # By name, 'Person 9' comes before 'Person 10'; then by the given order.
    page.click(f'{head.format(2)} button')
    wanted = sorted(numbers, key=lambda e: (content.group_anchor[e], e))
    assert all_groups(page) == [content.group_id[e] for e in wanted]
    # Missing runner-ups come last in both directions.
    for _ in range(2):
        page.click(f'{head.format(4)} button')
        page.click('#last')
        assert column(page, 4)[-1] == EMPTY
        page.click('#first')
        assert column(page, 4)[0] != EMPTY


@pytest.mark.browser
def test_pages(page: Browser) -> None:
    page.click('#next')
    assert column(page, 1)[0] == 'mail-25'
    page.click('#last')
    assert column(page, 1)[-1] == 'mail-599'
    assert page.evaluate('document.getElementById("next").disabled')
    page.click('#previous')
    assert column(page, 1)[0] == 'mail-550'
    page.write('#page', '3')
    page.press('Enter')
    assert column(page, 1)[0] == 'mail-50'
    page.write('#page', '999')
    page.press('Enter')
    assert page.evaluate('document.getElementById("page").value') == '24'
    page.write('#page', '3')
    page.press('Enter')
    page.choose('#rows', '50')
    assert column(page, 1)[0] == 'mail-50'
    assert len(column(page, 1)) == 50
    assert page.text('#pages') == '12'


def members(content: ReportContent, e: int) -> list[int]:
    return [int(content.member_person[place]) for place in members_of(content, e)]


def members_of(content: ReportContent, e: int) -> list[int]:
    places = np.arange(content.member_ptr[e], content.member_ptr[e + 1])
    order = np.argsort(-content.member_score[places], kind='stable')
    return [int(place) for place in places[order]]


@pytest.mark.browser
def test_open_a_group(page: Browser, content: ReportContent) -> None:
    e = 1 + int(content.group_size[1:25].argmax())
    page.click(f'{ROWS}:nth-child({e + 1})')
    assert page.evaluate('document.getElementById("detail").open')
    assert page.text('#detail-title') == f'Group mail-{e}'
    places = members_of(content, e)
    score = content.member_score[places]
    assert page.texts('#members td:nth-child(3)') == [f'{value:.3f}' for value in score]
    widths = page.evaluate(
        'Array.from(document.querySelectorAll("#members .fill"),'
        ' (e) => Number(e.getAttribute("width")))'
    )
    assert widths == pytest.approx(100 * score, abs=0.006)
    marked = page.texts('#members tr.is-anchor td:nth-child(1) bdi')
    assert marked == [content.person_id[content.group_anchor[e]]]

    # Neighbours: the groups that share most members, then by number.
    person = content.member_person
    mine = set(person[places].tolist())
    shared = Counter(
        other
        for other in range(content.num_groups)
        for i in members_of(content, other)
        if other != e and person[i] in mine
    )
    wanted = sorted(shared, key=lambda other: (-shared[other], other))[:20]
    assert page.texts('#neighbours td:nth-child(1)') == [f'mail-{i}' for i in wanted]
    assert page.texts('#neighbours td:nth-child(4)') == [
        f'{shared[i]} of {content.group_size[i]}' for i in wanted
    ]
    page.click('#neighbours tbody tr:nth-child(3) button')
    assert page.text('#detail-title') == f'Group mail-{wanted[2]}'
    page.press('Escape')
    assert not page.evaluate('document.getElementById("detail").open')
    page.click(f'{ROWS}:nth-child(1)')
    assert page.texts('.reasons li') == ['Is in 41 groups, the others in 3 to 7.']
    page.click('#detail-next')
    assert page.text('#detail-title') == 'Group mail-1'
    assert page.texts('.reasons li') == []
    page.click('#detail-close')
    assert page.messages == []


FOCUS = 'document.activeElement.dataset.group'


@pytest.mark.browser
def test_keyboard(page: Browser) -> None:
    page.write('#size-high', '')
    # From the last filter over 'Clear filters' and eight headers into the table.
    for _ in range(10):
        page.press('Tab')
    assert page.evaluate(FOCUS) == '0'
    outline = 'getComputedStyle(document.activeElement).outlineStyle'
    assert page.evaluate(outline) == 'solid'
    for key, group in [
        ('ArrowDown', '1'),
        ('ArrowDown', '2'),
        ('ArrowUp', '1'),
        ('End', '24'),
        ('ArrowDown', '25'),
        ('ArrowUp', '24'),
        ('Home', '0'),
        ('PageDown', '25'),
        ('PageUp', '0'),
        ('ArrowUp', '0'),
    ]:
        page.press(key)
        assert page.evaluate(FOCUS) == group
    page.press('ArrowDown')
    page.press('Enter')
    assert page.text('#detail-title') == 'Group mail-1'
    assert page.evaluate('location.hash') == '#group-1'
    page.press('Escape')
    page.settle()
    assert not page.evaluate('document.getElementById("detail").open')
    assert page.evaluate('location.hash') == ''
    assert page.evaluate(FOCUS) == '1'
    page.press('Enter')
    page.click('#detail-next')
    page.press('Escape')
    page.settle()
    assert page.evaluate(FOCUS) == '2'
    page.press('Tab')
    assert page.evaluate('document.activeElement.id') == 'page'


@pytest.mark.browser
def test_members_lead_to_their_groups(page: Browser, content: ReportContent) -> None:
    page.click(f'{ROWS}:nth-child(3)')
    person = content.member_person[members_of(content, 2)[0]]
    page.click('#members tbody tr:nth-child(1) button')
    assert not page.evaluate('document.getElementById("detail").open')
    assert page.evaluate('document.activeElement.id') == 'search'
    page.settle()
    wanted = expected(content, lambda e: person in members(content, e))
    assert all_groups(page) == wanted
    assert page.messages == []


@pytest.mark.browser
def test_address_opens_a_group(browser: Browser, path: Path) -> None:
    browser.open(path, fragment='#group-17')
    assert browser.text('#detail-title') == 'Group mail-17'
    browser.open(path, fragment='#group-99999')
    assert not browser.evaluate('document.getElementById("detail").open')
    assert browser.messages == []


BACKGROUND = 'getComputedStyle(document.body).backgroundColor'


@pytest.mark.browser
def test_dark_mode(browser: Browser, path: Path) -> None:
    browser.open(path)
    light = browser.evaluate(BACKGROUND)
    browser.open(path, dark=True)
    dark = browser.evaluate(BACKGROUND)
    assert (light, dark) == ('rgb(247, 248, 250)', 'rgb(15, 20, 26)')
    pressed = 'document.getElementById("theme").ariaPressed'
    assert browser.evaluate(pressed) == 'true'
    browser.click('#theme')
    assert browser.evaluate(BACKGROUND) == light
    assert browser.evaluate(pressed) == 'false'
    browser.prefer(dark=False)
    browser.click('#theme')
    assert browser.evaluate(BACKGROUND) == dark
    assert browser.messages == []


def luminance(colour: str) -> float:
    channels = [int(value) / 255 for value in re.findall(r'\d+', colour)[:3]]
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.browser
@pytest.mark.parametrize('dark', [False, True])
def test_contrast(browser: Browser, path: Path, dark: bool) -> None:
    browser.open(path, dark=dark, fragment='#group-3')
    pairs = browser.evaluate(
        '["#summary-title", "#status", ".tag", ".tag.neutral", "button.name",'
        ' "#warnings li", "figure text", "#table th", "dialog td"].map((s) => {'
        'const e = document.querySelector(s); let up = e; let back;'
        'do { back = getComputedStyle(up).backgroundColor; up = up.parentElement }'
        ' while (back === "rgba(0, 0, 0, 0)");'
        'const style = getComputedStyle(e);'
        'return [s, e.namespaceURI.endsWith("svg") ? style.fill : style.color, back]})'
    )
    for selector, front, back in pairs:
        low, high = sorted([luminance(front), luminance(back)])
        assert (high + 0.05) / (low + 0.05) >= 4.5, (selector, front, back)


@pytest.mark.browser
def test_phone_width(browser: Browser, path: Path) -> None:
    browser.open(path, width=390, height=844)
    wide = 'document.documentElement.scrollWidth'
    assert browser.evaluate(wide) == 390
    browser.click(f'{ROWS}:nth-child(2)')
    assert browser.evaluate('document.getElementById("detail").scrollWidth') <= 390
    assert browser.text('#detail-title') == 'Group mail-1'


@pytest.mark.browser
def test_print(page: Browser, tmp_path: Path) -> None:
    pdf = page.pdf()
    assert pdf.startswith(b'%PDF')
    # The table is on screen again as it was.
    assert len(column(page, 1)) == 25
    assert page.text('#status') == '600 groups'
    assert len(page.texts('#table thead button')) == 8
    if shutil.which('pdftotext') is None:
        pytest.skip("reads the PDF with 'pdftotext', which was not found")
    path = tmp_path / 'report.pdf'
    path.write_bytes(pdf)
    done = subprocess.run(
        ['pdftotext', '-raw', path, '-'], capture_output=True, text=True, check=True
    )
    leaves = [' '.join(leaf.split()) for leaf in done.stdout.split('\f')]
    text = ' '.join(leaves)
    for part in (
        'Mails of May',
        'Expected accuracy',
        'Strongest anchors',
        'Calibration',
        'The first 200 of 600 groups.',
        'mail-199',
    ):
        assert part in text
    assert 'mail-200' not in text
    assert 'Clear filters' not in text
    # Each page of the table has its headings.
    for leaf in leaves:
        assert ('Group Anchor' in leaf) == ('predicted mail-' in leaf)


@pytest.mark.browser
def test_print_is_light_and_whole(browser: Browser, path: Path) -> None:
    browser.open(path)
    whole = browser.pdf()
    browser.open(path, dark=True, fragment='#group-3')
    assert browser.pdf().count(b'/Type /Page\n') == whole.count(b'/Type /Page\n') > 3
    browser.click('#detail-close')
    for _ in range(2):
        browser.prefer(dark=True, media='print')
        assert browser.evaluate(BACKGROUND) == 'rgb(255, 255, 255)'
        assert browser.evaluate('getComputedStyle(document.body).color') == (
            'rgb(31, 39, 51)'
        )
        browser.prefer(dark=False)
        browser.click('#theme')
        assert browser.evaluate(BACKGROUND) != 'rgb(255, 255, 255)'


@pytest.mark.browser
def test_hostile_names(
    browser: Browser, content: ReportContent, tmp_path: Path
) -> None:
    path = tmp_path / 'report.html'
    write_report(hostile(content), path)
    browser.open(path)
    assert browser.text('#title').startswith(HOSTILE)
    assert browser.texts('#warnings li') == [HOSTILE]
    names = browser.evaluate(
        f'Array.from(document.querySelectorAll("{ROWS} td:first-child bdi"),'
        ' (e) => e.textContent)'
    )
    shown = [name or '(no name)' for name in HOSTILE_NAMES]
    shown[HOSTILE_NAMES.index('half \ud800 pair')] = names[
        HOSTILE_NAMES.index('half \ud800 pair')
    ]
    assert names[: len(HOSTILE_NAMES)] == shown
    for text in ('alert', '<', HOSTILE):
        browser.write('#search', text)
    assert browser.text('#status') != '600 groups'
    browser.write('#search', '')
    for row in range(1, 13):
        browser.click(f'{ROWS}:nth-child({row})')
        browser.press('Escape')
    browser.click(f'{ROWS}:nth-child(2)')
    assert len(browser.texts('.reasons li')) == len(HOSTILE_NAMES)
    browser.press('Escape')
    for number in range(1, 10):
        browser.click(f'#table thead th:nth-child({number}) button')
    assert browser.evaluate('document.scripts.length') == 2
    assert browser.evaluate('document.querySelectorAll("img, [onload], b").length') == 0
    assert browser.requests == [path.as_uri()]
    assert browser.messages == []


@pytest.mark.browser
def test_policy_is_active(page: Browser) -> None:
    blocked = page.evaluate(
        """new Promise((done) => {
          const blocked = [];
          addEventListener('securitypolicyviolation', (event) => {
            blocked.push(event.effectiveDirective);
            if (blocked.length === 4) done(blocked.sort());
          });
          setTimeout(() => done(blocked), 3000);
          const script = document.createElement('script');
          script.textContent = 'window.injected = true';
          document.body.append(script);
          const image = document.createElement('img');
          image.src = 'https://example.org/pixel.png';
          document.body.append(image);
          const link = document.createElement('a');
          link.setAttribute('onclick', 'window.injected = true');
          document.body.append(link);
          link.click();
          fetch('https://example.org/').catch(() => {});
        })"""
    )
    assert blocked == ['connect-src', 'img-src', 'script-src-attr', 'script-src-elem']
    assert page.evaluate('window.injected') is None
    # Only a blocked script says so; a page without one says nothing.
    assert page.messages != []


@pytest.mark.browser
def test_no_groups(browser: Browser, tmp_path: Path) -> None:
    data = AnchorData(
        hyperedge_index=torch.empty(2, 0, dtype=torch.long),
        num_nodes=0,
        num_hyperedges=0,
    )
    content = ReportContent.from_model(FixedModel(torch.empty(0)), data)
    write_report(content, tmp_path / 'report.html')
    browser.open(tmp_path / 'report.html')
    assert browser.text('#status') == '0 groups'
    assert browser.texts('#tiles .value') == ['0', '0', '0', '0', EMPTY]
    assert browser.messages == []


@pytest.mark.browser
def test_small_groups(
    browser: Browser, model: FixedModel, data: AnchorData, tmp_path: Path
) -> None:
    data['y'][1] = True
    time = ['May 10', '', 'May 9', 'May 1', 'May 10']
    content = ReportContent.from_model(model, data, time=time)
    write_report(content, tmp_path / 'report.html')
    browser.open(tmp_path / 'report.html')
    assert browser.texts('#tiles .value')[:4] == ['5', '5', '2', '2']
    assert column(browser, 2) == ['Ana and 1 other', 'Ben', 'Chloe', 'Ben', EMPTY]
    assert column(browser, 3) == ['1.000', '0.750', '1.000', '1.000', EMPTY]
    browser.click('#table thead th:nth-child(1) button')
    assert column(browser, 1) == ['mail-1', 'mail-2', 'mail-3', 'mail-9', 'mail-10']
    browser.click('#table thead th:nth-child(9) button')
    assert column(browser, 9) == ['May 1', 'May 9', 'May 10', 'May 10', EMPTY]
    browser.click('#table thead th:nth-child(1) button')
    # An empty group has no members and no neighbours.
    browser.click(f'{ROWS}:nth-child(4)')
    assert 'No other group' in browser.text('#detail-body')
    assert browser.messages == []


@pytest.mark.browser
def test_without_strengths(
    browser: Browser, content: ReportContent, tmp_path: Path
) -> None:
    content = dataclasses.replace(content, person_strength=None)
    write_report(content, tmp_path / 'report.html')
    browser.open(tmp_path / 'report.html')
    assert browser.text('#strongest-title') == 'Most frequent anchors'
    best = int(content.person_anchored.argmax())
    assert browser.text('#strongest td:nth-child(1)') == f'Person {best}'
    assert browser.texts('figcaption') == ['Calibration', 'Accuracy by group size']
    browser.click(f'{ROWS}:nth-child(2)')
    assert browser.texts('#members th') == ['Member', 'Bar', 'Score', 'Groups']
    assert browser.messages == []


@pytest.mark.browser
def test_large_report(browser: Browser, tmp_path: Path) -> None:
    content = planted(100_000, 30_000)
    assert len(content.member_person) > 280_000
    write_report(content, tmp_path / 'report.html')
    browser.open(tmp_path / 'report.html')
    ready = browser.evaluate(
        'performance.getEntriesByName("report-ready")[0].startTime'
    )
    assert ready < 3000
    took = browser.evaluate(
        """(() => {
          const start = performance.now();
          document.querySelector('#table thead th:nth-child(3) button').click();
          document.getElementById('search').value = 'person 7';
          document.getElementById('filters').dispatchEvent(new Event('input'));
          document.getElementById('last').click();
          document.querySelector('#table tbody tr').click();
          return performance.now() - start;
        })()"""
    )
    assert took < 1000
    assert browser.messages == []
