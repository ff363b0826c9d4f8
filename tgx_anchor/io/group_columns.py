"""Columns of a table of groups, found by their names."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tgx_anchor.io.table import NO_HEADER, Choice
from tgx_anchor.utils.messages import listed, shorten

PREFIXES = {
    'x': 'node_',
    'hyperedge_attr': 'hyperedge_',
    'incidence_attr': 'incidence_',
}
# The names of columns that need not be given, without regard to case.
_USUAL = {
    'group': 'group group_id thread thread_id message message_id mail mail_id email_id '
    'paper paper_id article article_id meeting meeting_id event event_id conversation '
    'conversation_id topic topic_id question question_id id',
    'member': 'member member_id person person_id author author_id user user_id '
    'user_name username participant attendee name email email_address',
    'members': 'members people persons authors users participants attendees recipients',
    'flag': 'is_anchor anchor is_sender is_asker is_organizer is_organiser is_host '
    'is_first_author sender asker organizer organiser host first_author',
    'anchor': 'anchor sender from asker organizer organiser host first_author',
    'role': 'role',
    'time': 'time',
    'side': 'side',
    'group_type': 'group_type',
    'member_type': 'member_type',
}
USUAL = {meaning: names.split() for meaning, names in _USUAL.items()}
# The columns of a file without a header.
NUMBERED = {'group': '1', 'member': '2', 'anchor': '3'}
DEFAULTS = {'group': 'group', 'member': 'member', 'anchor': 'is_anchor', 'role': 'role'}
# The columns of directions and types, which need not be given.
CONTEXTS = ('side', 'group_type', 'member_type')
READ = ('group', 'member', 'is_anchor', 'role', 'time', *CONTEXTS)
# The lists of names that a table may bring along.
NAME_LISTS = ('role_names', 'group_type_names', 'member_type_names')
# Row numbers that pandas adds to a file.
ROW_NUMBERS = ('', 'Unnamed: 0', '__index_level_0__')
# The part of the metadata that this package writes and reads.
OWNER = b'tgx_anchor'


@dataclass
class GroupColumns:
    r"""The columns of a table of groups: those that the user names, or else those with
    usual names.

    Args:
        asked (dict[str, str or None]): The names that the user gave or left, for
            :obj:`"group"`, :obj:`"member"`, :obj:`"anchor"`, :obj:`"role"`,
            :obj:`"time"`, :obj:`"side"`, :obj:`"group_type"` and
            :obj:`"member_type"`.
        members (list[str]): The columns of members of a wide table.
        given (dict[str, list[str] or None]): The columns of each attribute.
        anchors_only (bool, optional): If set to :obj:`True`, a table need not list
            members: each row then names a group and its anchor.
            (default: :obj:`False`)
        contexts (bool, optional): If set to :obj:`False`, sides and types are not
            read. (default: :obj:`True`)
    """

    asked: dict[str, str | None]
    members: list[str]
    given: dict[str, list[str] | None]
    anchors_only: bool = False
    contexts: bool = True
    # Filled in once the columns of the table are known.
    columns: dict[str, str] = field(default_factory=dict)
    lists: list[str] = field(default_factory=list)
    anchor_value: str | None = None
    numbered: bool = False
    attributes: dict[str, list[str]] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    guessed: dict[str, str] = field(default_factory=dict)
    ignored: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        used = [name for names in self.given.values() for name in names or ()]
        if len(set(used)) < len(used):
            raise ValueError(
                f"'x', 'hyperedge_attr' and 'incidence_attr' must name different "
                f'columns (got {listed(used)})'
            )

    @classmethod
    def ask(
        cls,
        *,
        group: str = 'group',
        member: str = 'member',
        anchor: str = 'is_anchor',
        role: str = 'role',
        time: str | None = None,
        side: str | None = None,
        group_type: str | None = None,
        member_type: str | None = None,
        members: str | Sequence[str] | None = None,
        x: Sequence[str] | None = None,
        hyperedge_attr: Sequence[str] | None = None,
        incidence_attr: Sequence[str] | None = None,
        anchors_only: bool = False,
        contexts: bool = True,
    ) -> 'GroupColumns':
        r"""Checks the names of columns that the user gives: see
        :func:`~tgx_anchor.io.incidence.inspect_incidence`.
        """
        asked = {'group': group, 'member': member, 'anchor': anchor, 'role': role}
        lists = [members] if isinstance(members, str) else list(members or ())
        optional = {
            'time': time,
            'side': side,
            'group_type': group_type,
            'member_type': member_type,
        }
        named = {k: v for k, v in optional.items() if k in CONTEXTS and v is not None}
        for name, column in (
            *asked.items(),
            *named.items(),
            *(('members', name) for name in lists),
        ):
            if not isinstance(column, str):
                raise ValueError(f"'{name}' must be a string (got {shorten(column)})")
        given = {
            'x': x,
            'hyperedge_attr': hyperedge_attr,
            'incidence_attr': incidence_attr,
        }
        for key, names in given.items():
            is_list = not isinstance(names, str)
            if not is_list or not all(isinstance(n, str) for n in names or ()):
                raise ValueError(
                    f"'{key}' must be a list of names (got {shorten(names)})"
                )
        chosen = {
            k: None if names is None else list(names) for k, names in given.items()
        }
        if named and not contexts:
            raise ValueError(
                f"'{next(iter(named))}' must be left out: sides and types are not "
                f'kept in shards (got {shorten(next(iter(named.values())))})'
            )
        return cls({**asked, **optional}, lists, chosen, anchors_only, contexts)

    def choose(self, names: Sequence[Any], metadata: Mapping[bytes, bytes]) -> Choice:
        r"""Chooses the columns, for :func:`~tgx_anchor.io.table.read_table`.

        Args:
            names (list[Any]): The names of all columns.
            metadata (Mapping[bytes, bytes]): The metadata of the table.
        """
        self.columns, self.guessed, self.anchor_value = {}, {}, None
        self.numbered = metadata == NO_HEADER
        self.lists = [self._find(names, 'members', name) for name in self.members]
        if not self.lists and self._find(names, 'member', optional=True) is None:
            wide = self._find(names, 'members', optional=True)
            self.lists = [] if wide is None else [wide]
            if wide is None and self.anchors_only:
                # Every anchor is in the list of members as well.
                self.lists = ['']
                self.lists = [self._find(names, 'anchor')]
        meanings = ('group', 'member', 'anchor', 'role', 'time')
        for meaning in (*meanings, *(CONTEXTS if self.contexts else ())):
            if self.lists and meaning in ('side', 'member_type'):
                self._check_left_out(meaning)
            if self.lists and meaning in ('member', 'role', 'side', 'member_type'):
                continue
            needed = meaning == 'member' or (meaning == 'group' and not self.lists)
            column = self._find(names, meaning, optional=not needed)
            if column is not None:
                self.columns[meaning] = column
        used = [*self.columns.values(), *self.lists]
        if self.anchor_value is not None and self.columns.get('role') in used:
            # One column may tell the role, and by its value the anchor.
            used = list(dict.fromkeys(used))
        if self.has_anchors_only:
            used = [*self.columns.values()]
        if len(set(used)) < len(used):
            raise ValueError(
                f"'group', 'member', 'anchor', 'role' and 'time' must name different "
                f'columns (got {listed(used)})'
            )
        return self._choose_attributes(names, used, metadata)

    def _check_left_out(self, meaning: str) -> None:
        if self.asked.get(meaning) is not None:
            raise ValueError(
                f"'{meaning}' must be left out where a row is a whole group (got "
                f"{shorten(self.asked[meaning])}; 'member' reads a table with one row "
                f'per member)'
            )

    def _find(
        self,
        names: Sequence[Any],
        meaning: str,
        asked: str | None = None,
        optional: bool = False,
    ) -> Any:
        default = DEFAULTS.get(meaning)
        asked = asked or self.asked.get(meaning)
        if self.numbered and asked == default and NUMBERED.get(meaning) in names:
            return None if self.lists else NUMBERED[meaning]
        if asked in names:
            return asked
        alike = [n for n in names if plain_name(str(n)) == plain_name(str(asked))]
        if asked is not None and len(alike) == 1:
            return alike[0]
        if asked not in (None, default):
            column, equals, value = asked.rpartition('=')
            if meaning == 'anchor' and equals and column in names and not self.lists:
                self.anchor_value = value
                return column
            raise ValueError(
                f"'table' must have the column {shorten(asked)} for '{meaning}' "
                f'(got the columns {listed(names)})'
            )
        kind = 'flag' if meaning == 'anchor' and not self.lists else meaning
        found = [
            n for n in names if isinstance(n, str) and plain_name(n) in USUAL[kind]
        ]
        # Any table may have an 'id'.
        found = [n for n in found if plain_name(n) != 'id'] or found
        exact = [n for n in found if plain_name(n) == USUAL[kind][0]]
        if len(found) > 1 and len(exact) != 1:
            raise ValueError(
                f"'{meaning}' must be named: it may be any of {listed(found)} "
                f'(got the columns {listed(names)})'
            )
        if not found and not optional:
            raise ValueError(
                f"'table' must have the column {shorten(default or meaning)} for "
                f"'{meaning}', or another that is named by '{meaning}' "
                f'(got the columns {listed(names)})'
            )
        if not found:
            return None
        column = (exact or found)[0]
        if column != USUAL[kind][0]:
            self.guessed[meaning] = column
        return column

    def _choose_attributes(
        self, names: Sequence[Any], used: list[str], metadata: Mapping[bytes, bytes]
    ) -> Choice:
        noted = _read_metadata(metadata)
        self.names = {key: noted.pop(key) for key in NAME_LISTS if key in noted}
        left = [name for name in names if name not in (*used, *ROW_NUMBERS)]
        named: dict[str, list[str]] = {}
        for key, given in self.given.items():
            lost = [name for name in given or () if name not in left]
            if lost:
                raise ValueError(
                    f"'{key}' must name columns of numbers (got {listed(lost)}, not "
                    f'among {listed(left)})'
                )
            found = [name for name in noted.get(key, ()) if name in left]
            named[key] = found if given is None else given
        taken = [name for columns in named.values() for name in columns]
        for key, prefix in PREFIXES.items():
            if self.lists and key != 'hyperedge_attr':
                if self.given[key]:
                    raise ValueError(
                        f"'{key}' must be left out where a row is a whole group "
                        f"(got {listed(self.given[key] or ())}; 'member' reads a "
                        f'table with one row per member)'
                    )
                named[key] = []
            elif self.given[key] is None and not named[key]:
                named[key] = [
                    name
                    for name in left
                    if isinstance(name, str)
                    and name.startswith(prefix)
                    and name not in taken
                ]
        self.attributes = {key: columns for key, columns in named.items() if columns}
        numbers = [name for columns in self.attributes.values() for name in columns]
        unread = [name for name in left if name not in numbers]
        self.ignored = list(dict.fromkeys([*self.ignored, *unread]))
        return Choice(used, numbers)

    @property
    def role_names(self) -> list[str] | None:
        r"""The names of the roles that the table brings along."""
        return self.names.get('role_names')

    @property
    def has_anchors_only(self) -> bool:
        r"""Whether each row names a group and its anchor."""
        return self.lists == [self.columns.get('anchor')]

    def describe(self) -> dict[str, str]:
        r"""Returns the column of each meaning."""
        lists = {'members': ', '.join(self.lists)} if self.lists else {}
        value = '' if self.anchor_value is None else f'={self.anchor_value}'
        anchor = self.columns.get('anchor')
        group = self.columns.get('group')
        return {
            **({} if group is None else {'group': group}),
            **lists,
            **self.columns,
            **({} if anchor is None else {'anchor': f'{anchor}{value}'}),
        }

    def list_notes(self) -> list[str]:
        r"""Returns sentences about columns that were guessed or are not read."""
        out = []
        if self.guessed:
            guesses = (f"{name!r} is '{key}'" for key, name in self.guessed.items())
            out.append(f'columns found by their usual names: {", ".join(guesses)}')
        if self.ignored:
            out.append(
                f'the columns {listed(self.ignored)} of the table are not read; '
                f"'x', 'hyperedge_attr' and 'incidence_attr' take the names of columns "
                f'to keep'
            )
        return out


def plain_name(name: str) -> str:
    r"""Returns the name of a column in lower case, with underscores between words."""
    return re.sub(r'[\s.-]+', '_', name.strip().lower())


def _read_metadata(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    # Tables of others may use the key for something else.
    try:
        noted = json.loads(metadata.get(OWNER, b'{}'))
        return {
            key: noted[key]
            for key in (*PREFIXES, *NAME_LISTS)
            if key in noted and all(isinstance(name, str) for name in noted[key])
        }
    except (ValueError, TypeError):
        return {}
