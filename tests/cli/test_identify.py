"""Ten tables as people export them, from the raw file to anchors in one command."""

import csv
import io
import json
import sys
from pathlib import Path

import pyarrow.parquet
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
            "group = 'Message-ID', members = 'Participants, Cc', anchor = 'Sender'",
            'rows that list a member of their group again, who counts once: 20',
            'model: stacked (53 different groups of two or more with a known anchor, '
            'at least 20; 365 rows of one member each, at most 2,000,000; times are '
            'used)\n',
        ],
    ),
    'threads': (
        ['threads.tsv', '--anchor', 'is_asker'],
        [
            "group = 'thread_id', member = 'user_name', anchor = 'is_asker'",
            "'is_asker' is yes where it is 't', no where it is 'f'",
            'rows without a member, which only name their group: 14\n',
            'groups without members: 1\n',
        ],
    ),
    'authors': (
        ['authors.txt', '--group', 'paper id', '--anchor', 'Position=1'],
        ["group = 'Paper ID', member = 'Author', anchor = 'Position=1'"],
    ),
    'meetings': (
        ['meetings.csv'],
        [
            "group = 'meeting', member = 'attendee', anchor = 'organizer'",
            "yes where it is '1', 'yes', no where it is '0', 'no'",
            'rows that list a member of their group again, who counts once: 24\n',
            'groups with several anchors, which all count: 1\n',
            'groups with a single member, who is the anchor: 3\n',
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
            "'Führung' is yes where it is 'x', no where it is ''",
        ],
    ),
    'wide': (
        ['wide.csv', '--members', 'recipients', '--sep', ';', '--anchor', 'sender'],
        [
            "group = 'message_id', members = 'recipients', anchor = 'sender'",
            'anchors that are not listed as members of their group, and become '
            'members: 18\n',
            'rows that list a member of their group again, who counts once: 20\n',
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
        [
            "Parquet; group = 'project', member = 'person'",
            'rows without a member, which only name their group: 10\n',
        ],
    ),
    'monthly': (
        ['monthly', '--known', 'monthly.known.csv', '--time', 'when'],
        [
            '3 files of text with commas in UTF-8 and text with semicolons in UTF-8 '
            'and text with tabs in UTF-8',
            "group = 'thread', member = 'person'",
            "of the known anchors found by their usual names: 'asker' is 'anchor'",
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


def anchors_of(run: Run, tmp_path: Path, name: str) -> dict[str, dict[str, str]]:
    out = tmp_path / 'anchors.csv'
    assert run('identify', *CASES[name][0], '--out', str(out)).code == 0
    return {row['group']: row for row in read(out)}


def test_people_are_named_by_their_address(run: Run, tmp_path: Path) -> None:
    rows = anchors_of(run, tmp_path, 'mailbox').values()
    names = {row[key] for row in rows for key in ('anchor', 'runner_up')} - {''}
    assert len(names) == 26
    assert all(name.endswith('@example.org') for name in names)
    assert all(name == name.lower() for name in names)


def test_group_of_deleted_users_has_nobody(run: Run, tmp_path: Path) -> None:
    rows = anchors_of(run, tmp_path, 'threads')
    assert list(rows['99999'].values()) == ['99999', '', '', '', '', '', 'predicted']
    assert len(rows) == 121
    assert all('NULL' not in row.values() for row in rows.values())


def test_single_member_and_several_anchors(run: Run, tmp_path: Path) -> None:
    rows = anchors_of(run, tmp_path, 'meetings')
    assert list(rows['1on0-1'].values()) == [
        *('1on0-1', 'Ida', '1', '', '', '1', 'predicted')
    ]
    assert rows['joint']['anchor'] in ('Ann', 'Bob')
    assert rows['joint']['source'] == 'known'
    assert len(rows) == 124


def test_names_with_commas_and_quotes_stay_whole(run: Run, tmp_path: Path) -> None:
    rows = anchors_of(run, tmp_path, 'windows')
    assert list(rows)[:2] == ['Case 0, "closed"', 'Case 1, "closed"']
    assert all(', ' in row['anchor'] for row in rows.values())


def test_accents_stay(run: Run, tmp_path: Path) -> None:
    rows = anchors_of(run, tmp_path, 'latin1')
    names = {row['anchor'] for row in rows.values()}
    assert {'Zoë Brontë', 'Jürgen Groß'} <= names | {
        row['runner_up'] for row in rows.values()
    }
    assert next(iter(rows)) == 'Über 0'


def test_bad_rows_are_written_with_the_reason(run: Run, tmp_path: Path) -> None:
    rows = anchors_of(run, tmp_path, 'events')
    assert 'ev-cut' not in rows
    with (tmp_path / 'anchors.rejected.csv').open(encoding='utf-8') as file:
        rejected = list(csv.DictReader(file))
    assert [(row['file'], row['line']) for row in rejected] == [
        ('events.jsonl', '44'),
        ('events.jsonl', '84'),
    ]
    assert rejected[1]['reason'] == (
        "'table' must hold one JSON object per line (got other JSON)"
    )
    assert rejected[1]['text'] == '["not", "an", "object"]'


def test_bad_rows_follow_the_error(run: Run) -> None:
    code, out, err = run('identify', 'events.jsonl')
    assert (code, out) == (2, '')
    first, *rows = err.splitlines()
    assert first.startswith(
        "tgx-anchor: 'table' must hold one JSON object per line (got "
    )
    assert first.endswith(
        " in line 44 of 'events.jsonl'); 1 more bad row; '--skip-bad' leaves out bad "
        'rows'
    )
    assert len(rows) == 2
    assert rows[1] == (
        "  events.jsonl:84: 'table' must hold one JSON object per line (got other "
        'JSON) | ["not", "an", "object"]'
    )


def test_integer_ids_stay_integers(run: Run, tmp_path: Path) -> None:
    out = tmp_path / 'anchors.parquet'
    assert run('identify', *CASES['projects'][0], '--out', str(out)).code == 0
    table = pyarrow.parquet.read_table(out)
    assert table.column_names == HEADER
    assert table['group'].to_pylist() == list(range(900, 1020))
    assert str(table['group'].type) == 'int64'
    assert 'Nobody At All' not in table['anchor'].to_pylist()


# The command #################################################################


def test_summary_as_json(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / 'anchors.jsonl'
    code, shown, _ = run('identify', str(mails), '--out', str(out), '--json')
    assert code == 0
    summary = json.loads(shown)
    assert summary['num_groups'] == 90
    assert summary['num_known'] == 30
    assert summary['num_predicted'] == 60
    assert summary['num_people'] == 30
    assert summary['num_bad_rows'] == 0
    assert summary['out'] == str(out)
    assert summary['model'] == 'stacked'
    assert '; 269 rows of one member each' in summary['model_reason']
    assert set(summary['seconds']) >= {'reading', 'features', 'fitting', 'writing'}
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record['group'] for record in records] == [f'm{i}' for i in range(90)]
    assert records[0]['source'] == 'known'


def test_streams(
    run: Run, mails: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / 'anchors.csv'
    code, shown, said = run('identify', str(mails), '-o', str(out), '-q')
    assert (code, shown) == (0, '')
    assert all(line.startswith('warning: ') for line in said.splitlines())
    monkeypatch.setattr(sys, 'stdin', io.TextIOWrapper(io.BytesIO(mails.read_bytes())))
    code, shown, said = run('identify', '-')
    assert code == 0
    assert shown == out.read_text(encoding='utf-8')
    assert 'standard input: text with commas' in said
    assert '60 predicted' in said


def test_model_by_name(run: Run, mails: Path, tmp_path: Path) -> None:
    shown = {}
    for name in ('auto', 'stacked', 'anchor-radar'):
        code, shown[name], said = run('identify', str(mails), '--model', name)
        assert code == 0
        assert ("(chosen by '--model')" in said) == (name != 'auto')
    assert shown['auto'] == shown['stacked'] != shown['anchor-radar']
    code, _, err = run('identify', str(mails), '--model', 'bogus')
    assert code == 2
    assert err.startswith("tgx-anchor: Invalid value for '--model'")
    assert err.count('\n') == 1
    few = tmp_path / 'few.csv'
    few.write_text('group,member,is_anchor\na,x,1\na,y,0\nb,x,\nb,y,\n')
    code, shown['few'], said = run('identify', str(few))
    assert code == 0
    assert (
        'model: anchor-radar (1 different groups of two or more with a known anchor, '
        'fewer than 20)\n'
    ) in said


def test_errors_name_the_standard_input(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b'group,member,is_anchor\na,b,perhaps\na,c,\n'
    monkeypatch.setattr(sys, 'stdin', io.TextIOWrapper(io.BytesIO(text)))
    code, _, err = run('identify', '-')
    assert code == 2
    assert err.splitlines()[0].startswith(
        "tgx-anchor: 'is_anchor' must be true, false or left empty (got 'perhaps' in "
        "line 2 of 'standard input')"
    )
    assert err.splitlines()[1].startswith('  standard input:2: ')


def test_seed_repeats(run: Run, mails: Path) -> None:
    first, second, other = (
        run('identify', str(mails), '--seed', seed, '-q').out for seed in '774'
    )
    assert first == second != other


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['nowhere.csv'], "'nowhere.csv'"),
        (['wide.truth.csv', '--anchor', 'none'], "'--member'"),
        (['latin1.csv'], "(got the columns 'Gruppe', 'Person', 'Führung')"),
        (
            ['threads.tsv', '--group', 'thread'],
            "column 'thread' for '--group'",
        ),
        (['monthly'], 'no anchor is known, so there is nothing to learn from: name'),
        (['meetings.csv', '--out', 'anchors.xls'], 'must end in one of .csv'),
        (['meetings.csv', '--out', 'nowhere/a.csv'], 'a folder that exists'),
        (['meetings.csv', '--out', 'monthly'], 'end in one of'),
        (['meetings.csv', '--json'], "name a file with '--out'"),
        (['meetings.csv', '--member', 'a', '--members', 'b'], 'give one of them'),
    ],
)
def test_wrong_input_is_one_line(run: Run, words: list[str], message: str) -> None:
    code, out, err = run('identify', *words)
    assert (code, out) == (2, '')
    last = err.splitlines()[-1]
    assert last.startswith('tgx-anchor: ')
    assert message in last
