"""Options of all commands that read a table of groups."""

import functools
import inspect
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from tgx_anchor.io.incidence_reading import IncidenceReading

_TABLE = 'Table'
_RUN = 'Run'

TABLES = """
Tables: CSV, TSV, JSON lines and Parquet, by their ending; .json is a list of rows or
the Hypergraph Interchange Format; '-' is the standard input; several files, a folder
or a quoted glob pattern are read as one table. Delimiter, encoding, header, the
spelling of yes and no, and the usual names of columns are detected and reported.
"""
FLAWS = """
Flaws: An empty name, NULL or NA is no member. A member who is in a group twice is one
member. Several anchors of a group all count. An anchor who is not listed is added to
the group. If no anchor is given, it is predicted. A single member is the anchor.
Rows with an empty group, with a flag that is neither yes nor no, or with too many or
too few fields are bad.
"""

Files = Annotated[
    list[str],
    typer.Argument(metavar='FILE...', help='Tables of groups.', show_default=False),
]
Model = Annotated[
    str,
    typer.Argument(
        help="A model file written by 'tgx-anchor fit'.", show_default=False
    ),
]


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    r"""The options of all commands that read a table of groups."""

    group: Annotated[
        str | None,
        typer.Option(help='The column of groups.', rich_help_panel=_TABLE),
    ] = None
    member: Annotated[
        str | None,
        typer.Option(
            help='The column of members, if there is one row per member.',
            rich_help_panel=_TABLE,
        ),
    ] = None
    members: Annotated[
        list[str] | None,
        typer.Option(
            help='The column of members, if there is one row per group; may be '
            'repeated.',
            rich_help_panel=_TABLE,
        ),
    ] = None
    sep: Annotated[
        str | None,
        typer.Option(
            help='The separator between members in a cell.',
            rich_help_panel=_TABLE,
            show_default='the first of ; | , that occurs',
        ),
    ] = None
    anchor: Annotated[
        str | None,
        typer.Option(
            help='The column of anchors: yes and no, or their names. With '
            'COLUMN=VALUE, the anchors are the rows that have this value.',
            rich_help_panel=_TABLE,
        ),
    ] = None
    known: Annotated[
        str | None,
        typer.Option(
            help='A second table, with known anchors: a column of groups and one of '
            'anchors.',
            rich_help_panel=_TABLE,
        ),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            help='The column of times: numbers, or dates as in ISO 8601 or in e-mails. '
            'Only the stacked model uses them.',
            rich_help_panel=_TABLE,
        ),
    ] = None
    side: Annotated[
        str | None,
        typer.Option(
            help='The column of sides in directed groups: tail or head (source or '
            'target, from or to). Only the context model uses them.',
            rich_help_panel=_TABLE,
        ),
    ] = None
    group_type: Annotated[
        str | None,
        typer.Option(
            help='The column of types of groups. Only the context model uses them.',
            rich_help_panel=_TABLE,
        ),
    ] = None
    member_type: Annotated[
        str | None,
        typer.Option(
            help='The column of types of members. Only the context model uses them.',
            rich_help_panel=_TABLE,
        ),
    ] = None
    member_attr: Annotated[
        list[str] | None,
        typer.Option(
            help='A column of numbers about members; may be repeated.',
            rich_help_panel=_TABLE,
        ),
    ] = None
    group_attr: Annotated[
        list[str] | None,
        typer.Option(
            help='A column of numbers about groups; may be repeated.',
            rich_help_panel=_TABLE,
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            help='The encoding of text files.',
            rich_help_panel=_TABLE,
            show_default='detected',
        ),
    ] = None
    addresses: Annotated[
        bool,
        typer.Option(
            '--addresses',
            help="Name people by their e-mail address: 'Ann <Ann@x.org>' is ann@x.org.",
            rich_help_panel=_TABLE,
        ),
    ] = False
    skip_bad: Annotated[
        bool,
        typer.Option(
            '--skip-bad',
            help='Leave out bad rows, and write them with the reason to a file that '
            'ends in .rejected.csv.',
            rich_help_panel=_TABLE,
        ),
    ] = False
    seed: Annotated[
        int,
        typer.Option(min=0, help='The seed of all random draws.', rich_help_panel=_RUN),
    ] = 0
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            help='The number of PyTorch threads.',
            rich_help_panel=_RUN,
            show_default='OMP_NUM_THREADS or 1',
        ),
    ] = None
    json: Annotated[
        bool,
        typer.Option('--json', help='Print the summary as JSON.', rich_help_panel=_RUN),
    ] = False
    quiet: Annotated[
        bool,
        typer.Option(
            '--quiet',
            '-q',
            help='Print warnings and errors only.',
            rich_help_panel=_RUN,
        ),
    ] = False

    @property
    def columns(self) -> dict[str, Any]:
        r"""The columns that are named, as arguments of :obj:`inspect_incidence`."""
        given: dict[str, Any] = {
            'group': self.group,
            'member': self.member,
            'members': self.members,
            'anchor': self.anchor,
            'time': self.time,
            'side': self.side,
            'group_type': self.group_type,
            'member_type': self.member_type,
            'x': self.member_attr,
            'hyperedge_attr': self.group_attr,
        }
        return {key: value for key, value in given.items() if value}

    def read(self, files: list[str], anchors_only: bool = False) -> 'IncidenceReading':
        r"""Reads the tables.

        Args:
            files (list[str]): Their paths, :obj:`"-"` for the standard input.
            anchors_only (bool, optional): If set to :obj:`True`, the tables need not
                list members. (default: :obj:`False`)
        """
        from tgx_anchor.io.incidence import inspect_incidence

        source: Any = files[0] if len(files) == 1 else files
        if any(name.lower().endswith('.json') for name in files):
            source = _read_rows(files)
            if source is None:
                return self._read_hif(files[0])
        if self.member is not None and self.members:
            raise ValueError(
                f"'--member' is for a long table and '--members' for a wide one: give "
                f'one of them (got {self.member!r} and {self.members!r})'
            )
        with named_options():
            return inspect_incidence(
                source,
                **self.columns,
                sep=self.sep,
                known=self.known,
                addresses=self.addresses,
                max_anchors=None,
                skip_bad=self.skip_bad,
                tidy=True,
                anchors_only=anchors_only,
                encoding=self.encoding,
            )

    def _read_hif(self, file: str) -> 'IncidenceReading':
        from tgx_anchor.io import read_hif
        from tgx_anchor.io.incidence_reading import IncidenceReading

        if self.known is not None:
            raise ValueError(
                "'--known' is for tables only: the known anchors of a HIF document are "
                'in its incidences'
            )
        data = read_hif(file, max_anchors=None)
        form = 'Hypergraph Interchange Format'
        return IncidenceReading(data, form, {}, [], num_rows=data.num_incidences)


