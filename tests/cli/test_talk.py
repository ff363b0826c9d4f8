"""Notes, progress and summaries: which stream gets what."""

import json
import warnings

import pytest
from rich.console import Console

from tests.strategies import one_line_error
from tgx_anchor.cli.table_options import TableOptions
from tgx_anchor.cli.talk import Talk, describe_reading
from tgx_anchor.io import inspect_incidence

Capture = pytest.CaptureFixture[str]


def test_streams(capsys: Capture) -> None:
    talk = Talk(TableOptions(), 'anchors.csv')
    talk.note('a note')
    talk.warn('a\nwarning')
    talk.finish({'a': 1}, ['a line'])
    assert capsys.readouterr() == ('a line\n', 'a note\nwarning: a warning\n')
    Talk(TableOptions(), '-').finish({}, ['a line'])
    assert capsys.readouterr() == ('', 'a line\n')


def test_quiet_keeps_warnings_and_results(capsys: Capture) -> None:
    talk = Talk(TableOptions(quiet=True))
    talk.note('a note')
    talk.warn('a warning')
    talk.finish({}, ['a line'])
    talk.finish({}, ['a result'], is_result=True)
    assert capsys.readouterr() == ('a result\n', 'warning: a warning\n')


def test_json(capsys: Capture) -> None:
    talk = Talk(TableOptions(json=True), 'anchors.csv')
    with talk.step('reading'):
        talk.warn('a warning')
    talk.finish({'name': 'Zoë'}, ['a line'])
    out = capsys.readouterr().out
    assert out.count('\n') == 1
    found = json.loads(out)
    assert found['name'] == 'Zoë'
    assert found['warnings'] == ['a warning']
    assert 0 <= found['seconds']['reading'] < 5
    with one_line_error("'--json'", "'--out'"):
        Talk(TableOptions(json=True), '-')


def test_warnings_of_a_step_are_lines(capsys: Capture) -> None:
    talk = Talk(TableOptions())
    with talk.step('fitting'):
        warnings.warn('of the library', stacklevel=1)
    assert capsys.readouterr() == ('', 'warning: of the library\n')
    assert talk.warnings == ['of the library']


def test_forced_colours_are_no_terminal(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('FORCE_COLOR', '1')
    with Talk(TableOptions()).step('fitting'):
        pass
    assert capsys.readouterr() == ('', '')


def test_progress_on_a_terminal_only(capsys: Capture) -> None:
    record = {'stage': 1.0, 'epoch': 40.0, 'num_epochs': 100.0}
    for terminal, quiet, shown in (
        (False, False, False),
        (True, True, False),
        (True, False, True),
    ):
        talk = Talk(TableOptions(quiet=quiet))
        talk.is_terminal = terminal
        talk.console = Console(stderr=True, force_terminal=terminal)
        with talk.step('fitting'):
            talk.show_epoch(record)
        out, err = capsys.readouterr()
        assert out == ''
        assert ('fitting' in err) == shown
        assert ('fitting, stage 1: 40 of 100 done' in err) == shown


def test_progress_says_what_is_under_way(capsys: Capture) -> None:
    talk = Talk(TableOptions())
    talk.is_terminal = True
    talk.console = Console(stderr=True, force_terminal=True, width=200)
    measuring = 'fitting, measuring the accuracy with up to five further models'
    for stage, epoch, shown in (
        # The last epoch of stage 1 of AnchorRadar is not the last one of all.
        (1.0, 7.0, 'fitting, stage 1: 7 of 7 done'),
        (2.0, 6.0, 'fitting, stage 2: 6 of 7 done'),
        (2.0, 7.0, measuring),
    ):
        with talk.step('fitting'):
            talk.show_epoch({'stage': stage, 'epoch': epoch, 'num_epochs': 7.0})
        err = capsys.readouterr().err
        assert shown in err
        assert (measuring in err) == (shown == measuring)


def test_describes_a_table() -> None:
    people = ['Ann <a@x.org>', 'Bob <b@x.org>', 'cat']
    table = {'group': [1, 1, 2], 'member': people, 'is_anchor': ['y', 'y', 'n']}
    reading = inspect_incidence(table, max_anchors=None)
    assert describe_reading(reading) == [
        "a table in memory; group = 'group', member = 'member', anchor = 'is_anchor'",
        "'is_anchor' is yes where it is 'y', no where it is 'n'",
        "people are written like 'Ann <a@x.org>': '--addresses' names them by their "
        'address',
        'groups with several anchors, which all count: 1',
        'groups with a single member, who is the anchor: 1',
    ]
