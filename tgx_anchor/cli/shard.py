"""Writes a table of any size to a folder of shards."""

from typing import Annotated

import typer

from tgx_anchor.cli.table_options import (
    Files,
    TableOptions,
    name_options,
    named_options,
    takes_table,
)
from tgx_anchor.cli.talk import Talk, describe_columns

Out = Annotated[
    str,
    typer.Option(
        '--out',
        '-o',
        help='The folder of shards: a new one, or that of a run that was stopped.',
        show_default=False,
    ),
]
NumShards = Annotated[
    int, typer.Option('--num-shards', min=1, help='The number of shards.')
]
Memory = Annotated[
    str,
    typer.Option(
        help='The memory to use beyond that of the program itself; the rest of the '
        'work is done on disk, in the folder of shards.'
    ),
]


@takes_table
def shard(
    files: Files,
    table: TableOptions,
    out: Out,
    num_shards: NumShards = 16,
    memory: Memory = '2GB',
) -> None:
    """Write a table that does not fit into memory to a folder of shards.

    Tables are Parquet and text files (CSV or TSV, optionally compressed with gzip) with
    one row per member; options of other tables are refused. Columns, delimiter and
    encoding are detected and reported. If the command is stopped, run it again to
    continue. Bad rows are written to the folder _rejected.

    Example: tgx-anchor shard groups/*.parquet --out shards/ --num-shards 16

    Example: tgx-anchor shard 'mails/*.csv' --out shards/ --memory 4GB --skip-bad
    """
    for name in ('known', 'members', 'sep'):
        value = getattr(table, name)
        if value:
            raise ValueError(
                f"'--{name}' must be left out: 'shard' reads tables with one row per "
                f"member and a column of anchors (got {value!r}; 'identify' takes it)"
            )
    talk = Talk(table)
    with talk.step('loading PyTorch'):
        from tgx_anchor.io import write_shards

    with talk.step('sharding'), named_options():
        reading = write_shards(
            files,
            out,
            num_shards=num_shards,
            memory=memory,
            addresses=table.addresses,
            skip_bad=table.skip_bad,
            tidy=True,
            encoding=table.encoding,
            threads=table.threads,
            progress=talk.show_progress,
            **table.columns,
        )
    found = reading.manifest
    if reading.is_new:
        name = files[0] if len(files) == 1 else f'{len(files)} files'
        for note in [*describe_columns(reading), *map(name_options, reading.notes)]:
            talk.note(f'{name}: {note}')
    else:
        talk.note(f'{out}: an earlier run has written all shards')
    rejected = sum(file.num_rows for file in found.rejected)
    if rejected:
        word = 'bad row is' if rejected == 1 else 'bad rows are'
        talk.warn(
            f"{rejected:,} {word} left out, see the folder '_rejected' of '{out}'"
        )
    sizes = [entry.incidences.num_rows for entry in found.shards]
    known = sum(entry.num_known for entry in found.shards)
    talk.finish(
        {
            'command': 'shard',
            'num_groups': found.num_hyperedges,
            'num_members': found.num_nodes,
            'num_memberships': found.num_incidences,
            'num_known': known,
            'num_shards': len(sizes),
            'largest_shard': max(sizes),
            'num_rows': reading.num_rows if reading.is_new else None,
            'num_bad_rows': rejected,
            'out': out,
        },
        [
            f'{found.num_incidences:,} memberships of {found.num_nodes:,} people in '
            f'{found.num_hyperedges:,} groups, of which {known:,} have a known anchor',
            f'{len(sizes):,} shards of {min(sizes):,} to {max(sizes):,} memberships, '
            f'written to {out}',
        ],
    )
