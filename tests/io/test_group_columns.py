"""Columns that users name, and columns that are found by their usual names."""

from typing import Any

import pytest

from tests.strategies import one_line_error
from tgx_anchor.io.group_columns import USUAL, GroupColumns, plain_name
from tgx_anchor.io.table import NO_HEADER

NONE = dict.fromkeys(('x', 'hyperedge_attr', 'incidence_attr'))


def columns(*members: str, **asked: str) -> GroupColumns:
    defaults = {'group': 'group', 'member': 'member', 'anchor': 'is_anchor'}
    return GroupColumns(
        {**defaults, 'role': 'role', 'time': None, **asked}, list(members), dict(NONE)
    )


@pytest.mark.parametrize(
    ('names', 'expected'),
    [
        (['group', 'member'], {'group': 'group', 'member': 'member'}),
        (
            ['Thread ID', 'User', 'is-asker', 'time', 'role'],
            {
                'group': 'Thread ID',
                'member': 'User',
                'anchor': 'is-asker',
                'role': 'role',
                'time': 'time',
            },
        ),
        (['group', 'mail', 'member', 'name'], {'group': 'group', 'member': 'member'}),
        # In a long table, these may be flags or ids.
        (
            ['mail', 'person', 'sender'],
            {'group': 'mail', 'member': 'person', 'anchor': 'sender'},
        ),
        (
            ['mail', 'recipients', 'sender'],
            {'group': 'mail', 'members': 'recipients', 'anchor': 'sender'},
        ),
        (['authors'], {'members': 'authors'}),
    ],
)
def test_usual_names(names: list[str], expected: dict[str, str]) -> None:
    found = columns()
    choice = found.choose(names, {})
    assert found.describe() == expected
    assert set(choice.labels) == set(expected.values())
    # What was guessed is said.
    usual = {'group', 'member', 'members', 'is_anchor', 'anchor', 'role', 'time'}
    notes = ' '.join(found.list_notes())
    for name in expected.values():
        assert (repr(name) in notes) == (name not in usual)


def test_numbered_columns() -> None:
    found = columns()
    found.choose(['1', '2', '3', '4'], NO_HEADER)
    assert found.describe() == {'group': '1', 'member': '2', 'anchor': '3'}
    assert found.ignored == ['4']
    found = columns()
    found.choose(['1', '2'], NO_HEADER)
    assert found.describe() == {'group': '1', 'member': '2'}
    found = columns('1', anchor='2')
    found.choose(['1', '2', '3'], NO_HEADER)
    assert found.describe() == {'members': '1', 'anchor': '2'}
    # These are names like others if there is a header.
    with one_line_error("'group'", "'1', '2'"):
        columns().choose(['1', '2'], {})


def test_usual_names_are_plain_and_of_one_meaning() -> None:
    for names in USUAL.values():
        assert [plain_name(name) for name in names] == names
    long = [name for key in ('group', 'member', 'flag') for name in USUAL[key]]
    wide = [name for key in ('group', 'members', 'anchor') for name in USUAL[key]]
    assert len(set(long)) == len(long)
    assert len(set(wide)) == len(wide)


@pytest.mark.parametrize(
    ('names', 'asked', 'words'),
    [
        (['a', 'b'], {}, ["'group'", "'a', 'b'"]),
        (['a', 'user'], {}, ["'group'", "'a', 'user'"]),
        (['mail', 'a'], {}, ["'member'", "'mail', 'a'"]),
        (['mail', 'thread', 'user'], {}, ["'group' must be named", "'mail', 'thread'"]),
        (['group', 'member'], {'anchor': 'who'}, ["'who'", "'anchor'"]),
        (['group', 'member'], {'time': 'when'}, ["'when'", "'time'"]),
        (['group', 'member'], {'anchor': 'role=to'}, ["'role=to'", "'anchor'"]),
        (['group', 'member'], {'member': 'group'}, ['different']),
        (['group', 'to', 'from'], {'anchor': 'from=1'}, ["'from=1'"]),
    ],
)
def test_missing_and_ambiguous_names(
    names: list[str], asked: dict[str, str], words: list[str]
) -> None:
    lists = ['to'] if 'to' in names else []
    with one_line_error(*words):
        columns(*lists, **asked).choose(names, {})


def test_anchor_by_value() -> None:
    found = columns(anchor='role=a=b')
    found.asked['anchor'] = 'role=from'
    choice = found.choose(['group', 'member', 'role'], {})
    assert found.describe()['anchor'] == 'role=from'
    assert found.columns['role'] == 'role'
    assert choice.labels == ['group', 'member', 'role']
    # A column of that name comes first.
    found.choose(['group', 'member', 'role', 'role=from'], {})
    assert found.anchor_value is None
    assert found.columns['anchor'] == 'role=from'


def test_attributes() -> None:
    names = ['group', 'member', 'node_a', 'hyperedge_b', 'incidence_c', 'd', '']
    found = columns()
    choice = found.choose(names, {})
    assert choice.numbers == ['node_a', 'hyperedge_b', 'incidence_c']
    assert found.ignored == ['d']
    found = columns('member')
    assert found.choose(names, {}).numbers == ['hyperedge_b']
    given: dict[str, Any] = {**NONE, 'x': ['d']}
    with one_line_error("'x'", 'whole group', "'d'"):
        GroupColumns({}, ['member'], given).choose(names, {})
    with one_line_error('different', "'d'"):
        GroupColumns({}, [], {**given, 'incidence_attr': ['d']})
