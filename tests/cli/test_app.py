"""The commands and their options."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.cli.command import Run
from tests.cli.examples import write_mails
from tgx_anchor import __version__
from tgx_anchor.cli.app import app

TABLE_COMMANDS = [
    'identify',
    'fit',
    'predict',
    'evaluate',
    'explain',
    'suggest',
    'report',
]
COMMANDS = ['demo', 'datasets', 'benchmark', *TABLE_COMMANDS]


def test_version(run: Run) -> None:
    assert run('--version') == (0, f'{__version__}\n', '')


@pytest.mark.parametrize('name', ['shard', 'demo', 'datasets', 'reproduce'])
def test_commands_that_several_processes_do_not_share(
    name: str, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Another process of the run might have spoken.
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    monkeypatch.setenv('WORLD_SIZE', '2')
    words = {'shard': ['x.csv', '--out', 'x'], 'reproduce': ['list']}
    code, out, err = run(name, *words.get(name, []))
    assert (code, out) == (2, '')
    assert err == (
        f'tgx-anchor: several processes must run one of identify, fit, predict, '
        f'evaluate (got {name!r}: run it without torchrun)\n'
    )


def test_help_lists_the_commands(run: Run) -> None:
    code, out, _ = run('--help')
    assert code == 0
    assert all(f'│ {command} ' in out for command in COMMANDS)


@pytest.mark.parametrize('command', COMMANDS)
def test_help_shows_an_example(run: Run, command: str) -> None:
    code, out, _ = run(command, '--help')
    assert code == 0
    assert f'Example: tgx-anchor {command}' in out or f'tgx-anchor {command}' in out


@pytest.mark.parametrize(
    ('words', 'named'),
    [
        (['demo', '--num-nodes', '0'], '--num-nodes'),
        (['demo', '--num-hyperedges', '0'], '--num-hyperedges'),
        (['demo', '--num-nodes', 'many'], '--num-nodes'),
        (['demo', '--train', '2'], '--train'),
        (['demo', '--train', '0.99'], "'train'"),
        (['demo', '--seed', '-1'], '--seed'),
        (['demo', '--threads', '0'], '--threads'),
        (['demo', '--bogus'], '--bogus'),
        (['demo', 'word'], 'word'),
        (['datasets', '--bogus'], '--bogus'),
        (['bogus'], 'bogus'),
        (['--bogus'], '--bogus'),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(
    run: Run, words: list[str], named: str
) -> None:
    code, out, err = run(*words)
    assert (code, out.strip()) == (2, '')
    assert err.startswith('tgx-anchor: ')
    assert err.count('\n') == 1
    assert named in err


def examples() -> list[list[str]]:
    """The words of all examples in the help of commands that read tables."""
    found: list[list[str]] = []
    for command in app.registered_commands:
        assert command.callback is not None
        text = ' '.join((command.callback.__doc__ or '').split())
        words = re.findall(r'Example: tgx-anchor (.*?)(?= Example:|$)', text)
        found += map(shlex.split, words)
    return [words for words in found if words[0] in TABLE_COMMANDS]


def test_every_command_has_examples() -> None:
    assert {words[0] for words in examples()} == set(TABLE_COMMANDS)


@pytest.fixture
def files(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that the examples name."""
    monkeypatch.chdir(tmp_path)
    anchors = write_mails(Path('mails.csv'))
    text = Path('mails.csv').read_text(encoding='utf-8')
    named = text.replace('\nm17,', '\nmail 17,')
    Path('mails.csv').write_text(named, encoding='utf-8')
    header = 'thread,person,asker,likes'
    rows = [f'{line},3' for line in text.splitlines()[1:]]
    Path('threads.csv').write_text('\n'.join([header, *rows]), encoding='utf-8')
    write_mails(Path('may.csv'), seed=1)
    write_mails(Path('labelled.csv'), seed=2, hide=False)
    truth = [f'{group},{anchor}' for group, anchor in anchors.items()]
    Path('truth.csv').write_text('\n'.join(['group,anchor', *truth]), encoding='utf-8')
    lines = ['group,anchor', *(f'{group},p29' for group in anchors)]
    Path('anchors.csv').write_text('\n'.join(lines), encoding='utf-8')
    inbox = ['id,sender,to,cc']
    for i in range(30):
        sender = f'p{i % 7}@x.org' if i % 2 else ''
        inbox.append(f'{i},{sender},p{i % 7}@x.org;Bob <P{i % 5 + 2}@x.org>,p9@x.org')
    Path('inbox.csv').write_text('\n'.join(inbox), encoding='utf-8')
    Path('model.tgx').write_bytes(model.read_bytes())


@pytest.mark.usefixtures('files')
@pytest.mark.parametrize('words', examples(), ids=' '.join)
def test_examples_run(run: Run, words: list[str]) -> None:
    code, _, err = run(*words)
    assert code == 0, err
    if '--out' in words:
        assert Path(words[words.index('--out') + 1]).stat().st_size > 100


@pytest.mark.parametrize('command', TABLE_COMMANDS)
def test_commands_share_the_options_of_tables(run: Run, command: str) -> None:
    code, out, _ = run(command, '--help')
    assert code == 0
    for option in (
        *('--group', '--member', '--members', '--sep', '--anchor', '--known'),
        *('--time', '--addresses', '--skip-bad', '--seed', '--threads', '--json'),
    ):
        assert f'{option} ' in out
    assert 'is no member' in out
    code, out, err = run(command, '--bogus')
    assert (code, out) == (2, '')
    assert err.count('\n') == 1


@pytest.mark.parametrize(
    ('words', 'found'),
    [
        ('tgx-anchor id', ['identify']),
        (
            'tgx-anchor identify --mem',
            ['--member', '--members', '--member-type', '--member-attr'],
        ),
        ('tgx-anchor report --ti', ['--time', '--title']),
    ],
)
def test_shell_completion(words: str, found: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, '-m', 'tgx_anchor'],
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            '_TGX_ANCHOR_COMPLETE': 'complete_bash',
            'COMP_WORDS': words,
            'COMP_CWORD': str(len(words.split()) - 1),
        },
    )
    assert sorted(done.stdout.split()) == sorted(found)


def test_completion_can_be_installed(run: Run) -> None:
    assert '--install-completion' in run('--help').out
