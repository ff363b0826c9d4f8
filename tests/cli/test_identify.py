"""Ten tables as people export them, from the raw file to anchors in one command."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.command import Run

TABLES = Path(__file__).parent / 'tables'
HEADER = [
    'group',
    'anchor',
    'probability',
    'runner_up',
    'runner_up_probability',
    'margin',
    'source',
]

# The words of the command, and sentences that it says about each table.
CASES: dict[str, tuple[list[str], list[str]]] = {
    'mailbox': (
        [
            'mailbox.csv',
            *('--members', 'Participants', '--members', 'Cc', '--anchor', 'Sender'),
            *('--time', 'Date', '--addresses'),
        ],
        [
            'text with commas in UTF-8',
            "group = 'Message-ID', members = 'Participants', 'Cc', anchor = 'Sender'",
            '20 members are in their group twice',
        ],
    ),
    'threads': (
        ['threads.tsv', '--anchor', 'is_asker'],
        [
            "group = 'thread_id', member = 'user_name', anchor = 'is_asker'",
            "'is_asker' is yes where it is 't', no where it is 'f'",
            '14 rows have no member',
            '1 group has no member',
        ],
    ),
    'authors': (
        ['authors.txt', '--group', 'paper id', '--anchor', 'Position=1'],
        ["group = 'Paper ID', member = 'Author', anchor = 'Position' is '1'"],
    ),
    'meetings': (
        ['meetings.csv'],
        [
            "group = 'meeting', member = 'attendee', anchor = 'organizer'",
            "yes where it is '1', 'yes', no where it is '0', 'no'",
            '24 members are in their group twice',
            '1 group has several anchors',
            '3 groups have a single member',
        ],
    ),
    'windows': (
        ['windows.csv'],
        ['text with commas in UTF-8', "is yes where it is 'TRUE', no where it is"],
    ),
    'latin1': (
        [
            'latin1.csv',
            *('--group', 'Gruppe', '--member', 'Person', '--anchor', 'Führung'),
        ],
        [
            'text with semicolons in Windows-1252',
            "is not encoded in UTF-8 (b'\\xfc' in line 1) and is read as Windows-1252",
            "'Führung' is yes where it is 'x'",
        ],
    ),
    'wide': (
        ['wide.csv', '--members', 'recipients', '--sep', ';', '--anchor', 'sender'],
        [
            "group = 'message_id', members = 'recipients', anchor = 'sender'",
            'anchors are added to the members of their groups',
            'members are in their group twice',
        ],
    ),
    'events': (
        ['events.jsonl', '--skip-bad'],
        [
            "JSON lines; group = 'event_id', members = 'people', anchor = 'host'",
            'warning: 2 bad rows are left out',
        ],
    ),
    'projects': (
        ['projects.parquet', '--group', 'project', '--anchor', 'lead'],
        ["Parquet; group = 'project', member = 'person'", '10 rows have no member'],
    ),
    'monthly': (
        ['monthly', '--known', 'monthly.known.csv', '--time', 'when'],
        [
            '3 files of text with commas in UTF-8 and text with semicolons in UTF-8 '
            'and text with tabs in UTF-8',
            "group = 'thread', member = 'person'",
            "known anchors: text with commas in UTF-8; group = 'thread'",
        ],
    ),
}


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TABLES)


def truth(name: str) -> dict[str, str]:
    text = (TABLES / f'{name}.truth.csv').read_text(encoding='utf-8')
    return {row['group']: row['anchor'] for row in csv.DictReader(io.StringIO(text))}


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding='utf-8', newline='') as file:
        reader = csv.DictReader(file)
        rows = list(reader)
        assert reader.fieldnames == HEADER
    return rows


@pytest.mark.parametrize('name', CASES)
def test_table_from_the_raw_file_to_anchors(
    run: Run, tmp_path: Path, name: str
) -> None:
    words, sentences = CASES[name]
    out = tmp_path / 'anchors.csv'
    code, shown, said = run('identify', *words, '--out', str(out))
    assert code == 0
    for sentence in sentences:
        assert sentence in said
    assert f'written to {out}' in shown
    right = truth(name)
    rows = read(out)
    # Original ids, in the order of the file.
    judged = [row for row in rows if row['group'] in right]
    assert [row['group'] for row in judged] == list(right)
    known = [row for row in judged if row['source'] == 'known']
    predicted = [row for row in judged if row['source'] == 'predicted']
    assert 40 <= len(known) <= 80
    assert len(known) + len(predicted) == 120
    assert all(row['anchor'] == right[row['group']] for row in known)
    num_right = sum(row['anchor'] == right[row['group']] for row in predicted)
    assert num_right / len(predicted) > 0.75
    for row in predicted:
        assert 0 < float(row['probability']) <= 1
        assert row['runner_up'] not in ('', row['anchor'])
    # The command that evaluates counts the same.
    code, shown, _ = run('evaluate', str(out), f'{name}.truth.csv', '--json')
    assert code == 0
    found = json.loads(shown)
    assert found['accuracy'] == num_right / len(predicted)
    assert found['num_hyperedges'] == len(predicted)
    assert found['num_known'] == len(known)
