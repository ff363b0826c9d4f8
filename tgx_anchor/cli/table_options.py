"""Options of all commands that read a table of groups."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from tgx_anchor.io.group_columns import GroupColumns
    from tgx_anchor.io.group_table import GroupTable

_TABLE = 'Table'
_RUN = 'Run'

MEANINGS = """
Tables: CSV, TSV, JSON lines and Parquet, by their ending; .json is the Hypergraph
Interchange Format; '-' is the standard input; several files, a folder or a quoted glob
pattern are one table. Separator, encoding, header, the spelling of yes and no, and the
usual names of columns are found and said.

Flaws: An empty name, NULL or NA is nobody. A member who is in a group twice is one
member. Several anchors of a group all count. An anchor who is not listed is added to
the group. A group without an anchor is one to predict. A single member is the anchor.
Rows with an empty group, with a flag that is neither yes nor no, or with too many or
too few fields are bad.
"""

Files = Annotated[
    list[str],
    typer.Argument(metavar='FILE...', help='Tables of groups.', show_default=False),
]
Model = Annotated[
    str, typer.Argument(help="A model of 'tgx-anchor fit'.", show_default=False)
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
            help='The column of members, if there is one row per group; again for '
            'further columns.',
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
            'COLUMN=VALUE, the rows that have this value.',
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
            help='The column of times: numbers, ISO 8601 or as in e-mails.',
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
            show_default='found in the file',
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
            help='Threads of PyTorch.',
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

    def columns(self) -> 'GroupColumns':
        r"""Returns the columns that the user names."""
        from tgx_anchor.io.group_columns import GroupColumns

        return GroupColumns(
            self.group,
            self.member,
            self.members or (),
            self.anchor,
            self.time,
            self.member_attr or (),
            self.group_attr or (),
        )

    def read(self, files: list[str]) -> 'GroupTable':
        r"""Reads the tables.

        Args:
            files (list[str]): Their paths, :obj:`"-"` for the standard input.
        """
        from tgx_anchor.io.group_table import read_groups

        with standard_input(files) as paths:
            return read_groups(
                paths[0] if len(paths) == 1 else paths,
                self.columns(),
                separator=self.sep,
                known=self.known,
                addresses=self.addresses,
                skip_bad=self.skip_bad,
                encoding=self.encoding,
            )


@contextmanager
def standard_input(files: list[str]) -> Iterator[list[str]]:
    r"""Copies the standard input to a file if :obj:`"-"` is among the paths, and names
    it in errors.

    Args:
        files (list[str]): The paths.
    """
    if '-' not in files:
        yield files
        return
    content = sys.stdin.buffer.read()
    suffix = '.csv'
    if content.startswith(b'PAR1'):
        suffix = '.parquet'
    elif content.lstrip().startswith(b'{'):
        suffix = '.jsonl'
    with TemporaryDirectory() as folder:
        path = Path(folder) / f'standard input{suffix}'
        path.write_bytes(content)
        try:
            yield [str(path) if name == '-' else name for name in files]
        except ValueError as error:
            text = str(error).replace(str(path), 'standard input')
            lines = [
                line.replace(str(path), 'standard input')
                for line in getattr(error, 'lines', ())
            ]
            raise StandardInputError(text, lines) from error


class StandardInputError(ValueError):
    r"""An error about the standard input.

    Args:
        message (str): The message.
        lines (list[str]): Lines that follow it.
    """

    def __init__(self, message: str, lines: list[str]) -> None:
        super().__init__(message)
        self.lines = lines


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
