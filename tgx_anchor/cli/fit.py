"""Fits a model to a table of groups and saves it."""

from pathlib import Path
from typing import Annotated

import typer

from tgx_anchor.cli.anchor_table import check_folder
from tgx_anchor.cli.learning import assess, describe, fit_model
from tgx_anchor.cli.model_choice import ModelName, ModelOption
from tgx_anchor.cli.processes import is_shards
from tgx_anchor.cli.sharded import fit_shards
from tgx_anchor.cli.table_options import Files, TableOptions, takes_table
from tgx_anchor.cli.talk import Talk


@takes_table
def fit(
    files: Files,
    table: TableOptions,
    out: Annotated[
        str, typer.Option('--out', '-o', help='The model file.')
    ] = 'model.tgx',
    kind: ModelOption = ModelName.AUTO,
) -> None:
    """Learn from the known anchors of a table, and save the model.

    Example: tgx-anchor fit mails.csv --out model.tgx
    """
    if is_shards(files):
        fit_shards(table, files[0], out, kind)
        return
    talk = Talk(table, out)
    talk.load()

    check_folder(Path(out))
    groups = talk.read(files)
    choice, data = fit_model(talk, groups.data, kind)
    figures, lines = describe(assess(talk, choice.model, data))
    with talk.step('writing'):
        choice.model.save(out)
    known = int(data.known_mask.sum())
    people = int(data.num_nodes or 0)
    talk.finish(
        {
            'command': 'fit',
            'num_groups': data.num_hyperedges,
            'num_people': people,
            'num_known': known,
            **choice.summary,
            **figures,
            'num_rows': groups.num_rows,
            'num_bad_rows': len(groups.bad_rows),
            'rejected': talk.rejected,
            'out': out,
        },
        [
            f'learnt from {known:,} known anchors of {data.num_hyperedges:,} groups of '
            f'{people:,} people',
            *lines,
            f'written to {out}',
        ],
    )
