"""The commands and their options."""

import pytest

from tests.cli.command import Run
from tgx_anchor import __version__

COMMANDS = ['demo', 'datasets', 'benchmark']


def test_version(run: Run) -> None:
    assert run('--version') == (0, f'{__version__}\n', '')


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
