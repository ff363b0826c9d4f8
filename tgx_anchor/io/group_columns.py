"""Finds the columns of a table of groups by their names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tgx_anchor.io.columns import FLAGS
from tgx_anchor.io.table import Choice
from tgx_anchor.utils.messages import listed, shorten

# The usual names, in lower case and with underscores; the first one of each is taken
# even if there are others.
USUAL: dict[str, list[str]] = {
    purpose: re.split(r'\s+', names.strip())
    for purpose, names in {
        'group': """
            group group_id groupid hyperedge edge thread thread_id message message_id
            mail mail_id email_id paper paper_id article article_id meeting meeting_id
            event event_id conversation conversation_id topic topic_id question
            question_id id
        """,
        'member': """
            member member_id person person_id author author_id user user_id user_name
            username name email email_address address node participant attendee
        """,
        'members': """
            members people persons authors users participants attendees recipients to
        """,
        'anchor': """
            is_anchor anchor is_sender sender from asker is_asker organizer organiser
            is_organizer is_organiser host is_host first_author is_first_author
        """,
    }.items()
}
_OPTIONS = {
    'group': '--group',
    'member': '--member',
    'members': '--members',
    'anchor': '--anchor',
}


@dataclass
class GroupColumns:
    r"""The columns of a table of groups: those that the user names, or else the usual
    ones, if there is exactly one for each purpose.

    A long table has one row per member, with the columns :obj:`group` and
    :obj:`member`; a wide one has one row per group, with the columns :obj:`members`.

    Args:
        group (str, optional): The column of the ids of the groups. A wide table may
            have none: its rows are then numbered from one. (default: :obj:`None`)
        member (str, optional): The column of the members. (default: :obj:`None`)
        members (list[str], optional): The columns with lists of members.
            (default: :obj:`()`)
        anchor (str, optional): The column of the anchors, or :obj:`"COLUMN=VALUE"`
            for the rows of a long table in which it has this value.
            (default: :obj:`None`)
        time (str, optional): The column of the time. (default: :obj:`None`)
        x (list[str], optional): Columns of numbers about members.
            (default: :obj:`()`)
        hyperedge_attr (list[str], optional): Columns of numbers about groups.
            (default: :obj:`()`)
    """

    group: str | None = None
    member: str | None = None
    members: Sequence[str] = ()
    anchor: str | None = None
    time: str | None = None
    x: Sequence[str] = ()
    hyperedge_attr: Sequence[str] = ()
    # The value that marks an anchor, if the user named one.
    value: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.member is not None and self.members:
            raise ValueError(
                f"'--member' is for a long table and '--members' for a wide one: give "
                f'one of them (got {shorten(self.member)} and {listed(self.members)})'
            )
        if self.members and self.x:
            raise ValueError(
                f"numbers about members need a long table, with '--member' "
                f'(got {listed(self.x)})'
            )
        self._given = (self.group, self.member, tuple(self.members), self.anchor)

    @property
    def is_wide(self) -> bool:
        r"""Whether a row is a whole group."""
        return bool(self.members)

    @property
    def is_guessed(self) -> bool:
        r"""Whether the name of some column was found here."""
        found = (self.group, self.member, tuple(self.members), self.anchor)
        return found != self._given

    def choose(self, names: Sequence[Any], _: Mapping[bytes, bytes]) -> Choice:
        r"""Finds the columns, as :func:`~tgx_anchor.io.table.read_table` asks.

        Args:
            names (list): The names of all columns.
        """
        names = [str(name) for name in names]
        group, member, members, anchor = self._given
        if self._has_no_header(names):
            self.group, self.member, self.anchor = names
            return Choice(names, has_header=False)
        if member is not None:
            member = _find(names, member, '--member')
        members = tuple(_find(names, name, '--members') for name in members)
        if member is None and not members:
            member = guess_column(names, 'member')
            wide = guess_column(names, 'members') if member is None else None
            members = () if wide is None else (wide,)
        if member is None and not members:
            raise ValueError(
                f"the column of the members is missing: name it by '--member' (one row "
                f"per member) or '--members' (one row per group) "
                f'(got the columns {listed(names)})'
            )
        self.value = None
        if anchor is not None:
            column, equals, value = anchor.partition('=')
            if anchor not in names and equals:
                anchor, self.value = column, value
            anchor = _find(names, anchor, '--anchor')
        else:
            anchor = guess_column(names, 'anchor')
        if group is not None:
            group = _find(names, group, '--group')
        else:
            group = guess_column(names, 'group')
        if group is None and not members:
            raise ValueError(
                f"the column of the groups is missing: name it by '--group' "
                f'(got the columns {listed(names)})'
            )
        if self.value is not None and members:
            raise ValueError(
                f"'--anchor' must be a column of people in a wide table "
                f'(got {shorten(self._given[3])})'
            )
        self.group, self.member, self.members, self.anchor = (
            group,
            member,
            members,
            anchor,
        )
        numbers = [
            *(_find(names, name, '--member-attr') for name in self.x),
            *(_find(names, name, '--group-attr') for name in self.hyperedge_attr),
        ]
        time = None if self.time is None else _find(names, self.time, '--time')
        labels = [
            name for name in (group, member, *members, anchor, time) if name is not None
        ]
        wrong = [name for name in dict.fromkeys(labels) if labels.count(name) > 1]
        wrong = [name for name in wrong if name != anchor or name not in members]
        if wrong:
            raise ValueError(f'{shorten(wrong[0])} must be the column of one thing')
        return Choice(list(dict.fromkeys(labels)), numbers)

    def _has_no_header(self, names: list[str]) -> bool:
        # No name of a column says yes or no, but the third field of a row may.
        return (
            self._given == (None, None, (), None)
            and len(names) == 3
            and names[2].strip().lower() in FLAGS
        )

    def describe(self) -> str:
        r"""Returns the columns in words."""
        if self.is_wide:
            group = 'the number of the row' if self.group is None else repr(self.group)
            words = [f'group = {group}', f'members = {listed(self.members)}']
        else:
            words = [f'group = {self.group!r}', f'member = {self.member!r}']
        if self.anchor is not None:
            value = '' if self.value is None else f' is {self.value!r}'
            words.append(f'anchor = {self.anchor!r}{value}')
        return ', '.join(words)


def _plain(name: str) -> str:
    return re.sub(r'[\s\-.]+', '_', name.strip().lower())


def _find(names: list[str], name: str, option: str) -> str:
    if name in names:
        return name
    alike = [other for other in names if _plain(other) == _plain(name)]
    if len(alike) == 1:
        return alike[0]
    raise ValueError(
        f'there is no column {shorten(name)} for {option!r} '
        f'(got the columns {listed(names)})'
    )


def guess_column(names: list[str], purpose: str) -> str | None:
    r"""Returns the one column with a usual name, or :obj:`None`.

    Args:
        names (list[str]): The names of all columns.
        purpose (str): The key in :obj:`USUAL`.
    """
    usual = USUAL[purpose]
    found = [name for name in names if _plain(name) in usual]
    first = [name for name in found if _plain(name) == usual[0]]
    if len(first) == 1 or len(found) == 1:
        return (first or found)[0]
    if found:
        raise ValueError(
            f'{listed(found)} may all be the {purpose}: name the right column by '
            f'{_OPTIONS[purpose]!r} (got the columns {listed(names)})'
        )
    return None
