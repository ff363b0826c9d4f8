"""The columns that are found in a header, and the errors if there are none or many."""

from typing import Any

import pytest

from tests.strategies import one_line_error
from tgx_anchor.io.group_columns import GroupColumns


@pytest.mark.parametrize(
    ('names', 'found'),
    [
        (['group', 'member', 'is_anchor'], ('group', 'member', (), 'is_anchor')),
        (['Thread ID', 'User-Name', 'Asker'], ('Thread ID', 'User-Name', (), 'Asker')),
        (['id', 'group', 'member', 'name'], ('group', 'member', (), None)),
        (['message_id', 'sender', 'to'], ('message_id', None, ('to',), 'sender')),
        (['authors', 'year'], (None, None, ('authors',), None)),
    ],
)
def test_usual_names(names: list[str], found: tuple[Any, ...]) -> None:
    columns = GroupColumns()
    choice = columns.choose(names, {})
    assert (columns.group, columns.member, columns.members, columns.anchor) == found
    assert choice.has_header
    assert columns.is_wide == bool(found[2])
    assert columns.is_guessed


def test_names_that_are_given() -> None:
    columns = GroupColumns('G', 'm', anchor='role=a=b', time='t', x=['age'])
    choice = columns.choose(['t', 'role', 'g', 'M', 'age', 'member'], {})
    assert (columns.group, columns.member) == ('g', 'M')
    assert (columns.anchor, columns.value) == ('role', 'a=b')
    assert choice.labels == ['g', 'M', 'role', 't']
    assert choice.numbers == ['age']


def test_first_row_in_place_of_a_header() -> None:
    columns = GroupColumns()
    choice = columns.choose(['t1', 'ann', 'No'], {})
    assert not choice.has_header
    assert (columns.group, columns.member, columns.anchor) == ('t1', 'ann', 'No')


@pytest.mark.parametrize(
    ('given', 'names', 'words'),
    [
        ({}, ['a', 'b'], ["'--member'", "'--members'", "'a', 'b'"]),
        ({}, ['person', 'author', 'id'], ["'person', 'author'", "'--member'"]),
        ({}, ['person'], ["'--group'", "'person'"]),
        ({}, ['id', 'person', 'sender', 'host'], ["'sender', 'host'", "'--anchor'"]),
        ({'group': 'x'}, ['id', 'person'], ["no column 'x' for '--group'"]),
        ({'members': ['to']}, ['id', 'cc'], ["no column 'to' for '--members'"]),
        ({'time': 'when'}, ['id', 'person'], ["no column 'when' for '--time'"]),
        ({'group': 'person'}, ['person', 'id'], ["'person' must be the column of one"]),
        (
            {'members': ['to'], 'anchor': 'a=1'},
            ['id', 'to', 'a'],
            ['a column of people', "'a=1'"],
        ),
    ],
)
def test_errors(given: dict[str, Any], names: list[str], words: list[str]) -> None:
    with one_line_error(*words):
        GroupColumns(**given).choose(names, {})


def test_long_and_wide_exclude_each_other() -> None:
    with one_line_error("'--member'", "'--members'", 'one of them'):
        GroupColumns(member='a', members=['b'])
    with one_line_error('long table', "'age'"):
        GroupColumns(members=['b'], x=['age'])
