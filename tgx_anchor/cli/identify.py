"""Finds the anchors of a table of groups in one command."""

from typing import Annotated

import typer

from tgx_anchor.cli.anchor_table import check_output, write_output
from tgx_anchor.cli.learning import (
    assess,
    count_anchors,
    describe,
    fit_model,
)
from tgx_anchor.cli.model_choice import ModelName, ModelOption
from tgx_anchor.cli.processes import is_shards
from tgx_anchor.cli.sharded import identify_shards
from tgx_anchor.cli.table_options import Files, TableOptions, takes_table
from tgx_anchor.cli.talk import Talk

Out = Annotated[
    str,
    typer.Option(
        '--out',
        '-o',
        help="The table of anchors: .csv, .tsv, .jsonl, .parquet, or '-' for the "
        'standard output; for shards, a folder.',
    ),
]


@takes_table
def identify(
    files: Files,
    table: TableOptions,
    out: Out = '-',
    kind: ModelOption = ModelName.AUTO,
) -> None:
    """Find the anchor of every group of a table, given the known ones.

    Example: tgx-anchor identify mails.csv --out anchors.csv

    Example: tgx-anchor identify threads.csv --group thread --member person
    --anchor asker --out anchors.csv

    Example: tgx-anchor identify inbox.csv --members to --members cc --sep ';'
    --anchor sender --addresses --out anchors.csv

    Example: torchrun --nproc-per-node 2 -m tgx_anchor identify shards/ --out anchors/
    """
    if is_shards(files):
        identify_shards(table, files[0], out, kind)
        return
    talk = Talk(table, out)
    talk.load()

    check_output(out)
    groups = talk.read(files)
    choice, data = fit_model(talk, groups.data, kind)
    figures, lines = describe(assess(talk, choice.model, data))
    with talk.step('predicting'):
        anchors = choice.model.predictions(data)
    with talk.step('writing'):
        write_output(anchors, out)
    counts, line = count_anchors(data, anchors)
    talk.finish(
        {
            'command': 'identify',
            **counts,
            **choice.summary,
            **figures,
            'num_rows': groups.num_rows,
            'num_bad_rows': len(groups.bad_rows),
            'rejected': talk.rejected,
            'out': out,
        },
        [line, *lines, *([] if out == '-' else [f'written to {out}'])],
    )
