"""Lists the groups whose anchors would help most if they were known."""

from typing import Annotated

import typer

from tgx_anchor.cli.anchor_table import check_output, write_output
from tgx_anchor.cli.learning import load_model
from tgx_anchor.cli.table_options import Files, Model, TableOptions, takes_table
from tgx_anchor.cli.talk import Talk


@takes_table
def suggest(
    model: Model,
    files: Files,
    table: TableOptions,
    number: Annotated[
        int, typer.Option('--number', '-n', min=1, help='The number of groups.')
    ] = 50,
    out: Annotated[
        str,
        typer.Option(
            '--out',
            '-o',
            help="The table: .csv, .tsv, .jsonl, .parquet, or '-' for the standard "
            'output.',
        ),
    ] = '-',
) -> None:
    """List the groups whose anchors would help most if known, the best first.

    Example: tgx-anchor suggest model.tgx mails.csv -n 50 --out label_these.csv
    """
    talk = Talk(table, out)
    talk.load()

    check_output(out)
    groups = talk.read(files)
    predictor, data = load_model(talk, model, groups.data)
    with talk.step('choosing'):
        found = predictor.suggest(data, number)
    with talk.step('writing'):
        write_output(found, out)
    talk.finish(
        {
            'command': 'suggest',
            'num_groups': found.num_rows,
            'num_bad_rows': len(groups.bad_rows),
            'rejected': talk.rejected,
            'out': out,
        },
        [
            f'{found.num_rows:,} groups to label',
            *([] if out == '-' else [f'written to {out}']),
        ],
    )