def _read_rows(files: list[str]) -> list[Any] | None:
    # A JSON document that is a list of rows; a HIF document is an object.
    if len(files) > 1:
        raise ValueError(
            f'a file that ends in .json must be the only one (got {len(files)} files)'
        )
    text = Path(files[0]).read_bytes()
    if not text.lstrip(b'\xef\xbb\xbf \t\r\n').startswith(b'['):
        return None
    try:
        rows = json.loads(text.decode('utf-8-sig'))
    except (ValueError, RecursionError) as error:
        rows = [error]
    odd = [row for row in rows if not isinstance(row, dict)]
    if odd or not rows:
        raise ValueError(
            f'{files[0]!r} must be a HIF document or a list of rows '
            f'(got {odd[0] if odd else "no rows"})'
        )
    return list(rows)


class TableError(ValueError):
    r"""An error about a table that names the options of the command line.

    Args:
        message (str): The message.
        lines (list[str]): Lines that follow it.
    """

    def __init__(self, message: str, lines: list[str]) -> None:
        super().__init__(message)
        self.lines = lines


@contextmanager
def named_options() -> Iterator[None]:
    r"""Raises errors about a table with the names of options instead of arguments."""
    try:
        yield
    except ValueError as error:
        lines = getattr(error, 'lines', [])
        raise TableError(name_options(str(error)), lines) from error


_ATTRIBUTES = "'x', 'hyperedge_attr' and 'incidence_attr'"
_NAMED = {
    'x': 'member-attr',
    'hyperedge_attr': 'group-attr',
    'skip_bad': 'skip-bad',
    'group_type': 'group-type',
    'member_type': 'member-type',
    **{
        key: key
        for key in (
            *('group', 'members', 'member', 'anchor', 'time', 'side', 'sep'),
            'encoding',
        )
    },
}


def name_options(text: str) -> str:
    r"""Replaces the names of arguments of :obj:`read_incidence` by those of options.

    Args:
        text (str): A note or a message.
    """
    text = text.replace(_ATTRIBUTES, "'--member-attr' and '--group-attr'")
    text = text.replace("'skip_bad'", "'--skip-bad'")
    names = '|'.join(_NAMED)
    # Columns may have the same names.
    text = re.sub(
        rf"\b(for|by) '({names})'", lambda m: f"{m[1]} '--{_NAMED[m[2]]}'", text
    )
    text = re.sub(r"^'(out|memory|encoding)'(?= must\b)", r"'--\1'", text)
    text = re.sub(r"^'num_shards'(?= must\b)", "'--num-shards'", text)
    return re.sub(
        rf"^'({names})'(?= must (be named|name|be left out)\b)",
        lambda m: f"'--{_NAMED[m[1]]}'",
        text,
    )


def takes_table(command: Callable[..., None]) -> Callable[..., None]:
    r"""Gives a command the options of :class:`TableOptions`, which it gets as its
    argument :obj:`table`.

    Args:
        command (Callable): The command.
    """
    signature = inspect.signature(command)
    hints = get_type_hints(TableOptions, include_extras=True)
    own = [p for p in signature.parameters.values() if p.name != 'table']
    shared = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=hints[option.name],
        )
        for option in fields(TableOptions)
    ]

    @functools.wraps(command)
    def run(**kwargs: Any) -> None:
        given = {option.name: kwargs.pop(option.name) for option in shared}
        command(table=TableOptions(**given), **kwargs)

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*parameters, *shared]
    )
    run.__annotations__ = {p.name: p.annotation for p in (*own, *shared)}
    return run
